"""Facts about files that a session learned from earlier results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from readroom.lens.evidence.numbering import Run
from readroom.lens.limits import BOUNDS, Bounds

_TELLING_CHARS = 8


class Known(msgspec.Struct):
    """Facts about files that a session learned so far: how many lines they have, and the text of lines.

    Files and texts are kept as hashes, so that their length does not matter. `moved`: a shell that lasts from
    call to call may be in another folder than the session.
    """

    root: str = ""
    moved: bool = False
    totals: dict[int, int] = msgspec.field(default_factory=dict)
    lines: dict[int, dict[int, int]] = msgspec.field(default_factory=dict)
    stale: set[int] = msgspec.field(default_factory=set)
    remembered: int = 0
    bounds: Bounds = BOUNDS

    def total(self, file: str) -> int | None:
        """How many lines a file has, if known."""
        return self.totals.get(hash(file))

    def put_total(self, file: str, lines: int) -> None:
        """Remember how many lines a file has, while there is room."""
        if hash(file) in self.totals or len(self.totals) < self.bounds.files:
            self.totals[hash(file)] = lines
            self.stale.discard(hash(file))

    def doubt(self, files: Iterable[str] | None) -> None:
        """These files, or any file, may have changed: their number of lines is no longer certain."""
        self.stale |= self.totals.keys() if files is None else {*map(hash, files)} & self.totals.keys()

    def shown_at(self, file: str, number: int, lines: Sequence[str]) -> bool:
        """Whether these lines were shown before, from that number on, and say something."""
        place = self.lines.get(hash(file), {})
        telling = any(len(line.strip()) >= _TELLING_CHARS for line in lines)
        return telling and all(place.get(at) == hash(line) for at, line in enumerate(lines, number))

    def learn(self, run: Run) -> None:
        """Remember the lines of a run by their hashes, while there is room."""
        place = self.lines.get(hash(run.file))
        if place is None:
            if len(self.lines) >= self.bounds.files or self.remembered >= self.bounds.lines:
                return
            place = self.lines[hash(run.file)] = {}
        for number, line in enumerate(run.lines, run.first):
            if number not in place:
                if self.remembered >= self.bounds.lines:
                    return
                self.remembered += 1
            place[number] = hash(line)

    def locate(self, file: str, lines: list[str]) -> int | None:
        """The number of the first of some lines, computed from lines of the file shown before."""
        by_hash: dict[int, list[int]] = {}
        for number, value in self.lines.get(hash(file), {}).items():
            by_hash.setdefault(value, []).append(number)
        votes: dict[int, int] = {}
        for index, line in enumerate(lines):
            if line.strip():
                for number in by_hash.get(hash(line), ())[:20]:
                    votes[number - index] = votes.get(number - index, 0) + 1
        if not votes:
            return None
        best = max(votes, key=lambda first: votes[first])
        filled = sum(1 for line in lines if line.strip())
        return best if best > 0 and votes[best] * 2 >= filled else None
