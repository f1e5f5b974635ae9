"""Verify a ledger: every row is as it was written, in order, from the first to the head.

Changed, removed, added and moved rows are found, and rows missing at the end. An attacker who can write the
whole database and build a new chain is not found, unless a head that was noted elsewhere is compared
(`noted`).
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice

import msgspec
from msgspec import Struct

from readroom.core.limits.session import LEDGER_PROBLEMS
from readroom.server.ledger import sums
from readroom.server.ledger.ledger import Head, Ledger
from readroom.server.ledger.rows import START, Event, Row


class Verdict(Struct, frozen=True):
    """The result of a verification.

    Attributes:
        rows: The number of rows checked.
        start: The last pruned row.
        head: The last row, according to the ledger.
        problems: Sentences, each naming its row; empty if the chain verifies.
        uncompared: Why the noted head could not be compared; empty if it was, or none was given.
    """

    rows: int
    start: Head
    head: Head
    problems: tuple[str, ...]
    uncompared: str = ""


def verify(book: Ledger, noted: Head | None = None) -> Verdict:
    """Check every row, also against a head that an earlier verification printed. Raises LedgerFailed."""
    # The head first: rows written meanwhile come after it.
    start, head = book.start(), book.head()
    checker = _Checker(start, head, noted)
    problems: list[str] = []
    for problem in checker.problems(book):
        problems.append(problem)
        if len(problems) >= LEDGER_PROBLEMS:
            problems.append("and perhaps more; the first ones are named")
            break
    if not problems:
        problems += islice(book.look(lambda execute: list(sums.differences(execute))), LEDGER_PROBLEMS)
    return Verdict(checker.rows, start, head, tuple(problems), checker.uncompared())


class _Checker:
    """Checks the rows in one pass."""

    def __init__(self, start: Head, head: Head, noted: Head | None) -> None:
        self._start = start
        self._head = head
        self._noted = noted
        self._pruning: Row | None = None
        self.rows = 0

    def uncompared(self) -> str:
        """Why the noted head cannot be compared: its row was removed, truly or by a forged pruning."""
        if self._noted is None or self._noted.number > self._start.number:
            return ""
        named = "" if self._pruning is None else f", as row {self._pruning.number} says{_when(self._pruning)}"
        return (
            f"row {self._noted.number} was noted and cannot be compared, because the rows up to "
            f"{self._start.number} were removed{named}. Compare a head that was noted after that."
        )

    def problems(self, book: Ledger) -> Iterator[str]:
        number, previous = self._start.number, self._start.hash
        # A removed row cannot be compared; `uncompared` reports it.
        seen_noted = self._noted is None or self._noted.number <= self._start.number
        if self._noted is not None and self._noted.number == self._start.number:
            seen_noted = self._noted.hash == self._start.hash
        if number == 0 and previous != START:
            yield "the chain does not start as every chain does"
        for row in book.rows():
            if row.number > self._head.number:
                if row.number > book.head().number:
                    yield f"row {row.number} follows the last one that was written"
                break
            self.rows += 1
            if row.number <= number:
                yield f"row {row.number} is where row {number + 1} should be"
                continue
            if row.number > number + 1:
                yield f"{_rows(number + 1, row.number - 1)} missing"
            elif row.previous != previous:
                yield f"row {row.number} does not follow row {number}: one of them was replaced"
            if not row.is_whole:
                yield f"row {row.number} was changed"
            if _removed(row) == self._start:
                self._pruning = row
            if self._noted is not None and row.number == self._noted.number:
                seen_noted = row.hash == self._noted.hash
            number, previous = row.number, row.hash
        if number < self._head.number:
            yield f"{_rows(number + 1, self._head.number)} missing at the end"
        elif previous != self._head.hash:
            yield f"row {number} is not the one that was written last"
        if self._start.number != 0 and self._pruning is None:
            yield f"rows up to {self._start.number} were removed, and no row says so"
        if not seen_noted and self._noted is not None:
            yield f"row {self._noted.number} is not the one whose hash was noted: the chain was rebuilt"


PRUNE = "ledger_prune"
"""The tool of the row that records the removal of older ones."""


def _when(row: Row) -> str:
    try:
        return f" of {datetime.fromtimestamp(row.event.time_us / 1_000_000, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):  # a forged ledger may hold any number
        return ""


class _Removal(Struct, frozen=True):
    up_to: int
    hash: str


def _removed(row: Row) -> Head | None:
    """The last row that a pruning removed, as its own row says; None for other rows."""
    if row.event.tool != PRUNE or row.event.outcome != "ok" or row.event.contract:
        return None
    try:
        removal = msgspec.json.decode(row.event.arguments, type=_Removal)
    except msgspec.MsgspecError:
        return None
    return Head(removal.up_to, removal.hash)


def _rows(first: int, last: int) -> str:
    return f"row {first} is" if first == last else f"rows {first} to {last} are"


# -----------------------------------------------------------------------------
# Removal of old rows: the chain continues from the last of them.
# -----------------------------------------------------------------------------


def prune(book: Ledger, days: float) -> int:
    """Remove rows older than `days`, with a row that records it; return their number. Raises LedgerFailed."""
    now = time.time_ns() // 1000
    texts: Mapping[str, str] = dict.fromkeys(
        ("workspace", "agent", "session", "token", "contract", "arguments"), ""
    )
    event = Event(
        id=uuid.uuid4().hex,
        time_us=now,
        **texts,
        face="",
        epoch=0,
        tool=PRUNE,
        path=None,
        decision="allowed",
        rule=None,
        outcome="ok",
        kind=None,
        shown="[]",
        tokens=0,
        counter="",
        duration_us=0,
    )
    return book.prune(now - int(days * 86_400_000_000), event)
