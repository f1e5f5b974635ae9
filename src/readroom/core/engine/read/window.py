"""The window of a text that a read asks for, what it leaves out, and where to continue.

Also works for a text whose lines are not all counted yet: with a window of the lines counted so far, or
of the last lines, which are then numbered from the end.
"""

from __future__ import annotations

import re
from typing import final

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.errors import BadRange, TimedOut, TransferLimit
from readroom.core.errors.usage import past_column
from readroom.core.formats.kinds import LFS_POINTER, carries_header, default_lines, starts_at_end
from readroom.core.limits import MAX_WARNINGS, Limits
from readroom.core.quoting import quote
from readroom.core.session.index_cache import Unfinished
from readroom.core.stores.base import Source
from readroom.core.text import encodings, hashes, hidden
from readroom.core.text.encodings import Encoding, decode
from readroom.core.text.line_index import Shrunk, nth_newline
from readroom.core.text.select import Frame, Page, Text, WholeText, along, backward, forward, weight
from readroom.core.values import Cap, Cut, Kind, Omission, ReadMode, ReadRequest, ReadResult, Warn
from readroom.core.values.files import OUTLINES
from readroom.core.values.options import ReadOptions


class MoreNeeded(Exception):
    """The lines that were counted, and the end of the file, do not hold the window that is asked for."""


class Content(Struct, frozen=True):
    """A text, facts about the whole file, and its encoding.

    `digits` is empty when the hash is not known; `unfinished` says that `text` is
    only the beginning of it.
    """

    text: Text
    digits: str
    encoding: Encoding
    kind: Kind
    unfinished: Unfinished | None = None
    clean: bool = False
    """Whether nothing is hidden in it; False if not all of it was checked."""


def line_chars(options: ReadOptions, limits: Limits, cap: Cap) -> int:
    """The length up to which a line is shown whole, in characters."""
    if options.line_chars is None:
        return limits.line_chars
    return options.line_chars or cap.size


def room(request: ReadRequest, cap: Cap, taken: int = 0) -> int:
    """How many bytes of numbered lines a reply may show; an outline takes `taken` of them."""
    fits, maximum = cap.size - cap.measure.frame(request.path), cap.measure.read.content_bytes
    return fits if maximum is None else min(fits, maximum - taken)


READ_END_BYTES = 4 * 1024 * 1024
"""How much of a file's end is searched for its last lines while they cannot be numbered yet: 500 lines of 8
kB; decoded, it stays far below the 64 MB promised per call."""


