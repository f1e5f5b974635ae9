"""Files that are no text, for contracts that hand out bytes; and files that a contract does not take."""

from __future__ import annotations

from readroom.deadline import Deadline
from readroom.errors import BadPath, Binary, NotAFile, NotFound, OutsideRoot, SymbolicLink, TooLarge
from readroom.formats.kinds import IMAGE_TYPES, UNKNOWN, sniff
from readroom.limits import BLOCK_BYTES
from readroom.model import Kind, ReadRequest, ReadResult
from readroom.policy.guard import Guard
from readroom.quoting import quote
from readroom.stores.base import Source
from readroom.text import hashes
from readroom.text.hashing import Hashing
from readroom.text.lines import Shrunk

_PICTURE = "It is a picture, and this tool shows text: look for a description of it, or ask the user."
"""Of an image that would be shown, were it not for the contract."""


def opened(guard: Guard, request: ReadRequest) -> Source:
    """The file of a request. Raises as `Guard.open`, and SymbolicLink for a link that cannot be followed."""
    try:
        return guard.open(request.path)
    except (NotFound, NotAFile, OutsideRoot, BadPath):
        if not request.manner.links and guard.through_link(request.path):
            raise SymbolicLink(request.path, None) from None
        raise


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
        advice = _PICTURE if media.name in IMAGE_TYPES else media.advice
        raise Binary(request.path, media.name, source.stat.size, advice)
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
