"""Pages of ranked reading on fixes: what two versions show, beside two other ways, fix by fix.

    python -m benchmarks.find.pages --clones FOLDER --work FOLDER --out RUN --version after [--first 4]
    python -m benchmarks.find.pages --out RUN --summary

Each fix is a question twice: with the words of its message, and with its subject.  Rows are kept as they
come, so that a run can be stopped and go on.  The version before is measured with its source on PYTHONPATH;
peers need no version, but the plain method uses how this one splits text into words and definitions.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple, TypeAlias

from benchmarks.find.fixes import BUDGETS, coverage, interval
from benchmarks.find.mining import Case, mined
from benchmarks.find.peers import semble_index
from benchmarks.find.plain import plain_files, plain_parts
from benchmarks.find.queries import ndcg, unpack
from benchmarks.find.ways import Shown, patient, ranked
from readroom import Workspace

HALVES = ("set", "shown")
_MIDDLE = f"seen_at_{BUDGETS[1]}"
_SEMBLE_CHUNKS = 200
"""Chunks of semble that are read, one after the other: more than 10,000 tokens."""

_LARGE_TOKENS = 4700
HEAD = (
    *("version", "question", "half", "repository", "commit", "way", "ndcg_of_files"),
    *(f"seen_at_{budget}" for budget in BUDGETS),
)

Row: TypeAlias = dict[str, str]


class _Reading(NamedTuple):
    """The best files for a question, and the replies that show passages."""

    files: Sequence[str]
    replies: Iterator[Shown]


_Read: TypeAlias = Callable[[Path, str], _Reading]


@lru_cache(maxsize=1)
def _opened(folder: Path) -> Workspace:
    return patient(folder)


def _product(budget: int | None, folder: Path, question: str) -> _Reading:
    workspace = _opened(folder)
    files: Any = workspace.find(question, output="files").facts["files"]
    return _Reading([one["path"] for one in files], ranked(workspace, folder, question, budget))


def _plain(folder: Path, question: str) -> _Reading:
    return _Reading(plain_files(folder, question), plain_parts(_opened(folder), folder, question))


class _Semble:
    """semble without a model, asked for whole chunks; it has no pages, so each chunk counts as a reply."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._index: Any = None

    def __call__(self, folder: Path, question: str) -> _Reading:
        if self._folder != folder:
            self._folder, self._index = folder, semble_index(folder)
        found = self._index.search(question, top_k=_SEMBLE_CHUNKS, alpha=0.0)
        files = dict.fromkeys(str(one.chunk.file_path) for one in found)
        return _Reading(list(files), map(self._reply, found))

    @staticmethod
    def _reply(found: Any) -> Shown:
        chunk = found.chunk
        path, first, last = str(chunk.file_path), chunk.start_line, chunk.end_line
        entry = {"file_path": path, "start_line": first, "end_line": last, "score": found.score}
        text = json.dumps({**entry, "content": chunk.content})
        return text, {(path, line) for line in range(first, last + 1)}


WAYS: dict[str, _Read] = {
    "find_relevant": lambda folder, question: _product(None, folder, question),
    "find_relevant, pages of 4,700": lambda folder, question: _product(_LARGE_TOKENS, folder, question),
    "plain parts": _plain,
    "semble, no model": _Semble(),
}


