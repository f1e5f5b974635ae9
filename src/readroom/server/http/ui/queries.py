"""Queries of the dashboard to a ledger: sums of whole hours, and rows for details."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any, Literal, TypeAlias, final

from msgspec import Struct
from msgspec.structs import replace

from readroom.server.ledger.ledger import Condition, Ledger
from readroom.server.ledger.queries import literal_like
from readroom.server.ledger.recorder import BEGUN
from readroom.server.ledger.rows import Row
from readroom.server.ledger.sums import DAY_US, FAILED, HOUR_US, UNENDED

UI_POINTS = 120
"""Points of a chart over time: one for each few pixels of a phone's width."""

UI_SERIES = 6
"""Names of a chart over time; more colours look alike, and the others are summed up."""

UI_SESSION_ROWS = 500
"""Calls of a session on one page."""

UI_SEARCHED = 50_000
"""Rows whose arguments a search looks at, the newest: a tenth of a second."""

UI_STEPS = 20_000
"""Calls of a session in the chart of its context."""

UI_FILE_ROWS = 5000
"""Calls whose lines are put next to one file, the newest; a file that is read every minute has these in three
days."""

UI_HOURS = 200
"""Hours of calls that one question to a ledger may name."""


By: TypeAlias = Literal["tool", "agent", "token", "outcome"]

PROBLEMS = ("failed", "refused")
"""Names for groups of outcomes: all except ok, and all that policy decided."""


