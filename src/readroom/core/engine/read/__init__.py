"""Read a window of one file.

    open      guard.open(path): rules, confinement and opening in one act
    classify  by name and first bytes: kind, encoding, default window
    select    from a small file decoded as a whole, or a large one through its block index
    check     that the file is still what was opened; otherwise try once more

Everything shown comes from the one descriptor that was checked.  This module handles plain text; code
for other kinds of files is in its own modules and imported when needed.

Knows: the steps from a request to a window of one file.
Does not know: the other verbs, and how a reply is worded.
May be touched: with a run of the benchmarks.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, assert_never, final

from msgspec.structs import replace

from readroom.core import errors
from readroom.core.engine.read.classify import (
    AsBytes,
    AsDocument,
    AsImage,
    AsText,
    Sort,
    classify,
    require_text,
)
from readroom.core.engine.read.window import Content, MoreNeeded, Windows, line_chars
from readroom.core.engine.services import Job, Services
from readroom.core.formats.compressed import COMPRESSED
from readroom.core.formats.kinds import UNKNOWN, Recognised, sniff
from readroom.core.formats.registry import provided
from readroom.core.limits import HEAD_BYTES, SMALL_FILE_BYTES
from readroom.core.limits.files import CHANGED_TRIES, INDEX_SPOTS, READ_GRACE_S
from readroom.core.policy.guard import Guard
from readroom.core.secrets import unmasked
from readroom.core.session.caches import ReadText
from readroom.core.session.expansions import ExpandedSource
from readroom.core.session.index_cache import Unfinished
from readroom.core.stores.base import Source
from readroom.core.stores.spending import checked_later
from readroom.core.text import hashes, hidden
from readroom.core.text.encodings import Encoding, decode
from readroom.core.text.line_index import LineIndex, Shrunk, still_there
from readroom.core.text.select import IndexedText, WholeText
from readroom.core.values import Kind, ReadRequest, ReadResult, Warn
from readroom.core.values.files import CONTENTS_WORD, OUTLINES, SCHEMA_WORD

if TYPE_CHECKING:
    from readroom.core.engine.read.outline import Outliner


def perform(services: Services, job: Job[ReadRequest]) -> ReadResult:
    """Read a window of a file; of a kept output, with what was not kept of it.

    Raises:
        As `read` does.
    """
    commands = services.commands
    if commands is None or services.guard is not commands.guard:
        return read(services, job)
    return commands.read(job.request, lambda request: read(services, replace(job, request=request)))


def read(services: Services, job: Job[ReadRequest]) -> ReadResult:
    """Read a window of a file.

    Raises:
        BadDocument: It is a document that cannot be read.
        NotFound, NotAFile, Denied, OutsideRoot, HardLinked, NoPermission: From opening it.
        SymbolicLink: The steps of the contract take none.
        ReadroomError: What the steps of the contract refuse.
        Binary, BadImage: It is not text, or not an image that can be shown.
        BrokenData: It is compressed, and none of it can be expanded.
        BadEncoding: The encoding is unknown.
        BadRange: The file has no such line or column; the error says what it has.
        Changed: It was being written to on both tries.
        NoOutline, Ambiguous, UnknownSymbol: From reading by definition.
        TimedOut: What is asked for is not among what could be read in time; the same call continues.
    """
    request = job.request
    known = None if request.known_hash is None else hashes.parse_hash("known_hash", request.known_hash)
    for _ in range(CHANGED_TRIES):
        with checked_later():
            result = _once(services, job, known)
        if result is not None:
            return result
    raise errors.Changed(request.path, next_request=request)


def _once(services: Services, job: Job[ReadRequest], known: str | None) -> ReadResult | None:
    """The window; None if the file was changed while it was read."""
    guard, request = services.guard, job.request
    source = guard.open(request.path) if job.steps.links else _without_links(guard, request)
    with source:
        reading = _Reading(services, job, source, known)
        try:
            result = reading.result()
        except (Shrunk, errors.ObjectChanged):
            return None
        now = source.current()
        if now == source.version:
            return result
        # Appended to: show what was there when it was opened. Any other change
        # could have happened between two checks, so read all of it again.
        grown = now.size > source.version.size and now.inode == source.version.inode
        again = reading.as_it_was(result) if grown else None
        if again is None:
            return None
        note = Warn("grew", f"{now.size - source.version.size} bytes were appended during the read")
        return replace(again, warnings=(*again.warnings, note))


def _without_links(guard: Guard, request: ReadRequest) -> Source:
    """Open a file for a request that follows no links. Raises as `Guard.open`, and SymbolicLink."""
    try:
        source = guard.open(request.path)
    except (errors.NotFound, errors.NotAFile, errors.OutsideRoot, errors.BadPath):
        if guard.through_link(request.path):
            raise errors.SymbolicLink(request.path, None) from None
        raise
    if source.real != request.path:
        source.close()
        raise errors.SymbolicLink(request.path, source.real)
    return source


@final
class _Reading:
    """One attempt at a read."""

    def __init__(self, services: Services, job: Job[ReadRequest], source: Source, known: str | None) -> None:
        self._services = services
        self._job = job
        self._request = job.request
        self._steps = job.steps
        self._file = source
        self._source = source
        """The file, or its content where it is compressed."""
        self._known = known
        self._index: LineIndex | None = None
        self._content: Content | None = None
        self._windows = Windows(source, services.limits, job.cap, job.request)

    def result(self) -> ReadResult:
        file = self._file
        size = file.size if file.size <= SMALL_FILE_BYTES else HEAD_BYTES
        head = file.read_at(0, size)
        if len(head) < size:
            raise Shrunk
        if self._steps.expands and COMPRESSED.match(head):
            result = self._expanded()
        else:
            is_known = self._is_plain and size == file.size
            known = self._services.texts.known(file.real, head) if is_known else None
            if known is not None:
                result = self._again(known)
            else:
                sort = classify(file, head[:HEAD_BYTES], self._request, self._steps.accept)
                result = self._as(sort, head)
                if size == file.size and isinstance(sort, AsText):
                    self._learn(head, result)
        links = file.stat.links
        if links <= 1:
            return result
        return replace(result, warnings=(Warn("hard_link", f"the file has {links} names"), *result.warnings))

    def _as(self, sort: Sort, head: bytes) -> ReadResult:
        match sort:
            case AsText(kind, encoding):
                return self._text(kind, encoding, head)
            case AsDocument(document, flat=False):
                return self._document(document)
            case AsDocument(document):
                return self._flat(document, head)
            case AsImage():
                return self._image(head)
            case AsBytes():
                return self._bytes(head)
            case _:
                assert_never(sort)

    def as_it_was(self, result: ReadResult) -> ReadResult | None:
        """The result, if the file still has, or most likely has, what it had when opened; else None.

        The index of a large file says so without another pass, but it cannot vouch for a hash.
        """
        indexes, source = self._services.indexes, self._source
        if isinstance(source, ExpandedSource):
            from readroom.core.engine.read.compressed import is_as_it_was

            return result if is_as_it_was(source, self._job.deadline) else None
        try:
            if self._index is None or self._content is None or not indexes.extends(source.size):
                again = self.result()
                return result if replace(again, warnings=()) == replace(result, warnings=()) else None
            if not still_there(self._index, source, INDEX_SPOTS):
                return None
            content = replace(self._content, digits="")
            if self._windows.window(content).lines != result.lines:
                return None
            return replace(result, content_hash=None)
        except (Shrunk, errors.BadRange, errors.ObjectChanged):
            return None

    # --- a text -------------------------------------------------------------------------------

    @property
    def _is_plain(self) -> bool:
        """Whether the file is read only as its name and bytes suggest, without options that change that."""
        request, steps = self._request, self._steps
        return (
            request.encoding is None
            and request.pages is None
            and request.view == "text"
            and not request.options.keep_cr
            and steps.accept is None
            and steps.nul
        )

    def _again(self, known: ReadText) -> ReadResult:
        """The result for a cached text."""
        result = known.result(self._request, self._job.cap)
        if result is None:
            content = Content(known.text, known.digits, known.encoding, known.kind, clean=known.clean)
            result = self._of(content)
            known.show(self._request, self._job.cap, result)
        return result

    def _learn(self, data: bytes, result: ReadResult) -> None:
        """Cache the text and what was shown of it."""
        content = self._content
        if self._is_plain and content is not None and isinstance(content.text, WholeText):
            text = ReadText(data, content.text, content.digits, content.encoding, content.kind, content.clean)
            text.show(self._request, self._job.cap, result)
            self._services.texts.learn(self._file.real, text)

    def _text(self, kind: Kind, encoding: Encoding, head: bytes) -> ReadResult:
        if isinstance(self._source, ExpandedSource):
            from readroom.core.engine.read.compressed import packed_content

            job, limits = self._job, self._services.limits
            return self._of(packed_content(self._source, encoding, kind, limits, job.deadline))
        if self._source.size <= SMALL_FILE_BYTES:
            return self._of(self._small(head, encoding, kind))
        try:
            return self._of(self._large(encoding, kind, self._windows.lines_needed(kind)))
        except MoreNeeded:
            return self._of(self._large(encoding, kind, None))

    def _of(self, content: Content) -> ReadResult:
        """The result for a text."""
        request = self._request
        self._content = content
        if self._known is not None and content.digits.startswith(self._known):
            return self._windows.base(content, not_modified=True)
        if request.symbol is not None or request.view in OUTLINES:
            return self._outliner().result(content)
        window = self._windows.window(content)
        if not self._steps.nul and window.start > 0:
            # The shown text has a sign in place of each NUL.
            stored = content.text.lines(window.start, window.start + len(window.lines) - 1)
            lines = [line if isinstance(line, str) else line.head for line in stored]
            require_text(self._source, request, lines)
        if not window.omitted:
            return window
        from readroom.core.engine.read.outline import with_outline

        return with_outline(self._outliner(), content, window)

    def _small(self, data: bytes, encoding: Encoding, kind: Kind) -> Content:
        text = decode(data[len(encoding.bom) :], encoding)
        if not self._steps.nul:
            require_text(self._source, self._request, (text,))
        whole = WholeText(text, keep_cr=self._request.options.keep_cr)
        digits = hashlib.sha256(data).hexdigest()
        texts = self._services.texts
        texts.put(self._source.real, digits, data)  # for an edit that comes after the file has changed
        clean = texts.wants(len(data)) and hidden.is_clean(text)
        return Content(whole, digits, encoding, kind, clean=clean)

    def _large(self, encoding: Encoding, kind: Kind, lines: int | None) -> Content:
        """The content of a large file, of which so many lines are enough where counting costs."""
        unfinished, deadline = None, self._job.deadline
        try:
            hashed = self._known is not None
            index = self._services.indexes.of(self._source, encoding, deadline, hashed=hashed, lines=lines)
        except Unfinished as part:
            unfinished, index = part, part.index
        if deadline.expired:
            deadline = deadline.grace(READ_GRACE_S)
        self._index = index
        options = self._request.options
        head = line_chars(options, self._services.limits, self._job.cap)
        text = IndexedText(self._source, index, head, deadline, keep_cr=options.keep_cr)
        return Content(text, index.sha256, encoding, kind, unfinished)

    def _outliner(self) -> Outliner:
        from readroom.core.engine.read.outline import (
            Outliner,  # imports the languages; most reads show everything
        )

        outlines, limits, job = self._services.outlines, self._services.limits, self._job
        return Outliner(
            self._source, outlines, limits, job.cap, self._request, job.deadline, self._services.documents
        )

    # --- anything else ------------------------------------------------------------------------

    def _expanded(self) -> ReadResult:
        """The result for the content of a compressed file, with facts about the file itself."""
        from readroom.core.engine.read.compressed import described, unpacked

        services, documents = self._services, self._steps.accept is None
        arguments = (services.indexes, services.limits, self._job.deadline)
        content = unpacked(self._file, self._request, *arguments, documents=documents)
        assert content is not None
        self._source = content
        self._windows = Windows(content, services.limits, self._job.cap, self._request)
        sample = self._exactly(HEAD_BYTES)
        return described(
            self._as(classify(content, sample, self._request, self._steps.accept), sample), content
        )

    def _document(self, document: Recognised) -> ReadResult:
        """Parts of a document; as its outline the contents, and of a table or database the schema."""
        request, known = self._request, self._known
        if request.view in OUTLINES and request.symbol is None:
            pages = SCHEMA_WORD if document.row.is_data else CONTENTS_WORD
            request = replace(request, view="text", pages=pages)
        else:
            self._require_lines("it is a document")
        if isinstance(self._source, ExpandedSource):
            if self._source.out_of_time is not None:
                raise self._source.out_of_time
            known = None  # it would be compared with the hash of the content
        job = replace(self._job, request=request)
        result: ReadResult = provided("read")(self._services, job, self._source, document, known)
        return result

    def _flat(self, document: Recognised, head: bytes) -> ReadResult:
        """The document as one text; a broken one in a text format as plain text, so it can be repaired."""
        self._require_lines("it is a document")
        arguments = (self._services.limits, self._job.cap, self._request, self._job.deadline)
        try:
            flat: ReadResult = provided("read_flat")(
                self._services.documents(), self._source, document, *arguments
            )
            return flat
        except errors.BadDocument:
            if not document.is_text:
                raise
        sample, accept = head[:HEAD_BYTES], self._steps.accept
        return self._as(classify(self._source, sample, self._request, accept, documents=False), head)

    def _image(self, head: bytes) -> ReadResult:
        self._require_lines("it is an image")
        from readroom.core.engine.read.as_bytes import read_image

        data = head if len(head) == self._source.size else None
        return read_image(unmasked(self._source), self._request, self._known, head[:HEAD_BYTES], data)

    def _bytes(self, head: bytes) -> ReadResult:
        sample, source = head[:HEAD_BYTES], self._source
        if isinstance(source, ExpandedSource):
            media = sniff(sample) or UNKNOWN
            name = f"{media.name}, {source.packed.compression}"
            raise errors.Binary(self._request.path, name, source.stat.size, media.advice)
        from readroom.core.engine.read.as_bytes import read_raw

        return read_raw(source, self._request, sample, self._job.deadline)

    def _require_lines(self, problem: str) -> None:
        """Refuse to outline what is not text. Raises NoOutline."""
        self._outliner().require_text(problem)

    def _exactly(self, size: int) -> bytes:
        data = self._source.read_at(0, size)
        if len(data) < min(size, self._source.size):
            raise Shrunk
        return data
