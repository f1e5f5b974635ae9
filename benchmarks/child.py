"""Cases that are measured from inside a fresh process, because of their peak memory.

`python -m benchmarks.child CASE ARGUMENT...` prints one JSON object: seconds of
the first and of later calls, and the peak memory before and after them.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.measure import peak_mb
from readroom import Workspace
from readroom.core import config
from readroom.core.session.index_files import IndexPolicy
from readroom.core.values import Fact

_KEPT_NOWHERE = config.Settings(index=IndexPolicy(keep=False))
"""So that the first page is the first: an index that an earlier run left on disk would be found."""

_LATER = 31
"""Later calls whose median is taken."""


def pages(file: str, line: str) -> dict[str, float]:
    """A page at `line` of a log: cold index, then other pages around it."""
    path = Path(file)
    start = int(line)
    with Workspace(path.parent, settings=_KEPT_NOWHERE) as workspace:
        first: dict[str, Fact] = {"path": path.name, "offset": start, "limit": 500}
        later: list[dict[str, Fact]] = [
            {"path": path.name, "offset": max(1, start - 997 * number), "limit": 500}
            for number in range(1, _LATER + 1)
        ]
        return _measure(workspace, "read_file", first, later)


def giant(file: str, kept: str, line: str, append: str) -> dict[str, float]:
    """A page at `line` of a giant log with indexes kept on disk, other pages; its end when appended to."""
    path, start = Path(file), int(line)
    settings = config.Settings(index=IndexPolicy(folder=kept, settled_ms=0.0))
    with Workspace(path.parent, settings=settings) as workspace:
        first: dict[str, Fact] = {"path": path.name, "offset": start, "limit": 500}
        later: list[dict[str, Fact]] = [
            {"path": path.name, "offset": max(1, start - start // (_LATER + 1) * number), "limit": 500}
            for number in range(1, _LATER + 1)
        ]
        found = _measure(workspace, "read_file", first, later)
        if append == "append":
            with open(path, "ab") as log:
                log.write(b"one more line of a log\n" * 50_000)
            end: dict[str, Fact] = {"path": path.name, "offset": -500}
            found["appended_s"] = _timed(lambda: workspace.perform("read_file", end))
            found["peak_mb"] = peak_mb()
    return found


def columns(file: str) -> dict[str, float]:
    """The first piece of a one-line file, then pieces from all over it."""
    path = Path(file)
    step = path.stat().st_size // (_LATER + 1)
    with Workspace(path.parent, settings=_KEPT_NOWHERE) as workspace:
        later: list[dict[str, Fact]] = [
            {"path": path.name, "column": 1 + step * number} for number in range(1, _LATER + 1)
        ]
        return _measure(workspace, "read_file", {"path": path.name}, later)


def search(tree: str, pattern: str, limit: str) -> dict[str, float]:
    """A search of a tree, once and again."""
    with Workspace(tree) as workspace:
        asked: dict[str, Fact] = {"pattern": pattern, "limit": int(limit), "timeout_s": 60}
        return _measure(workspace, "grep_files", asked, [asked] * 5)


def listing(folder: str) -> dict[str, float]:
    """The first page of a folder, once and again."""
    with Workspace(folder) as workspace:
        return _measure(workspace, "list_directory", {}, [{}] * 5)


def _measure(
    workspace: Workspace, tool: str, first: dict[str, Fact], later: Sequence[dict[str, Fact]]
) -> dict[str, float]:
    # Everything is imported and warm before the idle peak is taken: a small call of each tool.
    workspace.call("read_file", {"path": "no such file"})
    workspace.call("list_directory", {"path": "no such folder"})
    workspace.call("grep_files", {"pattern": "x", "path": "no such folder"})
    idle = peak_mb()
    first_s = _timed(lambda: workspace.perform(tool, first))
    again = [_timed(lambda asked=asked: workspace.perform(tool, asked)) for asked in later]  # type: ignore[misc]
    return {"first_s": first_s, "later_s": statistics.median(again), "idle_mb": idle, "peak_mb": peak_mb()}


def _timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


CASES: dict[str, Callable[..., dict[str, float]]] = {
    "pages": pages,
    "columns": columns,
    "giant": giant,
    "search": search,
    "listing": listing,
}

if __name__ == "__main__":
    print(json.dumps(CASES[sys.argv[1]](*sys.argv[2:])))
