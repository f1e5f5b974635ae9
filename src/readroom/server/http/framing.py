"""Find where requests begin and end in a connection, and refuse forms that readers may parse differently.

httptools, which uvicorn reads with, accepts some forms that a proxy before us may read differently: a request
line without a version or with two blanks, a body in a coding that is not undone. If one reader sees one
request and another sees two, the second is smuggled past the one that checks. So heads and sizes of chunks
are parsed here first, in one strict form: that of RFC 9112 without the forms that it lets a recipient
tolerate. What passes is a part of what httptools accepts.

Knows: the form of heads and of chunks.
Does not know: the meaning of a request; httptools parses it afterwards.
"""

from __future__ import annotations

import re
from enum import Enum
from http import HTTPMethod
from typing import final

from readroom.core.errors import BadRequest, ReadroomError, UnknownCoding, WrongVersion

_WELL_FORMED = "Send a request line, headers and a body."

_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]"
_TEXT = rb"[\t -~\x80-\xff]"
_EMPTY_LINES = re.compile(rb"\A(?:\r\n)+")
_PATH = re.compile(rb"/[!-\"$-~]*")
"""A path with a query, not the absolute form for proxies."""
_OFFER = re.compile(rb"^upgrade:[^\n]*\n", re.IGNORECASE | re.MULTILINE)
"""An offer of another protocol, which clients in Java send with their first request: httptools would take the
body for that protocol."""
_LINE = re.compile(rb"(%s+) ([!-~]+) HTTP/([0-9]\.[0-9])\r\n" % _TOKEN)
# A colon ends a name and a line feed a value, so that nothing is tried twice.
_FIELDS = re.compile(rb"(?:%s+:%s*\r\n)*\r\n" % (_TOKEN, _TEXT))
_FRAMING = re.compile(
    rb"^(content-length|transfer-encoding):[ \t]*(.*?)[ \t]*\r$", re.IGNORECASE | re.MULTILINE
)
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})(?:;%s*)?\r\n" % _TEXT)

