"""How far one call travels: functions and files of this package that it runs through, and how often it
changes from one file to another.

Counted for the second call of its kind, in process: what is imported, opened and indexed once is there.
Functions are those that have a name; what a comprehension does is part of the function it stands in.
Whoever makes a road longer sees it here, and raises a figure with a reason or finds the shorter way.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import pytest

import readroom
from readroom import Workspace
from readroom.core.values import Reply

_SOURCE = str(Path(readroom.__file__).parent) + "/"
_UNNAMED = ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")


@dataclass(frozen=True)
class Road:
    """The calls of one tool call, each with its file."""

    steps: list[tuple[str, str]]

    @property
    def files(self) -> int:
        return len({file for file, _ in self.steps})

    @property
    def functions(self) -> int:
        return len(set(self.steps))

    @property
    def changes(self) -> int:
        return sum(one[0] != other[0] for one, other in zip(self.steps, self.steps[1:], strict=False))


def travelled(call: Callable[[], Reply]) -> Road:
    """The road of one call."""
    steps: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        named = code.co_name not in _UNNAMED
        if event == "call" and named and code.co_filename.startswith(_SOURCE):
            steps.append((code.co_filename, f"{code.co_qualname} {code.co_firstlineno}"))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        reply = call()
    finally:
        sys.setprofile(before)
    assert not reply.is_error
    return Road(steps)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "notes.txt").write_text("".join(f"line {number} of a text\n" for number in range(500)))
    (folder / "code.py").write_text("x = 1\ny = 2\n")
    with Workspace(tmp_path) as opened:
        yield opened


def _warm(call: Callable[[], Reply]) -> Road:
    call()
    return travelled(call)


def _always(call: Callable[[], Reply]) -> Road:
    """The functions that every call enters: those that only a wait for a process enters depend on the load of
    the machine.
    """
    call()
    roads = [travelled(call) for _ in range(8)]
    common = set.intersection(*(set(road.steps) for road in roads))
    return Road([step for step in roads[0].steps if step in common])


def _edit(workspace: Workspace, old: str, new: str) -> Callable[[], Reply]:
    known = str(workspace.read("src/code.py").facts["content_hash"])
    return lambda: workspace.edit("src/code.py", known, [{"old_text": old, "new_text": new}])


def test_a_read_is_short(workspace: Workspace) -> None:
    road = _warm(lambda: workspace.read("src/notes.txt", limit=500))
    assert road.files <= 22
    assert road.functions <= 81
    assert road.changes <= 66


def test_so_is_the_first_read_of_a_file(workspace: Workspace, tmp_path: Path) -> None:
    workspace.read("src/notes.txt", limit=500)
    (tmp_path / "src" / "notes.txt").write_text("".join(f"another {number}\n" for number in range(500)))
    road = travelled(lambda: workspace.read("src/notes.txt", limit=500))
    assert road.files <= 31
    assert road.functions <= 135  # of which a few keep what makes the next read short


def test_a_search_of_one_folder(workspace: Workspace) -> None:
    road = _always(lambda: workspace.grep("line 4[0-9]", path="src"))
    assert road.files <= 52  # of which three count what the search leaves out
    # Ten of them run only where rg is waited for, which it may be in any run; twenty count what is left out.
    assert road.functions <= 312


def test_a_listing(workspace: Workspace) -> None:
    road = _warm(lambda: workspace.list("src"))
    assert road.files <= 30
    assert road.functions <= 127
    assert road.changes <= 142


def test_an_edit(workspace: Workspace) -> None:
    _edit(workspace, "x = 1", "x = 2")()
    road = travelled(_edit(workspace, "x = 2", "x = 3"))
    assert road.files <= 44
    assert road.functions <= 256  # of which some fifteen look for links that give the file another name
    assert road.changes <= 280


def test_what_is_not_asked_for_is_not_on_the_road(workspace: Workspace) -> None:
    """The counter counts: a read that goes on, and has an outline beside it, comes through more."""
    (Path(workspace.guard.folder or "") / "src" / "long.py").write_text(
        "".join(f"def f{number}(x):\n    return x + {number}\n\n" for number in range(900))
    )
    short = _warm(lambda: workspace.read("src/notes.txt", limit=500))
    long = _warm(lambda: workspace.read("src/long.py", limit=20))
    assert long.functions > short.functions
