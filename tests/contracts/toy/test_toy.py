"""A contract is its folder and one row of the registry: everything else works for it as for the others."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import readroom
from readroom.core import config, contracts
from readroom.core.errors import BadConfig
from readroom.core.stores.local import LocalStore
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from tests.contracts import toy

SECRET = "not to be seen"
ROW = contracts.Registered("tests.contracts.toy:made", section="tests.contracts.toy.settings:ToySection")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(contracts.ROWS, "toy", ROW)
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_text("".join(f"line {number} says word\n" for number in range(1, 801)))
    (root / "large.txt").write_text("x\n" * toy.MOST_BYTES)
    (root / ".env").write_text(SECRET)
    (root / "picture.png").write_bytes(bytes.fromhex("89504e470d0a1a0a0000000d49484452") + bytes(40))
    return root


@pytest.fixture
def workspace(folder: Path) -> Iterator[Workspace]:
    with Workspace(folder) as opened:
        yield opened


def call(workspace: Workspace, tool: str, **arguments: Any) -> Reply:
    reply = workspace.call(tool, arguments, contract_name="toy")
    assert len(reply.text.encode()) <= toy.TOY.reply_bytes
    return reply


def test_its_tools_are_offered_with_their_schemas(workspace: Workspace) -> None:
    tools = {tool.name: tool for tool in workspace.tools("toy")}
    assert list(tools) == ["show", "find", "names"]
    assert tools["show"].input_schema["required"] == ["file"]


def test_following_its_own_calls_shows_every_line_once(workspace: Workspace) -> None:
    seen: list[str] = []
    tool, arguments = "show", {"file": "a.txt"}
    for _ in range(100):
        reply = call(workspace, tool, **arguments)
        seen += json.loads(reply.text)["lines"]
        following: Any = reply.facts["next"]
        if following is None:
            break
        tool, arguments = following["tool"], following["arguments"]
    assert seen == [f"line {number} says word" for number in range(1, 801)]


def test_it_searches_and_lists(workspace: Workspace) -> None:
    found = json.loads(call(workspace, "find", what="line 77 says").text)
    assert found == {"found": {"a.txt": [[77, "line 77 says word"]]}, "all": True}
    assert json.loads(call(workspace, "names").text)["names"] == ["a.txt", "large.txt", "picture.png"]


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("show", {"file": "large.txt"}, "too_large"),
        ("show", {"file": "picture.png"}, "binary"),
        ("show", {"file": ".env"}, "denied"),
        ("show", {"file": "../x"}, "outside_root"),
        ("show", {"file": "b.txt"}, "not_found"),
        ("show", {"path": "a.txt"}, "unknown_argument"),
        ("grep_files", {}, "unknown_tool"),
    ],
)
def test_what_is_refused_is_refused_in_its_words(
    workspace: Workspace, tool: str, arguments: dict[str, str], code: str
) -> None:
    reply = call(workspace, tool, **arguments)
    assert reply.is_error
    said = json.loads(reply.text)
    assert said["failed"] == code
    assert SECRET not in reply.text


def test_its_settings_are_found_in_its_row_and_a_folder_may_only_lower_them(
    folder: Path, tmp_path: Path
) -> None:
    operators = tmp_path / "operator.toml"
    operators.write_text("[contracts.toy]\nlines = 7\n", encoding="utf-8")
    own = folder / "readroom.toml"
    for text, lines in (("", 7), ("[contracts.toy]\nlines = 3\n", 3)):
        own.write_text(text, encoding="utf-8")
        with Workspace(folder, settings=config.load(LocalStore(folder), operators)) as workspace:
            assert len(json.loads(call(workspace, "show", file="a.txt").text)["lines"]) == lines
    own.write_text("[contracts.toy]\nlines = 8\n", encoding="utf-8")
    with pytest.raises(BadConfig, match="can only show less"):
        config.load(LocalStore(folder), operators)


def test_nothing_else_knows_of_it() -> None:
    source = Path(readroom.__file__).parent
    assert not [path for path in source.rglob("*.py") if '"toy"' in path.read_text(encoding="utf-8")]


def test_it_is_made_of_public_names() -> None:
    tree = ast.parse(Path(toy.__file__).read_text(encoding="utf-8"))
    names = [
        f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    assert not [name for name in names if "._" in name]
    ours = {".".join(name.split(".")[1:3]) for name in names if name.startswith("readroom.")}
    assert ours <= {"core.contracts", "core.errors", "core.quoting", "core.values"}
