"""Queries of the ledger: calls, their cost, and lines shown twice."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from typing import Final, TextIO, get_type_hints

from msgspec import Struct, field

from readroom.core.limits.session import LEDGER_PAGE_ROWS
from readroom.core.parquet import ParquetFile
from readroom.server.ledger.ledger import Condition
from readroom.server.ledger.rows import COLUMNS, Event, Row, decoded
from readroom.server.ledger.sums import LOOKED_AT


class Filter(Struct, frozen=True):
    """Selects rows; None means any.

    Attributes:
        agent, session, tool, face, workspace, outcome: Exactly these values.
            Outcome `failed` is all but ok and begun.
        path: This file, or files below this folder; also if a search showed lines of it.
        since_us: At or after that time.
        until_us: Before that time.
        refused: Only calls that policy refused.
        of_agents: Without looks at files in the dashboard.
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
    of_agents: bool = False

    def conditions(self) -> list[Condition]:
        """The conditions for a ledger."""
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
        if self.of_agents:
            conditions.append(Condition("face <> ?", (LOOKED_AT,)))
        return conditions


def literal_like(text: str) -> str:
    """A text that LIKE ... ESCAPE '!' matches literally."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def _about(path: str) -> Condition:
    literal = literal_like(path)
    # `shown` is JSON: a path in it follows a bracket and a quote, and is escaped like JSON.
    quoted = literal.replace("\\", "\\\\").replace('"', '\\"')
    return Condition(
        "path = ? OR path LIKE ? ESCAPE '!' OR shown LIKE ? ESCAPE '!' OR shown LIKE ? ESCAPE '!'",
        (path, f"{literal}/%", f'%["{quoted}",%', f'%["{quoted}/%'),
    )


class Total(Struct):
    """The sum of calls with one value of a column."""

    name: str
    calls: int = 0
    tokens: int = 0
    failed: int = 0


class Twice(Struct):
    """Lines of one version of a file that one conversation was shown more than once in one epoch."""

    session: str
    path: str
    content_hash: str
    first: int
    last: int
    rows: list[int] = field(default_factory=list)


GROUPS = ("tool", "kind", "path", "agent", "session", "outcome", "face", "workspace")
"""Columns for totals."""


def totals(rows: Iterable[Row], by: str) -> list[Total]:
    """Calls and tokens by one column, ordered by tokens."""
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
    """Files by how often any of their lines were shown, whichever tool showed them."""
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
    """Lines shown again to a conversation while they were still in view, the longest first."""
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
# Export: JSON Lines, CSV or Parquet, with every column of every row.
# -----------------------------------------------------------------------------

FORMATS: Final = ("jsonl", "csv", "parquet")


def write_jsonl(rows: Iterable[Row], out: TextIO) -> int:
    """Write one JSON object per line, `arguments` and `shown` as JSON values; return the number of rows."""
    count = 0
    for row in rows:
        record = dict(zip(COLUMNS, row.values(), strict=True))
        record["arguments"], record["shown"] = decoded(row.event.arguments), decoded(row.event.shown)
        out.write(json.dumps(record, separators=(",", ":")) + "\n")
        count += 1
    return count


def write_csv(rows: Iterable[Row], out: TextIO) -> int:
    """Write a header, then one line per row; return the number of rows.

    Text that a spreadsheet would take for a formula gets a leading apostrophe.
    """
    out.write(csv_line(COLUMNS) + "\n")
    count = 0
    for row in rows:
        out.write(csv_line(row.values()) + "\n")
        count += 1
    return count


def csv_line(values: Iterable[object]) -> str:
    """Cells as a line of CSV, which no spreadsheet divides elsewhere or takes for formulas."""
    return ",".join(_cell("" if value is None else str(harmless(value))) for value in values)


_DIVIDES = re.compile(r'[",;\t\r\n]')
"""Spreadsheets of some languages divide at semicolons."""


def _cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if _DIVIDES.search(text) else text


def harmless(value: object) -> object:
    """The value as a cell that spreadsheets do not take for a formula."""
    return f"'{value}" if isinstance(value, str) and _begins_formula(value) else value


_FORMULA = frozenset("=+-@\N{MINUS SIGN}")
_SPACING = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})


def _begins_formula(text: str) -> bool:
    # Some spreadsheets pass over blanks and unseen characters, and take letters of full width for plain ones.
    for letter in text:
        if letter in "\t\r\n":
            return True
        if unicodedata.category(letter) not in _SPACING:
            return unicodedata.normalize("NFKC", letter)[:1] in _FORMULA
    return False


def write_parquet(rows: Iterable[Row], path: str) -> int:
    """Write a Parquet file; return the number of rows. Raises MissingProgram without pyarrow."""
    types = {**get_type_hints(Row), **get_type_hints(Event)}
    count = 0
    with closing(ParquetFile(path, {name: types[name] for name in COLUMNS}, LEDGER_PAGE_ROWS)) as out:
        for row in rows:
            out.add(row.values())
            count += 1
    return count
