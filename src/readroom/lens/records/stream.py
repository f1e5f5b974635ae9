"""Lines and elements of JSON from a file of any size, in bounded memory.

Real lines are short, so lines are read with `readline` and a limit. Longer ones go through the `Shortener`,
which copies JSON and keeps only the head of each long string, so that a line of 100 MB costs the text of one
result and not the record. It knows strings, escapes and depth; the decoder decides whether the rest is JSON.
"""

from __future__ import annotations

import codecs
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, cast

import msgspec

from readroom.lens.limits import RECORD_LINE_BYTES, Bounds
from readroom.lens.records.events import Event, Skipped
from readroom.lens.records.values import NotReadable, Object, as_object, decode

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

RECORD_TEXT_BYTES = 512 * 1024
"""Bytes kept of a text in an overlong line: far more than any client sends of one result."""


_IN_TEXT = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*', re.DOTALL)
"""The inside of a string, up to its closing quote or half of an escape. Each escape takes 64 bytes of memory
while it matches, so it is matched in chunks.
"""

_HALF_ESCAPE = re.compile(rb"(?<!\\)(?:\\\\)*(\\(?:u[0-9A-Fa-f]{0,3})?)\Z")

_OUTSIDE_STOP = re.compile(rb'["\[\]{},]')


_INSIDE = re.compile(rb'(?:[^"\[\]{}]++|\[[^"\[\]{}]*+\]|\{[^"\[\]{}]*+\})+')
"""Tokens that do not change the depth inside an element: values, and lists and objects of those.
One step for each of a hundred million empty lists would take minutes.
"""


class _FromUtf16(io.RawIOBase):
    """A file in UTF-16, which PowerShell writes with `>`, read as UTF-8."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._restart()

    def _restart(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-16")("replace")
        self._ready = b""

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Only to the beginning."""
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Go to the beginning."""
        if offset or whence:
            raise io.UnsupportedOperation("only to the beginning")
        self._restart()
        return self._stream.seek(0)

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill `buffer`, fewer bytes only at the end."""
        room = memoryview(buffer)
        while not self._ready:
            chunk = self._stream.read(len(room))
            self._ready = self._decoder.decode(chunk, final=not chunk).encode("utf-8", "replace")
            if not chunk:
                break
        piece, self._ready = self._ready[: len(room)], self._ready[len(room) :]
        room[: len(piece)] = piece
        return len(piece)


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a text record as UTF-8, also where it was written as UTF-16."""
    with path.open("rb") as stream:
        if stream.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            raw = _FromUtf16(stream)
            raw.seek(0)
            yield cast(BinaryIO, io.BufferedReader(raw))
        else:
            stream.seek(0)
            yield stream


def sibling_bytes(path: Path, most: int) -> bytes:
    """The first `most` bytes of a file that a client keeps near its record. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        if not S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("not a regular file")
        return stream.read(most)


class Line(msgspec.Struct, frozen=True):
    """One decoded line: its number from 1, its value, and how many bytes of long strings were left out."""

    number: int
    value: Any
    left_out: int = 0


def lines(stream: BinaryIO) -> Iterator[Line | Skipped]:
    """Every line of a JSON Lines file, decoded; a line that cannot be decoded is skipped."""
    number = 0
    while raw := stream.readline(RECORD_LINE_BYTES):
        number += 1
        missing = 0
        if len(raw) == RECORD_LINE_BYTES and not raw.endswith(b"\n"):
            raw, missing = _shortened_line(stream, raw)
        if not raw.strip(b" \t\r\n\0"):
            continue
        try:
            yield Line(number, decode(raw), missing)
        except NotReadable as error:
            yield from _rescued(raw, number, str(error))


def each(
    lines: Iterable[Line | Skipped], events: Callable[[Object, int], Iterator[Event]]
) -> Iterator[Event]:
    """The events of every line, by its object and number, and reports of skipped parts."""
    for line in lines:
        if isinstance(line, Skipped):
            yield line
            continue
        if line.left_out:
            yield Skipped(f"line {line.number}", f"{line.left_out:,} bytes of long texts were not read")
        yield from events(as_object(line.value), line.number)


