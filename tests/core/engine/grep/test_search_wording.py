"""What a refused or stopped search says, and that its advice works when followed."""

from __future__ import annotations

from pathlib import Path

import pytest

from readroom.core.deadline import Deadline
from readroom.core.errors import Cancelled, Closed
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import GrepRequest, Reply
from readroom.core.workspace import Workspace
from tests.core.engine.grep.searching import search
from tests.core.engine.grep.test_time import endless


@pytest.fixture(params=["disk", "memory"])
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Workspace:
    files = {"a.ts": "foo\\\n", "b.py": "foo\n"}
    if request.param == "memory":
        return Workspace(MemoryStore(files))
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return Workspace(tmp_path)


def followed(workspace: Workspace, reply: Reply) -> Reply:
    error = reply.facts["error"]
    assert isinstance(error, dict)
    following = error["next"]
    assert isinstance(following, dict)
    tool, arguments = following["tool"], following["arguments"]
    assert isinstance(tool, str)
    return workspace.call(tool, arguments)


@pytest.mark.parametrize("pattern", ["foo\\", "\\", "(foo\\"])
def test_a_backslash_at_the_end_is_named_as_what_is_wrong(workspace: Workspace, pattern: str) -> None:
    reply = workspace.call("grep_files", {"pattern": pattern})
    assert "it ends with a backslash" in reply.text
    assert not followed(workspace, reply).is_error


@pytest.mark.parametrize("pattern", [r"(a)\1", "a(?=b)"])
def test_what_is_not_supported_is_said_once(workspace: Workspace, pattern: str) -> None:
    assert workspace.call("grep_files", {"pattern": pattern}).text.count("not supported") == 1


@pytest.mark.parametrize(
    ("asked", "meant"),
    [("golang", "go"), ("tsx", "ts"), (".py", "py"), ("pyhton", "python"), ("c++", "cpp")],
)
def test_a_type_that_rg_calls_otherwise_is_found(workspace: Workspace, asked: str, meant: str) -> None:
    reply = workspace.call("grep_files", {"pattern": "foo", "type": asked})
    assert f"Near names: {meant}" in reply.text
    assert not followed(workspace, reply).is_error


@pytest.mark.parametrize("asked", ["zzzz", "c++x", "x" * 5000])
def test_a_type_like_no_other_gets_no_suggestions(workspace: Workspace, asked: str) -> None:
    text = workspace.call("grep_files", {"pattern": "foo", "type": asked}).text
    assert "Near names" not in text
    assert "Use a glob" in text


def test_a_time_too_short_for_anything_is_not_suggested_again(workspace: Workspace) -> None:
    result = search(MemoryStore({"a": "foo"}), GrepRequest("foo", timeout_s=1e-9))
    assert result.next is not None
    assert result.next.timeout_s == 1.0


def test_a_closed_workspace_says_so(workspace: Workspace) -> None:
    workspace.close()
    for tool, arguments in (
        ("read_file", {"path": "b.py"}),
        ("grep_files", {"pattern": "x"}),
        ("list_directory", {}),
    ):
        assert workspace.call(tool, arguments).text.startswith("the workspace was closed")
    with pytest.raises(Closed):
        workspace.read("b.py")


def test_a_search_that_finds_nothing_for_long_is_not_silent(tmp_path: Path) -> None:
    """Over MCP a client may give up on a call of which it hears nothing."""
    endless(tmp_path / "x")
    heard: list[str] = []

    def hear(done: int, total: int | None, unit: str) -> None:
        heard.append(f"{total} {unit}")
        deadline.cancel()

    deadline = Deadline(progress=hear)
    request = GrepRequest("needle", include=frozenset({"binary"}), timeout_s=30)
    with pytest.raises(Cancelled):
        search(LocalStore(tmp_path), request, deadline=deadline)
    assert heard[0] == "30 seconds"