@final
class Windows(Struct, frozen=True):
    """The windows of one opened file for one request."""

    _source: Source
    _limits: Limits
    _cap: Cap
    _request: ReadRequest
    _taken: int = 0
    """Bytes of the reply that an outline takes."""

    def base(self, content: Content, *, not_modified: bool = False) -> ReadResult:
        """The facts that are the same for every window."""
        return ReadResult(
            path=self._request.path,
            kind=content.kind,
            size_bytes=self._source.size,
            content_hash=f"{hashes.PREFIX}{content.digits}" if content.digits else None,
            total_lines=None if content.unfinished else content.text.total_lines,
            encoding=content.encoding.name,
            bom=bool(content.encoding.bom),
            ends=replace(content.text.ends, final=None) if content.unfinished else content.text.ends,
            warnings=self._about(content),
            not_modified=not_modified,
        )

    def lines_needed(self, kind: Kind) -> int | None:
        """How many lines at the beginning of a text are enough for the window; None for all."""
        request = self._request
        if request.symbol is not None or request.view in OUTLINES or request.options.past_end == "shown":
            return None
        tail = request.offset is None and request.column == 1 and starts_at_end(kind)
        if tail or (request.offset or 1) < 0:
            return 1
        return (request.offset or 1) + abs(request.limit or default_lines(kind))

    def window(self, content: Content) -> ReadResult:
        """The window that the request asks for.

        Raises:
            BadRange, BadValue: From the request.
            TimedOut: It is not in what was counted in time.
            MoreNeeded: It is not in what was counted by choice.
        """
        request, text = self._request, content.text
        if request.options.blank_whole and isinstance(text, WholeText) and not text.whole.strip():
            options = replace(request.options, blank_whole=False)
            whole = replace(request, offset=1, limit=max(1, text.total_lines), options=options)
            return replace(self, _request=whole).window(content)
        # By default a log is read from its end, and a negative limit reads up to a line.
        tail = request.offset is None and request.column == 1 and starts_at_end(content.kind)
        up = (request.limit or 0) < 0 or tail
        mode: ReadMode = "tail" if up and request.column == 1 else "offset"
        frame = Frame(
            room(request, self._cap, self._taken),
            line_chars(request.options, self._limits, self._cap),
            self._cap.measure.read.numbered,
            request.options.line_bytes,
            self._cap.measure.read.mark_bytes,
            self._cap.lines,
        )
        if content.unfinished is not None and (tail or (request.offset or (-1 if up else 1)) < 0):
            page, above = self._last_lines(content, content.unfinished, frame, up=up)
            return self._shown(content, page, None, mode, above if up else 0)
        header = None
        past_end = request.options.past_end if content.unfinished is None else "refused"
        if request.column > 1:
            page = self._along(content, frame)
        elif past_end == "shown" and (request.offset or 1) > text.total_lines:
            return self._past_end(content, frame, mode)
        elif text.total_lines == 0:
            if past_end == "refused":
                self._first_line(content)
            return replace(self.base(content), read_mode=mode)
        else:
            page, header = self._page(content, frame, up=up)
        if content.unfinished is not None and page.next_line is None and not (self._one_rest or up):
            page = replace(page, next_line=page.last + 1)
        return self._shown(content, page, header, mode)

    def _page(self, content: Content, frame: Frame, *, up: bool) -> tuple[Page, Page | None]:
        """The page from the first line asked for, or up to it, and the header above it."""
        text, limit = content.text, self._lines(content)
        if up:
            last = text.total_lines if self._request.offset is None else self._first_line(content)
            first = max(1, last - limit + 1)
            turn = backward
        else:
            first = self._first_line(content)
            last = min(text.total_lines, first + limit - 1)
            turn = forward
        header = None
        if first > 1 or up:
            header, frame = self._header(content, last if up else first, frame)
        page = turn(text, first, last, frame)
        if header is None or page.start == 1:
            return page, None
        return replace(page, cuts={**header.cuts, **page.cuts}), header

    def _lines(self, content: Content) -> int:
        """How many lines a page has at most."""
        return abs(self._request.limit or default_lines(content.kind))

    def _first_line(self, content: Content) -> int:
        total = content.text.total_lines
        offset = 1 if self._request.offset is None else self._request.offset
        if content.unfinished is not None and offset > total:
            raise self._too_late(content.unfinished)
        if offset < 0:
            return max(1, total + offset + 1)
        if offset > max(total, 1):
            lines = f"{total} line{'' if total == 1 else 's'}"
            raise BadRange(
                f"offset={offset} is past the end of {quote(self._request.path)}, which has {lines}",
                f"Use an offset from 1 to {max(total, 1)}, or a negative one to count from the end.",
                total_lines=total,
                next_request=replace(self._request, offset=max(1, total), column=1),
            )
        return offset

    def _header(self, content: Content, first: int, frame: Frame) -> tuple[Page | None, Frame]:
        """Line 1 of a table above a later window; it does not count against the limit."""
        if first == 1 or not self._request.options.header or not carries_header(content.kind):
            return None, frame
        page = forward(content.text, 1, 1, replace(frame, room=frame.room // 2))
        return page, replace(frame, room=frame.room - weight(page, frame))

    def _past_end(self, content: Content, frame: Frame, mode: ReadMode) -> ReadResult:
        """An empty window after the last line; for a table, with its header."""
        result = replace(self.base(content), read_mode=mode)
        header, _ = self._header(content, content.text.total_lines + 1, frame)
        if header is None or not header.lines:
            return result
        return replace(result, header=encodings.visible(header.lines[0]), cuts=header.cuts)

    @property
    def _one_rest(self) -> bool:
        """Whether only the rest of one line is asked for."""
        return self._request.column > 1 and self._request.limit == 1

    def _along(self, content: Content, frame: Frame) -> Page:
        request, text = self._request, content.text
        line, count, up = self._first_line(content), abs(request.limit or 1), (request.limit or 0) < 0
        first = max(1, line - count + 1) if up else line
        last = line if up else min(line + count - 1, text.total_lines)
        page, total = Page(line, ()), 0
        if text.total_lines:
            page, total = along(text, first, last, request.column, frame, up=up)
        if request.column > total:
            of = f" of {quote(request.path)}"
            raise past_column(request, line, total, of=of, total_lines=text.total_lines)
        return self._ending(page)

    def _ending(self, page: Page) -> Page:
        """The page, which continues after its lines unless only the rest of one line was asked for."""
        return replace(page, next_line=None) if self._one_rest and page.next_column == 1 else page

    # --- while not all is counted -------------------------------------------------------------

    def _last_lines(
        self, content: Content, unfinished: Unfinished, frame: Frame, *, up: bool
    ) -> tuple[Page, int]:
        """The page of the last lines, numbered from the end, and how many bytes are above it."""
        request = self._request
        if unfinished.packed:
            raise self._too_late(unfinished)  # the end has not been expanded yet
        limit, rest = self._lines(content), request.column > 1
        wanted = -(request.offset or -1) if rest or not up else limit - 1 - (request.offset or -1)
        above, text = self._end(content, wanted)
        known_lines = text.total_lines
        if not known_lines or (not up and wanted > known_lines):
            raise self._too_late(unfinished)
        from_end = -known_lines - 1
        first = max(1, known_lines - wanted + 1)
        if rest:
            last = min(known_lines, first + (request.limit or 1) - 1)
            page, total = along(text, first, last, request.column, frame)
            if request.column > total or up:
                raise self._too_late(unfinished)
            page = self._ending(page)
        elif up:
            # Lines above have no numbers yet, so a truncated page continues downwards.
            last = known_lines + 1 + (request.offset or -1)
            if last < 1:
                raise self._too_late(unfinished)
            page = replace(backward(text, first, last, frame), next_line=None, up=False)
        else:
            page = forward(text, first, min(known_lines, first + limit - 1), frame)
        cuts = {number + from_end: cut for number, cut in page.cuts.items()}
        following = None if page.next_line is None else page.next_line + from_end
        until = None if page.until is None else page.until + from_end
        numbers = [number + from_end for number in page.numbers]
        start = page.start + from_end
        counted = replace(page, start=start, cuts=cuts, next_line=following, numbers=numbers, until=until)
        return counted, above

    def _end(self, content: Content, wanted: int) -> tuple[int, WholeText]:
        """The last lines of the file, at most as many as wanted, and the byte where they begin."""
        encoding, size = content.encoding, self._source.size
        start = max(len(encoding.bom), size - READ_END_BYTES)
        start += -start % encoding.unit
        data = self._source.read_at(start, size - start)
        if len(data) < size - start:
            raise Shrunk
        if start > len(encoding.bom):
            cut = nth_newline(data, 1, encoding)
            if cut < 0:
                return size, WholeText("")
            data, start = data[cut + encoding.unit :], start + cut + encoding.unit
        skipped = _last(data, wanted, encoding)
        rest = decode(data[skipped:], encoding)
        return start + skipped, WholeText(rest, keep_cr=self._request.options.keep_cr)

    def _too_late(self, unfinished: Unfinished) -> TimedOut:
        if unfinished.by_choice:
            raise MoreNeeded
        advice = (
            f"{unfinished.counted:,} of {unfinished.size:,} bytes are counted so far, "
            f"{unfinished.index.total_lines:,} lines; "
            "the same call continues from there."
        )
        cause = unfinished.cause
        if isinstance(cause, TransferLimit):
            return TransferLimit(advice=advice, bound=cause.bound, next_request=self._request)
        return TimedOut(cause.seconds, advice, next_request=self._request)

    # --- the result ---------------------------------------------------------------------------

    def _shown(
        self, content: Content, page: Page, header: Page | None, mode: ReadMode, above: int = 0
    ) -> ReadResult:
        lines, base = page.lines, self.base(content)
        warnings = [] if content.clean else hidden_in_page(page)
        if content.encoding.unit > 1 and (place := encodings.glued(page.lines, content.encoding)) is not None:
            line, column = place
            detail = 'text that is not UTF-16 was appended to this UTF-16; encoding="utf-8" shows it'
            # First, as a reply says the first few: this is about all that follows.
            warnings.insert(0, Warn("mixed_encodings", detail, page.start + line, column))
        if warnings:
            # Includes a mark for bytes that could not be decoded.
            lines = [encodings.visible(line) for line in lines]
        whole = page.next_line is None and not page.cuts and not page.up and content.unfinished is None
        return replace(
            base,
            read_mode=mode,
            start=page.start,
            lines=lines,
            numbers=page.numbers,
            uncut=page.uncut,
            header=None if header is None else encodings.visible(header.lines[0]),
            cuts=page.cuts,
            omitted=[] if whole else self._omitted(content, page, above),
            next=None if whole else self._following(content, page),
            warnings=(*base.warnings, *warnings),
        )

    def _following(self, content: Content, page: Page) -> ReadRequest | None:
        """The next read: the rests of cut lines first, then what follows in the page's direction."""
        request = self._request
        if not request.options.rests and page.up:
            return None  # the contract decides where a tail continues
        if request.options.rests and not page.numbers and (cut := page.first_cut) is not None:
            return rest_from(request, cut[0], cut[1].last + 1, page.last, up=page.up)
        if page.next_line is not None and page.next_column > 1:
            if self._one_rest:
                return replace(request, offset=page.next_line, column=page.next_column, known_hash=None)
            return rest_from(request, page.next_line, page.next_column, page.last, up=page.up)
        return self._after_page(content, page)

    def _after_page(self, content: Content, page: Page) -> ReadRequest | None:
        """The read of what follows the page in its direction, ignoring cut lines."""
        if page.next_line is None or page.next_column > 1:
            return None
        # With a column, the limit counts the lines whose rest is shown, not the lines of a page.
        limit = self._request.limit if self._request.column == 1 else None
        if page.up:
            limit = -abs(limit or default_lines(content.kind))
        return replace(self._request, offset=page.next_line, limit=limit, column=1, known_hash=None)

    def _omitted(self, content: Content, page: Page, above: int) -> list[Omission]:
        omissions = []
        following = self._after_page(content, page)
        if content.unfinished is not None:
            omissions += self._uncounted(content, content.unfinished, page, following, above)
        elif page.up and page.last > 1 and page.next_column == 1:
            omissions += self._above_tail(content, page)
        if content.unfinished is None and following is not None and not page.up:
            total = content.text.total_lines
            omissions.append(Omission("lines", following.offset or 1, total, page.reason, request=following))
        return omissions + [
            self._rest(number, cut) for number, cut in page.cuts.items() if cut.last < cut.total
        ]

    def _rest(self, number: int, cut: Cut) -> Omission:
        rest = replace(self._request, offset=number, column=cut.last + 1, limit=1, known_hash=None)
        reason = "reply_cap" if cut.first > 1 else "line_cap"
        return Omission("columns", cut.last + 1, cut.total, reason, number, rest)

    def _above_tail(self, content: Content, page: Page) -> list[Omission]:
        """The omissions above a tail: as many lines as the page may show, then all before them."""
        above = page.last - 1
        limit = min(self._lines(content), above)
        omissions = [self._above(above - limit + 1, above)]
        if above > limit:
            omissions.append(self._above(1, above - limit))
        return omissions

    def _above(self, first: int, last: int) -> Omission:
        """An omission of lines above a tail, with the read that shows them."""
        rest = replace(self._request, offset=first, limit=last - first + 1, column=1, known_hash=None)
        return Omission("lines", first, last, "tail", request=rest)

    def _uncounted(
        self,
        content: Content,
        unfinished: Unfinished,
        page: Page,
        following: ReadRequest | None,
        above: int,
    ) -> list[Omission]:
        """The omissions while the file is not fully counted: lines near the page, and the rest in bytes."""
        omissions = []
        if page.start < 0:
            if above > 0:
                again = replace(self._request, offset=1, known_hash=None)
                omissions.append(Omission("bytes", 1, above, "timeout", request=again))
            wanted = -self._lines(content)
            if above > 0 and wanted < page.start:
                omissions.append(self._above(wanted, page.start - 1))
            if following is not None:
                omissions.append(
                    Omission("lines", following.offset or -1, -1, page.reason, request=following)
                )
        elif page.up:
            omissions += self._above_tail(content, page) if page.last > 1 else []
        elif following is not None:
            counted = unfinished.index.total_lines
            if page.last < counted:
                first = page.last + 1
                omissions.append(Omission("lines", first, counted, page.reason, request=following))
            rest = replace(following, offset=counted + 1)
            omissions.append(
                Omission("bytes", unfinished.first_uncounted, unfinished.size, "timeout", request=rest)
            )
        return omissions

    def _about(self, content: Content) -> tuple[Warn, ...]:
        """Warnings about the file as a whole."""
        warnings: tuple[Warn, ...] = ()
        part = content.unfinished
        if part is not None:
            detail = f"{part.counted:,} of {part.size:,} bytes are counted, the next call continues there"
            warnings += (Warn("unfinished", f"{part.why}; {detail}"),)
        elif not content.digits:
            detail = "it was counted in parts because it grew or time ran out, with spot checks"
            warnings += (Warn("hash_unknown", f"{detail}; with known_hash all of it is read and hashed"),)
        warnings += _of_pointer(content.text)
        if not content.encoding.sure:
            warnings += (Warn("encoding_guessed", f"{content.encoding.name}; set `encoding` for another"),)
        return warnings


def _of_pointer(text: Text) -> tuple[Warn, ...]:
    """A warning about a text that only points to the content."""
    if not isinstance(text, WholeText) or not text.whole.startswith(LFS_POINTER.decode()):
        return ()
    size = re.search(r"\nsize (\d{1,18})\n", text.whole)
    stored = f", {int(size[1]):,} bytes," if size else ""
    return (Warn("git_lfs_pointer", f"the content{stored} is not here; git lfs pull fetches it"),)


def _last(data: bytes, lines: int, encoding: Encoding) -> int:
    """Where the last `lines` lines of some bytes begin; the bytes begin with a line."""
    unit, newline = encoding.unit, encoding.newline
    at = len(data) - (unit if data.endswith(newline) else 0)
    for _ in range(lines):
        at = data.rfind(newline, 0, at)
        while at > 0 and at % unit:
            at = data.rfind(newline, 0, at + unit - 1)
        if at < 0:
            return 0
    return at + unit


def rest_from(request: ReadRequest, line: int, column: int, last: int, *, up: bool = False) -> ReadRequest:
    """The read of rests of lines from a column on, to the end of line `last` or up to it."""
    lines = abs(last - line) + 1
    limit = -lines if up else None if lines == 1 else lines
    return replace(request, offset=line, column=column, limit=limit, known_hash=None)


def hidden_in_page(page: Page) -> list[Warn]:
    """Warnings about hidden characters in the lines of a page."""
    if not page.numbers:
        return hidden.scan(page.lines, page.start, limit=MAX_WARNINGS)
    return hidden.first_told(
        (
            warn
            for number, line in zip(page.numbers, page.lines, strict=True)
            for warn in hidden.scan(
                [line], number, limit=MAX_WARNINGS, first_column=_first_column(page, number)
            )
        ),
        MAX_WARNINGS,
    )


def _first_column(page: Page, number: int) -> int:
    cut = page.cuts.get(number)
    return 1 if cut is None else cut.first
