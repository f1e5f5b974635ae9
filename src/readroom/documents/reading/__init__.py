"""Read parts of a document: pages, slides, sheets, cells, sections.

    open      the process that extracts it, or what is cached of it; hash its bytes meanwhile
    pick      the parts that `pages` selects; without it, all parts and the table of contents
    extract   one part after another, as many as fit the reply
    continue  with the rests of lines that were cut, then with the remaining parts

Line numbers count within a part; in a sheet they are row numbers.  So part and line number always
identify the same line.  `offset` and `column` apply to the first requested part, `limit` to all
lines together; with a column, to the lines whose rests are shown.

Knows: the steps from a document to the parts that a reply shows.
Does not know: file formats, which only the extracting process reads.
May be touched: `worker` with a security review, the rest freely.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

from msgspec.structs import replace

from readroom.core.engine.read.window import hidden_in_page, rest_from
from readroom.core.engine.services import Job, Services
from readroom.core.errors import BadDocument, BadRange, EncryptedDocument, TimedOut, TransferLimit
from readroom.core.errors.usage import negative_limit, past_column
from readroom.core.formats.kinds import Recognised, default_lines
from readroom.core.limits import MAX_WARNINGS, Limits
from readroom.core.quoting import joined, quote
from readroom.core.stores.base import Source
from readroom.core.text import encodings, hashes, hidden
from readroom.core.text.select import Frame, Page, along, forward, weight
from readroom.core.values import Kind, Omission, ReadRequest, ReadResult, Warn
from readroom.core.values.files import CONTENTS_WORD, PartView, ShownDocument
from readroom.documents.formats import (
    OR_MEMBERS,
    OTHER_COPY,
    Encrypted,
    NoSuchColumn,
    Unreadable,
    page_ranges,
)
from readroom.documents.formats.page_ranges import Pick
from readroom.documents.limits import DOCUMENT_IMAGES, DOCUMENT_PATIENCE
from readroom.documents.reading import beside
from readroom.documents.reading.cache import DocumentCache, Reading
from readroom.documents.reading.fetching import fetching, too_much
from readroom.documents.reading.parts import PartContent, PartLines, Parts, region_of
from readroom.documents.reading.withheld import denied_in

_LOCKED_ADVICE = "Ask the user for a copy without a password, or for an export as text."
_ROWS_OF_HEAD = 3
"""Maximum lines above the lines of a part, not counting its notes."""


def read_document(
    services: Services, job: Job[ReadRequest], source: Source, recognised: Recognised, known: str | None
) -> ReadResult:
    """The requested parts of a document, without attachments that policy denies.

    Args:
        services: What the workspace offers.
        job: The request.
        source: The document, or its content if it is compressed.
        recognised: Its format.
        known: The hash that the caller knows, in hex; may be None.

    Raises:
        BadDocument, EncryptedDocument: The document, or the first part to show, cannot be read.
        BadRange: It has no such part, line or column; the error says what exists.
        BadValue: An argument has no meaning for a document.
        TimedOut, Cancelled: From the deadline.
    """
    request = job.request
    if (request.limit or 1) < 0:
        raise negative_limit(request.limit, next_request=replace(request, limit=None))
    if request.view == "image" and not job.cap.images:
        raise beside.unseen(request)
    within = job.deadline.of_work(services.limits.document_timeout_s, DOCUMENT_PATIENCE)
    denies = denied_in(services.guard, source, request.path)
    documents = services.documents()
    assert isinstance(documents, DocumentCache)
    with (
        fetching(),
        documents.open(source, recognised.format, within, denies, eager=known is None) as reading,
    ):
        base = ReadResult(request.path, Kind.DOCUMENT, source.size, hashes.shown(reading.digits))
        if known is not None and reading.digits.startswith(known):
            return replace(base, not_modified=True)
        return _Shown(reading, recognised, services.limits, job, base).result()


DOCUMENT_SHOWN_HEADINGS = 40
"""Headings shown above the first part, about 500 tokens; the reply names a call for all of them."""

DOCUMENT_CONTENTS_SHARE = 4
"""The part of a reply that these headings may take."""


@final
class _Shown:
    """One read of a document's parts."""

    def __init__(
        self,
        reading: Reading,
        recognised: Recognised,
        limits: Limits,
        job: Job[ReadRequest],
        base: ReadResult,
    ) -> None:
        request, cap = job.request, job.cap
        self._reading = reading
        self._sees = cap.images
        self._recognised, self._format = recognised, recognised.format
        assert cap.measure.parts is not None, "the contract reads documents part by part"
        self._measure = cap.measure.parts
        self._numbered = cap.measure.read.numbered
        self._request = request
        self._base = base
        self._line_chars = limits.line_chars
        self._room = cap.size - cap.measure.frame(request.path) - len(request.pages or "")
        self._rests = request.column > 1
        self._left = request.limit or (1 if self._rests else default_lines(Kind.DOCUMENT))
        self._parts: list[PartView] = []
        self._omitted: list[Omission] = []
        self._warnings: list[Warn] = []
        self._images = 0
        self._rows = cap.lines
        self._several = False
        self._begun = False
        self._uncut = 0
        self._cut: tuple[Sequence[Pick], int, int] | None = None
        """Where the rests of cut lines begin: the parts from there on, the line, the column."""
        self._since = 0
        """How many lines are shown from there on."""

    def result(self) -> ReadResult:
        try:
            opened = self._reading.opened
        except Unreadable as error:
            raise self._bad(error, None) from None
        self._titles = opened.titles
        self._total = opened.total
        self._unit = opened.unit
        self._source = Parts(self._reading, self._request, self._headings(least=1))
        picks = self._picks()
        contents = self._contents()
        self._several = len(picks) > 1 or any(len(pick) > 1 for pick in picks)
        following = None
        for at, pick in enumerate(picks):
            following = self._shown_pick(pick, picks[at + 1 :])
            if following is not None:
                break
        self._omitted += beside.omissions(self._request, self._recognised, self._parts, sees=self._sees)
        document = ShownDocument(self._format, str(self._unit), self._total, self._parts, *contents)
        return replace(
            self._base,
            document=document,
            omitted=self._omitted,
            uncut=self._uncut,
            next=self._rest_of_cuts() or following,
            warnings=hidden.first_told((*self._warnings, *self._of_titles()), MAX_WARNINGS),
        )

    # --- which parts --------------------------------------------------------------------------

    def _picks(self) -> list[Pick]:
        request = self._request
        if request.pages is None:
            return [Pick(1, self._total)] if self._total else []
        try:
            picks = page_ranges.parse(request.pages, self._unit, self._total, self._titles)
        except page_ranges.BadPages as error:
            raise self._no_such_part(error) from None
        if request.view != "image" and any(pick.area and pick.area.region for pick in picks):
            raise beside.region_of_text(request, self._recognised, picks, self._titles)
        return picks

    def _no_such_part(self, error: page_ranges.BadPages) -> BadRange:
        request = self._request
        names = [title for title in self._titles if title][:DOCUMENT_SHOWN_HEADINGS]
        has = f"{self._total} {self._unit}{'' if self._total == 1 else 's'}"
        called = f": {joined(names)}" if names and self._unit.has_rows else ""
        advice = f"Use a number from 1 to {self._total}." if self._total else "It has nothing to read."
        pages = request.pages or ""
        return BadRange(
            f"pages={pages[:80]!r} {error.problem}; {quote(request.path)} has {has}{called}",
            advice,
            total_parts=self._total,
            titles=names,
            next_request=replace(request, pages=error.near, offset=None, column=1, known_hash=None),
        )

    def _contents(self) -> tuple[Sequence[tuple[int, str, int]], int]:
        """The headings to show of the table of contents, and how many are omitted; on a first read only."""
        if self._request.pages is not None or self._request.offset is not None or self._request.column > 1:
            return (), 0
        headings = self._headings(least=2)
        room = self._room // DOCUMENT_CONTENTS_SHARE
        listed = []
        for heading in headings[:DOCUMENT_SHOWN_HEADINGS]:
            room -= self._measure.heading(heading)
            if room < 0:
                break
            listed.append(heading)
            self._room -= self._measure.heading(heading)
        self._use_rows(len(listed))
        left = len(headings) - len(listed)
        if left:
            rest = replace(self._request, pages=CONTENTS_WORD, offset=len(listed) + 1, known_hash=None)
            self._omitted.append(
                Omission("headings", len(listed) + 1, len(headings), "contents", request=rest)
            )
        return listed, left

    def _headings(self, least: int) -> Sequence[tuple[int, str, int]]:
        """The table of contents; without one the titles of at least this many parts."""
        contents = self._reading.opened.contents
        if contents:
            return contents
        titles = enumerate(self._titles, 1)
        return [(1, title, number) for number, title in titles if title] if self._total >= least else []

    # --- one part after the other ---------------------------------------------------------------

    def _shown_pick(self, pick: Pick, rest: Sequence[Pick]) -> ReadRequest | None:
        """Show the parts of a pick; the request for the rest, None when all were shown."""
        for number in range(pick.first, pick.last + 1):
            here = [Pick(number, pick.last, pick.area), *rest]
            if self._rests and self._left <= 0:
                return None if self._request.limit == 1 else self._rest(here, "limit")
            if self._parts and (self._left <= 0 or self._room <= 0):
                return self._rest(here, "limit" if self._left <= 0 else "reply_cap")
            try:
                offset = None if self._begun else self._request.offset
                content = self._source.content(number, pick.area, offset, self._left)
            except Unreadable as error:
                self._skip(number, error)
                continue
            except TimedOut as error:
                if not self._parts:
                    raise self._slow(number, error) from None
                return self._rest(here, "timeout")
            show = self._rests_of_part if self._rests else self._shown_part
            following = show(content, here)
            self._begun = True
            if following is not None:
                return following
        return None

    def _shown_part(self, content: PartContent, here: Sequence[Pick]) -> ReadRequest | None:
        """Show as much of a part as fits; the request for the rest, None to continue with the next part."""
        part, text = content.part, content.text
        images, notes = self._source.pictures(content)
        if self._parts and images and self._images + len(images) > DOCUMENT_IMAGES:
            return self._rest(here, "image_cap")
        head = PartView(
            part.number,
            part.title,
            text.total,
            text.first,
            header=part.header,
            notes=notes,
            images=images,
            total_known=part.total_known,
            figures=part.figures if text.first == 1 else 0,
            drawn=part.drawn,
            counted=len(part.counted) if notes else 0,
            is_bare=part.is_bare and bool(notes),
            formulas=part.formulas if notes else 0,
            region=str(region_of(content.area)) if self._request.view == "image" else "",
        )
        frame = Frame(
            self._room - self._measure.part(head, str(self._unit), self._total),
            self._line_chars,
            self._costs(text),
            lines=self._rows,
        )
        stop = self._stop(content)
        page = Page(text.first, ())
        if text.total_lines >= text.first:
            page = forward(text, text.first, min(stop, text.last, text.first + self._left - 1), frame)
        whole = page.next_line is None or page.next_line > stop
        if self._parts and (page.reason == "reply_cap" or (not whole and frame.room <= 0)):
            return self._rest(here, "reply_cap")
        self._take(head, page, frame, content)
        self._left -= len(page.lines)
        self._note_cuts(page, text, here)
        if stop < text.total_lines and whole:
            self._omit_output(part.number, stop + 1, text.total_lines)
        if whole or page.next_line is None:
            return None
        return self._rest(here, page.reason, text.row(page.next_line), text.total)

    def _costs(self, text: PartLines) -> Callable[[int], int]:
        """The cost of a line number in a reply."""
        return (lambda number: self._numbered(text.row(number))) if text.rows else self._numbered

    def _stop(self, content: PartContent) -> int:
        """The last line to show: of a cell among several, only the beginning of its output."""
        brief, text = content.part.brief, content.text
        if self._several and brief is not None and text.first <= brief < text.total_lines:
            return brief
        return text.total_lines

    def _note_cuts(self, page: Page, text: PartLines, here: Sequence[Pick]) -> None:
        """Remember where the first cut line continues, and how many lines are shown from there on."""
        if self._cut is not None:
            self._since += len(page.lines)
        elif (cut := page.first_cut) is not None:
            line, piece = cut
            self._cut, self._since = (here, text.row(line), piece.last + 1), page.last - line + 1

    def _use_rows(self, count: int) -> None:
        """Count lines of the reply, if their number is limited."""
        if self._rows is not None:
            self._rows = max(1, self._rows - count)
            self._room = self._room if self._rows > 1 else 0

    def _rests_of_part(self, content: PartContent, here: Sequence[Pick]) -> ReadRequest | None:
        """Show the rests of a part's cut lines, as `_shown_part` shows lines."""
        part, text = content.part, content.text
        head = PartView(part.number, part.title, text.total, text.first)
        around = self._measure.part(head, str(self._unit), self._total)
        frame = Frame(self._room - around, self._line_chars, self._costs(text))
        stop = self._stop(content)
        last = min(stop, text.last, text.first + self._left - 1)
        page = self._along(text, last, frame)
        self._uncut += page.uncut
        if page.numbers:
            number = page.numbers[0]
            if self._parts and frame.room < self._line_chars:
                return self._on(here, number, page.cuts[number].first, text)
            self._take(head, page, frame, content)
        if page.next_line is not None and page.next_column > 1:
            return self._on(here, page.next_line, page.next_column, text)
        self._left -= max(0, last - text.first + 1)
        if self._request.limit == 1 or last == stop or last < text.first:
            return None
        return self._rest(here, "limit", text.row(last + 1), text.total)

    def _on(self, here: Sequence[Pick], line: int, column: int, text: PartLines) -> ReadRequest:
        """The request for the rests of a part from a place on."""
        row, passed = text.row(line), line - text.first
        if self._request.limit == 1:
            alone = self._written([Pick(here[0].first, here[0].first, here[0].area)])
            return replace(self._request, pages=alone, offset=row, column=column, known_hash=None)
        again = replace(self._request, pages=self._written(here))
        return rest_from(again, row, column, row + self._left - 1 - passed)

    def _along(self, text: PartLines, last: int, frame: Frame) -> Page:
        request, total = self._request, 0
        column = None if self._begun else request.column
        page = Page(text.first, ())
        if last >= text.first:
            page, total = along(text, text.first, last, column, frame)
        if column is None or column <= total:
            return page
        raise past_column(request, text.first, total, total_lines=text.total)

    def _of_titles(self) -> list[Warn]:
        """Warnings about the titles, headers and notes of a document."""
        words = (word for part in self._parts for word in (part.title, part.header or "", *part.notes))
        return hidden.in_names(words, limit=MAX_WARNINGS)

    def _take(self, head: PartView, page: Page, frame: Frame, content: PartContent) -> None:
        room = frame.room - weight(page, frame)
        page, rows = content.text.placed(page)
        hidden_there = hidden_in_page(page)
        where = f" in {self._unit} {head.number}"
        self._warnings += [replace(item, detail=item.detail + where) for item in hidden_there]
        lines = [encodings.visible(line) for line in page.lines] if hidden_there else page.lines
        numbers = () if rows else page.numbers
        view = replace(head, start=page.start, lines=lines, numbers=numbers, cuts=page.cuts, rows=rows)
        self._parts.append(view)
        self._images += len(head.images)
        self._room = room
        self._use_rows(len(page.lines) + len(head.notes) + _ROWS_OF_HEAD)
        for number, cut in page.cuts.items():
            if cut.last < cut.total:
                rest = replace(
                    self._request,
                    pages=self._written([Pick(head.number, head.number, content.area)]),
                    offset=number,
                    column=cut.last + 1,
                    limit=1,
                    known_hash=None,
                )
                reason = "reply_cap" if cut.first > 1 else "line_cap"
                self._omitted.append(
                    Omission("columns", cut.last + 1, cut.total, reason, number, rest, head.number)
                )

    # --- rest -------------------------------------------------------------------------

    def _written(self, picks: Sequence[Pick]) -> str:
        return page_ranges.written(picks, self._titles)

    def _rest(
        self, here: Sequence[Pick], reason: str, line: int | None = None, total: int = 0
    ) -> ReadRequest:
        """The request for a part from a line on, and for all parts after it."""
        offset = line if line is not None and line > 1 else None
        limit = None if self._rests else self._request.limit  # with a column it counts rests of lines
        pages = self._written(here)
        following = replace(self._request, pages=pages, offset=offset, limit=limit, column=1, known_hash=None)
        first, behind = here[0].first, here[0].first
        if line is not None:
            self._omitted.append(Omission("lines", line, total, reason, part=first, request=following))
            behind += 1
        last = max(pick.last for pick in here)
        if behind <= last:
            self._omitted.append(Omission("parts", behind, last, reason, request=following))
        return following

    def _rest_of_cuts(self) -> ReadRequest | None:
        """The request for the rests of the lines that were cut."""
        if self._cut is None:
            return None
        here, line, column = self._cut
        again = replace(self._request, pages=self._written(here))
        return rest_from(again, line, column, line + self._since - 1)

    def _omit_output(self, number: int, first: int, last: int) -> None:
        rest = replace(
            self._request,
            pages=self._written([Pick(number, number)]),
            offset=first,
            column=1,
            limit=None,
            known_hash=None,
        )
        self._omitted.append(Omission("lines", first, last, "output", part=number, request=rest))

    # --- failures -----------------------------------------------------------------

    def _skip(self, number: int, error: Unreadable) -> None:
        """Report that a part cannot be extracted. Raises BadDocument if it is the only one requested."""
        if self._rests and self._begun:
            return
        if not self._several:
            raise self._bad(error, number)
        part = PartView(number, "", 0, notes=[f"It cannot be read: {error.problem}."])
        self._room -= self._measure.part(part, str(self._unit), self._total)
        self._left -= 1
        self._parts.append(part)

    def _bad(self, error: Unreadable, number: int | None) -> BadDocument | BadRange:
        path, kind = self._request.path, self._format
        if isinstance(error, NoSuchColumn):
            whole = self._written([Pick(number, number)]) if number else None
            again = replace(self._request, pages=whole, known_hash=None)
            return BadRange(
                f"pages={(self._request.pages or '')[:80]!r}: {quote(path)}: {error.problem}",
                error.advice,
                next_request=again,
            )
        if isinstance(error, Encrypted):
            return EncryptedDocument(path, kind, error.problem, error.advice or _LOCKED_ADVICE)
        if number is None or number == page_ranges.SCHEMA:
            members = beside.stored(self._request, self._recognised) if error.advice == OR_MEMBERS else None
            return BadDocument(path, kind, error.problem, error.advice or OTHER_COPY, next_request=members)
        problem, neighbour = f"{self._unit} {number}: {error.problem}", self._beside(number)
        return BadDocument(
            path, kind, problem, error.advice or OTHER_COPY, part=number, next_request=neighbour
        )

    def _slow(self, number: int, error: TimedOut) -> BadDocument | TransferLimit:
        spent = " of processor time" if error.processor else ", on a machine that is busy with other work"
        if isinstance(error, TransferLimit):
            return too_much(f"{self._unit} {number}", error, self._beside(number))
        problem = f"{self._unit} {number} takes more than {error.seconds:g} s{spent}"
        advice = "Read other parts of it, or ask for an export as text."
        neighbour = self._beside(number)
        path = self._request.path
        return BadDocument(path, self._format, problem, advice, part=number, next_request=neighbour)

    def _beside(self, number: int) -> ReadRequest | None:
        """A read of a neighbour of a part that cannot be read."""
        other = number + 1 if number < self._total else number - 1
        if not other:
            return None
        return ReadRequest(self._request.path, pages=self._written([Pick(other, other)]))
