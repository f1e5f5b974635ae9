"""A writer that is killed: again and again, at random moments or at one line of its code after the other.

Run as a program, so that it can fork without threads: `killed.py ROOT WAY MODE`.
Prints, in JSON, what was found in the file after each death.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import select
import signal
import sys
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import count
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from readroom.core.stores.local import Confinement, LocalStore, place, rename, unfinished
from readroom.core.text.edits import splice
from readroom.core.workspace import Workspace
from tests.core.stores.worlds import WAYS, Way

KILLS = 60
STRIDES = {way: 3 if number else 1 for number, way in enumerate(WAYS)}
"""Each line is died at, and each third in the other way, which only comes to a folder by other lines."""

TURNS = 12
"""Of a line that runs again and again: more than a file has pieces. What looks for lines has thousands."""

BYTES = {"random": 3_000_000, "lines": 300_000}
"""Large enough that writing takes most of the time, and that it takes several pieces."""

TRACED = {module.__file__ for module in (place, rename, splice, unfinished)}

FOREIGN = ".readroom-0123456789abcdef.tmp"
"""A file of somebody else's, called as ours are for a moment."""


def content(word: str) -> bytes:
    return f"{word}\n".encode() + b"unchanged\n" * (BYTES[sys.argv[3]] // 10)


def notes(root: str) -> str:
    """Where temporary names are noted."""
    return f"{root}-notes"


def edit(root: str, way: Confinement, before: str, after: str) -> None:
    """Change the word in the first line."""
    known = "sha256:" + hashlib.sha256(content(before)).hexdigest()
    with Workspace(LocalStore(root, way, notes(root))) as workspace:
        workspace.edit("f", known, [{"old_text": before, "new_text": after}])


class Trace:
    """Counts the lines that run in the modules that write, each in its first turns, and dies at the last."""

    def __init__(self, last: int, traced: Collection[str | None]) -> None:
        self.lines = 0
        self.last = last
        self._traced = traced
        self._turns: Counter[tuple[CodeType, int]] = Counter()

    def __call__(self, frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename not in self._traced:
            return None
        if event == "line":
            place = (frame.f_code, frame.f_lineno)
            self._turns[place] += 1
            self.lines += self._turns[place] <= TURNS
            if self.lines == self.last:
                os.kill(os.getpid(), signal.SIGKILL)
        return self


class Moments:
    """Random moments of an edit, however fast this machine is just now.

    Two deaths make the next delays as much longer as one end makes them shorter, so that most writers die,
    and some when they are nearly done.
    """

    def __init__(self) -> None:
        self._most_s = 0.01

    def next(self) -> float:
        return random.uniform(0, self._most_s)

    def saw(self, dead: bool) -> None:
        self._most_s *= 1.2 if dead else 1 / 1.44


def died(root: str, way: Confinement, before: str, after: str, *, delay_s: float, line: int | None) -> bool:
    """Edit in a child that is killed after a time, or at a line; whether it died of that."""
    child = os.fork()
    if not child:
        sys.settrace(None if line is None else Trace(line, TRACED))
        try:
            edit(root, way, before, after)
        finally:
            os._exit(0)
    if line is None:
        select.select([], [], [], delay_s)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def attempts(root: str, way: Way, words: list[str], mode: str) -> Iterator[bool]:
    """Whether each of the writers died; the file has the first word before it, and after it either."""
    if mode == "random":
        moments = Moments()
        for _ in range(KILLS):
            dead = died(root, way, *words, delay_s=moments.next(), line=None)
            moments.saw(dead)
            yield dead
        return
    # The lines that an edit runs, in order, until one runs fewer than that and comes to its end.
    for line in count(1, STRIDES[way]):
        dead = died(root, way, *words, delay_s=0, line=line)
        yield dead
        if not dead:
            return


def main(root: str, way: Way, mode: str) -> None:
    """Kill writers and tell what was left."""
    path = Path(root, "f")
    words = ["before", "behind"]
    path.write_bytes(content(words[0]))
    # What an edit imports is there before the first writer is made, so that none has to do it.
    edit(root, way, *words)
    words.reverse()
    Path(root, FOREIGN).write_bytes(b"somebody's")
    seen: Counter[str] = Counter()
    for dead in attempts(root, way, words, mode):
        seen["died" if dead else "finished"] += 1
        seen["with litter"] += len(os.listdir(root)) > 2
        found = path.read_bytes()
        if found == content(words[1]):
            seen["new"] += 1
            words.reverse()
        else:
            seen["old" if found == content(words[0]) else "torn"] += 1
    edit(root, way, words[0], words[1])
    seen["litter at the end"] = len({*os.listdir(root)} - {"f", FOREIGN}) + len(os.listdir(notes(root)))
    seen["foreign"] = Path(root, FOREIGN).read_bytes() == b"somebody's"
    print(json.dumps(seen))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3])  # type: ignore[arg-type]  # one of the ways
