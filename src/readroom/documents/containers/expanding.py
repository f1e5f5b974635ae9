"""Decoders for members: content in pieces of bounded size, within bounded memory."""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Iterator, Mapping, Sequence

from readroom.core.formats.compressed import Broken, Compression, Expander, inflated
from readroom.core.limits.files import EXPANSION_MEMORY_BYTES
from readroom.documents.containers.members import PIECE_BYTES, BadContainer

_SMALLEST_DICTIONARY = 4096


def inflated_raw(packed: Iterator[bytes]) -> Iterator[bytes]:
    """Content that was packed with Deflate. Raises BadContainer."""
    try:
        yield from inflated(packed)
    except zlib.error as error:
        raise BadContainer(f"it is damaged ({error})") from None
    except EOFError:
        raise BadContainer("it is damaged: its data are truncated") from None


def decoded(compression: Compression, packed: Iterator[bytes]) -> Iterator[bytes]:
    """Content that was packed like a compressed file. Raises BadContainer."""
    expander = Expander(compression)
    try:
        for piece in packed:
            yield from expander.expand(piece)
        yield from expander.finish()
    except Broken as error:
        raise BadContainer(f"it is damaged: its data {error.problem}") from None


def unpacked(filters: Sequence[Mapping[str, int]], packed: Iterator[bytes]) -> Iterator[bytes]:
    """Content that was packed with LZMA, without a header. Raises BadContainer."""
    try:
        decoder = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[dict(one) for one in filters])
        piece = b""
        while True:
            content = decoder.decompress(piece, PIECE_BYTES)
            piece = b""
            if content:
                yield content
            if decoder.eof:
                return
            if decoder.needs_input:
                piece = next(packed, b"")
                if not piece:
                    return  # without an end mark, size and checksum decide whether it is complete
    except (lzma.LZMAError, ValueError) as error:
        raise BadContainer(f"it is damaged ({error})") from None


def lzma1_filter(properties: bytes) -> dict[str, int]:
    """The decoder of LZMA by its five bytes of properties. Raises BadContainer."""
    if len(properties) != 5 or properties[0] >= 9 * 5 * 5:
        raise BadContainer("it is damaged (its properties are wrong)")
    first = properties[0]
    return {
        "id": lzma.FILTER_LZMA1,
        "lc": first % 9,
        "lp": first // 9 % 5,
        "pb": first // 45,
        "dict_size": remembered(int.from_bytes(properties[1:5], "little")),
    }


def remembered(size: int) -> int:
    """The size of a decoder's dictionary. Raises BadContainer if it is too large."""
    if size > EXPANSION_MEMORY_BYTES:
        raise BadContainer(f"decoding it needs {size:,} bytes of memory")
    return max(size, _SMALLEST_DICTIONARY)
