"""The parts of a round that are put on a page, and where the next page begins.

A page takes parts in their order.  What does not fit waits for the next page, together with all that comes
after it in its file, and parts of other files come before it; so a cursor says of each file of the round how
many of its parts were shown.  Headings take most of the room that a page has for form, so that lines of files
that are on the page already often are what fits.  The best part that is left is cut to fill the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import final
from zlib import crc32

from msgspec.structs import replace

from readroom.core.engine.cursors import FIND_STATES, FindCursor, FindRest
from readroom.core.engine.find.kept import Apart
from readroom.core.engine.find.page import PageOfPassages
from readroom.core.engine.find.survey import Seen
from readroom.core.ranking.score import RankedPart, Standing
from readroom.core.values import Warn

_CHANGED = Warn(
    "changed",
    "files changed after the page before: lines may be missing or come twice; "
    "the same call without cursor begins anew",
)


def _sum(rows: Iterable[str], state: int = 0) -> int:
    for row in rows:
        state = crc32(row.encode("utf-8", "surrogatepass"), state)
    return state


@final
class Filling:
    """A page that is filled, round by round.

    Attributes:
        cursor: Its place for the next page.
        waiting: How many parts of the round of the cursor are left.
        warnings: That files changed after the page before.
    """

    def __init__(self, page: PageOfPassages, cursor: FindCursor, seen: Seen) -> None:
        """Begin where the cursor says, in what was seen of all files."""
        self._page = page
        self._seen = _sum(f"{each.path}\0{each.size}{each.bounds}" for each in seen.glimpses)
        self.cursor = cursor
        self.waiting = 0
        self.warnings: list[Warn] = []

    def fill(self, apart: Sequence[Apart], parts: Sequence[RankedPart]) -> None:
        """Add as many parts of a round as fit."""
        cursor = self.cursor
        within = _sum((f"{file.candidate.file.path}\0{file.digits}" for file in apart), self._seen)
        if cursor.state and cursor.state != self._state(cursor, within):
            self.warnings.append(_CHANGED)
        queues = _Queues(apart, parts, cursor.counts)
        rest = self._add(queues, cursor.rest)
        self.waiting = queues.waiting
        if self.waiting:
            going = replace(cursor, counts=_trimmed(queues.counts), rest=rest or FindRest())
        else:
            going = FindCursor(cursor.since, cursor.round + 1, until=cursor.until)
        self.cursor = replace(going, state=self._state(going, within))

    def _state(self, cursor: FindCursor, within: int) -> int:
        """The checksum for a cursor, with its own numbers, so that none of them gets lost unnoticed."""
        state = within if cursor.is_within else self._seen
        return 1 + _sum([f"{cursor.counts}{cursor.rest}"], state) % (FIND_STATES - 1)

    def _add(self, queues: _Queues, rest: FindRest) -> FindRest | None:
        """Add parts from the queues; what is left of one that was cut."""
        blocked = list[int]()
        begun = rest if rest.line and queues.has_next(rest.file) else None
        left = self._fill(queues, blocked, begun) or self._cut(queues, blocked)
        if left is None and blocked and self._page.is_wanting:
            # Short files leave nothing but more headings to fill it with.
            self._page.lift_form()
            blocked.clear()
            left = self._fill(queues, blocked, None) or self._cut(queues, blocked)
        return left

    def _fill(self, queues: _Queues, blocked: list[int], begun: FindRest | None) -> FindRest | None:
        """Add the best parts that fit, beginning with one that was begun before."""
        page = self._page
        while page.has_room:
            file = begun.file if begun else queues.best(blocked)
            if file is None:
                break
            before = begun or FindRest(file)
            if begun is None and not queues.may_come(file):
                break
            left = page.add(queues.first(file), before)
            if left is None:
                queues.advance(file)
            elif left != before:
                return left
            else:
                blocked.append(file)
            begun = None
        return None

    def _cut(self, queues: _Queues, blocked: Sequence[int]) -> FindRest | None:
        """Add some lines of the best part that did not fit."""
        for file in blocked:
            before = FindRest(file)
            if not queues.may_come(file):
                break
            left = self._page.add(queues.first(file), before, cut=True)
            if left is None:
                queues.advance(file)
            elif left != before:
                return left
        return None


def _trimmed(counts: Sequence[int]) -> tuple[int, ...]:
    """The counts without zeros at their end, as a cursor has them."""
    shown = max((at for at, count in enumerate(counts, 1) if count), default=0)
    return tuple(counts[:shown])


class _Queues:
    """The parts of each file of a round that are left, best first."""

    def __init__(self, apart: Sequence[Apart], parts: Sequence[RankedPart], counts: Sequence[int]) -> None:
        files = {file.candidate.file.path: at for at, file in enumerate(apart)}
        self._parts: list[list[tuple[int, RankedPart]]] = [[] for _ in files]
        for place, part in enumerate(parts):
            self._parts[files[part.path]].append((place, part))
        known = [*counts[: len(files)], *[0] * (len(files) - len(counts))]
        self.counts = [min(count, len(own)) for count, own in zip(known, self._parts, strict=True)]

    @property
    def waiting(self) -> int:
        """How many parts are left."""
        return sum(map(len, self._parts)) - sum(self.counts)

    def has_next(self, file: int) -> bool:
        """Whether a file has parts left."""
        return file < len(self.counts) and self.counts[file] < len(self._parts[file])

    def first(self, file: int) -> RankedPart:
        """The best part that is left of a file."""
        return self._parts[file][self.counts[file]][1]

    def best(self, blocked: Sequence[int]) -> int | None:
        """The file with the best part that is left, besides some; None if there is none."""
        ready = [file for file in range(len(self.counts)) if file not in blocked and self.has_next(file)]
        return min(ready, key=lambda file: self._parts[file][self.counts[file]][0], default=None)

    def may_come(self, file: int) -> bool:
        """Whether the best part of a file is program text, or none of that is left."""
        if self.first(file).standing is Standing.PROGRAM:
            return True
        others = (at for at in range(len(self.counts)) if self.has_next(at))
        return all(self.first(at).standing is not Standing.PROGRAM for at in others)

    def advance(self, file: int) -> None:
        """Continue after the best part of a file."""
        self.counts[file] += 1
