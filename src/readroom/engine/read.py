"""Read a window of one file.

    open      guard.open(path)       rules and confinement and opening in one act
    classify  by name and first bytes: kind, encoding, default window
    select    a small file decoded whole, a large one through its block index
    check     the file is still what was opened, else once more

Everything shown comes from the one descriptor that was checked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from readroom.deadline import Deadline
from readroom.engine.decoding import asked_for
from readroom.engine.document_asked import asked_document
from readroom.engine.outline import Outliner
from readroom.engine.outline_aside import with_outline
from readroom.engine.packed import described, is_as_it_was, packed_content, unpacked
from readroom.engine.read_image import read_image
from readroom.engine.read_raw import opened, read_raw, require_taken
from readroom.engine.read_whole import require_text
from readroom.engine.read_window import Content, Windows, line_chars
from readroom.errors import BadDocument, BadEncoding, BadRange, Binary, Changed
from readroom.formats.documents import FLAT
from readroom.formats.kinds import UNKNOWN, classify, kind_among, sniff
from readroom.formats.recognise import Recognised
from readroom.limits import HEAD_BYTES, SMALL_FILE_BYTES, Limits
from readroom.limits_giant import INDEX_SPOTS, READ_GRACE_S
from readroom.model import Cap, Kind, ReadRequest, ReadResult, Warn
from readroom.policy.guard import Guard
from readroom.session.expansions import ExpandedSource
from readroom.session.indexes import IndexCache, Unfinished
from readroom.session.outlines import OutlineCache
from readroom.session.texts import TextCache
from readroom.stores.base import Source
from readroom.text import encodings, hashes
from readroom.text.encodings import Encoding
from readroom.text.lines import LineIndex, Shrunk, still_there
from readroom.text.select import IndexedText, WholeText
from readroom.text.strictly import Decode, Undecodable, decoded

if TYPE_CHECKING:
    from readroom.engine.document_room import DocumentRoom

_TRIES = 2
"""A file that changes during a read is read once more; twice in a row is a writer at work."""


def read(
    guard: Guard,
    indexes: IndexCache,
    texts: TextCache,
    outlines: OutlineCache,
    limits: Limits,
    cap: Cap,
    request: ReadRequest,
    deadline: Deadline,
    documents: Callable[[], DocumentRoom],
) -> ReadResult:
    """The window of one file that `request` asks for.

    Raises:
        BadDocument: It is a document that cannot be read.
        NotFound, NotAFile, Denied, OutsideRoot, HardLinked, NoPermission: From opening it.
        Binary, BadImage: It is not text, or not an image that can be shown.
        BrokenData: It is compressed, and none of it can be expanded.
        BadEncoding: `request.encoding` is unknown or does not fit the bytes.
        BadRange: The file has no such line or column; the error says what it has.
        Changed: It was being written to on both tries.
        NoOutline, Ambiguous, UnknownSymbol: From reading by definition.
        TimedOut: What is asked for is not among what could be read in time; the same call goes on.
    """
    known = None if request.known_hash is None else hashes.parse_hash("known_hash", request.known_hash)
    for _ in range(_TRIES):
        with opened(guard, request) as source:
            try:
                require_taken(source, request)
                expanded = None
                if request.manner.unpacks:
                    expanded = unpacked(source, request, indexes, limits, deadline)
                text = expanded or source
                reading = _Reading(
                    text, indexes, texts, outlines, limits, cap, request, known, deadline, documents
                )
                result = _with_links(reading.result(), source)
            except Shrunk:
                continue
            now = source.current()
            if now == source.version:
                return result
            grown = now.size > source.version.size and now.inode == source.version.inode
            again = reading.as_it_was(result) if grown else None
            if again is not None:
                # Appended to: what was there when it was opened is shown as it was.
                note = Warn("grew", f"{now.size - source.version.size} bytes were appended during the read")
                return replace(again, warnings=(*again.warnings, note))
    raise Changed(request.path, next_request=request)


def _with_links(result: ReadResult, source: Source) -> ReadResult:
    """The result, with a warning where the file has several names."""
    links = source.stat.links
    if links <= 1:
        return result
    return replace(result, warnings=(Warn("hard_link", f"the file has {links} names"), *result.warnings))


class _Reading:
    """One try at one read. Holds what its steps share."""

    def __init__(
        self,
        source: Source,
        indexes: IndexCache,
        texts: TextCache,
        outlines: OutlineCache,
        limits: Limits,
        cap: Cap,
        request: ReadRequest,
        known: str | None,
        deadline: Deadline,
        documents: Callable[[], DocumentRoom],
    ) -> None:
        self._documents = documents
        self._source = source
        self._indexes = indexes
        self._texts = texts
        self._limits = limits
        self._cap = cap
        self._request = request
        self._known = known
        self._deadline = deadline
        self._windows = Windows(source, limits, cap, request)
        self._outliner = Outliner(source, outlines, limits, cap, request, deadline)
        self._index: LineIndex | None = None
        self._content: Content | None = None

    def result(self) -> ReadResult:
        found = self._result()
        return described(found, self._source) if isinstance(self._source, ExpandedSource) else found

    def _result(self) -> ReadResult:
        source = self._source
        packed = source if isinstance(source, ExpandedSource) else None
        whole = source.size <= SMALL_FILE_BYTES
        head = self._exactly(source.size if whole else HEAD_BYTES)
        sample = head[:HEAD_BYTES]
        # What is compressed is no document, so that `pages` of it is refused.
        named = (source.real, sample) if packed is None else ("", b"")
        document = asked_document(*named, self._request)
        manner = self._request.manner
        if document is not None and manner.flat and document.format in FLAT:
            found = self._flat(document)
            if found is not None:
                return found
            document = None  # its plain text can be read, and mended
        if document is not None and not manner.documents:
            if not document.is_text:
                return read_raw(source, self._request, sample, self._deadline)
            document = None
        if document is not None:
            self._outliner.require_text("it is a document")
            from readroom.engine.document import read_document  # it starts processes

            asked = (self._limits, self._cap, self._request, self._known, self._deadline)
            return read_document(self._documents(), source, document, *asked)
        encoding = self._encoding(sample, complete=len(sample) == source.size)
        kind = kind_among(manner.kinds, source.real, classify(source.real, sample, encoding))
        if kind is Kind.IMAGE and packed is None and manner.images:
            self._outliner.require_text("it is an image")
            return read_image(source, self._request, self._known, sample, head if whole else None)
        if encoding is None or kind in (Kind.BINARY, Kind.IMAGE):
            if packed is None:
                return read_raw(source, self._request, sample, self._deadline)
            media = sniff(sample) or UNKNOWN
            name = f"{media.name}, {packed.packed.compression}"
            raise Binary(self._request.path, name, source.stat.size, media.advice)
        try:
            if packed is not None:
                content = packed_content(packed, encoding, kind, self._decoder, self._limits, self._deadline)
            else:
                content = self._small(head, encoding, kind) if whole else self._large(encoding, kind)
            self._content = content
            if self._known is not None and content.digits.startswith(self._known):
                return self._windows.base(content, not_modified=True)
            if self._request.symbol is not None or self._request.view == "outline":
                return self._outliner.result(content)
            shown = self._windows.window(content)
            require_text(self._source, self._request, shown.lines)
            return with_outline(self._outliner, content, shown)
        except Undecodable as problem:
            raise self._unfit(encoding, problem) from None

    def _flat(self, document: Recognised) -> ReadResult | None:
        """The document as one text; None for one that cannot be read so and is a text itself."""
        self._outliner.require_text("it is a document")
        from readroom.engine.document_flat import read_flat  # it starts processes

        asked = (self._limits, self._cap, self._request, self._deadline)
        try:
            return read_flat(self._documents(), self._source, document, *asked)
        except BadDocument:
            if not document.is_text:
                raise
            return None

    def as_it_was(self, result: ReadResult) -> ReadResult | None:
        """The result, if what was in the file at its opening still is, or is likely to be; else None.

        The index of a large file says so without another pass, but it cannot vouch for a hash.
        """
        if isinstance(self._source, ExpandedSource):
            return result if is_as_it_was(self._source, self._deadline) else None
        try:
            if self._index is None or self._content is None or not self._indexes.extends(self._source.size):
                again = self.result()
                return result if replace(again, warnings=()) == replace(result, warnings=()) else None
            if not still_there(self._index, self._source, INDEX_SPOTS):
                return None
            content = replace(self._content, digits="")
            if self._windows.window(content).lines != result.lines:
                return None
            return replace(result, content_hash=None)
        except (Shrunk, BadRange):
            return None

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

    def _small(self, data: bytes, encoding: Encoding, kind: Kind) -> Content:
        found = decoded(data[len(encoding.bom) :], encoding, self._decoder)
        require_text(self._source, self._request, (found,))
        text = WholeText(found, keep_cr=self._request.manner.keep_cr)
        digits = hashlib.sha256(data).hexdigest()
        self._texts.put(self._source.real, digits, data)  # for an edit of it that comes too late
        return Content(text, digits, encoding, kind, self._decoder)

    def _large(self, encoding: Encoding, kind: Kind) -> Content:
        unfinished, deadline = None, self._deadline
        try:
            index = self._indexes.of(self._source, encoding, deadline, hashed=self._known is not None)
        except Unfinished as part:
            unfinished, index = part, part.index
        if deadline.expired:
            deadline = deadline.grace(READ_GRACE_S)
        self._index = index
        manner = self._request.manner
        head = line_chars(manner, self._limits, self._cap)
        text = IndexedText(self._source, index, self._decoder, head, deadline, keep_cr=manner.keep_cr)
        return Content(text, index.sha256, encoding, kind, self._decoder, unfinished)

    def _exactly(self, size: int) -> bytes:
        data = self._source.read_at(0, size)
        if len(data) < min(size, self._source.size):
            raise Shrunk
        return data
