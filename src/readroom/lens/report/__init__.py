"""The result of an audit for readers: sums, and the most expensive of everything.

Knows: sums in bounded memory, and how text of a record is made harmless (`plain`).
Does not know: detectors. `terminal` and `html` only format.
May be touched: freely, as long as every text of a record goes through `plain`.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypeVar

import msgspec

from readroom.core.rows import FINDINGS, Finding, FindingKind
from readroom.core.short_ids import short_id
from readroom.lens.audit import NO_RECORD
from readroom.lens.limits import FILES_LISTED
from readroom.lens.money import PriceList, released
from readroom.lens.normal_form import CUT_AWAY, Call, Replayed, Session, SkippedPart, counted
from readroom.lens.records import EMPTY
from readroom.lens.report.courses import Courses, found_by
from readroom.lens.report.spending import Spending
from readroom.lens.sessions import Audited

SESSIONS_LISTED = 500
"""Sessions that a page lists, the dearest first; the export has all of them."""

FINDINGS_LISTED = 200
"""Findings of one kind that a page lists, the dearest first."""


def price(kind: FindingKind, tokens: int, carried: int) -> str:
    """The cost of findings of a kind, in words."""
    return (
        f"{tokens:,} tokens truncated"
        if kind in CUT_AWAY
        else f"{tokens:,} tokens, {carried:,} in all requests"
    )


def passed_over(files: int) -> str:
    """The note on files that are not records."""
    return f"{counted(files, 'file')} skipped: unknown record format"


def copied(sessions: int) -> str:
    """The note on sessions that repeat others."""
    return f"{counted(sessions, 'session')} with turns copied from another: those count once"


T = TypeVar("T")


class Sum(msgspec.Struct):
    """Sums over findings of one kind."""

    count: int = 0
    sessions: int = 0
    tokens: int = 0
    carried_tokens: int = 0


class Spent(msgspec.Struct):
    """The cost of a tool, a file or a client."""

    calls: int = 0
    tokens: int = 0
    carried_tokens: int = 0
    errors: int = 0


class Again(msgspec.Struct):
    """Replayed calls of one contract: how they ended, and tokens and lines of those that showed something."""

    states: dict[str, int] = msgspec.field(default_factory=dict)
    then_tokens: int = 0
    now_tokens: int = 0
    then_lines: int = 0
    now_lines: int = 0
    changed_lines: int = 0
    missing: int = 0

    def add(self, row: Replayed) -> None:
        """Add a call."""
        self.states[row.state] = self.states.get(row.state, 0) + 1
        self.missing += row.missing
        if row.state in ("same", "changed"):
            _add(self, row, "then_tokens", "now_tokens", "then_lines", "now_lines", "changed_lines")

    def outcomes(self) -> str:
        """The results of the calls, in words."""
        return ", ".join(f"{count:,} {state}" for state, count in sorted(self.states.items()))


_SESSIONS_NAMED = 100_000
"""Sessions whose ids are compared, and whose clients and titles are remembered."""

_UNNAMED = ("", "")


class Totals:
    """Sums over sessions, and the most expensive of them."""

    def __init__(self, prices: PriceList | None = None) -> None:
        self.spending = Spending(prices or released())
        self.courses = Courses()
        self.words: dict[str, str] = {}
        """By listed session: files, tools, commands and findings by which a page finds it, one a line."""
        self.sessions = 0
        self.agents = 0
        self.calls = 0
        self.errors = 0
        self.turns = 0
        self.compactions = 0
        self.result_tokens = 0
        self.carried_tokens = 0
        self.input_tokens = 0
        self.output_tokens = 0
        self.cache_tokens = 0
        self.cost = 0.0
        self.exact = False
        self.cut = 0
        self.records = 0
        self._record = ""
        self._named: dict[str, tuple[str, str]] = {}
        self._sorted: list[str] | None = None
        self.clients: dict[str, Spent] = {}
        self.tools: dict[str, Spent] = {}
        self.files: dict[str, Spent] = {}
        self.kinds: dict[FindingKind, Sum] = {}
        self.clients_of: dict[FindingKind, dict[str, int]] = {}
        self.replayed: dict[str, Again] = {}
        self.missing: list[Replayed] = []
        self.skipped: list[SkippedPart] = []
        self.skipped_parts = 0
        self.no_records = 0
        self.copies = 0
        self.unknown: SkippedPart | None = None
        self.unknown_files = 0
        self._dearest: dict[FindingKind, list[tuple[int, int, Finding]]] = {}
        self._sessions: list[tuple[int, int, Session]] = []
        self._order = 0

    def add(self, part: Audited | SkippedPart) -> None:
        """Add a session, or a part that was not read."""
        if isinstance(part, SkippedPart) and part.where == NO_RECORD:
            self.no_records += 1
            if part.why != EMPTY:
                self.unknown = self.unknown or part
                self.unknown_files += 1
            return
        if isinstance(part, SkippedPart):
            self.skipped_parts += part.count
            if len(self.skipped) < FINDINGS_LISTED:
                self.skipped.append(part)
            return
        if part.session.copied_turns:
            self.copies += 1
            if not part.turns and not part.calls:
                return
        if len(self._named) < _SESSIONS_NAMED:
            self._named[part.session.session] = (part.session.client, part.session.title)
            self._sorted = None
        self._session(part)
        self.spending.add(part)
        self.courses.add(part)
        lines = _lines_of_several(part)
        for call in part.calls:
            carried = call.carried_tokens
            self.cut += call.cut_by in ("client", "tool", "server")
            _spend(self.tools, call.tool, call.tokens, carried, call.error)
            if call.file and call.kind in ("read", "command", "edit", "write"):
                for file, tokens in _shares(call, lines):
                    part_of_it = carried * tokens // max(1, call.tokens)
                    _spend(self.files, file, tokens, part_of_it, call.error)
        kinds = set()
        for finding in part.findings:
            by = self.clients_of.setdefault(finding.kind, {})
            if part.session.client in by or len(by) < FILES_LISTED:
                by[part.session.client] = by.get(part.session.client, 0) + finding.carried_tokens
            sum_ = self.kinds.setdefault(finding.kind, Sum())
            sum_.count += 1
            _add(sum_, finding, "tokens", "carried_tokens")
            kinds.add(finding.kind)
            weight = finding.tokens if finding.kind in CUT_AWAY else finding.carried_tokens
            self._keep(self._dearest.setdefault(finding.kind, []), weight, finding, FINDINGS_LISTED)
        for row in part.replayed:
            self.replayed.setdefault(row.contract, Again()).add(row)
            if row.missing and len(self.missing) < FINDINGS_LISTED:
                self.missing.append(row)
        for kind in kinds:
            self.kinds[kind].sessions += 1

    def _session(self, part: Audited) -> None:
        session = part.session
        self.sessions += 1
        self.agents += bool(session.parent)
        self.exact = session.tokens_exact
        self.records += session.record != self._record  # sessions come record by record
        self._record = session.record
        _add(self, session, "calls", "errors", "turns", "compactions", "result_tokens", "carried_tokens")
        _add(self, session, "input_tokens", "output_tokens", "cost")
        self.cache_tokens += session.cache_read_tokens + session.cache_write_tokens
        if session.client in self.clients or len(self.clients) < FILES_LISTED:
            client = self.clients.setdefault(session.client, Spent())
            _add(client, session, "calls", "carried_tokens", "errors")
            client.tokens += session.result_tokens
        left = self._keep(self._sessions, session.carried_tokens, session, SESSIONS_LISTED)
        if left is not session:
            self.words[session.session] = found_by(part, self.courses.harmless)
            if left is not None:
                self.words.pop(left.session, None)

    def _keep(self, heap: list[tuple[int, int, T]], weight: int, item: T, most: int) -> T | None:
        """Keep it if it is among the most expensive; returns what is not, or no longer."""
        self._order -= 1
        if len(heap) < most:
            heapq.heappush(heap, (weight, self._order, item))
            return None
        return heapq.heappushpop(heap, (weight, self._order, item))[2]

    def called(self, session: str) -> str:
        """A session in a line: its client, and the first characters of its id that make it unique."""
        outer, _, own = session.rpartition("/")
        name = self._short(session)
        if own and outer in self._named:  # a sub-agent, whose id begins with that of its session
            name = f"{self._short(outer)}/{self._short(session, len(outer) + 1)}"
        return f"{self._named.get(session, _UNNAMED)[0]} {name}".lstrip()

    def _short(self, session: str, start: int = 0) -> str:
        if self._sorted is None:
            self._sorted = sorted(self._named)
        return short_id(session, self._sorted, start)

    def title(self, session: str) -> str:
        """The first prompt of a session; empty where it is not known."""
        return self._named.get(session, _UNNAMED)[1]

    def dearest_sessions(self) -> list[Session]:
        """The most expensive sessions, in order."""
        return [session for _, _, session in sorted(self._sessions, key=lambda item: (-item[0], -item[1]))]

    def dearest(self, kind: FindingKind) -> list[Finding]:
        """The most expensive findings of a kind, in order."""
        ordered = sorted(self._dearest.get(kind, ()), key=lambda item: (-item[0], -item[1]))
        return [finding for _, _, finding in ordered]

    def ordered_kinds(self) -> list[FindingKind]:
        """The kinds with findings, worst first."""
        return [kind for kind in FINDINGS if kind in self.kinds]


def _add(sums: object, row: object, *names: str) -> None:
    """Add some fields of a row to sums of the same names."""
    for name in names:
        setattr(sums, name, getattr(sums, name) + getattr(row, name))


def dearest_of(spent: dict[str, Spent], most: int) -> list[tuple[str, Spent]]:
    """The most expensive entries, in order."""
    return heapq.nsmallest(most, spent.items(), key=lambda item: (-item[1].carried_tokens, item[0]))


def _lines_of_several(part: Audited) -> Counter[tuple[int, str]]:
    """How many lines of each file were shown by calls that are about several."""
    several = {call.call for call in part.calls if call.more_files}
    counts: Counter[tuple[int, str]] = Counter()
    for lines in part.lines if several else ():
        if lines.call in several:
            counts[lines.call, lines.file] += lines.last - lines.first + 1
    return counts


def _shares(call: Call, lines: Mapping[tuple[int, str], int]) -> Iterator[tuple[str, int]]:
    """The files of a call with their tokens, divided by the lines that were shown of each."""
    files = call.files
    shown = [lines.get((call.call, file), 0) for file in files]
    parts = shown if any(shown) else [1] * len(files)
    end = before = 0
    for file, part in zip(files, parts, strict=True):
        end += part
        tokens = call.tokens * end // sum(parts)
        yield file, tokens - before
        before = tokens


_NAMES_KEPT = 20_000
"""Tools and files that have sums of their own; later ones share one."""


def _spend(table: dict[str, Spent], name: str, tokens: int, carried: int, error: bool) -> None:
    if name not in table and len(table) >= _NAMES_KEPT:
        name = "(all others)"
    spent = table.setdefault(name, Spent())
    spent.calls += 1
    spent.tokens += tokens
    spent.carried_tokens += carried
    spent.errors += error
