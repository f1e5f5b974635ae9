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
import time
from collections import Counter
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

from readroom.stores.local import Confinement, LocalStore, locks, place, rename, unfinished
from readroom.text.edits import splice
from readroom.workspace import Workspace
from tests.depth import depth

KILLS = depth(200, 40)
STRIDE = depth(1, 6)
"""Each line is died at, or each sixth."""

BYTES = {"random": 3_000_000, "lines": 300_000}
"""Large enough that writing takes most of the time, and that it takes several pieces."""

TRACED = {module.__file__ for module in (place, rename, locks, place, splice, unfinished)}

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
    """Counts the lines that run in the modules that write, and dies at the last of them."""

    def __init__(self, last: int) -> None:
        self.lines = 0
        self.last = last

    def __call__(self, frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename not in TRACED:
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self.last:
                os.kill(os.getpid(), signal.SIGKILL)
        return self


def died(root: str, way: Confinement, before: str, after: str, *, delay_s: float, line: int | None) -> bool:
    """Edit in a child that is killed after a time, or at a line; whether it died of that."""
    child = os.fork()
    if not child:
        sys.settrace(None if line is None else Trace(line))
        try:
            edit(root, way, before, after)
        finally:
            os._exit(0)
    if line is None:
        select.select([], [], [], delay_s)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def main(root: str, way: Confinement, mode: str) -> None:
    """Kill writers and tell what was left."""
    path = Path(root, "f")
    words = ["before", "behind"]
    path.write_bytes(content(words[0]))
    Path(root, FOREIGN).write_bytes(b"somebody's")
    # By lines: the lines that an edit runs, in order, until one runs fewer than that and comes to its end.
    lines = ((0.0, line) for line in count(random.randint(1, STRIDE), STRIDE))
    moments: Iterable[tuple[float, int | None]] = lines
    if mode == "random":
        moments = at_random(root, way, words)
    seen: Counter[str] = Counter()
    for delay_s, line in moments:
        dead = died(root, way, words[0], words[1], delay_s=delay_s, line=line)
        left = os.listdir(root)
        seen["died" if dead else "finished"] += 1
        seen["with litter"] += len(left) > 2
        found = path.read_bytes()
        if found == content(words[1]):
            seen["new"] += 1
            words.reverse()
        else:
            seen["old" if found == content(words[0]) else "torn"] += 1
        if line is not None and not dead:
            break
    edit(root, way, words[0], words[1])
    seen["litter at the end"] = len({*os.listdir(root)} - {"f", FOREIGN}) + len(os.listdir(notes(root)))
    seen["foreign"] = Path(root, FOREIGN).read_bytes() == b"somebody's"
    print(json.dumps(seen))


def at_random(root: str, way: Confinement, words: list[str]) -> list[tuple[float, int | None]]:
    """Moments within the time that an edit takes, and a little after."""
    began = time.perf_counter()
    edit(root, way, words[0], words[1])
    edit(root, way, words[1], words[0])
    took = (time.perf_counter() - began) / 2
    return [(random.uniform(0, 1.2 * took), None) for _ in range(KILLS)]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3])  # type: ignore[arg-type]  # one of the ways
