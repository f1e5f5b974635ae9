"""Laws of every contract: hints lead through the file, no reply passes its cap, nothing denied is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.core.contracts import NAMES
from readroom.core.contracts.base import Tool, tool_result
from readroom.core.limits import MIN_REPLY_BYTES
from readroom.core.stores.base import Store
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from tests.contracts.cases import ROOT, adapter, answer_of
from tests.each import each
from tests.laws.driving import STORES, StoreName, stored

SECRET = "hunter2-is-in-here"
MOST_PAGES = 400

every_contract = pytest.mark.parametrize("contract", NAMES)

lines = st.lists(st.text(st.sampled_from('ab \t"\\é€\U0001f600\x0c'), max_size=60), min_size=1, max_size=120)


@every_contract
@settings(max_examples=12)
@given(lines, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.sampled_from(STORES), st.integers(0, 6000))
def test_following_its_own_hints_shows_every_line_once(
    contract: str, texts: list[str], end: str, ended: bool, store: StoreName, more: int
) -> None:
    ours = adapter(contract)
    asked = ours.reading("docs/a.md")
    if asked is None:
        return
    data = end.join([*texts, "last"]) + (end if ended else "")
    # Plain letters first: a few odd characters alone would be taken for another encoding.
    data = "plain words\n" * 3 + data
    with stored(store, {"docs/a.md": data.encode()}) as held, rooted(held) as workspace:
        tool, arguments = asked
        found: list[str] = []
        for _ in range(MOST_PAGES):
            cap = MIN_REPLY_BYTES + more
            reply = workspace.call(tool, arguments, contract_name=contract, reply_bytes=cap)
            assert len(reply.text.encode()) <= cap
            if reply.is_error:  # a contract that refuses what it would have to cut
                error: Any = reply.facts["error"]
                assert error["next"] is not None, reply.text
                arguments = error["next"]["arguments"]
                continue
            shown = ours.lines(answer_of(reply))
            if shown is None:
                return
            found += shown
            following = ours.following(answer_of(reply), arguments)
            if following is None:
                break
            arguments = dict(following)
        else:
            raise AssertionError("following the hints does not end")
    expected = data.removesuffix("\n").removesuffix("\r") if ended else data
    expected = expected.replace("\r\n", "\n")
    assert found == (expected.expandtabs() if ours.expands_tabs else expected).split("\n")


def rooted(store: Store) -> Workspace:
    """A workspace that callers may call by the name they all use."""
    assert isinstance(store, (LocalStore, MemoryStore))
    store.roots = (ROOT, *store.roots)
    return Workspace(store)


PATHS = (
    ".env",
    "./.env",
    "docs/../.env",
    "docs//..//.env",
    ".ENV",
    "link.md",
    "docs/link.md",
    "deep/id_rsa",
    "folder/.env",
    "../outside/secret.md",
    "outside/secret.md",
    "docs/up/secret.md",
    "/etc/passwd",
    "/workspace/.env",
    "/workspace/../outside/secret.md",
    "file:///workspace/.env",
    "docs/a.md/../../.env",
    "~/.env",
    "",
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with secrets in it, beside it, and links to both."""
    base = tmp_path_factory.mktemp("hostile")
    root = base / "root"
    for path in (".env", "deep/id_rsa", "docs/a.md"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("hunt\n" if path.endswith(".md") else f"{SECRET}\n", encoding="utf-8")
    (base / "outside").mkdir()
    (base / "outside/secret.md").write_text(f"{SECRET}\n", encoding="utf-8")
    (root / "link.md").symlink_to(".env")
    (root / "docs/link.md").symlink_to("../deep/id_rsa")
    (root / "folder").symlink_to(".")
    (root / "outside").symlink_to(base / "outside")
    (root / "docs/up").symlink_to("../../outside")
    return root


def filled(tool: Tool, path: str) -> dict[str, Any]:
    """Arguments that its schema takes, with the path wherever one fits."""
    found: dict[str, Any] = {}
    for name, field in tool.input_schema["properties"].items():
        if "path" in name and name != "path_pattern":
            found[name] = path
        elif name == "pattern":
            found[name] = "hunt"
        elif name in tool.input_schema.get("required", ()):
            found[name] = field.get("enum", ["x" if field.get("type") == "string" else 1])[0]
    return found


@every_contract
@each("path", PATHS)
def test_nothing_denied_or_outside_is_shown_by_any_tool(contract: str, path: str, hostile: Path) -> None:
    spellings = {path, path.replace("/workspace", str(hostile))}
    with rooted(LocalStore(hostile)) as workspace:
        for tool in workspace.offered(contract):
            if not tool.read_only:
                continue
            for spelling in spellings:
                reply = workspace.call(tool.name, filled(tool, spelling), contract_name=contract)
                sent = json.dumps(tool_result(reply), ensure_ascii=False)
                assert SECRET not in sent
                assert "hunter2" not in sent
        asked = adapter(contract).reading(path)
        if asked is not None and path:
            assert workspace.call(asked[0], asked[1], contract_name=contract).is_error


@every_contract
@settings(max_examples=20)
@given(st.integers(MIN_REPLY_BYTES, 9000), st.integers(-2, 300), st.integers(0, 3000), st.data())
def test_no_reply_is_above_its_cap(
    contract: str, cap: int, offset: int, limit: int, data: st.DataObject
) -> None:
    text = data.draw(st.text(st.sampled_from('a"\\\n\x01\u202eé\U0001f600'), min_size=1, max_size=400)) * 40
    name = data.draw(st.sampled_from(["docs/a.md", "docs/" + "n\\" * 120 + ".md", "none"]))
    with stored("memory", {"docs/a.md": text.encode(), "docs/" + "n\\" * 120 + ".md": b"x"}) as held:
        with rooted(held) as workspace:
            for tool in workspace.offered(contract):
                if not tool.read_only:
                    continue
                arguments = filled(tool, name)
                properties = tool.input_schema["properties"]
                arguments |= {k: v for k, v in (("offset", offset), ("limit", limit)) if k in properties}
                reply = workspace.call(tool.name, arguments, contract_name=contract, reply_bytes=cap)
                assert len(reply.text.encode()) <= cap
                json.dumps(reply.facts, allow_nan=False).encode()
