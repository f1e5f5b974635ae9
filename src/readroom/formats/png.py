"""Large PNG files in strips of rows, at the speed of zlib and in the memory of a strip.

A PNG is one compressed stream of rows, and a row may be written as its difference
to the row above.  So the stream is inflated piece by piece, and each piece, with
the last row before it, is handed to Pillow as a small PNG of its own.  Rows of one
byte per sample, not interlaced, can be treated so; nearly all files have those.
Imports Pillow: import it where there is an image.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from PIL.Image import Image as Picture
from PIL.Image import new
from PIL.PngImagePlugin import PngImageFile

from readroom.formats.pixels import TooLarge, plain

SIGNATURE = b"\x89PNG\r\n\x1a\n"

SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""Samples per pixel by colour type."""

STRIP_BYTES = 1_000_000
"""Rows inflated at once; Pillow, zlib and we hold half a dozen copies of them."""

MAX_STRIP_BYTES = 5_000_000
"""A strip must hold the rows that become one; an image too wide for that is refused."""

INPUT_BYTES = 64 * 1024
"""Given to zlib at once: what it does not take yet is copied."""

TEXT_BYTES = 16 * 1024
"""Compressed notes longer than this are dropped: Pillow would inflate them, a thousandfold at worst."""


@dataclass(frozen=True, slots=True)
class _Header:
    width: int
    height: int
    depth: int
    colour: int
    interlaced: bool

    @property
    def row_bytes(self) -> int:
        """A row with the byte that says how it is written."""
        return 1 + self.width * SAMPLES[self.colour]


def _header(data: bytes) -> _Header:
    width, height, depth, colour, _, _, interlaced = struct.unpack_from(">IIBBBBB", data, 16)
    return _Header(width, height, depth, colour, bool(interlaced))


def has_plain_rows(data: bytes) -> bool:
    """Whether `reduced` can read it."""
    header = _header(data)
    return header.depth == 8 and header.colour in SAMPLES and not header.interlaced


def without_long_texts(data: bytes) -> bytes:
    """The file, without its compressed notes when they are long."""
    notes = (b"zTXt", b"iTXt", b"iCCP")
    if sum(len(body) for kind, body in _chunks(data) if kind in notes) <= TEXT_BYTES:
        return data
    return SIGNATURE + b"".join(_chunk(kind, body) for kind, body in _chunks(data) if kind not in notes)


def exif(data: bytes) -> bytes:
    """The EXIF record, empty without one."""
    return next((bytes(body) for kind, body in _chunks(data) if kind == b"eXIf"), b"")


def reduced(data: bytes, factors: tuple[int, int]) -> Picture:
    """The image, each `factors` (across, down) of its pixels made one.

    Raises:
        TooLarge: It is so wide that the rows which become one take too much memory.
        ValueError: It is cut short.
        zlib.error: Its stream is broken.
    """
    header = _header(data)
    across, down = factors
    size = (-(-header.width // across), -(-header.height // down))
    rows = max(1, STRIP_BYTES // header.row_bytes // down) * down
    if rows * header.row_bytes > MAX_STRIP_BYTES:
        raise TooLarge(f"{header.width:,} pixels across are too many to shrink it in bounded memory")
    result: Picture | None = None
    top = 0
    for strip in _strips(data, header, rows):
        piece = plain(strip).reduce(factors)
        result = result or new(piece.mode, size)
        result.paste(piece, (0, top // down))
        top += strip.height
    if result is None or top < header.height:
        raise ValueError("the image is cut short")
    return result


def _strips(data: bytes, header: _Header, rows: int) -> Iterator[Picture]:
    """The image from top to bottom, `rows` rows at a time, the last strip lower."""
    before = bytes(header.row_bytes - 1)  # above the first row all is zero
    left = header.height
    for part in _inflated(data, rows * header.row_bytes):
        count = min(left, len(part) // header.row_bytes)
        if not count:
            return
        body = b"\0" + before + part[: count * header.row_bytes]
        picture = _small(data, header, count + 1, body)
        before = picture.crop((0, count, header.width, count + 1)).tobytes()
        yield picture.crop((0, 1, header.width, count + 1))
        left -= count


def _inflated(data: bytes, size: int) -> Iterator[bytes]:
    """The stream of rows, `size` bytes at a time."""
    inflate = zlib.decompressobj()
    rows = bytearray()
    for kind, body in _chunks(data):
        if kind != b"IDAT":
            continue
        for start in range(0, len(body), INPUT_BYTES):
            left: bytes | memoryview = body[start : start + INPUT_BYTES]
            while piece := inflate.decompress(left, size - len(rows)):
                left = inflate.unconsumed_tail
                rows += piece
                if len(rows) == size:
                    yield bytes(rows)
                    rows.clear()
    yield bytes(rows)


def _small(data: bytes, header: _Header, height: int, rows: bytes) -> PngImageFile:
    """A PNG of some rows, with the palette and the transparency of the whole."""
    start = struct.pack(">IIBBBBB", header.width, height, header.depth, header.colour, 0, 0, 0)
    parts = [SIGNATURE, _chunk(b"IHDR", start)]
    for kind, body in _chunks(data):
        if kind in (b"PLTE", b"tRNS"):
            parts.append(_chunk(kind, body))
        if kind == b"IDAT":
            break
    parts += [_chunk(b"IDAT", zlib.compress(rows, 0)), _chunk(b"IEND", b"")]
    picture = PngImageFile(io.BytesIO(b"".join(parts)))
    picture.load()
    return picture


def _chunks(data: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """Kind and content of each, up to the first that is cut short."""
    view, at = memoryview(data), len(SIGNATURE)
    while at + 8 <= len(data):
        size = int.from_bytes(view[at : at + 4], "big")
        if at + 8 + size > len(data):
            return
        yield bytes(view[at + 4 : at + 8]), view[at + 8 : at + 8 + size]
        at += size + 12


def _chunk(kind: bytes, body: bytes | memoryview) -> bytes:
    return b"".join(
        [struct.pack(">I", len(body)), kind, body, struct.pack(">I", zlib.crc32(body, zlib.crc32(kind)))]
    )
