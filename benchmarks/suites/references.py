"""References of names: their cost beside the search and a parse of the files that match."""

from __future__ import annotations

import statistics
import sysconfig
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import targets
from benchmarks.measure import Record, counted, met, seconds, take_turns
from readroom import Workspace
from readroom.core.outline.grammars import grammar_of
from readroom.core.outline.syntax import load

_NAMES = ("urlopen", "OrderedDict")
"""In 75 and in 231 files."""

_ROUNDS, _PAGE = 3, 200


def run(record: Record) -> None:
    """Python's own library: a page of references, and a search with a parse of each file that it found.

    The search counts the matches of all files, and the parse is that of the grammar alone, of whole files.  A
    page of references tells every place apart, sorts them by kind, and shows 200.  Unfair to readroom: what
    is read and parsed beside it is known before.  Candidates take turns; times are those of the processor.
    """
    folder = sysconfig.get_path("stdlib")
    with Workspace(folder) as workspace:
        table = [_row(record, workspace, Path(folder), name) for name in _NAMES]
    head = ["name", "files", "matches", "search", "parse", "references", "ratio to search and parse"]
    record.table(head, table)


def _row(record: Record, workspace: Workspace, folder: Path, name: str) -> list[str]:
    counts = _counts(workspace, name)
    texts = [(folder / path).read_bytes() for path in counts if path.endswith(".py")]
    candidates: dict[str, Callable[[], object]] = {
        "search": partial(_counts, workspace, name),
        "parse": partial(_parse, texts),
        "references": partial(workspace.grep, name, output="references", limit=_PAGE, timeout_s=200),
    }
    spent: dict[str, list[float]] = {who: [] for who in candidates}
    take_turns({who: counted(run, spent[who]) for who, run in candidates.items()}, _ROUNDS)
    took = {who: record.add(name, "processor", who, values, "s") for who, values in spent.items()}
    turns = zip(*spent.values(), strict=True)
    ratio = statistics.median(ours / (search + parse) for search, parse, ours in turns)
    record.add(name, "ratio", "references", [ratio], "ratio")
    return [
        f"`{name}`",
        f"{len(counts):,}",
        f"{sum(counts.values()):,}",
        *(seconds(took[who]) for who in candidates),
        met(ratio, targets.REFERENCES),
    ]


def _counts(workspace: Workspace, name: str) -> dict[str, int]:
    """The matches of a name by file, from all pages of a search."""
    found: dict[str, int] = {}
    cursor: str | None = None
    while True:
        more: Any = {} if cursor is None else {"cursor": cursor}
        pattern = rf"\b{name}\b"
        facts: Any = workspace.grep(pattern, output="count", limit=5000, timeout_s=200, **more).facts
        found |= {file["path"]: file["matches"] for file in facts["files"]}
        if facts["next"] is None:
            return found
        cursor = facts["next"]["arguments"]["cursor"]


def _parse(texts: list[bytes]) -> None:
    from tree_sitter import Parser

    for text in texts:
        Parser(load(grammar_of("python"))).parse(text)
