"""What an operator sets holds: above the usual value, below it, and where it is that value."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import fields

from readroom.core import config
from readroom.core.contracts import NAMES, contract
from readroom.core.errors import BadConfig
from readroom.core.limits import MAX_REPLY_BYTES, MIN_REPLY_BYTES, REPLY_BYTES, Limits
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from tests.each import each
from tests.laws.driving import fact


def settings(folder: Path, cap: int) -> config.Settings:
    own = folder.parent / "operator.toml"
    own.write_text(f"[limits]\nreply_bytes = {cap}\n")
    return config.load(LocalStore(folder), own)


def test_a_larger_cap_gives_larger_replies(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("line of text\n" * 20_000)
    with Workspace(folder, settings=settings(folder, 3 * REPLY_BYTES)) as workspace:
        whole = len(workspace.read("a.txt", limit=20_000).text)
        assert 2 * REPLY_BYTES < whole <= 3 * REPLY_BYTES
        asked = {"path": "a.txt", "limit": 20_000}
        assert len(workspace.call("read_file", asked, reply_bytes=10**9).text) == whole
    with pytest.raises(BadConfig):
        settings(folder, MAX_REPLY_BYTES + 1)


# --- a value is never taken for the default ------------------------------------------------------

FILE = "".join(f"line {number} of a long text, in which each is another\n" for number in range(6000))

READS: dict[str, tuple[str, dict[str, object]]] = {
    "native": ("read_file", {"path": "a.txt", "limit": 6000}),
    "everruns": ("read_file", {"path": "a.txt", "limit": 6000}),
    "kilo": ("read_file", {"path": "a.txt"}),
    "rnd": ("read", {"path": "b.md", "offset": 1}),
    "coder": ("read_file", {"path": "/workspace/a.txt"}),
    "inspect_agents": ("read_file", {"file_path": "a.txt", "limit": 6000}),
    "opencode": ("read", {"filePath": "a.txt", "limit": 6000}),
    "text_editor": ("str_replace_based_edit_tool", {"command": "view", "path": "/workspace/a.txt"}),
}
DEFAULTS = sorted({REPLY_BYTES, *(contract(name).reply_bytes for name in NAMES)})


@pytest.mark.parametrize("name", NAMES)
@given(
    cap=st.integers(MIN_REPLY_BYTES, 150_000), near=st.sampled_from([*DEFAULTS, None]), by=st.integers(-1, 1)
)
@example(cap=0, near=REPLY_BYTES, by=0)
@example(cap=0, near=REPLY_BYTES, by=-1)
@example(cap=0, near=REPLY_BYTES, by=1)
def test_no_reply_is_above_the_cap_that_an_operator_sets(
    name: str, cap: int, near: int | None, by: int
) -> None:
    cap = cap if near is None else min(MAX_REPLY_BYTES, near + by)
    tool, asked = READS[name]
    held = config.Settings(limits=Limits(reply_bytes=cap))
    with Workspace(MemoryStore({"a.txt": FILE, "b.md": FILE}), settings=held) as workspace:
        assert len(workspace.call(tool, asked, contract_name=name).text.encode()) <= cap


@given(st.integers(-1, 1))
@example(0)
def test_what_can_be_counted_goes_by_the_value_that_is_set(by: int) -> None:
    """One less, the default itself, one more: each is what it says."""
    files = {f"{number:04}.txt": "word\n" for number in range(300)} | {"long.txt": "x" * 5000}
    usual = Limits()
    held = Limits(
        reply_bytes=REPLY_BYTES + by,
        line_chars=usual.line_chars + by,
        grep_limit=usual.grep_limit + by,
        list_limit=usual.list_limit + by,
    )
    with Workspace(MemoryStore(files), settings=config.Settings(limits=held)) as workspace:
        assert len(fact(workspace.list(), "entries")) == held.list_limit
        assert fact(workspace.grep("word"), "shown") == held.grep_limit
        (rest,) = fact(workspace.read("long.txt"), "omitted")
        assert rest["from"] == held.line_chars + 1


@each("name", [field.name for field in fields(Limits)])
def test_every_limit_that_is_set_is_known_as_set(tmp_path: Path, name: str) -> None:
    """Whoever writes a default into a file is not told apart from whoever writes another value."""
    usual = getattr(Limits(), name)
    value = REPLY_BYTES if usual is None else usual
    (tmp_path / "own.toml").write_text(f"[limits]\n{name} = {value}\n", encoding="utf-8")
    found = getattr(config.load(MemoryStore(), tmp_path / "own.toml").limits, name)
    assert found == value
    assert type(found) is type(value)


def test_a_folder_cannot_set_a_larger_cap_than_the_usual_one() -> None:
    lowered = config.load(MemoryStore({"readroom.toml": f"[limits]\nreply_bytes = {REPLY_BYTES}\n"}))
    assert lowered.limits.reply_bytes == REPLY_BYTES
    with pytest.raises(BadConfig):
        config.load(MemoryStore({"readroom.toml": f"[limits]\nreply_bytes = {REPLY_BYTES + 1}\n"}))
