"""Files that are no text, for contracts that hand out bytes; and files that a contract does not take."""

from __future__ import annotations

from readroom.deadline import Deadline
from readroom.errors import Binary, SymbolicLink, TooLarge
from readroom.formats.kinds import UNKNOWN, sniff
from readroom.limits import BLOCK_BYTES
from readroom.model import Kind, ReadRequest, ReadResult
from readroom.quoting import quote
from readroom.stores.base import Source
from readroom.text import hashes
from readroom.text.hashing import Hashing
from readroom.text.lines import Shrunk


def require_taken(source: Source, request: ReadRequest) -> None:
    """Return when the manner of a request takes a file. Raises TooLarge or SymbolicLink."""
    if not request.manner.links and source.real != request.path:
        raise SymbolicLink(request.path, source.real)
    most = request.manner.most_bytes
    if most is not None and source.size > most:
        advice = "Use offset and limit to read a part of it."
        raise TooLarge(quote(request.path), source.size, most, "bytes", advice)


def read_raw(source: Source, request: ReadRequest, sample: bytes, deadline: Deadline) -> ReadResult:
    """The first bytes of a binary file, as many as the manner of the request hands out.

    Args:
        source: The file.
        request: What was asked for.
        sample: Its first bytes.
        deadline: Checked between blocks.

    Raises:
        Binary: None are handed out.
        Shrunk: The file is shorter than it was when it was opened.
    """
    most = request.manner.raw_bytes
    if not most:
        media = sniff(sample) or UNKNOWN
        raise Binary(request.path, media.name, source.stat.size, media.advice)
    hashing, raw = Hashing(), b""
    while hashing.size < source.size:
        deadline.check()
        piece = source.read_at(hashing.size, min(BLOCK_BYTES, source.size - hashing.size))
        if not piece:
            raise Shrunk
        hashing.add(piece)
        raw += piece[: most - len(raw)]
    return ReadResult(
        request.path, Kind.BINARY, source.size, hashes.full(hashing.digits), total_lines=None, raw=raw
    )