_STRAY = re.compile(rb"(?:\A|[^\r])\n|[\0-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Bytes that no head or chunk size contains: their senders need not wait for the time limit."""

_HEAD_ENDS = b"\r\n\r\n"
_MOST_CHUNK_LINE = 256
"""The longest line before a chunk: a size, and extensions, which mean nothing here."""


class _Part(Enum):
    """The part of a request that is expected next."""

    HEAD = "a head"
    BODY = "a body of known length, or the rest of a chunk"
    BREAK = "the end of a chunk"
    CHUNK = "the size of a chunk"
    END = "the end of the last chunk"


SERVE_HEAD_BYTES = 32 * 1024
"""Size of a request's first line and headers. Node: 16 KiB; nginx: 32 KiB."""


@final
class Framing:
    """The requests of one connection. `feed` takes its bytes however they are cut."""

    def __init__(self) -> None:
        self._part = _Part.HEAD
        self._held = b""
        """The beginning of a head or of a line."""
        self._left = 0
        """The bytes of the body, or of a chunk, that are to come."""
        self._chunked = False

    @property
    def begun(self) -> bool:
        """Whether a request has begun that is not complete."""
        return self._part is not _Part.HEAD or bool(self._held.strip(b"\r\n"))

    def feed(self, data: bytes) -> bytes:
        """The bytes to pass to the parser: whole heads, without meaningless parts, and bodies.

        Raises BadRequest, UnknownCoding or WrongVersion.
        """
        ready: list[bytes] = []
        at = 0
        while at < len(data):
            if self._part is _Part.BODY:
                at = self._pass(data, at, ready)
            elif self._part is _Part.HEAD:
                at = self._until(data, at, _HEAD_ENDS, SERVE_HEAD_BYTES, ready)
            else:
                at = self._until(data, at, b"\r\n", _MOST_CHUNK_LINE, ready)
        return b"".join(ready)

    def _pass(self, data: bytes, at: int, ready: list[bytes]) -> int:
        taken = min(self._left, len(data) - at)
        ready.append(data[at : at + taken])
        self._left -= taken
        if not self._left:
            self._part = _Part.BREAK if self._chunked else _Part.HEAD
        return at + taken

    def _until(self, data: bytes, at: int, end: bytes, most: int, ready: list[bytes]) -> int:
        """Parse the data up to an ending, once it has arrived; the next place in the data."""
        held = self._held
        overlap = held[1 - len(end) :]  # the end may have begun there
        found = (overlap + data[at:]).find(end) if overlap else data.find(end, at) - at
        stop = len(data) if found < 0 else at + found - len(overlap) + len(end)
        whole = held + data[at:stop]
        if len(whole) > most:
            what = "headers have" if self._part is _Part.HEAD else "chunks have sizes of"
            raise BadRequest(f"its {what} more than {most:,} bytes", "Send fewer and shorter ones.")
        if found < 0:
            if _STRAY.search(whole, max(0, len(held) - 1)):
                raise _not_http()
            self._held = whole
        else:
            self._held = b""
            ready.append(self._looked_at(whole))
        return stop

    def _looked_at(self, whole: bytes) -> bytes:
        if self._part is _Part.HEAD:
            head = _EMPTY_LINES.sub(b"", whole)  # some clients send one after a body
            if head:
                self._begin(_length(head))
            return _OFFER.sub(b"", head)
        if self._part is _Part.END:
            if whole != b"\r\n":
                # The server would add trailers to the headers, where they could decide who asks.
                raise BadRequest("it has headers after its body", "Send them before it.")
            self._part = _Part.HEAD
            return whole
        if self._part is _Part.BREAK:
            if whole != b"\r\n":
                raise _not_http()
            self._part = _Part.CHUNK
            return whole
        match = _CHUNK.fullmatch(whole)
        if match is None:
            raise _not_http()
        size = int(match[1], 16)
        self._part, self._left = (_Part.BODY, size) if size else (_Part.END, 0)
        return b"%x\r\n" % size

    def _begin(self, length: int | None) -> None:
        self._chunked = length is None
        self._left = length or 0
        self._part = _Part.CHUNK if self._chunked else _Part.BODY if self._left else _Part.HEAD


_METHODS = frozenset(
    (
        *HTTPMethod.__members__,
        *("ACL", "BIND", "CHECKOUT", "COPY", "LINK", "LOCK", "MERGE", "MKACTIVITY", "MKCALENDAR", "MKCOL"),
        *("MOVE", "PROPFIND", "PROPPATCH", "PURGE", "QUERY", "REBIND", "REPORT", "SEARCH", "SOURCE"),
        *("SUBSCRIBE", "UNBIND", "UNLINK", "UNLOCK", "UNSUBSCRIBE"),
    )
)
"""The methods that the parser of uvicorn knows: what is not for us gets 405 and not 400."""


def _length(head: bytes) -> int | None:
    """The length of the body that follows a head; None for one in chunks."""
    line = _LINE.match(head)
    if line is None or not _FIELDS.fullmatch(head, line.end()):
        raise _not_http()
    if line[3] not in (b"1.1", b"1.0"):
        raise WrongVersion(line[3].decode("ascii"))
    if line[1].decode("ascii") not in _METHODS:
        raise _not_http()
    if not _PATH.fullmatch(line[2]):
        raise BadRequest("its address is not a path", "Send a path in ASCII, such as /docs.")
    found = [(match[1].lower(), match[2]) for match in _FRAMING.finditer(head)]
    if not found:
        return 0
    if len(found) > 1:
        raise BadRequest("it states the length of its body more than once", "State it once.")
    name, value = found[0]
    if name == b"content-length":
        if not value.isdigit() or len(value) > _MOST_DIGITS:
            raise _not_http()
        return int(value)
    codings = [one.strip(b" \t").lower() for one in value.split(b",")]
    if codings != [b"chunked"] or line[3] == b"1.0":
        raise _coding(codings)
    return None


_MOST_DIGITS = 15


def _coding(codings: list[bytes]) -> ReadroomError:
    if b"chunked" in codings[:-1] or codings == [b"chunked"]:
        return BadRequest("its Transfer-Encoding does not say where its body ends", _WELL_FORMED)
    return UnknownCoding(b", ".join(codings).decode("latin-1"))


def _not_http() -> BadRequest:
    return BadRequest("it is not HTTP/1.1", _WELL_FORMED)
