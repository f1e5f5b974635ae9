"""Every number on the pages of a dashboard, added up again from the rows by SQL that was written by hand.

The statements know nothing of the tables of sums, and read `calls` alone, in SQLite and PostgreSQL alike.
"""

from __future__ import annotations

import csv
import io
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from html import unescape
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from readroom.server.ledger.sums import DAY_US, HOUR_US

Ask = Callable[[str], Sequence[Sequence[Any]]]
Get = Callable[[str], bytes]

SPANS = {
    "sqlite": """SELECT number, json_extract(value, '$[0]') AS path, json_extract(value, '$[2]') AS first,
        json_extract(value, '$[3]') AS last FROM calls, json_each(shown)""",
    "postgresql": """SELECT number, value ->> 0 AS path, (value ->> 2)::bigint AS first,
        (value ->> 3)::bigint AS last FROM calls, jsonb_array_elements(shown::jsonb)""",
}
TIMES = {
    "sqlite": "COALESCE(json_extract(arguments, '$.times'), 1)",
    "postgresql": "COALESCE((arguments::jsonb ->> 'times')::bigint, 1)",
}
REQUESTS = "(requests that became no call)"
PERCENTILES = (50, 95, 99)
SUMS = """COUNT(*), COALESCE(SUM(tokens), 0), COALESCE(SUM(CASE WHEN outcome <> 'ok' THEN 1 ELSE 0 END), 0),
    COALESCE(SUM(CASE WHEN decision = 'refused' THEN 1 ELSE 0 END), 0), COALESCE(SUM(duration_us), 0)"""


@dataclass(frozen=True)
class Chosen:
    """Filters as an address has them, and when its time begins."""

    values: Mapping[str, str]
    since_us: int = 0

    @property
    def query(self) -> str:
        return urlencode(self.values)

    def where(self, names: Sequence[str], since_us: int | None = None) -> str:
        parts = [f"time_us >= {self.since_us if since_us is None else since_us}"]
        problems = {"failed": "outcome <> 'ok'", "refused": "decision = 'refused'"}
        for name in names:
            value = self.values.get(name)
            if value:
                of_problem = problems.get(value) if name == "outcome" else None
                parts.append(of_problem or f"{name} = '{value}'")
        return " AND ".join(parts)


NAMES = ("agent", "token", "tool", "outcome")