class Slice(Struct, frozen=True):
    """Selects rows; an empty name means any.

    Attributes:
        workspace: As in the rows.
        agent, token, tool, outcome: Exactly these values; outcome may be `failed` or `refused`.
        since_us: A whole hour; 0 for any time.
    """

    workspace: str
    agent: str = ""
    token: str = ""
    tool: str = ""
    outcome: str = ""
    since_us: int = 0

    def where(self, columns: Sequence[str], time: str = "", unit: int = 1) -> tuple[str, list[object]]:
        """The WHERE clause for a table of sums with these columns."""
        parts, values = ["workspace = ?"], [self.workspace]
        for name in columns:
            value = getattr(self, name)
            if name == "outcome" and value in PROBLEMS:
                parts.append(f"{value} > 0")
            elif value:
                parts.append(f"{name} = ?")
                values.append(value)
        found: list[object] = list(values)
        if time and self.since_us:
            parts.append(f"{time} >= ?")
            found.append(self.since_us // unit)
        return " AND ".join(parts), found


class Sum(Struct, frozen=True):
    """The sum of calls with one name."""

    name: str
    calls: int
    tokens: int
    failed: int
    refused: int
    duration_us: int
    requests: int


class FileSum(Struct, frozen=True):
    """How much of one file was shown."""

    path: str
    calls: int
    tokens: int
    lines: int


class SessionSum(Struct, frozen=True):
    """One conversation of one agent with one token."""

    session: str
    agent: str
    token: str
    calls: int
    tokens: int
    failed: int
    refused: int
    duration_us: int
    first_us: int
    last_us: int
    epoch: int


class Step(Struct, frozen=True):
    """One call of a conversation: its row, and what it added. `shown` is as in the row."""

    number: int
    epoch: int
    tool: str
    tokens: int
    shown: str


class Series(Struct, frozen=True):
    """Tokens over time: the start of each point, and a row of values for each name."""

    step_us: int
    times_us: Sequence[int]
    names: Sequence[str]
    values: Sequence[Sequence[int]]


PERCENTILES = (50, 95, 99)
"""Percentiles of the times of a tool that are shown."""

_ADDED = "SUM(calls), SUM(tokens), SUM(failed), SUM(refused), SUM(duration_us), SUM(requests)"
_NAMED = ("agent", "token", "tool", "outcome")
_WIDTH = 6


_MADE_CALLS = """(calls > refused OR session <> '' AND EXISTS (
    SELECT 1 FROM calls WHERE calls.session = sums_by_session.session AND contract <> ''))"""
"""Conversations of which at least one request became a call; others are among the refused ones."""

UI_IDS = 20_000
"""Conversations whose ids are compared to tell them apart: hundredths of a second."""

_NAMES = 500
"""Names that one question may have."""


def _like(text: str, words: Sequence[str]) -> tuple[str, list[object]]:
    """The condition that a text has all words, in letters of any size."""
    each = " AND ".join([f"LOWER({text}) LIKE ? ESCAPE '!'"] * len(words))
    return each, [f"%{literal_like(word.lower())}%" for word in words]


@final
class Questions:
    """Queries about one workspace's rows in one ledger, for one page."""

    def __init__(self, book: Ledger) -> None:
        self._book = book
        self._cubes: dict[Slice, list[tuple[Any, ...]]] = {}

    def sums(self, wanted: Slice, by: By | None = None) -> list[Sum]:
        """Sums by one name, ordered by tokens; without `by`, a single sum or none."""
        found: dict[str, list[int]] = {}
        for row in self._cube(wanted):
            name = "" if by is None else str(row[_NAMED.index(by)])
            before = found.setdefault(name, [0] * _WIDTH)
            for at, value in enumerate(row[len(_NAMED) :]):
                before[at] += int(value)
        every = [Sum(name, *values) for name, values in found.items()]
        return sorted(every, key=lambda one: (-one.tokens, -one.calls, one.name))

    def _cube(self, wanted: Slice) -> list[tuple[Any, ...]]:
        """The sums by all names at once: a page needs many of them, and the tables are read once.

        Whole days are summed already; hours are those of the day in which the time range begins.
        """
        if wanted not in self._cubes:
            names = ", ".join(_NAMED)
            first_day = -(-wanted.since_us // DAY_US)
            where, values = wanted.where(_NAMED, "day", DAY_US)
            select = f"SELECT {names}, {_ADDED} FROM"
            days = f"{select} sums_by_day WHERE {where} AND day >= ? GROUP BY {names}"
            found = self._ask(days, [*values, first_day])
            if wanted.since_us % DAY_US:
                where, values = wanted.where(_NAMED, "hour", HOUR_US)
                hours = f"{select} sums_by_hour WHERE {where} AND hour < ? GROUP BY {names}"
                found += self._ask(hours, [*values, first_day * (DAY_US // HOUR_US)])
            self._cubes[wanted] = found
        return self._cubes[wanted]

    def durations(self, wanted: Slice) -> dict[str, tuple[int, ...]]:
        """For each tool the times in microseconds, `rounded`, in which PERCENTILES of its calls ended.

        They are of whole days, and of all agents, tokens and outcomes. The percentile `p` of `n` calls is
        the time of the call at place `n * p / 100`, rounded up, in order of time.
        """
        where, values = wanted.where(("tool",), "day", DAY_US)
        sql = f"SELECT tool, duration_us, SUM(calls) FROM sums_by_duration WHERE {where}"
        counted: dict[str, list[tuple[int, int]]] = {}
        for tool, duration_us, calls in self._ask(f"{sql} GROUP BY tool, duration_us ORDER BY 1, 2", values):
            counted.setdefault(str(tool), []).append((int(duration_us), int(calls)))
        return {
            tool: tuple(_percentile(every, one) for one in PERCENTILES) for tool, every in counted.items()
        }

    def days(self, wanted: Slice, *, limit: int) -> list[Sum]:
        """Sums by day, the latest first; days are whole."""
        where, values = wanted.where(_NAMED, "day", DAY_US)
        sql = f"SELECT day, {_ADDED} FROM sums_by_day WHERE {where} GROUP BY day ORDER BY day DESC LIMIT ?"
        rows = self._ask(sql, [*values, limit])
        return [Sum(_day(int(row[0])), *map(int, row[1:])) for row in rows]

    def series(self, wanted: Slice, by: By) -> Series:
        """Tokens over time, for the names with the most, and for all others together."""
        where, values = wanted.where(_NAMED, "hour", HOUR_US)
        # Two subqueries: an index has the answer to each at one of its ends.
        least, most = (f"(SELECT {one}(hour) FROM sums_by_hour WHERE {where})" for one in ("MIN", "MAX"))
        ends = self._ask(f"SELECT {least}, {most}", [*values, *values])[0]
        if ends[0] is None:
            return Series(HOUR_US, (), (), ())
        step = _step(ends[1] - ends[0] + 1)
        point = f"hour / {step} * {step}"
        sql = f"SELECT {point}, {by}, SUM(tokens) FROM sums_by_hour WHERE {where} GROUP BY {point}, {by}"
        rows = [(int(hour), str(name), int(tokens)) for hour, name, tokens in self._ask(sql, values)]
        totals: dict[str, int] = {}
        for _, name, tokens in rows:
            totals[name] = totals.get(name, 0) + tokens
        ranked = sorted(filter(totals.get, totals), key=lambda name: (-totals[name], name))
        places = {name: min(at, UI_SERIES - 1) for at, name in enumerate(ranked)}
        names = ranked if len(ranked) <= UI_SERIES else [*ranked[: UI_SERIES - 1], "all others"]
        first = ends[0] - ends[0] % step
        count = (ends[1] - first) // step + 1
        drawn = [[0] * count for _ in names]
        for hour, name, tokens in rows:
            if name in places:
                drawn[places[name]][(hour - first) // step] += tokens
        times = [(first + at * step) * HOUR_US for at in range(count)]
        return Series(step * HOUR_US, times, names, drawn)

    def files(self, wanted: Slice, limit: int) -> list[FileSum]:
        """Files ordered by the tokens of their shown lines; days are whole."""
        where, values = wanted.where(("agent", "token", "tool"), "day", DAY_US)
        ranked = "ORDER BY 3 DESC, 2 DESC, 1 LIMIT ?"
        chosen = [name for name in ("agent", "token", "tool") if getattr(wanted, name)]
        if wanted.since_us or len(chosen) > 1:
            summed = "SELECT path, SUM(calls), SUM(tokens), SUM(lines) FROM sums_by_file"
            sql = f"{summed} WHERE {where} GROUP BY path {ranked}"
        elif chosen:
            named = "workspace = ? AND kind = ? AND name = ?"
            values = [wanted.workspace, chosen[0], getattr(wanted, chosen[0])]
            sql = f"SELECT path, calls, tokens, lines FROM sums_by_named_path WHERE {named} {ranked}"
        else:
            sql = f"SELECT path, calls, tokens, lines FROM sums_by_path WHERE {where} {ranked}"
        return [FileSum(row[0], *map(int, row[1:])) for row in self._ask(sql, [*values, limit])]

    def sessions(self, wanted: Slice, *, limit: int, skip: int = 0, search: str = "") -> list[SessionSum]:
        """Conversations, the most recently used first."""
        where, values = wanted.where(("agent", "token"), "last_us")
        if wanted.outcome in PROBLEMS:
            where += f" AND {wanted.outcome} > 0"
        where += f" AND {_MADE_CALLS}"
        if search:
            where += " AND (session LIKE ? ESCAPE '!' OR agent LIKE ? ESCAPE '!')"
            values += [f"%{literal_like(search)}%"] * 2
        ranked = "ORDER BY last_us DESC, session LIMIT ? OFFSET ?"
        return self._sessions(f"{where} {ranked}", [*values, limit, skip])

    def named_sessions(
        self, workspace: str, words: Sequence[str], also: Sequence[str], *, limit: int
    ) -> list[SessionSum]:
        """Conversations whose name and agent have all words, and some more by name; the latest first."""
        also = also[:_NAMES]
        named, values = _like("session || ' ' || agent", words)
        places = f" OR session IN ({', '.join('?' * len(also))})" if also else ""
        where = f"workspace = ? AND (({named}){places}) ORDER BY last_us DESC, session LIMIT ?"
        return self._sessions(where, [workspace, *values, *also, limit])

    def named_files(self, workspace: str, words: Sequence[str], *, limit: int) -> list[FileSum]:
        """Files whose names have all words, ordered by tokens."""
        named, values = _like("path", words)
        sql = f"SELECT path, calls, tokens, lines FROM sums_by_path WHERE workspace = ? AND {named}"
        rows = self._ask(f"{sql} ORDER BY tokens DESC, path LIMIT ?", [workspace, *values, limit])
        return [FileSum(row[0], *map(int, row[1:])) for row in rows]

    def asking(self, workspace: str, words: Sequence[str], *, limit: int) -> list[Row]:
        """Calls whose tool, file and arguments have all words, the newest first, of the newest rows."""
        escaped = [json.dumps(word)[1:-1] for word in words]
        named, values = _like("tool || ' ' || COALESCE(path, '') || ' ' || arguments", escaped)
        first = max(0, self._book.head().number - UI_SEARCHED)
        where = f"number > ? AND workspace = ? AND face <> 'ui' AND contract <> '' AND {named}"
        return self._newest(where, [first, workspace, *values], "number", limit)

    def refused(self, wanted: Slice, *, limit: int, before: int = 0) -> list[Row]:
        """Refused calls and requests, the newest first."""
        return self.calls(replace(wanted, outcome="refused"), limit=limit, before=before)

    def latest_names(self, workspace: str) -> list[str]:
        """The names of the latest conversations."""
        where = "workspace = ? ORDER BY last_us DESC LIMIT ?"
        return [
            row[0]
            for row in self._ask(f"SELECT session FROM sums_by_session WHERE {where}", [workspace, UI_IDS])
        ]

    def session(self, workspace: str, session: str, agent: str, token: str) -> SessionSum | None:
        """One conversation."""
        where = "workspace = ? AND session = ? AND agent = ? AND token = ?"
        return next(iter(self._sessions(where, [workspace, session, agent, token])), None)

    def _sessions(self, where: str, values: Sequence[object]) -> list[SessionSum]:
        columns = ", ".join(SessionSum.__struct_fields__)
        sql = f"SELECT {columns} FROM sums_by_session WHERE {where}"
        return [SessionSum(*row) for row in self._ask(sql, values)]

    def calls_of(self, workspace: str, one: SessionSum, *, before: int = 0) -> list[Row]:
        """The newest calls of a conversation, in order."""
        conditions = [
            Condition("session = ?", (one.session,)),
            Condition("workspace = ?", (workspace,)),
            Condition("agent = ? AND token = ? AND face <> 'ui'", (one.agent, one.token)),
            *([Condition("number < ?", (before,))] if before else ()),
        ]
        return self._book.page(conditions, limit=UI_SESSION_ROWS, newest=True)

    def steps(self, workspace: str, one: SessionSum) -> list[Step]:
        """The calls of a conversation with their tokens and lines, in order; the newest of very many."""
        where = "session = ? AND workspace = ? AND agent = ? AND token = ? AND face <> 'ui'"
        sql = f"SELECT number, epoch, tool, tokens, shown FROM calls WHERE {where}"
        values = [one.session, workspace, one.agent, one.token, UI_STEPS]
        rows = self._ask(f"{sql} AND outcome <> '{BEGUN}' ORDER BY number DESC LIMIT ?", values)
        return [Step(*row) for row in reversed(rows)]

    def calls(self, wanted: Slice, *, limit: int, before: int = 0) -> list[Row]:
        """The newest calls, newest first."""
        parts = ["workspace = ? AND face <> 'ui'"]
        values: list[object] = [wanted.workspace]
        for name in _NAMED:
            value = getattr(wanted, name)
            if value == "refused" and name == "outcome":
                parts.append("decision = 'refused'")
            elif value == "failed" and name == "outcome":
                parts.append("outcome NOT IN ('ok', 'begun')")
            elif value:
                parts.append(f"{name} = ?")
                values.append(value)
        if before:
            parts.append("number < ?")
            values.append(before)
        since = (" AND time_us >= ?", [wanted.since_us]) if wanted.since_us else ("", [])
        where = " AND ".join(parts)
        if wanted.outcome not in ("", "ok", BEGUN):
            return self._newest(f"{where} AND {FAILED}{since[0]}", [*values, *since[1]], "number", limit)
        # Calls that have begun are in no sum until they end; some never end.
        begun = f"{where} AND {UNENDED}{since[0]}"
        found = [] if wanted.outcome == "ok" else self._newest(begun, [*values, *since[1]], "number", limit)
        found += self._ended(wanted, f"{where} AND outcome <> '{BEGUN}'", values, before, limit)
        return sorted(found, key=lambda row: -row.number)[:limit]

    def _ended(
        self, wanted: Slice, where: str, values: Sequence[object], before: int, limit: int
    ) -> list[Row]:
        """The newest calls that ended, searched for in the hours of the sums."""
        found: list[Row] = []
        for hours in self._busy_hours(wanted, before, limit):
            times = " OR ".join(["time_us >= ? AND time_us < ?"] * len(hours))
            bounds = [bound for hour in hours for bound in (hour * HOUR_US, (hour + 1) * HOUR_US)]
            within = f"{where} AND ({times})"
            # A sum: otherwise databases would go through all rows in order, not through those of the hours.
            found += self._newest(within, [*values, *bounds], "number + 0", limit - len(found))
            if len(found) >= limit:
                break
        return found

    def _newest(self, where: str, values: Sequence[object], order: str, limit: int) -> list[Row]:
        numbers = f"SELECT number FROM calls WHERE {where} ORDER BY {order} DESC LIMIT ?"
        within = Condition(f"number IN ({numbers})", (*values, limit))
        return self._book.page([within], limit=limit, newest=True)[::-1]

    def showing(self, workspace: str, path: str) -> list[Row]:
        """The newest calls that showed any lines of a file, in order."""
        sql = "SELECT number FROM shown_files WHERE workspace = ? AND path = ? ORDER BY number DESC LIMIT ?"
        numbers = [int(row[0]) for row in self._ask(sql, [workspace, path, UI_FILE_ROWS])]
        found: list[Row] = []
        for at in range(0, len(numbers), UI_SESSION_ROWS):
            part = numbers[at : at + UI_SESSION_ROWS]
            within = Condition(f"number IN ({', '.join('?' * len(part))})", tuple(part))
            found += self._book.page([within], limit=len(part))
        return sorted(found, key=lambda row: row.number)

    def row(self, workspace: str, number: int) -> Row | None:
        """One call."""
        conditions = [Condition("number = ?", (number,)), Condition("workspace = ?", (workspace,))]
        found = self._book.page(conditions, limit=1)
        return found[0] if found else None

    def workspaces(self) -> list[str]:
        """The workspaces that have rows."""
        sql = "SELECT workspace, SUM(calls) FROM sums_by_session GROUP BY workspace ORDER BY 2 DESC"
        return [str(row[0]) for row in self._ask(sql, [])]

    def _busy_hours(self, wanted: Slice, before: int, limit: int) -> Iterator[list[int]]:
        """Hours with matching calls, the latest first, each time enough hours for `limit` calls."""
        where, values = wanted.where(_NAMED, "hour", HOUR_US)
        if before:
            at = self._ask("SELECT time_us FROM calls WHERE number = ?", [before])
            if at:
                # A call is recorded when it ends; concurrent calls may be recorded out of order.
                where += " AND hour <= ?"
                values.append(at[0][0] // HOUR_US + 1)
        sql = f"SELECT hour, SUM(calls) FROM sums_by_hour WHERE {where} GROUP BY hour ORDER BY hour DESC"
        hours: list[int] = []
        calls = 0
        for hour, count in self._ask(sql, values):
            hours.append(int(hour))
            calls += int(count)
            if calls >= limit or len(hours) >= UI_HOURS:
                yield hours
                hours, calls = [], 0
        if hours:
            yield hours

    def _ask(self, sql: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        return self._book.look(lambda execute: execute(sql, values))


def _percentile(counted: Sequence[tuple[int, int]], percent: int) -> int:
    """The value at a percentile, of values in order and how often each occurs."""
    place = -(-sum(calls for _, calls in counted) * percent // 100)
    ends = accumulate(calls for _, calls in counted)
    return next(value for (value, _), end in zip(counted, ends, strict=True) if end >= place)


def _day(day: int) -> str:
    return datetime.fromtimestamp(day * DAY_US / 1_000_000, UTC).date().isoformat()


def _step(hours: int) -> int:
    """The hours of one point of a chart: a part of a day, or whole days."""
    steps = (1, 2, 3, 6, 12, 24)
    found = next((step for step in steps if hours <= step * UI_POINTS), None)
    return found or 24 * -(-hours // (24 * UI_POINTS))
