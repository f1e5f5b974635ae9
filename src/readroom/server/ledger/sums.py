"""Running totals of the ledger, so that charts need not read a million rows.

They can be rebuilt from the rows at any time, and `differences` compares them. Rows are not added to them
when they are written, which would cost every call: `fold` adds the next rows, many in one transaction, after
some appends and before someone looks.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from readroom.core.limits.session import LEDGER_PROBLEMS
from readroom.server.database import Damaged, Execute, the_row

HOUR_US: Final = 3_600_000_000
DAY_US: Final = 24 * HOUR_US

LOOKED_AT: Final = "ui"
"""The face of people who view files in the dashboard: recorded, but not in sums of agents' calls."""


class SumTable(Struct, frozen=True):
    """One table of sums: its keys, the columns it adds up, and those with a least or greatest value."""

    name: str
    keys: tuple[str, ...]
    added: tuple[str, ...]
    bounds: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, in order; `bounds` are a least and two greatest values."""
        return (*self.keys, *self.added, *self.bounds)

    def create(self) -> str:
        """The statement that creates it."""
        numbers = {"hour", "day", "duration_us", *self.added, *self.bounds}
        columns = [f"{one} {'{big}' if one in numbers else 'TEXT'} NOT NULL" for one in self.columns]
        return f"CREATE TABLE {self.name} ({', '.join(columns)}, PRIMARY KEY ({', '.join(self.keys)}))"

    def upsert(self) -> str:
        """The statement that adds to a row, or inserts it."""
        own, new = f"{self.name}.", "excluded."
        changes = [f"{one} = {own}{one} + {new}{one}" for one in self.added]
        for at, one in enumerate(self.bounds):
            sign = "<" if at == 0 else ">"
            changes.append(
                f"{one} = CASE WHEN {new}{one} {sign} {own}{one} THEN {new}{one} ELSE {own}{one} END"
            )
        return (
            f"INSERT INTO {self.name} ({', '.join(self.columns)}) "
            f"VALUES ({', '.join('?' for _ in self.columns)}) "
            f"ON CONFLICT ({', '.join(self.keys)}) DO UPDATE SET {', '.join(changes)}"
        )


_COUNTED = ("calls", "tokens", "failed", "refused", "duration_us")

BY_HOUR: Final = SumTable(
    "sums_by_hour", ("workspace", "hour", "agent", "token", "tool", "outcome"), (*_COUNTED, "requests")
)
"""`requests` is the number of requests in one row: many, in a flood of refused ones."""

BY_FILE: Final = SumTable(
    "sums_by_file", ("workspace", "day", "path", "agent", "token", "tool"), ("calls", "tokens", "lines")
)
BY_SESSION: Final = SumTable(
    "sums_by_session",
    ("workspace", "session", "agent", "token"),
    _COUNTED,
    ("first_us", "last_us", "epoch"),
)
_DETAILED = (BY_HOUR, BY_FILE, BY_SESSION)

BY_DAY: Final = SumTable("sums_by_day", ("workspace", "day", *BY_HOUR.keys[2:]), BY_HOUR.added)
"""`BY_HOUR` in whole days, for pages that show a month or more."""

BY_PATH: Final = SumTable("sums_by_path", ("workspace", "path"), BY_FILE.added)
"""`BY_FILE` without days and names: files over all time."""

BY_NAMED_PATH: Final = SumTable("sums_by_named_path", ("workspace", "kind", "name", "path"), BY_FILE.added)
"""`BY_PATH` for one agent, one token or one tool, which is the `kind`."""

_KINDS = ("agent", "token", "tool")

_TABLES = (*_DETAILED, BY_DAY, BY_PATH, BY_NAMED_PATH)

BY_DURATION: Final = SumTable("sums_by_duration", ("workspace", "day", "tool", "duration_us"), ("calls",))
"""How many calls of a tool took so long, `rounded`: a percentile of these is that of the calls, rounded.