def main() -> None:
    """Measure what is missing of a run, or summarize it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--clones", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--version", choices=("before", "after"), default="after")
    parser.add_argument("--way", action="append", choices=list(WAYS), help="all of them unless given")
    parser.add_argument("--half", action="append", choices=HALVES, help="both unless given")
    parser.add_argument("--first", type=int, help="so many fixes of each project")
    given = parser.parse_args()
    if given.summary:
        _summarize(given.out)
        return
    given.out.mkdir(parents=True, exist_ok=True)
    halves = given.half or HALVES
    cases = [case for case in mined(given.clones, given.work / "fixes.json") if case.half in halves]
    measure(_drawn(cases, given.first), given.clones, given.work / "trees", given)


def _summarize(run: Path) -> None:
    """Write what was measured into one file, and its summary beside it."""
    rows = kept(run)
    for part in run.glob("part-*.csv"):
        part.unlink()
    with (run / "pages.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, HEAD)
        writer.writeheader()
        writer.writerows(rows)
    (run / "pages.md").write_text(summary(rows), encoding="utf-8")


def _drawn(cases: Sequence[Case], first: int | None) -> Iterator[Case]:
    """The first fix of each project, then the second of each, and so on."""
    projects = [list(own) for _, own in groupby(cases, key=lambda case: case.repository)]
    for number in range(max(map(len, projects)) if first is None else first):
        yield from (own[number] for own in projects if number < len(own))


def measure(cases: Iterator[Case], clones: Path, trees: Path, given: argparse.Namespace) -> None:
    """Add the rows that a run lacks."""
    there = {_key(row) for row in kept(given.out)}
    path = given.out / f"part-{os.getpid()}.csv"
    ways = given.way or list(WAYS)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, HEAD)
        writer.writeheader()
        for case in cases:
            for row in _rows(case, _tree(case, clones, trees), given.version, ways, there):
                writer.writerow(row)
            file.flush()


def _tree(case: Case, clones: Path, trees: Path) -> Path:
    folder = trees / f"{case.repository}-{case.commit[:12]}"
    if not folder.exists():
        part = folder.with_suffix(".part")
        part.mkdir(parents=True)
        unpack(clones / case.repository / "repo", f"{case.commit}^", part)
        part.rename(folder)
    return folder


def _rows(
    case: Case, folder: Path, version: str, ways: Sequence[str], there: set[tuple[str, ...]]
) -> Iterator[Row]:
    gold = {(path, line) for path, lines in case.gold.items() for line in lines}
    for question, text in (("words", case.query), ("subject", case.query.partition("\n")[0])):
        for way in ways:
            about = (version, question, case.half, case.repository, case.commit[:12], way)
            if about in there:
                continue
            reading = WAYS[way](folder, text)
            _, shares = coverage(reading.replies, gold)
            figures = [ndcg(reading.files, list(case.gold)), *shares]
            yield dict(zip(HEAD, [*about, *(f"{figure:.4f}" for figure in figures)], strict=True))


def kept(run: Path) -> list[Row]:
    """The rows of a run, in the order of the fixes."""
    rows = []
    for path in sorted(run.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows += [row for row in csv.DictReader(file) if tuple(row) == HEAD]
    return sorted({_key(row): row for row in rows}.values(), key=_key)


def _key(row: Row) -> tuple[str, ...]:
    return tuple(row[name] for name in HEAD[:6])


_FIGURES = HEAD[6:]
_COLUMNS = ("files, NDCG@10", *(f"{budget:,}" for budget in BUDGETS))

_Fix: TypeAlias = tuple[str, ...]
_Figures: TypeAlias = dict[_Fix, list[float]]
"""The figures of one way, for each fix by half and question."""


def summary(rows: Sequence[Row]) -> str:
    """Means of the versions, and of all ways on the fixes that all have read, then pairs with intervals."""
    ways: dict[str, _Figures] = {}
    for row in rows:
        product = row["way"].startswith("find_relevant")
        name = f"{row['way']}, {row['version']}" if product else row["way"]
        fix = (row["half"], row["question"], row["repository"], row["commit"])
        ways.setdefault(name, {})[fix] = [float(row[figure]) for figure in _FIGURES]
    before, after = (ways.pop(f"find_relevant, {version}") for version in ("before", "after"))
    own = {"before": before, "after": after}
    lines = ["# Order of files, and share of the needed lines that was seen by so many tokens", ""]
    lines.append("Means in percent; paired differences with intervals of 95 % from 10,000 bootstrap samples.")
    lines += ["", "## Before and after", "", *_means(own), "", *_differences("before", after, before)]
    lines += ["", "## Beside other ways, on the fixes that all have read", "", *_means({**own, **ways})]
    for name, other in ways.items():
        lines += ["", *_differences(name, after, other)]
    return "\n".join(lines) + "\n"


def _groups(fixes: Iterator[_Fix]) -> Iterator[tuple[str, list[_Fix]]]:
    """The fixes of each half and of both, by the question, with a heading."""
    there = sorted(fixes)
    for half in (*HALVES, "both"):
        for question in ("words", "subject"):
            own = [fix for fix in there if half in (fix[0], "both") and fix[1] == question]
            if own:
                yield f"{half}, {question}", own


def _means(ways: dict[str, _Figures]) -> Iterator[str]:
    common = set.intersection(*(set(figures) for figures in ways.values()))
    yield f"| half, question | fixes | way | {' | '.join(_COLUMNS)} |"
    yield "| --- " * (len(_COLUMNS) + 3) + "|"
    for heading, fixes in _groups(iter(common)):
        for name, figures in ways.items():
            means = (mean(figures[fix][at] for fix in fixes) for at in range(len(_COLUMNS)))
            yield f"| {heading} | {len(fixes)} | {name} | {' | '.join(f'{100 * one:.1f}' for one in means)} |"


def _differences(name: str, after: _Figures, other: _Figures) -> Iterator[str]:
    yield f"| after less {name}: half, question | fixes | {' | '.join(_COLUMNS)} | better, worse by 5,000 |"
    yield "| --- " * (len(_COLUMNS) + 3) + "|"
    for heading, fixes in _groups(iter(set(after) & set(other))):
        columns = [[after[fix][at] - other[fix][at] for fix in fixes] for at in range(len(_COLUMNS))]
        cells = " | ".join(interval(column, signed=True) for column in columns)
        middle = columns[_FIGURES.index(_MIDDLE)]
        better, worse = sum(one > 0 for one in middle), sum(one < 0 for one in middle)
        yield f"| {heading} | {len(fixes)} | {cells} | {better}, {worse} |"


if __name__ == "__main__":
    main()
