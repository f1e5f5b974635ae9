"""What a session was shown, line by line, and whether it is still in view."""

from __future__ import annotations

from typing import final

import msgspec

from readroom.lens.bounds import BOUNDS, Bounds
from readroom.lens.normal_form import Lines


@final
class Shown:
    """The lines that results of one session showed, by hashes, and the turns that are no longer sent."""

    def __init__(self, session: str, bounds: Bounds = BOUNDS) -> None:
        self._session = session
        self._bounds = bounds
        self._files: dict[int, dict[int, tuple[int, int]]] = {}
        self._lines = 0
        self._compacted = 0  # the last turn that a compaction threw away
        self._dropped: list[tuple[int, int]] = []  # turns that a person went back behind

    @property
    def held(self) -> int:
        """What it keeps, in remembered lines."""
        return self._lines + len(self._files)

    def compact(self, turns: int) -> None:
        """So many turns are no longer sent, since a summary stands in their place."""
        self._compacted = turns

    def drop(self, first: int, last: int) -> None:
        """These turns are no longer sent, since a person went back behind them."""
        self._dropped.append((first, last))
        if len(self._dropped) > self._bounds.rewinds:
            del self._dropped[0]

    def end(self, turn: int, turns: int) -> int:
        """The last of `turns` whose request carried what stands in `turn`."""
        return min((last for first, last in self._dropped if first <= turn <= last), default=turns)

    def spans(self, number: int, turn: int, file: str, first: int, hashes: list[int]) -> list[Lines]:
        """The lines that call `number` shows, in stretches of one kind: new, still in view, or seen before
        a compaction.
        """
        place = self._files.get(hash(file))
        if place is None:
            place = {}
            if len(self._files) < self._bounds.files and self._lines < self._bounds.lines:
                self._files[hash(file)] = place
        spans: list[Lines] = []
        for line, value in enumerate(hashes, first):
            before = place.get(line)
            again = None
            if before is not None and before[0] == value and not self._is_dropped(before[1]):
                again = "in view" if before[1] > self._compacted else "compacted"
            if before is not None or self._lines < self._bounds.lines:
                self._lines += before is None
                place[line] = (value, turn)
            if spans and spans[-1].last == line - 1 and spans[-1].again == again:
                spans[-1] = msgspec.structs.replace(spans[-1], last=line)
            else:
                spans.append(Lines(self._session, number, file, line, line, None, again))
        return spans

    def _is_dropped(self, turn: int) -> bool:
        return any(first <= turn <= last for first, last in self._dropped)
