"""The kinds of the places of a name in one file: by the grammar of its language, or without a label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, final

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.engine.grep.lines import Text
from readroom.core.errors import TimedOut
from readroom.core.limits import GREP_LINE_BYTES, HEAD_BYTES
from readroom.core.limits.outline import OUTLINE_BYTES
from readroom.core.outline.languages import DATA, language_of
from readroom.core.paths import WorkPath
from readroom.core.search.names import places_in_line
from readroom.core.search.pattern import Hit
from readroom.core.text.encodings import decode
from readroom.core.values import GrepRequest
from readroom.core.values.matches import UseKind

if TYPE_CHECKING:
    from readroom.core.outline.uses import Uses

USES_PARSE_S = 3.0
"""Processor time for one file, to parse it and to label its matches. A text of OUTLINE_BYTES needs 0.5 s."""

USES_COLUMNS = 20
"""Places in one line that a row names."""

NEVER = 1 << 62
"""After the last line of any file."""

_TOO_LONG = "it takes too long to parse"


class LinePlaces(Struct, frozen=True):
    """The places of one kind in a line: the first columns from 0 in characters, the first one in bytes."""

    kind: UseKind
    certain: bool
    columns: Sequence[int]
    byte: int
    size: int


NO_GRAMMAR = "no grammar"

_PROSE = frozenset({"markdown", "html", *DATA})
"""Languages without a grammar whose texts are no code."""


@final
class Labels:
    """The kinds of the places in one file.

    Attributes:
        why: Why they are not labelled; None if they are.
        slow: The line from which they are not, for want of time; `NEVER` if there was enough.
    """

    def __init__(
        self, request: GrepRequest, path: WorkPath, text: Text, deadline: Deadline, known: int | None
    ) -> None:
        """`known` is what `slow` was on an earlier page, which this one repeats; None on the first one."""
        self._request = request
        self._text = text
        self._within = deadline
        self._ends = NEVER if known is None else known
        if known is None:
            # On a busy machine the time of the call ends first: half is left for matches without a label.
            left = deadline.remaining
            self._within = (deadline if left is None else deadline.within(left / 2)).of_thread(USES_PARSE_S)
        self._deadline = deadline
        self._uses: Uses | None = None
        self.why: str | None = None
        self.slow = NEVER
        self._plain: UseKind = "use"
        head = decode(text.slice(0, HEAD_BYTES), text.encoding)
        self._parse(language_of(path, head))

    def _parse(self, language: str | None) -> None:
        from readroom.core.outline import Unparsable, can_outline
        from readroom.core.outline.grammars import GRAMMARS
        from readroom.core.outline.uses import parsed

        if language is None or language not in GRAMMARS:
            self.why = NO_GRAMMAR
            if not can_outline(language) or language in _PROSE:
                self._plain = "text"
        elif self._text.size > OUTLINE_BYTES:
            self.why = f"larger than {OUTLINE_BYTES:,} bytes"
        elif self._ends == 0:
            self._end(0)
        else:
            try:
                source = self._text.slice(0, self._text.size)
                self._uses = parsed(source, language, self._within)
            except Unparsable as problem:
                self.why = str(problem)
            except TimedOut:
                self._deadline.check()
                self._end(0)

    def _end(self, line: int) -> None:
        """Label nothing from a line on."""
        self._uses, self.why, self.slow = None, _TOO_LONG, line

    def of(self, hit: Hit) -> list[LinePlaces]:
        """The places in a line, by kind."""
        feed = self._text.feed_after(hit.start, hit.start + OUTLINE_BYTES)
        end = min(self._text.size, hit.start + OUTLINE_BYTES) if feed < 0 else feed
        if self._uses is None:
            # Of a line of any length only the beginning is looked at.
            end = min(end, hit.start + GREP_LINE_BYTES)
        line = self._text.slice(hit.start, end)
        text = decode(line, self._text.encoding)
        spans = places_in_line(text, self._request.pattern, ignore_case=self._request.ignore_case)
        if self._uses is not None and hit.number >= self._ends:
            self._end(hit.number)
        if not spans and end in (feed, self._text.size) and not self._request.ignore_case:
            return []  # only a part of a word, which the pattern does not rule out
        if self._uses is None or not spans:
            return [_unlabelled(self._plain, hit, [start for start, _ in spans])]
        return self._by_kind(hit, text, spans)

    def _by_kind(self, hit: Hit, text: str, spans: Sequence[tuple[int, int]]) -> list[LinePlaces]:
        assert self._uses is not None
        places = [(hit.start + start, hit.start + end) for start, end in _in_bytes(text, spans)]
        try:
            uses = self._uses.of_line(hit.number, places, self._within)
        except TimedOut:
            self._deadline.check()
            self._end(hit.number)
            return [_unlabelled(self._plain, hit, [start for start, _ in spans])]
        found: dict[UseKind, LinePlaces] = {}
        for use, (start, _) in zip(uses, spans, strict=True):
            known = found.get(use.kind)
            if known is None:
                size = use.end - use.start
                found[use.kind] = LinePlaces(use.kind, use.certain, [start], use.start - hit.start, size)
            else:
                certain = known.certain and use.certain
                columns = [*known.columns, start] if len(known.columns) < USES_COLUMNS else known.columns
                found[use.kind] = replace(known, certain=certain, columns=columns)
        return list(found.values())

    def symbol(self, number: int) -> str | None:
        """The definition around a line."""
        return None if self._uses is None else self._uses.symbol(number, self._request.pattern)


def _unlabelled(kind: UseKind, hit: Hit, columns: Sequence[int]) -> LinePlaces:
    return LinePlaces(kind, False, columns, hit.column or 0, hit.length)


def _in_bytes(text: str, spans: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    """Places in characters as places in bytes of UTF-8."""
    if text.isascii():
        return spans
    found, at, size = [], 0, 0
    for start, end in spans:
        size += len(text[at:start].encode("utf-8", "surrogatepass"))
        length = len(text[start:end].encode("utf-8", "surrogatepass"))
        found.append((size, size + length))
        at, size = end, size + length
    return found
