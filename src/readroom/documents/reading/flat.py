"""Read a document as one text with lines numbered from start to end.

Parts are extracted in order, without their pictures, until the window is full; the number of lines after
it is then unknown, unless the document is itself a text.  An empty line separates parts.  Notes about what
cannot be shown of a part are lines of the text, so that line numbers are the same for every window.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.engine.read.window import line_chars
from readroom.core.errors import BadDocument, BadRange, EncryptedDocument, TimedOut, TransferLimit
from readroom.core.errors.usage import past_column
from readroom.core.formats.kinds import Recognised
from readroom.core.limits import MAX_WARNINGS, Limits
from readroom.core.quoting import quote
from readroom.core.stores.base import Source
from readroom.core.text import encodings, hashes, hidden
from readroom.core.text.select import Frame, Page, along, byte_size, forward
from readroom.core.values import Cap, Kind, LineEnds, Omission, ReadRequest, ReadResult
from readroom.documents.formats import OTHER_COPY, Encrypted, Unit, Unreadable
from readroom.documents.limits import DOCUMENT_PATIENCE
from readroom.documents.reading.cache import FLAT_FORM, DocumentCache, Reading
from readroom.documents.reading.fetching import fetching
from readroom.documents.reading.parts import PartLines
from readroom.documents.reading.withheld import everything


class _Lines(Struct, frozen=True):
    """Lines from the first requested one, and where the text after them continues.

    `seen` is the number of examined lines; `part` is the one where that ended, None after all.
    """

    text: PartLines
    seen: int
    part: int | None
    timed_out: bool = False


def read_flat(
    room: DocumentCache,
    source: Source,
    recognised: Recognised,
    limits: Limits,
    cap: Cap,
    request: ReadRequest,
    deadline: Deadline,
) -> ReadResult:
    """The window of a document's text that `request` selects; `offset` counts from the start.

    Raises:
        BadDocument, EncryptedDocument: It cannot be read.
        BadRange: It has no such line or column.
        TimedOut: The first line is not reached in time; what was extracted is kept for the next call.
        Cancelled: From the deadline.
    """
    within = deadline.of_work(limits.document_timeout_s, DOCUMENT_PATIENCE)
    row = recognised.row
    form = row.name if row.flat == row.opener else f"{FLAT_FORM}{row.name}"
    with fetching(), room.open(source, form, within, everything) as reading:
        base = ReadResult(request.path, Kind.DOCUMENT, source.size, hashes.shown(reading.digits))
        return _Flat(reading, recognised, limits, cap, request, base).result()


@final
class _Flat:
    """One read, with the state that its steps share."""

    def __init__(
        self,
        reading: Reading,
        recognised: Recognised,
        limits: Limits,
        cap: Cap,
        request: ReadRequest,
        base: ReadResult,
    ) -> None:
        self._reading = reading
        self._format = recognised.format
        self._request = request
        self._base = base
        self._first = max(1, request.offset or 1)
        whole = request.options.flat == "whole"
        self._limit = None if whole and not recognised.is_text else request.limit
        self._counts = whole and recognised.is_text  # a text has its lines at once
        room = cap.size - cap.measure.frame(request.path)
        self._frame = Frame(room, line_chars(request.options, limits, cap), cap.measure.read.numbered)
        self._part = 0

    def result(self) -> ReadResult:
        """The window."""
        try:
            total = self._reading.opened.total
        except Unreadable as error:
            raise self._bad(error) from None
        lines = self._gathered()
        if not lines.text.total_lines or lines.seen < self._first:
            self._require_first(lines)
            return replace(self._base, total_lines=0)
        page = self._page(lines)
        if page.next_line is None and lines.part is not None and self._request.column == 1:
            page = replace(page, next_line=lines.seen + 1)
        warnings = hidden.scan(page.lines, page.start, limit=MAX_WARNINGS)
        following = self._following(page)
        return replace(
            self._base,
            total_lines=None if lines.part is not None else lines.seen,
            ends=LineEnds(1),
            start=page.start,
            lines=[encodings.visible(line) for line in page.lines] if warnings else page.lines,
            cuts=page.cuts,
            next=following,
            omitted=self._omitted(page, lines, total, following),
            warnings=warnings,
        )

    # --- the text -----------------------------------------------------------------------------

    def _gathered(self) -> _Lines:
        """As many lines as the window can hold, and one more; the others are only counted, if at all."""
        kept: list[str] = []
        used, full = 0, False
        first, seen = self._known()
        last = None if self._limit is None else self._first + self._limit - 1
        try:
            for line in self._lines(first, filled=seen > 0):
                seen += 1
                if seen < self._first or full:
                    continue
                kept.append(line)
                used += byte_size(line) + self._frame.numbered(seen)
                # Show the beginning of a first line that is too long.
                full = (used > self._frame.room and len(kept) > 1) or (last is not None and seen > last)
                if full and not self._counts:
                    return _Lines(PartLines(kept, self._first, seen), seen, self._part)
        except TimedOut as error:
            if not kept:
                opened = self._reading.opened
                done = f"{self._part - 1:,} of {opened.total:,} {opened.unit}s"
                advice = f"{done} were extracted so far; the same call continues from there."
                if isinstance(error, TransferLimit):
                    raise TransferLimit(
                        advice=advice, bound=error.bound, next_request=self._request
                    ) from None
                raise TimedOut(
                    error.seconds, advice, next_request=self._request, processor=error.processor
                ) from None
            return _Lines(PartLines(kept, self._first, seen), seen, self._part, timed_out=True)
        return _Lines(PartLines(kept, self._first, seen), seen, None)

    def _known(self) -> tuple[int, int]:
        """The part to begin with, and the lines before it: those that are counted need not be extracted."""
        before = 0
        for number, count in enumerate(self._reading.counted, 1):
            if before + count >= self._first:
                return number, before
            before += count
        return len(self._reading.counted) + 1, before

    def _lines(self, first: int, *, filled: bool) -> Iterator[str]:
        """The lines from a part on, extracted as they are taken; `filled` is whether any are before it.

        Raises:
            TimedOut, Cancelled: From the deadline.
        """
        opened = self._reading.opened
        for number in range(first, opened.total + 1):
            self._part = number
            lines = self._of_part(number, opened.unit)
            if lines and filled:
                lines = ["", *lines]
            self._reading.count(number, len(lines))
            filled = filled or bool(lines)
            yield from lines

    def _of_part(self, number: int, unit: Unit) -> list[str]:
        try:
            part = self._reading.part(number, text_only=True)
        except Unreadable as error:
            return [f"[{unit} {number} cannot be read: {error.problem}]"]
        if not part.lines and unit is Unit.PAGE:
            return [f"[{unit} {number} has no text]"]
        return [*part.lines, *(f"[{note}]" for note in part.notes)]

    # --- the window ---------------------------------------------------------------------------

    def _page(self, lines: _Lines) -> Page:
        request, text = self._request, lines.text
        if request.column == 1:
            most = lines.seen if self._limit is None else min(lines.seen, self._first + self._limit - 1)
            return forward(text, self._first, most, self._frame)
        page, total = along(text, self._first, self._first, request.column, self._frame)
        if request.column > total:
            raise past_column(request, self._first, total)
        # The rest of one line was requested, so end with that line.
        return page if page.next_column > 1 else replace(page, next_line=None)

    def _require_first(self, lines: _Lines) -> None:
        """Return if the first line of an empty text was requested. Raises BadRange."""
        total = lines.seen
        if self._first == 1 and self._request.column == 1:
            return
        raise BadRange(
            f"offset={self._first} is past the end of {quote(self._request.path)}, which has {total} lines",
            f"Use an offset from 1 to {max(total, 1)}.",
            total_lines=total,
            next_request=replace(self._request, offset=max(1, total), column=1),
        )

    def _following(self, page: Page) -> ReadRequest | None:
        if page.next_line is None:
            return None
        within = page.next_column > 1
        limit = 1 if within else self._request.limit
        return replace(self._request, offset=page.next_line, column=page.next_column, limit=limit)

    def _omitted(
        self, page: Page, lines: _Lines, total: int, following: ReadRequest | None
    ) -> list[Omission]:
        omissions = []
        if following is not None and page.next_column == 1 and page.next_line is not None:
            reason = "timeout" if lines.timed_out and page.next_line > lines.seen else page.reason
            if lines.part is None:
                omissions.append(Omission("lines", page.next_line, lines.seen, reason, request=following))
            else:
                omissions.append(Omission("parts", lines.part, total, reason, request=following))
        for number, cut in page.cuts.items():
            if cut.last < cut.total:
                rest = replace(self._request, offset=number, column=cut.last + 1, limit=1)
                omissions.append(Omission("columns", cut.last + 1, cut.total, "reply_cap", number, rest))
        return omissions

    def _bad(self, error: Unreadable) -> BadDocument:
        kind = EncryptedDocument if isinstance(error, Encrypted) else BadDocument
        return kind(self._request.path, self._format, error.problem, error.advice or OTHER_COPY)
