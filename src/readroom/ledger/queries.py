"""Questions to a ledger: which calls, how much by what, and what was shown twice."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, TextIO

from msgspec import Struct, field

from readroom.errors import MissingProgram
from readroom.extras import install
from readroom.ledger.ledger import Condition
from readroom.ledger.rows import COLUMNS, Row
from readroom.limits.session import LEDGER_PAGE_ROWS


class Filter(Struct, frozen=True):
    """Which rows are meant; None means any.

    Attributes:
        agent, session, tool, face, workspace, outcome: Exactly these.
            Outcome `failed` is all but ok and begun.
        path: This file, or what lies below this folder; also where a search showed lines of it.
        since_us: Not before that time.
        until_us: Before that time.
        refused: Only what policy refused.
    """

    agent: str | None = None
    session: str | None = None
    tool: str | None = None
    face: str | None = None
    workspace: str | None = None
    outcome: str | None = None
    path: str | None = None
    since_us: int | None = None
    until_us: int | None = None
    refused: bool = False

    def conditions(self) -> list[Condition]:
        """For a ledger."""
        conditions = [
            Condition(f"{name} = ?", (value,))
            for name in ("agent", "session", "tool", "face", "workspace", "outcome")
            if (value := getattr(self, name)) is not None and (name, value) != ("outcome", "failed")
        ]
        if self.outcome == "failed":
            conditions.append(Condition("outcome NOT IN ('ok', 'begun')", ()))
        if self.path is not None:
            conditions.append(_about(self.path.rstrip("/") or "."))
        if self.since_us is not None:
            conditions.append(Condition("time_us >= ?", (self.since_us,)))
        if self.until_us is not None:
            conditions.append(Condition("time_us < ?", (self.until_us,)))
        if self.refused:
            conditions.append(Condition("decision = 'refused'", ()))
        return conditions


def _about(path: str) -> Condition:
    literal = path.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    # `shown` is JSON: a path in it begins after a bracket and a quote, and is escaped as JSON is.
    quoted = literal.replace("\\", "\\\\").replace('"', '\\"')
    return Condition(
        "path = ? OR path LIKE ? ESCAPE '!' OR shown LIKE ? ESCAPE '!' OR shown LIKE ? ESCAPE '!'",
        (path, f"{literal}/%", f'%["{quoted}",%', f'%["{quoted}/%'),
    )


class Total(Struct):
    """Calls of one sort."""

    name: str
    calls: int = 0
    tokens: int = 0
    failed: int = 0


class Twice(Struct):
    """Lines of one state of a file that one conversation was shown more than once in one epoch."""

    session: str
    path: str
    content_hash: str
    first: int
    last: int
    rows: list[int] = field(default_factory=list)


GROUPS = ("tool", "kind", "path", "agent", "session", "outcome", "face", "workspace")
"""What totals can be made by."""


def totals(rows: Iterable[Row], by: str) -> list[Total]:
    """Calls and tokens by one column, the most tokens first."""
    by_name: dict[str, Total] = {}
    for row in rows:
        if row.event.outcome == "begun":
            continue
        name = str(getattr(row.event, by) or "")
        total = by_name.setdefault(name, Total(name))
        total.calls += 1
        total.tokens += row.event.tokens
        total.failed += row.event.outcome != "ok"
    return sorted(by_name.values(), key=lambda total: (-total.tokens, -total.calls, total.name))


def most_read(rows: Iterable[Row]) -> list[Total]:
    """Files by how often something of them was shown, whatever tool showed it."""
    calls: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    for row in rows:
        paths = {span.path for span in row.event.spans}
        for path in paths:
            calls[path] += 1
            tokens[path] += row.event.tokens // len(paths)
    ranked = [Total(path, count, tokens[path]) for path, count in calls.items()]
    return sorted(ranked, key=lambda total: (-total.calls, -total.tokens, total.name))


def shown_twice(rows: Iterable[Row]) -> list[Twice]:
    """Lines that a conversation was shown again while they were still in view, the longest first."""
    seen: dict[tuple[str, int, str, str], list[tuple[int, int, int]]] = {}
    repeats: dict[tuple[str, str, str, int, int], Twice] = {}
    for row in rows:
        event = row.event
        for span in event.spans:
            if span.content_hash is None or not span.last:
                continue
            before = seen.setdefault((event.session, event.epoch, span.path, span.content_hash), [])
            for first, last, number in before:
                low, high = max(first, span.first), min(last, span.last)
                if low <= high:
                    key = (event.session, span.path, span.content_hash, low, high)
                    twice = repeats.setdefault(key, Twice(*key, rows=[number]))
                    twice.rows.append(row.number)
                    break
            before.append((span.first, span.last, row.number))
    return sorted(repeats.values(), key=lambda span: (span.first - span.last, span.rows))


# -----------------------------------------------------------------------------
# A ledger as a file for other programs: JSON Lines, CSV or Parquet, every column of every row.
# -----------------------------------------------------------------------------

FORMATS: Final = ("jsonl", "csv", "parquet")


def write_jsonl(rows: Iterable[Row], out: TextIO) -> int:
    """One JSON object a line; `arguments` and `shown` as the values they are. The number of rows."""
    count = 0
    for row in rows:
        record = dict(zip(COLUMNS, row.values(), strict=True))
        record["arguments"], record["shown"] = json.loads(row.event.arguments), json.loads(row.event.shown)
        out.write(json.dumps(record, separators=(",", ":")) + "\n")
        count += 1
    return count


def write_csv(rows: Iterable[Row], out: TextIO) -> int:
    """A line of names, then one line a row. The number of rows.

    A text that a spreadsheet would take for a formula begins with an apostrophe.
    """
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    count = 0
    for row in rows:
        writer.writerow([harmless(value) for value in row.values()])
        count += 1
    return count


def harmless(value: object) -> object:
    """The value as a cell that no spreadsheet takes for a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in _FORMULA else value


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_parquet(rows: Iterable[Row], path: str) -> int:
    """A Parquet file. The number of rows. Raises MissingProgram where pyarrow is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingProgram("pyarrow", install("parquet")) from None
    numbers = {"number", "time_us", "epoch", "tokens", "duration_us"}
    schema = pyarrow.schema(
        [(name, pyarrow.int64() if name in numbers else pyarrow.string()) for name in COLUMNS]
    )
    count = 0
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for page in _pages(rows):
            columns = list(zip(*(row.values() for row in page), strict=True))
            writer.write_table(pyarrow.table([list(column) for column in columns], schema=schema))
            count += len(page)
    return count


def _pages(rows: Iterable[Row]) -> Iterator[list[Row]]:
    page: list[Row] = []
    for row in rows:
        page.append(row)
        if len(page) == LEDGER_PAGE_ROWS:
            yield page
            page = []
    if page:
        yield page
