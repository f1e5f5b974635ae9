"""Changes of every kind, kept in a history, whose process is killed: what is left can be taken back.

Run as a program, so that it can fork without threads: `killed_history.py ROOT MODE`.
Prints, in JSON, what was found after each death, and after everything that the history has was taken back.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from readroom.core import errors
from readroom.core.engine import files
from readroom.core.engine.past import steps, undo, world
from readroom.core.history import book, contents, database, keeping, states
from readroom.core.policy import changes
from readroom.core.stores.local import batch, journal, place, rename, trees, unfinished
from readroom.core.values.changes import DeleteRequest, MakeFolderRequest, MoveRequest, WriteRequest
from tests.core.history.pasts import Past, tree
from tests.races.killed import Moments
from tests.races.killed import Trace as Lines

KILLS = 40
STRIDE = 7
"""Every seventh line is died at; another seventh with each kind of change."""

TRACED = {
    module.__file__
    for module in (
        *(batch, journal, place, rename, trees, unfinished, changes, files),
        *(book, contents, database, keeping, states, steps, undo, world),
    )
}


def before(root: Path) -> None:
    """The tree that every run begins with."""
    for path in (root, history(root)):
        shutil.rmtree(path, ignore_errors=True)
    (root / "old/deep").mkdir(parents=True)
    (root / "a").write_bytes(b"a\n" * 5000)
    (root / "b").write_bytes(bytes(range(256)))
    (root / "old/x").write_bytes(b"x\n")
    (root / "old/deep/y").write_bytes(b"y\n")
    (root / "old/link").symlink_to("x")
    os.chmod(root / "old/deep/y", 0o750)


def history(root: Path) -> Path:
    """Where the history is."""
    return root.with_name(f"{root.name}-history")


def act(root: Path, first: int) -> None:
    """One change of each kind, beginning with another one each time; then two of them are taken back."""
    past = Past(root, history(root))
    every: list[Any] = [
        lambda: past.do(WriteRequest("new/deep/c", "c\n" * 5000, "absent")),
        lambda: past.do(WriteRequest("a", "changed\n", None)),
        lambda: past.do(DeleteRequest("b")),
        lambda: past.do(DeleteRequest("old", recursive=True)),
        lambda: past.do(MoveRequest("a", "moved/there", overwrite=True)),
        lambda: past.do(MoveRequest("old", "moved/old")),
        lambda: past.do(MakeFolderRequest("made/deep")),
        lambda: past.workspace.change([{"action": "mkdir", "path": "made/both"}]),
        lambda: past.undo(change=past.changes()[-1].id),
        lambda: past.undo(path="old"),
    ]
    for one in every[first:] + every[:first]:
        with suppress(errors.ReadroomError, IndexError):  # there may be no change yet that could be undone
            one()


def died(root: Path, first: int, *, delay_s: float, line: int | None) -> bool:
    """Act in a child that is killed after a time, or at a line; whether it died of that."""
    import select

    child = os.fork()
    if not child:
        sys.settrace(None if line is None else Lines(line, TRACED))
        try:
            act(root, first)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if line is None:
        select.select([], [], [], delay_s)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def attempts(root: Path, mode: str) -> Iterator[tuple[bool, dict[str, Any]]]:
    """Whether each of the runs died, and the tree that it began with."""
    moments = Moments()
    for number in range(KILLS) if mode == "random" else count():
        before(root)
        old, first = tree(root), number % 10
        if mode == "random":
            dead = died(root, first, delay_s=5 * moments.next(), line=None)
            moments.saw(dead)
        else:
            dead = died(root, first, delay_s=0, line=1 + number * STRIDE)
        yield dead, old
        if not dead and mode == "lines":
            return


def taken_back(root: Path) -> int:
    """Take back what the history has, the newest first; how many changes that were."""
    past = Past(root, history(root))
    past.workspace.list()  # what a batch left half done is undone by the next call
    changes = past.changes(maximum=100)
    swept(past, root)
    for change in changes:  # when an undo is taken back, what it had taken back counts again
        with suppress(errors.NothingToUndo):
            past.undo(change=change.id)
    past.close()
    return len(changes)


def swept(past: Past, root: Path) -> None:
    """Write in every folder: what a dead writer left goes with the next write beside it."""
    for folder in (root, *(path for path in root.rglob("*") if path.is_dir() and not path.is_symlink())):
        path = str((folder / "beside").relative_to(root))
        past.do(WriteRequest(path, "beside\n", "absent"))
        past.do(DeleteRequest(path))


def main(root: Path, mode: str) -> None:
    """Kill, look, take back, compare."""
    seen: Counter[str] = Counter()
    for dead, old in attempts(root, mode):
        seen["died" if dead else "finished"] += 1
        seen["changed"] += tree(root) != old
        seen["changes"] += taken_back(root)
        found = tree(root)
        seen["restored" if found == old else "lost"] += 1
        if found != old:
            names = {name: found.get(name) for name in {*found, *old} if found.get(name) != old.get(name)}
            print("lost", sum(seen.values()), str(names)[:500], file=sys.stderr)
    print(json.dumps(seen))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
