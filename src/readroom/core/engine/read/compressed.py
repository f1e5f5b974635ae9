"""Open the content of a compressed file, for reads and searches."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.engine.read.window import Content
from readroom.core.errors import Binary, BrokenData, Changed, store_failure
from readroom.core.formats.compressed import MAGIC_BYTES, by_magic, plain_name
from readroom.core.formats.kinds import UNKNOWN, recognise, recognise_data, sniff
from readroom.core.limits import Limits
from readroom.core.limits.files import READ_GRACE_S
from readroom.core.session.expansions import ExpandedSource, NotText
from readroom.core.session.index_cache import IndexCache, Unfinished
from readroom.core.stores.base import Source
from readroom.core.text import encodings, hashes
from readroom.core.text.encodings import Encoding
from readroom.core.text.line_index import Shrunk, whole_lines
from readroom.core.text.select import IndexedText
from readroom.core.values import GrepRequest, Kind, ReadRequest, ReadResult


def unpacked(
    source: Source,
    request: ReadRequest | GrepRequest,
    indexes: IndexCache,
    limits: Limits,
    deadline: Deadline,
    *,
    documents: bool = False,
) -> ExpandedSource | None:
    """Open the content of a compressed file; None if the file is not compressed.

    With `documents`, documents are expanded as well, and for a read also tables; else only text.

    Raises:
        Binary: The content is not text.
        BrokenData: None of the content can be expanded.
        StoreFailed: There is no place for the content.
        Shrunk: The file is shorter than it was when it was opened.
        TimedOut: Other files were expanded all the time.
        Cancelled: The caller went away.
    """
    compression = by_magic(source.read_at(0, MAGIC_BYTES))
    if compression is None:
        return None
    path, maximum = request.path, limits.expanded_bytes
    wanted = _wanted(request, plain_name(source.real, compression), documents)
    try:
        expanded = indexes.expansions.opened(source, compression, maximum, wanted, deadline)
    except NotText as content:
        media = sniff(content.head) or UNKNOWN
        raise Binary(path, f"{media.name}, {compression}", source.size, media.advice) from None
    except OSError as error:
        raise store_failure(error, path) from None
    if expanded.stopped is not None and not expanded.size:
        raise BrokenData(path, compression, source.size, expanded.stopped.detail)
    return expanded


def _wanted(request: ReadRequest | GrepRequest, plain: str, documents: bool) -> Callable[[bytes, bool], bool]:
    """Decides what is expanded: text, so that a bomb of zeros ends at once; documents; or everything."""
    if isinstance(request, ReadRequest):
        insists = request.encoding is not None
    else:
        insists = "binary" in request.include

    def wanted(head: bytes, whole: bool) -> bool:
        if insists or encodings.detect(head, complete=whole) is not None:
            return True
        is_table = isinstance(request, ReadRequest) and recognise_data("", head) is not None
        return documents and (is_table or recognise(plain, head) is not None)

    return wanted


def searchable(
    source: Source,
    request: GrepRequest,
    indexes: IndexCache,
    limits: Limits,
    deadline: Deadline,
    *,
    documents: bool = False,
) -> AbstractContextManager[Source]:
    """The source to search: the content of a compressed file, completely expanded, or the file itself.

    With `documents` that may be one. Raises TimedOut, Changed.
    """
    try:
        content = unpacked(source, request, indexes, limits, deadline, documents=documents)
    except Shrunk:
        raise Changed(request.path) from None
    if content is None:
        return nullcontext(source)
    if content.out_of_time is not None:
        raise content.out_of_time
    return content


def packed_content(
    source: ExpandedSource,
    encoding: Encoding,
    kind: Kind,
    limits: Limits,
    deadline: Deadline,
) -> Content:
    """The expanded text; if time ran out, up to the last complete line."""
    if deadline.expired:
        deadline = deadline.grace(READ_GRACE_S)
    index, unfinished = source.index(encoding, deadline), None
    if source.out_of_time is not None:
        index = whole_lines(index, source)
        unfinished = Unfinished(index, source.consumed, source.stat.size, source.out_of_time, packed=True)
    text = IndexedText(source, index, limits.line_chars, deadline)
    return Content(text, source.digits, encoding, kind, unfinished)


def described(result: ReadResult, source: ExpandedSource) -> ReadResult:
    """A window of the content with facts about the file itself."""
    stopped = () if source.stopped is None else (source.stopped,)
    return replace(
        result,
        size_bytes=source.raw.stat.size,
        content_hash=hashes.full(source.digits) if source.digits else None,
        total_lines=None if source.stopped else result.total_lines,
        ends=replace(result.ends, final=None) if source.stopped else result.ends,
        packed=source.packed,
        warnings=(*stopped, *result.warnings),
    )


def is_as_it_was(source: ExpandedSource, deadline: Deadline) -> bool:
    """Whether the file still begins with the bytes that were expanded."""
    try:
        return hashes.digits_of(source.raw, deadline) == source.digits
    except Shrunk:
        return False
