"""What keeping the past costs: an edit with and without it, a list over 100,000 changes, and the bound."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from benchmarks import targets
from benchmarks.measure import ROOT, Record, met, seconds
from benchmarks.suites.serving import load_of_machine
from readroom import OneEdit, Workspace
from readroom.core import config
from readroom.core.history.records import Draft
from readroom.core.history.settings import HistoryPolicy
from readroom.core.values.history import NOTHING, Author, EntryState

_CHANGES = 100_000
_EDITS = 400
_MEMORY = "/dev/shm"
"""A file system without a disk. Processor time is measured there: a busy machine adds to each switch."""

_TEXT = "".join(f"line {number} of a file of twenty kilobytes\n" for number in range(500))

_CHILD = """
import sys, time
from msgspec.structs import replace
from readroom import Workspace
from readroom.core import config
from readroom.core.deadline import Deadline
from readroom.core.history.settings import HistoryPolicy
from readroom.core.values.history import HistoryRequest
root, folder, what = sys.argv[1:]
store = config.open_store(root)
settings = replace(config.load(store), history=HistoryPolicy(folder=folder))
with Workspace(store, settings=settings) as workspace:
    if what == "read":
        workspace.read("a.txt")
    else:
        cap = workspace.cap(workspace.contract("native"))
        workspace.engine.perform(HistoryRequest(), cap, Deadline())
print(time.process_time())
"""


def run(record: Record) -> None:
    """Edits in turns, with a history and without one; whole processes that read and that list."""
    record.say(f"- Load of the machine: {load_of_machine()}")
    rows = []
    for name, place in (("disk", None), ("memory", _MEMORY)):
        if place is None or Path(place).is_dir():
            with TemporaryDirectory(prefix="readroom-keeping-", dir=place) as folder:
                rows.append(_edits(record, name, Path(folder)))
    record.table(
        [
            "edit of a file of 20 KB: time on disk, processor time in memory",
            "without",
            "with",
            "paired ratio",
        ],
        rows,
    )
    with TemporaryDirectory(prefix="readroom-keeping-") as name:
        _listed(record, Path(name))


def _opened(root: Path, folder: Path, *, enabled: bool) -> tuple[Workspace, str]:
    root.mkdir()
    (root / "a.txt").write_text(_TEXT)
    store = config.open_store(root)
    policy = HistoryPolicy(enabled=enabled, folder=str(folder))
    workspace = Workspace(store, settings=replace(config.load(store), history=policy))
    return workspace, str(workspace.read("a.txt").facts["content_hash"])


def _edits(record: Record, name: str, folder: Path) -> list[str]:
    without, with_it = (
        _opened(folder / kind, folder / "history", enabled=kind == "on") for kind in ("off", "on")
    )
    known = {"off": without[1], "on": with_it[1]}
    spent: dict[str, list[float]] = {"off": [], "on": []}
    clock = time.thread_time if name == "memory" else time.perf_counter
    for turn in range(_EDITS):
        for kind in ("off", "on") if turn % 2 else ("on", "off"):
            workspace = (without if kind == "off" else with_it)[0]
            old, new = (f"line 250 {'x' * (number % 40)}of" for number in (turn, turn + 1))
            edit: OneEdit = {"old_text": old, "new_text": new}
            start = clock()
            reply = workspace.edit("a.txt", known[kind], [edit])
            spent[kind].append(clock() - start)
            known[kind] = str(reply.facts["content_hash"])
    for workspace, _ in (without, with_it):
        workspace.close()
    off, on = (record.add("edit", name, kind, spent[kind], "s") for kind in ("off", "on"))
    ratio = statistics.median(b / a for a, b in zip(spent["off"], spent["on"], strict=True))
    return [name, seconds(off), seconds(on), met(ratio, targets.KEPT_EDIT)]


def _listed(record: Record, folder: Path) -> None:
    root, history = folder / "root", folder / "history"
    workspace, _ = _opened(root, history, enabled=True)
    kept = workspace.engine.services.history
    assert kept is not None
    book, before = kept.book(), NOTHING
    data_before: bytes | None = None
    for number in range(_CHANGES):
        data = f"content {number}\n".encode() * 20
        after = EntryState("file", len(data), content_hash=f"sha256:{sha256(data).hexdigest()}", kept=True)
        author = Author(f"agent{number % 3}", session=f"s{number // 200}", face="mcp", contract="native")
        draft = Draft(f"src/f{number % 50}.py", before, after, None, data_before, data)
        book.made(book.begin(author, None, [draft])[0])
        before, data_before = after, data
    workspace.close()
    spent = {what: [_child(root, history, what) for _ in range(7)] for what in ("read", "list")}
    read, listed = (record.add("process", f"{_CHANGES}", what, spent[what], "s") for what in ("read", "list"))
    size = sum(path.stat().st_size for path in history.iterdir())
    share = met(size / HistoryPolicy().most_bytes, 1.0)
    record.table(
        ["changes", "process that reads", "that lists", "ratio", "bytes on disk, to the bound"],
        [[f"{_CHANGES:,}", seconds(read), seconds(listed), met(listed / read, targets.KEPT_LIST), share]],
    )


def _child(root: Path, history: Path, what: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(root), str(history), what],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return float(done.stdout)