class ByHand:
    """What pages say, beside what the rows come to; `differences` is what is to be empty."""

    def __init__(self, get: Get, ask: Ask, workspace: str, dialect: str) -> None:
        self._get, self._ask, self._dialect = get, ask, dialect
        self._workspace = workspace
        self._ended = f"workspace = '{workspace}' AND face <> 'ui' AND outcome <> 'begun'"
        self.compared = 0
        self.differences: list[str] = []

    def everything(self, chosen: Chosen) -> None:
        """The overview and the lists with these filters."""
        self._figures(chosen)
        self._by_name(chosen)
        self._by_day(chosen)
        self._over_time(chosen)
        self._files(chosen)
        self._sessions(chosen)
        self._calls(chosen)
        self._refused(chosen)

    # Tables and figures as the pages have them.

    def csv(self, page: str, table: str, chosen: Chosen | None = None, **more: object) -> list[list[str]]:
        """The rows of a table, its head first."""
        wanted = {**(chosen.values if chosen else {}), **more, "format": "csv", "table": table}
        return list(csv.reader(io.StringIO(self._get(f"/ui{page}?{urlencode(wanted)}").decode())))

    def figures(self, address: str) -> dict[str, str]:
        """The figures of a page by their labels; notes stay out."""
        body = self._get(address).decode().partition('<dl class="figures">')[2].partition("</dl>")[0]
        found = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", body)
        return {name: unescape(re.sub(r"<small>.*|<[^>]*>", "", value)) for name, value in found}

    def same(self, what: str, shown: Iterable[object], summed: Iterable[object]) -> None:
        """Compare two lists, whatever their order."""
        one, other = Counter(map(repr, shown)), Counter(map(repr, summed))
        self.compared += len(one)
        if one != other:
            more, less = list((one - other).elements())[:3], list((other - one).elements())[:3]
            self.differences.append(f"{what}: on the page {more}, by hand {less}")

    def sql(self, select: str, where: str, rest: str = "") -> list[tuple[Any, ...]]:
        """Rows of ended calls of agents, numbers as whole numbers."""
        rows = self._ask(f"SELECT {select} FROM calls WHERE {self._ended} AND {where} {rest}")
        return [tuple(one if isinstance(one, str | None) else int(one) for one in row) for row in rows]

    # Each of them by hand.

    def _figures(self, chosen: Chosen) -> None:
        where = chosen.where(NAMES)
        ((calls, tokens, failed, refused, took_us),) = self.sql(SUMS, where)
        found = self.figures(f"/ui?{chosen.query}")
        shown = [found[one] for one in ("Calls", "Tokens shown", "Failed", "Refused")]
        self.same(f"figures {chosen.query}", shown, [f"{one:,}" for one in (calls, tokens, failed, refused)])
        if calls and 50 <= (mean_us := took_us // calls) < 1_000_000:
            digits = 1 if mean_us < 10_000 else 0
            self.same("mean call", [found["Mean call"]], [f"{mean_us / 1000:,.{digits}f} ms"])

    def _by_name(self, chosen: Chosen) -> None:
        where = chosen.where(NAMES)
        for name in NAMES:
            column = name
            if name == "tool":
                column = f"CASE WHEN tool = '' OR tool LIKE '/%' THEN '{REQUESTS}' ELSE tool END"
            summed = self.sql(f"{column}, {SUMS}", where, "GROUP BY 1")
            took = self._percentiles(chosen) if name == "tool" else {}
            by_hand = [
                [
                    one[0],
                    str(one[1]),
                    str(one[3]),
                    *(took.get(one[0], [""] * 3) if name == "tool" else []),
                    str(one[2]),
                ]
                for one in summed
            ]
            self.same(f"by {name} {chosen.query}", self.csv("", name, chosen)[1:], by_hand)

    def _percentiles(self, chosen: Chosen) -> dict[str, list[str]]:
        """Of whole days, and whatever agents, tokens and outcomes are chosen; rounded to two digits."""
        since_us = chosen.since_us // DAY_US * DAY_US
        where = f"{chosen.where(['tool'], since_us)} AND duration_us > 0"
        ranked = """tool, duration_us, ROW_NUMBER() OVER (PARTITION BY tool ORDER BY duration_us),
            COUNT(*) OVER (PARTITION BY tool)"""
        found: dict[str, list[str]] = {}
        for tool, took_us, place, many in self.sql(ranked, where, "ORDER BY 1, 2"):
            times = sum(place == -(-many * one // 100) for one in PERCENTILES)
            found.setdefault(tool, []).extend([two_digits(took_us)] * times)
        return found

    def _by_day(self, chosen: Chosen) -> None:
        where = chosen.where(NAMES, chosen.since_us // DAY_US * DAY_US)
        summed = self.sql(f"time_us / {DAY_US}, {SUMS}", where, "GROUP BY 1")
        by_hand = [
            [
                str(datetime.fromtimestamp(one[0] * DAY_US / 1e6, UTC).date()),
                *map(str, (one[1], *one[3:5], one[2])),
            ]
            for one in summed
        ]
        self.same(f"by day {chosen.query}", self.csv("", "day", chosen)[1:], by_hand)

    def _over_time(self, chosen: Chosen) -> None:
        """Each hour is in the last point that is not after it, as points without tokens have no row."""
        for by in NAMES:
            head, *rows = self.csv("", "time", chosen, by=by)
            starts = [datetime.fromisoformat(f"{row[0]}:00+00:00").timestamp() * 1e6 for row in rows]
            drawn: Counter[tuple[int, str]] = Counter()
            for hour, name, tokens in self.sql(
                f"time_us / {HOUR_US}, {by}, SUM(tokens)", chosen.where(NAMES), "GROUP BY 1, 2"
            ):
                at = max((at for at, start in enumerate(starts) if start <= hour * HOUR_US), default=-1)
                label = name or "(none)"
                if tokens:
                    drawn[at, label if label in head else "all others"] += tokens
            shown = {
                (at, name): int(value)
                for at, row in enumerate(rows)
                for name, value in zip(head[1:], row[1:], strict=True)
                if int(value)
            }
            self.same(f"over time by {by} {chosen.query}", shown.items(), drawn.items())

    def _files(self, chosen: Chosen) -> None:
        """A call that showed several files counts for each, with its share of the tokens."""
        where = chosen.where(("agent", "token", "tool"), chosen.since_us // DAY_US * DAY_US)
        spans = f"""SELECT number, path, SUM(CASE WHEN last > 0 THEN last - first + 1 ELSE 0 END) AS lines
            FROM ({SPANS[self._dialect]}) AS spans GROUP BY number, path"""
        files = "COUNT(*) OVER (PARTITION BY number) AS files"
        each = f"SELECT number, path, lines, {files} FROM ({spans}) AS lined"
        select = f"""SELECT each.path, COUNT(*), SUM(lines), SUM(tokens / files) FROM calls
            JOIN ({each}) AS each ON each.number = calls.number WHERE {self._ended} AND {where} GROUP BY 1"""
        by_hand = [[row[0], *(str(int(one)) for one in row[1:])] for row in self._ask(select)]
        self.same(f"files {chosen.query}", self.csv("/files", "file", chosen)[1:], by_hand)
        inside = [row for row in by_hand if row[0].startswith("src/")]
        if len(inside) == len(by_hand):
            self._map(chosen, inside)

    def _map(self, chosen: Chosen, files: list[list[str]]) -> None:
        """The folder `src` as a map: the shown files that are there, and the others with nothing."""
        rows = self.csv("/map", "folder", chosen, path="src")[1:]
        there = {row[0] for row in rows}
        shown = [[f"src/{row[0]}", *row[4:]] for row in rows if row[3] != "0"]
        by_hand = [[row[0], row[1], row[3]] for row in files if row[0].removeprefix("src/") in there]
        self.same(f"map {chosen.query}", shown, by_hand)

    def _sessions(self, chosen: Chosen) -> None:
        having = f"MAX(time_us) >= {chosen.since_us} AND SUM(CASE WHEN contract <> '' THEN 1 ELSE 0 END) > 0"
        problem = {"failed": "outcome <> 'ok'", "refused": "decision = 'refused'"}.get(
            chosen.values.get("outcome", "")
        )
        if problem:
            having += f" AND SUM(CASE WHEN {problem} THEN 1 ELSE 0 END) > 0"
        select = f"session, agent, MAX(time_us), {SUMS}"
        group = f"GROUP BY session, agent, token HAVING {having}"
        summed = self.sql(select, chosen.where(("agent", "token"), 0), group)
        by_hand = [(one[0], one[1], second(one[2]), str(one[3]), str(one[5]), str(one[4])) for one in summed]
        shown = [(row[0], *row[2:]) for row in self.csv("/sessions", "sessions", chosen)[1:]]
        self.same(f"sessions {chosen.query}", shown, by_hand)

    def _calls(self, chosen: Chosen) -> None:
        where = chosen.where(NAMES)
        select = "number, agent, tool, COALESCE(path, ''), outcome, duration_us, tokens"
        newest = self.sql(select, where, "ORDER BY number DESC LIMIT 10000")
        shown = [
            (row[0], *row[2:6], *row[8:10])
            for row in self.csv("/calls", "calls", chosen)[1:]
            if row[5] != "begun"
        ]
        self.same(f"calls {chosen.query}", shown, [tuple(map(str, one)) for one in newest[: len(shown)]])
        if len(newest) < 9000:
            self.same("number of calls", [len(shown)], [len(newest)])

    def _refused(self, chosen: Chosen) -> None:
        where = f"{chosen.where(NAMES[:3])} AND decision = 'refused'"
        select = f"outcome, CASE WHEN contract = '' THEN {TIMES[self._dialect]} ELSE 1 END"
        newest = self.sql(select, where, "ORDER BY number DESC LIMIT 10000")
        shown = [(row[0], int(row[4])) for row in self.csv("/refused", "refused", chosen)[1:]]
        self.same(f"refused {chosen.query}", shown, newest)

    def session(self, session: str, agent: str, token: str) -> None:
        """The page of one conversation."""
        wanted = f"session = '{session}' AND agent = '{agent}' AND token = '{token}'"
        ((calls, tokens, failed, refused, _),) = self.sql(SUMS, wanted)
        ((epoch, first_epoch),) = self.sql("MAX(epoch), MIN(epoch)", wanted)
        found = self.figures(f"/ui/session?{urlencode({'id': session, 'agent': agent, 'token': token})}")
        shown = [found[one] for one in ("Calls", "Tokens", "Failed", "Refused", "Compactions")]
        self.same(
            f"session {session}", shown, [f"{one:,}" for one in (calls, tokens, failed, refused, epoch)]
        )
        points = self.csv("/session", "context", id=session, agent=agent, token=token)[1:]
        shown = [points[-1][-2], str(sum(int(point[-1]) for point in points))]
        ((in_all,),) = self.sql("SUM(tokens)", f"{wanted} AND epoch = {epoch}")
        self.same(f"context of {session}", shown, [str(in_all), str(epoch - first_epoch)])

    def file(self, path: str) -> None:
        """The page of one file."""
        at = f"number IN (SELECT number FROM ({SPANS[self._dialect]}) AS spans WHERE path = '{path}')"
        ((calls, sessions),) = self.sql("COUNT(*), COUNT(DISTINCT session)", at)
        found = self.figures(f"/ui/file?{urlencode({'path': path})}")
        shown = [found["Calls that showed this file"], found["Conversations"]]
        self.same(f"file {path}", shown, [f"{calls:,}", f"{sessions:,}"])

    def search(self, word: str) -> None:
        """What a search lists, as far as its tables go."""
        like = f"LOWER({{}}) LIKE '%{word}%'"
        asked = like.format("tool || ' ' || COALESCE(path, '') || ' ' || arguments")
        where = f"workspace = '{self._workspace}' AND face <> 'ui' AND contract <> '' AND {asked}"
        found = self._ask(f"SELECT number FROM calls WHERE {where} ORDER BY number DESC LIMIT 50")
        shown = [int(row[0]) for row in self.csv("/search", "asked", q=word)[1:51]]
        self.same(f"search for {word}", shown, [int(one) for (one,) in found])


def second(time_us: int) -> str:
    return datetime.fromtimestamp(time_us / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S")


def two_digits(number: int) -> str:
    unit = Decimal(1).scaleb(max(0, len(str(number)) - 2))
    return f"{int(Decimal(number).quantize(unit, ROUND_HALF_UP)):d}"


@contextmanager
def dashboard(source: str, root: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """`readroom ui` over a ledger, open to all, and its port."""
    line = [sys.executable, "-m", "readroom", "ui", source, "--root", str(root), "--open"]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline().decode()
            yield process, int(said.partition("127.0.0.1:")[2].partition("/")[0])
        finally:
            process.send_signal(signal.SIGTERM)


def got(port: int, address: str) -> bytes:
    """The body of a page."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=120)) as connection:
        connection.request("GET", address)
        answer = connection.getresponse()
        body = answer.read()
    assert answer.status == 200, (address, answer.status, body[:2000])
    assert b"not summed yet" not in body
    return body
