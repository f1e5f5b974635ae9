"""Charts and tables of the documentation that are drawn from committed runs, and from nothing else."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

from scripts.charts import Bar, Panel, Parted, bars, parted
from scripts.docs.tables import table

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "benchmarks" / "runs"
DRAWN = ROOT / "docs" / "charts"

READING, GIANT, INTEGRITY = "2026-11-23-reading-side", "2026-11-21-giant-logs", "2026-11-21-integrity"
FIND, SERVING, INSTALL = "2026-11-23-find", "2026-11-25-serving", "2026-11-22-install"
OUTLINING = "2026-11-25-outlining"


# -----------------------------------------------------------------------------
# What a run says: medians of its raw rows, and the tables of its summary.
# -----------------------------------------------------------------------------


def measured(run: str, case: str, candidate: str, unit: str) -> float:
    """The median of one row of a run."""
    with open(RUNS / run / "raw.csv", encoding="utf-8", newline="") as file:
        values = [
            float(row["value"])
            for row in csv.DictReader(file)
            if (row["case"], row["candidate"], row["unit"]) == (case, candidate, unit)
        ]
    return median(values)


def tables(path: str) -> list[list[list[str]]]:
    """Every table of a Markdown file of a run: heads, then rows, without what parts them."""
    found: list[list[list[str]]] = []
    was_table = False
    for line in (RUNS / path).read_text(encoding="utf-8").split("\n"):
        if not line.startswith("|"):
            was_table = False
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not was_table:
            found.append([])
        was_table = True
        if not set("".join(cells)) <= set("-: "):
            found[-1].append(cells)
    return found


def run_table(path: str, which: str = "1") -> str:
    """A table of a run as it stands there."""
    heads, *rows = tables(path)[int(which) - 1]
    return table(heads, rows)


def runs_list() -> str:
    """Every committed run, with the command that made it where its summary says so."""
    rows = []
    for folder in sorted(RUNS.iterdir(), reverse=True):
        page = next((folder / name for name in ("README.md", "summary.md") if (folder / name).exists()), None)
        if page is None:
            continue
        words = "\n".join(one.read_text(encoding="utf-8") for one in folder.glob("*.md"))
        command = re.search(r"`((?:python -m benchmarks|scripts/)[^`]*)`", words)
        link = f"[{folder.name}](../benchmarks/runs/{folder.name}/{page.name})"
        rows.append([link, f"`{command[1]}`" if command else ""])
    return table(["run", "made with"], rows)


# -----------------------------------------------------------------------------
# The charts, by the name of their file.
# -----------------------------------------------------------------------------


def _share(path: str, which: int, name: str, column: int) -> float:
    for row in tables(path)[which - 1][1:]:
        if row[0].strip("*").startswith(name):
            return float(row[column].split(" ")[0].replace(",", ""))
    raise KeyError(name)


def saves() -> str:
    """What it saves, in one picture."""
    ours, theirs = (
        measured(READING, "10,000 entries", one, "tokens") for one in ("readroom", "server-filesystem")
    )
    outlined = _share(f"{OUTLINING}/summary.md", 1, "Python library", 6)
    fixes = f"{FIND}/fixes.md"
    found = {one: _share(fixes, 1, one, 2) for one in ("find_relevant", "grep, then windows")}
    held, whole = _giant()
    return bars(
        "What it saves",
        [
            Panel(
                "Tokens to list a folder of 10,000 names",
                [
                    _tokens("readroom, its first page", ours),
                    _tokens("server-filesystem, all names", theirs),
                ],
            ),
            Panel(
                "Share of tokens to know what a Python module defines",
                [
                    Bar("readroom, its outline", outlined, f"{outlined:.0%}"),
                    Bar("reading the module", 1, "100%"),
                ],
            ),
            Panel(
                "Share of the lines a fix needs, seen within 5,000 tokens",
                [
                    Bar("readroom find_relevant", found["find_relevant"], f"{found['find_relevant']:.0f}%"),
                    Bar("search, then windows around hits", *_percent(found["grep, then windows"])),
                ],
            ),
            Panel(
                "Memory to show a page of a log of about a gigabyte",
                [Bar("readroom", held, f"{held:.1f} MB"), Bar("mcp-text-editor", whole, f"{whole:,.0f} MB")],
            ),
        ],
        f"benchmarks/runs: {READING}, {OUTLINING}, {FIND}, {GIANT}",
    )


def _giant() -> tuple[float, float]:
    """Megabytes above idle, ours and of an editor that reads files whole."""
    words = (RUNS / GIANT / "summary.md").read_text(encoding="utf-8")
    row = next(row for row in tables(f"{GIANT}/summary.md")[0] if row[0] == "1 GB")
    theirs = re.search(r"mcp-text-editor on [^,]*, every call: [^,]*, [^,]*, ([\d,]+) MB above idle", words)
    assert theirs is not None
    return float(row[-1].split(" ")[0]), float(theirs[1].replace(",", ""))


def _tokens(label: str, value: float) -> Bar:
    return Bar(label, value, f"{value:,.0f}")


def _percent(value: float) -> tuple[float, str]:
    return value, f"{value:.0f}%"


def edits() -> str:
    """Edits in eight encodings, by what became of the file."""
    heads, *rows = tables(f"{INTEGRITY}/summary.md")[0]
    sorts = ("exact", "refused", "damaged", "wrong inside")
    shown = [Parted(row[0], {sort: int(row[heads.index(sort)]) for sort in sorts}) for row in rows]
    return parted(
        "192 edits in eight encodings: what became of the file", shown, f"benchmarks/runs/{INTEGRITY}"
    )


def giant() -> str:
    """A page at nine tenths of a log."""
    heads, *rows = tables(f"{GIANT}/summary.md")[0]
    seconds = {"µs": 1e-6, "ms": 1e-3, "s": 1.0}
    columns = {
        "sed to the line": "sed",
        "first, new process": "readroom, first",
        "new process, kept index": "readroom, index kept",
        "later": "readroom, next page",
    }

    def bar(row: Sequence[str], head: str, label: str) -> Bar:
        value, unit = row[heads.index(head)].split(" ")
        return Bar(label, float(value) * seconds[unit], f"{value} {unit}")

    panels = [Panel(row[0], [bar(row, head, label) for head, label in columns.items()]) for row in rows]
    return bars("Time to a page of 500 lines at nine tenths of a log", panels, f"benchmarks/runs/{GIANT}")


def find() -> str:
    """Lines that a fix needs, by budget."""
    heads, *rows = tables(f"{FIND}/fixes.md")[0]
    panels = []
    for at in (1, 2, 3):
        shown = [Bar(_way(row[0]), *_percent(float(row[at].split(" ")[0]))) for row in rows]
        panels.append(Panel(f"within {heads[at]}", shown))
    return bars("Share of the lines that 80 fixes needed, seen", panels, f"benchmarks/runs/{FIND}")


def _way(name: str) -> str:
    return name.replace("find_relevant", "readroom find", 1)


def questions() -> str:
    """Ranking of files for questions."""
    heads, *rows = tables(f"{FIND}/files.md")[0]
    named = [row for row in rows if row[0].strip("*").startswith(("all", "tuning", "check"))]
    panels = []
    for row in named:
        shown = [Bar(head, float(row[at]), row[at]) for at, head in enumerate(heads) if at]
        panels.append(Panel(row[0].replace("*", ""), shown))
    return bars("The right file first: NDCG@10 of questions about code", panels, f"benchmarks/runs/{FIND}")


def requests() -> str:
    """Processor time of one HTTP request."""
    heads, *rows = tables(f"{SERVING}/summary.md")[0]
    at = heads.index("processor time of one")
    scale = {"µs": 1.0, "ms": 1000.0}
    shown = []
    for row in rows:
        value, unit = row[at].split(" ")
        if "search" not in row[0]:
            shown.append(Bar(row[0].replace("`", ""), float(value) * scale[unit], row[at]))
    return bars("Processor time of one HTTP request", [Panel("", shown)], f"benchmarks/runs/{SERVING}")


def install() -> str:
    """What the base and each extra of its own weigh."""
    rows = json.loads((RUNS / INSTALL / "results.json").read_text(encoding="utf-8"))
    first = rows[0]["python"]
    shown = [
        Bar(f"readroom[{row['extra']}]" if row["extra"] else "readroom", row["mb"], f"{row['mb']} MB")
        for row in rows
        if row["python"] == first
    ]
    return bars(f"Size of an install, Python {first}", [Panel("", shown)], f"benchmarks/runs/{INSTALL}")


CHARTS: Mapping[str, Callable[[], str]] = {
    "saves": saves,
    "edits": edits,
    "giant": giant,
    "find": find,
    "questions": questions,
    "requests": requests,
    "install": install,
}


def stale() -> dict[Path, str]:
    """Charts that are not what the runs say, with what they ought to be."""
    drawn = {DRAWN / f"{name}.svg": draw() for name, draw in CHARTS.items()}
    return {
        path: text
        for path, text in drawn.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    }


BLOCKS: Mapping[str, Callable[..., str]] = {"run-table": run_table, "runs-list": runs_list}
