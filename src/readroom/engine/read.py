"""Read a window of one file.

    open      guard.open(path)       rules and confinement and opening in one act
    classify  by name and first bytes: kind, encoding, default window
    select    a small file decoded whole, a large one through its block index
    check     the file is still what was opened, else once more

Everything shown comes from the one descriptor that was checked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from readroom.deadline import Deadline
from readroom.engine.decoding import asked_for
from readroom.errors import BadEncoding, BadImage, BadRange, BadValue, Binary, Changed
from readroom.formats.kinds import UNKNOWN, carries_header, classify, default_lines, sniff, starts_at_end
from readroom.limits import HEAD_BYTES, IMAGE_MAX_BYTES, MAX_WARNINGS, SMALL_FILE_BYTES, Limits
from readroom.model import Cap, Kind, Omission, ReadMode, ReadRequest, ReadResult, Warn
from readroom.policy.guard import Guard
from readroom.quoting import quote
from readroom.session.indexes import IndexCache
from readroom.session.texts import TextCache
from readroom.stores.base import Source
from readroom.text import encodings, hashes, hidden
from readroom.text.encodings import Encoding
from readroom.text.lines import LineIndex, Shrunk, build_index
from readroom.text.select import (
    Decode,
    Frame,
    IndexedText,
    Page,
    Text,
    Undecodable,
    WholeText,
    along,
    backward,
    decoded,
    forward,
    weight,
)

_TRIES = 2
"""A file that changes during a read is read once more; twice in a row is a writer at work."""


def read(
    guard: Guard,
    indexes: IndexCache,
    texts: TextCache,
    limits: Limits,
    cap: Cap,
    request: ReadRequest,
    deadline: Deadline,
) -> ReadResult:
    """The window of one file that `request` asks for.

    Raises:
        NotFound, NotAFile, Denied, OutsideRoot, HardLinked, NoPermission: From opening it.
        Binary, BadImage: It is not text, or not an image that can be shown.
        BadEncoding: `request.encoding` is unknown or does not fit the bytes.
        BadRange: The file has no such line or column; the error says what it has.
        Changed: It was being written to on both tries.
    """
    known = None if request.known_hash is None else hashes.parse_hash("known_hash", request.known_hash)
    for _ in range(_TRIES):
        with guard.open(request.path) as source:
            reading = _Reading(source, indexes, texts, limits, cap, request, known, deadline)
            try:
                result = reading.result()
            except Shrunk:
                continue
            now = source.current()
            if now == source.version:
                return result
            grown = now.size > source.version.size and now.inode == source.version.inode
            if grown and reading.shows_the_same(result):
                # Appended to: what was there when it was opened is shown as it was.
                note = Warn("grew", f"{now.size - source.version.size} bytes were appended during the read")
                return replace(result, warnings=(*result.warnings, note))
    raise Changed(request.path, next_request=request)


@dataclass(frozen=True, slots=True)
class _Content:
    """A text, its whole-file facts, and how it was decoded."""

    text: Text
    digits: str
    encoding: Encoding
    kind: Kind


class _Reading:
    """One try at one read. Holds what its steps share."""

    def __init__(
        self,
        source: Source,
        indexes: IndexCache,
        texts: TextCache,
        limits: Limits,
        cap: Cap,
        request: ReadRequest,
        known: str | None,
        deadline: Deadline,
    ) -> None:
        self._source = source
        self._indexes = indexes
        self._texts = texts
        self._limits = limits
        self._cap = cap
        self._request = request
        self._known = known
        self._deadline = deadline

    def result(self) -> ReadResult:
        source = self._source
        whole = source.size <= SMALL_FILE_BYTES
        head = self._exactly(source.size if whole else HEAD_BYTES)
        sample = head[:HEAD_BYTES]
        encoding = self._encoding(sample, complete=len(sample) == source.size)
        kind = classify(source.real, sample, encoding)
        if kind is Kind.IMAGE:
            return self._image(head if whole else None, sample)
        if encoding is None or kind is Kind.BINARY:
            media = sniff(sample) or UNKNOWN
            raise Binary(self._request.path, media.name, source.size, media.advice)
        try:
            content = self._small(head, encoding, kind) if whole else self._large(encoding, kind)
            if self._known is not None and content.digits.startswith(self._known):
                return self._base(content, not_modified=True)
            return self._window(content)
        except Undecodable as problem:
            raise self._unfit(encoding, problem) from None

    def shows_the_same(self, result: ReadResult) -> bool:
        """Whether the same window of the same length of the file still reads the same."""
        try:
            return replace(self.result(), warnings=()) == replace(result, warnings=())
        except (Shrunk, BadRange):
            return False

    # --- whole file ---------------------------------------------------------------------------

    def _encoding(self, sample: bytes, *, complete: bool) -> Encoding | None:
        name = self._request.encoding
        if name is None:
            return encodings.detect(sample, complete=complete)
        return asked_for(name, self._request.path, sample, replace(self._request, encoding=None))

    @property
    def _decoder(self) -> Decode:
        """What a caller insists on is decoded strictly: a wrong encoding must not pass as odd content."""
        return encodings.decode if self._request.encoding is None else encodings.decode_strict

    def _unfit(self, encoding: Encoding, problem: Undecodable) -> BadEncoding:
        return BadEncoding(
            self._request.path,
            encoding.name,
            f"byte 0x{problem.byte:02x} in line {problem.line} is not valid in it",
            "Leave out `encoding` to have it detected.",
            line=problem.line,
            next_request=replace(self._request, encoding=None),
        )

    def _small(self, data: bytes, encoding: Encoding, kind: Kind) -> _Content:
        text = WholeText(decoded(data[len(encoding.bom) :], encoding, self._decoder))
        digits = hashlib.sha256(data).hexdigest()
        self._texts.put(self._source.real, digits, data)  # for an edit of it that comes too late
        return _Content(text, digits, encoding, kind)

    def _large(self, encoding: Encoding, kind: Kind) -> _Content:
        index = self._index(encoding)
        text = IndexedText(self._source, index, self._decoder, self._limits.line_chars, self._deadline)
        return _Content(text, index.sha256, encoding, kind)

    def _index(self, encoding: Encoding) -> LineIndex:
        index = self._indexes.get(self._source.version, encoding.name)
        if index is None:
            index = build_index(self._source, encoding, self._deadline)
            if self._source.current() == self._source.version:
                self._indexes.put(self._source.version, encoding.name, index)
        return index

    def _exactly(self, size: int) -> bytes:
        data = self._source.read_at(0, size)
        if len(data) < min(size, self._source.size):
            raise Shrunk
        return data

    def _image(self, data: bytes | None, sample: bytes) -> ReadResult:
        from readroom.formats.images import to_image  # Pillow is imported only for images

        source, shown = self._source, (sniff(sample) or UNKNOWN).name
        if source.size > IMAGE_MAX_BYTES:
            problem = f"it is larger than {IMAGE_MAX_BYTES} bytes"
            raise BadImage(self._request.path, shown, source.size, problem)
        if data is None:
            data = self._exactly(source.size)
        digits = hashlib.sha256(data).hexdigest()
        result = ReadResult(
            self._request.path, Kind.IMAGE, source.size, hashes.full(digits), warnings=self._link_warning()
        )
        if self._known is not None and digits.startswith(self._known):
            return replace(result, not_modified=True)
        return replace(result, image=to_image(data, shown, path=self._request.path))

    # --- window -------------------------------------------------------------------------------

    def _base(self, content: _Content, *, not_modified: bool = False) -> ReadResult:
        return ReadResult(
            path=self._request.path,
            kind=content.kind,
            size_bytes=self._source.size,
            content_hash=hashes.full(content.digits),
            total_lines=content.text.total_lines,
            encoding=content.encoding.name,
            bom=bool(content.encoding.bom),
            newline=content.text.newline,
            warnings=self._link_warning(),
            not_modified=not_modified,
        )

    def _window(self, content: _Content) -> ReadResult:
        request, text = self._request, content.text
        tail = request.offset is None and request.column == 1 and starts_at_end(content.kind)
        mode: ReadMode = "tail" if tail else "offset"
        frame = Frame(
            self._cap.size - self._cap.measure.frame(request.path),
            self._limits.line_chars,
            self._cap.measure.numbered,
        )
        if request.column > 1:
            page = self._along(text, frame)
            header = None
        elif text.total_lines == 0:
            self._first_line(0)
            return replace(self._base(content), read_mode=mode)
        else:
            limit = request.limit or default_lines(content.kind)
            first = max(1, text.total_lines - limit + 1) if tail else self._first_line(text.total_lines)
            last = min(text.total_lines, first + limit - 1)
            header, frame = self._header(content, first, frame)
            page = (backward if tail else forward)(text, first, last, frame)
            if header is not None:
                page = replace(page, cuts={**header.cuts, **page.cuts})
        return self._shown(content, page, header, mode)

    def _first_line(self, total: int) -> int:
        offset = 1 if self._request.offset is None else self._request.offset
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

    def _header(self, content: _Content, first: int, frame: Frame) -> tuple[Page | None, Frame]:
        """Line 1 of a table above a later window; it does not count against the limit."""
        if first == 1 or not carries_header(content.kind):
            return None, frame
        page = forward(content.text, 1, 1, replace(frame, room=frame.room // 2))
        return page, replace(frame, room=frame.room - weight(page, frame))

    def _along(self, text: Text, frame: Frame) -> Page:
        request = self._request
        line = self._first_line(text.total_lines)
        page, total = along(text, line, request.column, frame) if text.total_lines else (None, 0)
        if page is None or request.column > total:
            raise BadRange(
                f"column={request.column} is past the end of line {line} of {quote(request.path)}, "
                f"which has {total} characters",
                f"Use a column from 1 to {max(total, 1)}.",
                total_lines=text.total_lines,
                total_columns=total,
                next_request=replace(request, column=1),
            )
        if (request.limit or 1) > 1:
            raise BadValue(
                "limit",
                request.limit,
                "cannot be combined with a column",
                "A column shows the rest of one line; leave out `limit`.",
                next_request=replace(request, limit=None),
            )
        # The rest of one line was asked for: it ends with that line.
        return page if page.next_column > 1 else replace(page, next_line=None)

    def _shown(self, content: _Content, page: Page, header: Page | None, mode: ReadMode) -> ReadResult:
        lines, warnings = self._visible(page)
        following = self._following(page)
        return replace(
            self._base(content),
            read_mode=mode,
            start=page.start,
            lines=lines,
            header=None if header is None else encodings.visible(header.lines[0]),
            cuts=page.cuts,
            omitted=self._omitted(content, page, mode, following),
            next=following,
            warnings=(*self._link_warning(), *warnings),
        )

    def _visible(self, page: Page) -> tuple[Sequence[str], Sequence[Warn]]:
        """The lines with a mark for what could not be decoded, and what is hidden in them."""
        cut = page.cuts.get(page.start)
        column = cut.first if cut else 1
        warnings = hidden.scan(page.lines, page.start, limit=MAX_WARNINGS, first_column=column)
        if not warnings:
            return page.lines, warnings
        return [encodings.visible(line) for line in page.lines], warnings

    def _following(self, page: Page) -> ReadRequest | None:
        if page.next_line is None:
            return None
        if page.next_column > 1:
            return replace(
                self._request, offset=page.next_line, column=page.next_column, limit=1, known_hash=None
            )
        return replace(self._request, offset=page.next_line, column=1, known_hash=None)

    def _omitted(
        self, content: _Content, page: Page, mode: ReadMode, following: ReadRequest | None
    ) -> list[Omission]:
        found = []
        total = content.text.total_lines
        if mode == "tail" and page.start > 1:
            above = page.start - 1
            limit = min(self._request.limit or default_lines(content.kind), above)
            found.append(self._above(above - limit + 1, above))
            if above > limit:
                found.append(self._above(1, above - limit))
        if following is not None and page.next_column == 1:
            found.append(Omission("lines", following.offset or 1, total, page.reason, request=following))
        for number, cut in page.cuts.items():
            if cut.last < cut.total:
                rest = replace(self._request, offset=number, column=cut.last + 1, limit=1, known_hash=None)
                reason = "reply_cap" if cut.first > 1 else "line_cap"
                found.append(Omission("columns", cut.last + 1, cut.total, reason, number, rest))
        return found

    def _above(self, first: int, last: int) -> Omission:
        """Lines above a tail, and the read that starts with them."""
        rest = replace(self._request, offset=first, limit=last - first + 1, known_hash=None)
        return Omission("lines", first, last, "tail", request=rest)

    def _link_warning(self) -> tuple[Warn, ...]:
        links = self._source.stat.links
        if links <= 1:
            return ()
        return (Warn("hard_link", f"the file has {links} names"),)
