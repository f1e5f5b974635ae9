"""In which definition a found line stands.

An outline is made of the very text that was searched.  All of them together may
take a small part of the search's time; what stands in files after that is not said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

from readroom.deadline import Deadline
from readroom.engine.grep_text import Text
from readroom.errors import TimedOut
from readroom.limits import HEAD_BYTES
from readroom.limits_outline import GREP_SYMBOLS_S, OUTLINE_BYTES
from readroom.outline.languages import language_of
from readroom.outlines import Row, rows
from readroom.text.encodings import decode


@final
class Symbols:
    """The definitions of the files of one search. `gave_up` says that time did not suffice for all."""

    def __init__(self, deadline: Deadline) -> None:
        left = deadline.remaining
        self._deadline = deadline.within(GREP_SYMBOLS_S if left is None else min(GREP_SYMBOLS_S, left / 2))
        self.gave_up = False

    def of(self, path: str, text: Text) -> Callable[[int], str | None]:
        """The innermost definition around a line, by its number; made when first asked for."""
        listed: Sequence[Row] | None = None

        def around(line: int) -> str | None:
            nonlocal listed
            if listed is None:
                listed = self._listed(path, text)
            inside = [row for row in listed if row.item.start <= line <= row.item.end]
            return max(inside, key=lambda row: row.depth).name if inside else None

        return around

    def _listed(self, path: str, text: Text) -> Sequence[Row]:
        from readroom.outline.build import Unparsable, build, can_outline

        if text.size > OUTLINE_BYTES or self.gave_up:
            return ()
        data = decode(text.slice(0, text.size), text.encoding)
        language = language_of(path, data[:HEAD_BYTES])
        if language is None or not can_outline(language):
            return ()
        try:
            return list(rows(build(data, language, self._deadline).items))
        except TimedOut:
            self.gave_up = True
            return ()
        except Unparsable:
            return ()
