"""A root on a mount whose server died, or hangs: an error for its own paths, and the other roots go on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from readroom import Workspace
from readroom.core.caller import Caller
from readroom.core.errors import StoreFailed
from readroom.core.stores.local import pulse
from readroom.core.values import Reply
from tests.served_mount import NAME, Mount, lacking, served

pytestmark = [
    pytest.mark.skipif(bool(lacking()), reason=f"NOT TESTED: {lacking()}"),
    pytest.mark.long,
]

MINE, OTHER = Caller(session="one", face="mcp"), Caller(session="two", face="mcp")

FAILING: dict[str, dict[str, Any]] = {
    "read_file": {"path": f"B/{NAME}"},
    "list_directory": {"path": "B"},
    "grep_files": {"pattern": "hello", "path": "B"},
    "find_relevant": {"query": "hello", "path": "B"},
    "write_file": {"path": "B/new.txt", "content": "x", "expected_hash": "absent"},
}


class Place:
    """A folder, and next to it a mount that is served with it."""

    def __init__(self, folder: Path, mount: Mount) -> None:
        self.mount = mount
        self.first, self.mounted = folder / "a", folder / "m"
        self.first.mkdir()
        (self.first / "a.txt").write_text("hello A\n")

    def open(self) -> Workspace:
        return Workspace(str(self.first), f"B={self.mounted}")

    def breaks(self, how: str) -> None:
        """From now on it does not answer, and what it answered before has no effect any more."""
        self.mount.die() if how == "dead" else self.mount.hang()
        until = time.monotonic() + 2 * pulse.FRESH_S
        while time.monotonic() < until:
            pass


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with served(tmp_path / "m") as mount:
        yield Place(tmp_path, mount)


def call(workspace: Workspace, tool: str, given: Caller = MINE, /, **arguments: Any) -> Reply:
    return workspace.call(tool, arguments, caller=given)


@pytest.mark.parametrize("how", ["dead", "hanging"])
def test_the_others_go_on_beside_a_mount_that_does_not_answer(place: Place, how: str) -> None:
    with place.open() as workspace:
        for path in ("a.txt", f"B/{NAME}"):  # both are known to the conversation, which looks at them again
            assert "hello" in call(workspace, "read_file", path=path).text
        place.breaks(how)
        for caller in (MINE, OTHER):
            assert "hello A" in call(workspace, "read_file", caller, path="a.txt").text
            assert "a.txt" in call(workspace, "list_directory", caller, depth=9).text
            for tool, name in (("grep_files", "pattern"), ("find_relevant", "query")):
                reply = call(workspace, tool, caller, **{name: "hello"})
                assert "hello A" in reply.text
                assert "B" in str(reply.facts["warnings"])
        made = {"path": "n.txt", "content": "x\n", "expected_hash": "absent"}
        assert not call(workspace, "write_file", **made).is_error
        for tool, arguments in FAILING.items():
            reply = call(workspace, tool, **arguments)
            assert reply.is_error, tool
            assert "B cannot be used" in reply.text
            assert "the other folders of this workspace can be used" in reply.text


@pytest.mark.parametrize("how", ["dead", "hanging"])
def test_a_mount_that_does_not_answer_is_refused_at_the_start(place: Place, how: str) -> None:
    place.breaks(how)
    with pytest.raises(StoreFailed) as failed:
        place.open()
    assert str(place.mounted) in failed.value.message
    assert failed.value.advice


def test_a_mount_that_answers_again_is_used_again(place: Place) -> None:
    with place.open() as workspace:
        place.breaks("hanging")
        assert call(workspace, "read_file", path=f"B/{NAME}").is_error
        place.mount.go_on()
        until = time.monotonic() + 60
        while (reply := call(workspace, "read_file", path=f"B/{NAME}")).is_error:
            assert time.monotonic() < until
        assert "hello from the mount" in reply.text


@pytest.mark.parametrize("how", ["dead", "hanging"])
def test_a_single_root_that_does_not_answer_is_an_error_of_ours(place: Place, how: str) -> None:
    with Workspace(str(place.mounted)) as workspace:
        assert "hello" in call(workspace, "read_file", path=NAME).text
        place.breaks(how)
        for tool, arguments in FAILING.items():
            given = {name: str(value).removeprefix("B/") for name, value in arguments.items()}
            reply = call(workspace, tool, **{**given, "path": given["path"].replace("B", ".")})
            assert reply.is_error, tool
            assert "cannot be used" in reply.text or "not answered" in reply.text, reply.text