def _rescued(raw: bytes, number: int, why: str) -> Iterator[Line | Skipped]:
    # Two processes appending to one file can leave two objects in a line, or half of one before another.
    cut = raw.rfind(b'}{"') if raw.startswith(b"{") else -1
    for piece in (raw[: cut + 1], raw[cut + 1 :]) if cut > 0 else ():
        try:
            yield Line(number, decode(piece))
        except NotReadable:
            continue
        why = "written by two processes at once, read in part"
    yield Skipped(f"line {number}", f"{len(raw):,} bytes, {why}")


RECORD_CHUNK_BYTES = 256 * 1024
"""Bytes read at once; small against the other limits and large against the cost of a call."""


def _shortened_line(stream: BinaryIO, head: bytes) -> tuple[bytes, int]:
    shortener = Shortener()
    for at in range(0, len(head), RECORD_CHUNK_BYTES):
        shortener.feed(head[at : at + RECORD_CHUNK_BYTES])
    while chunk := stream.readline(RECORD_CHUNK_BYTES):
        shortener.feed(chunk)
        if chunk.endswith(b"\n"):
            break
    return bytes(shortener.out), shortener.left_out


class Shortener:
    """Copies JSON to `out`: the first bytes of each long string; the rest is counted in `left_out`.

    When even that is more than a line may have, the copy stops, and the line will not decode.
    """

    def __init__(self, text_bytes: int = RECORD_TEXT_BYTES) -> None:
        """Keep at most `text_bytes` of each string."""
        self._most = text_bytes
        self.out = bytearray()
        self.left_out = 0
        self._in_text = False
        self._kept = 0
        self._half = b""

    def feed(self, chunk: bytes) -> None:
        """Take the next chunk, cut anywhere."""
        chunk, self._half, at = self._half + chunk, b"", 0
        while at < len(chunk):
            at = self._text(chunk, at) if self._in_text else self._outside(chunk, at)

    def _outside(self, chunk: bytes, at: int) -> int:
        quote = chunk.find(b'"', at)
        end = len(chunk) if quote < 0 else quote + 1
        self._keep(chunk[at:end])
        if quote >= 0:
            self._in_text = True
            self._kept = 0
        return end

    def _text(self, chunk: bytes, at: int) -> int:
        inside = _IN_TEXT.match(chunk, at)
        end = inside.end() if inside else at
        self._keep_of_text(chunk[at:end])
        if end == len(chunk):
            return end
        if chunk[end : end + 1] == b"\\":  # its other half is in the next chunk
            self._half = b"\\"
        else:
            self._keep(b'"')
            self._in_text = False
        return end + 1

    def _keep_of_text(self, piece: bytes) -> None:
        room = max(0, self._most - self._kept)
        self._kept += len(piece)
        if len(piece) <= room:
            self._keep(piece)
            return
        self.left_out += len(piece) - room
        if room or self._kept - len(piece) == self._most:
            self._keep(piece[:room])
            # Half of an escape would not decode.
            half = _HALF_ESCAPE.search(bytes(self.out[-64:]))
            if half:
                del self.out[len(self.out) - len(half[1]) :]

    def _keep(self, piece: bytes) -> None:
        if len(self.out) + len(piece) <= RECORD_LINE_BYTES:
            self.out += piece
        else:
            self.left_out += len(piece)