Calls without a duration, as in records of clients, are not in it.
"""

_EVERY = (*_TABLES, BY_DURATION)
"""All tables of sums; `_TABLES` are those of the first version."""


def rounded(duration_us: int) -> int:
    """A duration in two digits: their order stays, and few are left; `_rounded_in_sql` does the same."""
    step: int = 10 ** max(0, len(str(duration_us)) - 2)
    return (duration_us + step // 2) // step * step


def _rounded_in_sql() -> str:
    """`rounded` of the column; 30 years and more stay as they are."""
    steps = [10**digits for digits in range(1, 14)]
    cases = [
        f"WHEN duration_us < {100 * step} THEN (duration_us + {step // 2}) / {step} * {step}"
        for step in steps
    ]
    return f"CASE WHEN duration_us < 100 THEN duration_us {' '.join(cases)} ELSE duration_us END"


FAILED: Final = "(outcome NOT IN ('ok', 'begun') OR decision = 'refused')"
"""Failed calls, in the terms of the index: a query in other terms does not use it."""

UNENDED: Final = "outcome = 'begun'"
"""Calls without an end, in the terms of their index."""

TABLES: Final = (
    *(table.create() for table in _TABLES),
    "CREATE INDEX sums_by_session_last ON sums_by_session (workspace, last_us)",
    """CREATE TABLE shown_files (
        workspace TEXT NOT NULL, path TEXT NOT NULL, number {big} NOT NULL,
        PRIMARY KEY (workspace, path, number)
    )""",
    "CREATE TABLE summed (one {big} NOT NULL PRIMARY KEY, number {big} NOT NULL)",
    "INSERT INTO summed (one, number) VALUES (1, 0)",
    # Failed calls are rare among many, so that a page of them would go through many rows.
    f"CREATE INDEX calls_failed ON calls (workspace, number) WHERE {FAILED}",
    # No sum has the hour of a call that never ended.
    f"CREATE INDEX calls_unended ON calls (workspace, number) WHERE {UNENDED}",
)
"""The tables, the last row in them, and indexes of calls that are in no sum."""

DURATIONS: Final = (
    BY_DURATION.create(),
    f"""INSERT INTO {BY_DURATION.name} ({", ".join(BY_DURATION.columns)})
        SELECT workspace, time_us / {DAY_US}, tool, {_rounded_in_sql()}, COUNT(*) FROM calls
        WHERE number <= (SELECT number FROM summed) AND outcome <> 'begun' AND face <> '{LOOKED_AT}'
        AND duration_us > 0 GROUP BY 1, 2, 3, 4""",
)
"""The table of durations, with the rows that are summed already."""

_ROWS = """SELECT number, time_us, workspace, agent, session, token, face, epoch, tool, decision, outcome,
    shown, tokens, duration_us, CASE WHEN contract = '' THEN arguments ELSE '' END
    FROM calls WHERE number > ? ORDER BY number LIMIT ?"""

_Sums = dict[tuple[Any, ...], list[int]]


_Values = defaultdict[tuple[Any, ...], list[tuple[int, ...]]]


class _Detailed(NamedTuple):
    """The contribution of rows to the detailed tables, by their keys."""

    by_hour: _Values
    by_file: _Values
    by_session: _Values


def _summed(table: SumTable, values: Sequence[tuple[int, ...]]) -> list[int]:
    """Add up many rows for one sum: column by column, which takes a third of the time of row by row."""
    most, columns = len(table.added), list(zip(*values, strict=True))
    added = [sum(column) for column in columns[:most]]
    return [*added, min(columns[most]), *map(max, columns[most + 1 :])] if table.bounds else added


class _Folded:
    """Sums of some rows, in memory."""

    def __init__(self) -> None:
        self.sums: dict[str, _Sums] = {table.name: {} for table in _EVERY}
        self.shown: set[tuple[str, str, int]] = set()

    def add(self, rows: Iterable[Sequence[Any]]) -> None:
        found = _Detailed(defaultdict(list), defaultdict(list), defaultdict(list))
        for row in rows:
            try:
                self._find(row, found)
            except (TypeError, ValueError):
                raise Damaged(f"row {row[0]} is not one that readroom wrote") from None
        for table, values in zip(_DETAILED, found, strict=True):
            for key, added in values.items():
                self._add(table, key, _summed(table, added))

    def _find(self, row: Sequence[Any], found: _Detailed) -> None:
        (number, time_us, workspace, agent, session, token, face, epoch, tool) = row[:9]
        (decision, outcome, shown, tokens, duration_us, facts) = row[9:]
        if outcome == "begun" or face == LOOKED_AT:
            return
        failed, refused = int(outcome != "ok"), int(decision == "refused")
        counted = (1, tokens, failed, refused, duration_us)
        hour = time_us // HOUR_US
        found.by_hour[workspace, hour, agent, token, tool, outcome].append((*counted, _times(facts)))
        found.by_session[workspace, session, agent, token].append((*counted, time_us, time_us, epoch))
        if duration_us > 0:
            key = (workspace, time_us // DAY_US, tool, rounded(duration_us))
            self._add(BY_DURATION, key, [1])
        if shown == "[]":
            return
        lines: dict[str, int] = {}
        for path, first, last in _spans(shown):
            lines[path] = lines.get(path, 0) + (last - first + 1 if last else 0)
        for path, count in lines.items():
            key = (workspace, time_us // DAY_US, path, agent, token, tool)
            found.by_file[key].append((1, tokens // len(lines), count))
            self.shown.add((workspace, path, number))

    def add_up(self) -> None:
        """Make the coarse sums once all rows are added: there are fewer sums than rows."""
        for (workspace, hour, *names), values in self.sums[BY_HOUR.name].items():
            self._add(BY_DAY, (workspace, hour // (DAY_US // HOUR_US), *names), [*values])
        for (workspace, _, path, *names), values in self.sums[BY_FILE.name].items():
            self._add(BY_PATH, (workspace, path), [*values])
            for kind, name in zip(_KINDS, names, strict=True):
                self._add(BY_NAMED_PATH, (workspace, kind, name, path), [*values])

    def _add(self, table: SumTable, key: tuple[object, ...], values: list[int]) -> None:
        sums = self.sums[table.name]
        before = sums.get(key)
        if before is None:
            sums[key] = values
            return
        most = len(table.added)
        for at in range(most):
            before[at] += values[at]
        if table.bounds:
            before[most] = min(before[most], values[most])
            for at in range(most + 1, len(values)):
                before[at] = max(before[at], values[at])


def _spans(shown: str) -> list[tuple[str, int, int]]:
    """The lines that a row showed. A damaged row, which the chain reveals, must not stop later ones."""
    try:
        return [(str(path), int(first), int(last)) for path, _, first, last in msgspec.json.decode(shown)]
    except (msgspec.MsgspecError, ValueError, TypeError):
        return []


def _times(facts: str) -> int:
    """The number of requests in a row of refused ones."""
    if '"times"' not in facts:
        return 1
    try:
        found = json.loads(facts)["times"]
    except (ValueError, TypeError, KeyError):
        return 1
    return found if isinstance(found, int) and 0 < found < 2**40 else 1


LEDGER_FOLD_ROWS = 1000
"""Rows summed in one transaction: others wait some 20 ms for it. More than LEDGER_FOLD_EVERY, so that an
older ledger is caught up with."""


def fold(execute: Execute, most: int = LEDGER_FOLD_ROWS) -> int:
    """Add the next rows to the sums, in a transaction that writes; return their number."""
    done = up_to(execute)
    rows = execute(_ROWS, (done, most))
    if not rows:
        return 0
    folded = _Folded()
    folded.add(rows)
    folded.add_up()
    for table in _EVERY:
        sums = folded.sums[table.name]
        if sums:
            execute.many(table.upsert(), [(*key, *values) for key, values in sums.items()])
    if folded.shown:
        sql = "INSERT INTO shown_files (workspace, path, number) VALUES (?, ?, ?)"
        execute.many(sql, sorted(folded.shown))
    execute("UPDATE summed SET number = ? WHERE one = 1", (rows[-1][0],))
    return len(rows)


def up_to(execute: Execute) -> int:
    """The last row that is in the sums."""
    return int(the_row(execute("SELECT number FROM summed WHERE one = 1"), int)[0])


def forget(execute: Execute, removed: int) -> None:
    """Start over after the last row that was removed."""
    for name in (*(table.name for table in _EVERY), "shown_files"):
        execute(f"DELETE FROM {name}")
    execute("UPDATE summed SET number = ? WHERE one = 1", (removed,))


def differences(execute: Execute) -> Iterator[str]:
    """Differences between the sums and the rows up to the last summed one, as sentences."""
    last, folded = up_to(execute), _Folded()
    for page in _pages(execute, last):
        folded.add(page)
    folded.add_up()
    for table in _EVERY:
        sums, width = folded.sums[table.name], len(table.keys)
        kept = execute(f"SELECT {', '.join(table.columns)} FROM {table.name}")
        yield from islice(_unlike(table, sums, {row[:width]: list(row[width:]) for row in kept}), _MOST)
    shown = {tuple(row) for row in execute("SELECT workspace, path, number FROM shown_files")}
    if shown != folded.shown:
        yield "the table shown_files does not match the rows"


_MOST = LEDGER_PROBLEMS


def _unlike(table: SumTable, sums: _Sums, kept: Mapping[tuple[object, ...], list[int]]) -> Iterator[str]:
    for key in sums.keys() | kept.keys():
        if sums.get(key) != kept.get(key):
            named = ", ".join(f"{name} {value!r}" for name, value in zip(table.keys, key, strict=True))
            yield f"the sum of {named} in {table.name} does not match the rows"


def _pages(execute: Execute, last: int) -> Iterator[Sequence[Sequence[Any]]]:
    """The rows up to a number, in pages."""
    number = 0
    while rows := execute(_ROWS, (number, LEDGER_FOLD_ROWS)):
        yield [row for row in rows if row[0] <= last]
        number = rows[-1][0]
        if number >= last:
            return
