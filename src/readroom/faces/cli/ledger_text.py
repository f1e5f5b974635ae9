"""How the ledger looks on a terminal: columns as wide as they need, and always of how many."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime

from readroom.ledger.reading import Total, Twice
from readroom.ledger.rows import COLUMNS, Row
from readroom.ledger.verify import Verdict
from readroom.quoting import as_given

_PATH_CHARS = 48
"""A longer path is shortened in the middle; --json has all of it."""


def fact_of(row: Row) -> dict[str, object]:
    """A row for programs."""
    found = dict(zip(COLUMNS, row.values(), strict=True))
    return {
        **found,
        "time": _time(row.event.time_us, "%Y-%m-%dT%H:%M:%S.%fZ"),
        "arguments": json.loads(row.event.arguments or "null"),
        "shown": json.loads(row.event.shown),
    }


def of_rows(rows: Sequence[Row], total: int) -> str:
    """Calls, one a line."""
    if not rows:
        return "No calls."
    heads = ("row", "time (UTC)", "agent", "folder", "tool", "path", "lines", "outcome", "tokens", "ms")
    cells = [
        (
            str(row.number),
            _time(row.event.time_us, "%m-%d %H:%M:%S"),
            row.event.agent or row.event.face,
            _short(_home(row.event.workspace)),
            row.event.tool,
            _short(as_given(row.event.path or "")),
            _lines(row),
            row.event.outcome,
            f"{row.event.tokens:,}",
            f"{row.event.duration_us / 1000:,.1f}",
        )
        for row in rows
    ]
    return f"{_table(heads, cells)}\n{_of(len(rows), total, 'calls')}"


def of_totals(shown: Sequence[Total], every: Sequence[Total], by: str) -> str:
    """Sums, one a line, then the sum of all."""
    if not every:
        return "No calls."
    heads = (by, "calls", "failed", "tokens")
    named = as_given if by == "path" else str
    cells = [
        (
            _short(named(one.name)) or "-",
            f"{one.calls:,}",
            f"{one.failed:,}",
            f"{one.tokens:,}",
        )
        for one in shown
    ]
    tokens = sum(one.tokens for one in every)
    return f"{_table(heads, cells)}\n{_of(len(shown), len(every), 'lines')}, {tokens:,} tokens in all"


def of_twice(shown: Sequence[Twice], total: int) -> str:
    """Spans that were shown again."""
    if not shown:
        return "Nothing was shown twice."
    heads = ("path", "lines", "session", "times", "rows")
    cells = [
        (
            _short(as_given(one.path)),
            f"{one.first}-{one.last}",
            _short(one.session) or "-",
            str(len(one.rows)),
            ", ".join(map(str, one.rows[:8])) + (", ..." if len(one.rows) > 8 else ""),
        )
        for one in shown
    ]
    return f"{_table(heads, cells)}\n{_of(len(shown), total, 'spans')}"


def of_verdict(verdict: Verdict, name: str) -> str:
    """Whether the chain holds, and the head to note elsewhere."""
    if verdict.problems:
        told = "\n".join(f"  {problem}" for problem in verdict.problems)
        return f"{name} does not verify:\n{told}"
    since = f" after row {verdict.start.number:,}" if verdict.start.number else ""
    lines = [f"{name} verifies: {verdict.rows:,} rows{since}, each as it was written."]
    if verdict.head.number:
        lines.append(f"Head: {verdict.head.number}:{verdict.head.hash}")
    return "\n".join(lines)


def _home(folder: str) -> str:
    """A folder below the user's own as a shell writes it."""
    home = os.path.expanduser("~")
    return f"~{folder[len(home) :]}" if folder == home or folder.startswith(home + os.sep) else folder


def _time(time_us: int, form: str) -> str:
    return datetime.fromtimestamp(time_us / 1_000_000, UTC).strftime(form)


def _lines(row: Row) -> str:
    spans = [one for one in row.event.spans if one.last]
    if not spans:
        return ""
    if len(spans) == 1:
        return f"{spans[0].first}-{spans[0].last}"
    return f"{sum(one.last - one.first + 1 for one in spans)} in {len({one.path for one in spans})} files"


def _short(text: str) -> str:
    if len(text) <= _PATH_CHARS:
        return text
    half = _PATH_CHARS // 2
    return f"{text[: half - 1]}…{text[-half:]}"


def _of(shown: int, total: int, unit: str) -> str:
    unit = unit[:-1] if total == 1 else unit
    return f"{total:,} {unit}" if shown == total else f"{shown:,} of {total:,} {unit} (--limit shows more)"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns; those of numbers to the right."""
    widths = [max(len(row[at]) for row in [heads, *rows]) for at in range(len(heads))]
    right = {"row", "tokens", "ms", "calls", "failed", "times"}
    return "\n".join(
        "  ".join(
            cell.rjust(width) if head in right else cell.ljust(width)
            for head, cell, width in zip(heads, row, widths, strict=True)
        ).rstrip()
        for row in [heads, *rows]
    )