class Content(Protocol):
    """The bytes of a document; it can be read from the beginning again."""

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes, fewer only at the end."""

    def seek(self, place: int, /) -> int:
        """Go to the beginning: `place` is always 0."""


class Element(msgspec.Struct, frozen=True):
    """An element of a list in a document, with the key of the list ("" where the document is a list)."""

    key: str
    value: Any


def elements(stream: Content, size: int, bounds: Bounds) -> Iterator[Element | Skipped]:
    """The elements of a document: of a list, or of the lists directly inside an object, in order.

    Every other member of an object is one element under its own key.
    """
    if size <= bounds.document_bytes:
        try:
            document = decode(stream.read(bounds.document_bytes))
        except NotReadable as error:
            # A truncated document is read element by element, up to where it ends.
            stream.seek(0)
            yield from _split(stream)
            yield Skipped("document", str(error))
            return
        yield from _of_document(document)
        return
    yield from _split(stream)


def _of_document(document: Any) -> Iterator[Element]:
    if isinstance(document, list):
        for item in document:
            yield Element("", item)
    elif isinstance(document, dict):
        for key, value in document.items():
            for item in value if isinstance(value, list) else [value]:
                yield Element(str(key), item)


def _split(stream: Content) -> Iterator[Element | Skipped]:
    splitter = _Splitter()
    while chunk := stream.read(RECORD_CHUNK_BYTES):
        for key, raw in splitter.feed(chunk):
            try:
                yield Element(key, decode(raw))
            except NotReadable as error:
                yield Skipped(f"an element of {key or 'the list'}", f"{len(raw):,} bytes, {error}")


class _Splitter:
    """Cuts a document into the elements of its outer list, or of the lists in its outer object."""

    def __init__(self) -> None:
        self._shortener = Shortener()
        self._depth = 0
        self._base = 0  # the depth of elements: 1 in an outer list, 2 in a list of an outer object
        self._object = False
        self._in_text = False
        self._half = b""
        self._key = ""

    def feed(self, chunk: bytes) -> Iterator[tuple[str, bytes]]:
        """The elements that the next chunk completes, with the keys of their lists."""
        chunk, self._half, at = self._half + chunk, b"", 0
        while at < len(chunk):
            if self._in_text:
                at = self._text(chunk, at)
                continue
            inside = _INSIDE.match(chunk, at) if self._depth > self._base else None
            if inside:
                self._shortener.feed(inside[0])
                at = inside.end()
                continue
            stop = _OUTSIDE_STOP.search(chunk, at)
            end = stop.start() if stop else len(chunk)
            self._shortener.feed(chunk[at:end])
            if stop is None:
                return
            yield from self._mark(chunk[end : end + 1])
            at = end + 1

    def _text(self, chunk: bytes, at: int) -> int:
        inside = _IN_TEXT.match(chunk, at)
        end = inside.end() if inside else at
        if chunk[end : end + 1] == b'"':
            self._in_text = False
            end += 1
        elif end < len(chunk):
            self._half = b"\\"
            self._shortener.feed(chunk[at:end])
            return end + 1
        self._shortener.feed(chunk[at:end])
        return end

    def _mark(self, mark: bytes) -> Iterator[tuple[str, bytes]]:
        if mark == b'"':
            self._in_text = True
            self._shortener.feed(mark)
            return
        if mark in b"[{":
            self._open(mark)
            return
        if mark == b"," and self._depth == self._base:
            yield from self._element()
        elif mark in b"]}" and self._depth == self._base:
            yield from self._element()
            self._close()
        else:
            if mark in b"]}":
                self._depth -= 1
            self._shortener.feed(mark)

    def _open(self, mark: bytes) -> None:
        self._depth += 1
        if self._depth == 1:
            self._object = mark == b"{"
            self._base = 1
            self._shortener = Shortener()
        elif self._object and self._depth == 2 and mark == b"[":
            self._key = _key_before(bytes(self._shortener.out))
            self._base = 2
            self._shortener = Shortener()
        else:
            self._shortener.feed(mark)

    def _close(self) -> None:
        self._depth -= 1
        self._base = self._depth
        self._key = ""

    def _element(self) -> Iterator[tuple[str, bytes]]:
        raw = bytes(self._shortener.out).strip()
        self._shortener = Shortener()
        if not raw:
            return
        if self._object and self._base == 1:
            key, value = _member(raw)
            if value:
                yield key, value
        else:
            yield self._key, raw


def _member(raw: bytes) -> tuple[str, bytes]:
    head = re.match(rb'\s*"((?:[^"\\]|\\.)*)"\s*:\s*', raw)
    return (head[1].decode("utf-8", "replace"), raw[head.end() :]) if head else ("", b"")


def _key_before(raw: bytes) -> str:
    head = re.search(rb'"((?:[^"\\]|\\.)*)"\s*:\s*\Z', raw[-1000:])
    return head[1].decode("utf-8", "replace") if head else ""
