"""Compressed files as their content: gzip, Zstandard, xz and bzip2, recognised by their first bytes.

Data comes in and goes out in pieces of bounded size. A file may be several compressed files in a row, as logs
that were appended to are, and may be padded with zeros. The memory of decoders is bounded, too: formats let a
file ask for gigabytes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal, Protocol, TypeAlias, final

from readroom.core.limits import BLOCK_BYTES
from readroom.core.limits.files import EXPANSION_MEMORY_BYTES

Compression: TypeAlias = Literal["gzip", "zstd", "xz", "bzip2"]

MAGIC_BYTES = 10
"""Enough of a file to tell."""

SUFFIXES: Mapping[Compression, tuple[str, ...]] = MappingProxyType(
    {"gzip": (".gz",), "zstd": (".zst", ".zstd"), "xz": (".xz",), "bzip2": (".bz2",)}
)
"""Suffixes of compressed files; bytes decide what a file is, not names."""

MAGIC = (
    rb"(?s)\A(?:\x1f\x8b\x08|\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18|\xfd7zXZ\x00"
    rb"|BZh[1-9](?:1AY&SY|\x17\x72\x45\x38\x50\x90))"
)
"""The beginnings of files for which `by_magic` has an answer, as a regular expression."""

COMPRESSED = re.compile(MAGIC)
"""The same, compiled, for a check without an answer."""

_BZIP2 = b"1AY&SY"
_BZIP2_EMPTY = b"\x17\x72\x45\x38\x50\x90"
_SKIPPABLE = b"\x2a\x4d\x18"
"""Zstandard's frames without content begin so, after a byte from 50 to 5F; pzstd writes one first."""


_FIRST_BYTES = 4 * 1024
"""Bytes given to a decoder at first, then more and more: it copies the bytes after its end, and a file may be
hundreds of thousands of streams of a few bytes."""

_MAX_EMPTY = 10_000
"""Streams in a row without content: no program writes two, and each takes 10 us."""

_ZEROS = re.compile(rb"\0*")


def by_magic(head: bytes) -> Compression | None:
    """The compression of a file with these first bytes; None if it is not compressed."""
    if head.startswith(b"\x1f\x8b\x08"):
        return "gzip"
    if head.startswith(b"\x28\xb5\x2f\xfd") or (head[1:4] == _SKIPPABLE and head[0] & 0xF0 == 0x50):
        return "zstd"
    if head.startswith(b"\xfd7zXZ\0"):
        return "xz"
    level = head[3:4]
    if head.startswith(b"BZh") and b"1" <= level <= b"9" and head[4:10] in (_BZIP2, _BZIP2_EMPTY):
        return "bzip2"
    return None


def plain_name(path: str, compression: Compression) -> str:
    """The name without the ending that says how it is compressed."""
    for suffix in SUFFIXES[compression]:
        if path.lower().endswith(suffix) and not path[: -len(suffix)].endswith("/"):
            return path[: -len(suffix)] or path
    return path


class Broken(Exception):
    """The data end or go wrong. `problem` continues "the data ..."."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class _Decoder(Protocol):
    """One compressed stream, as `bz2` and `lzma` have it."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


@final
class Expander:
    """Gives the content of a compressed file. Used by one thread at a time."""

    def __init__(self, compression: Compression) -> None:
        self._compression: Compression = compression
        self._new, self._failures = _codec(compression)
        self._decoder: _Decoder | None = None
        self._begun = False
        self._empty = 0
        """Streams since the last one that held something."""
        self._held = b""

    def expand(self, data: bytes) -> Iterator[bytes]:
        """The content of the next bytes of the file, in pieces of at most a block. Raises Broken."""
        data, at = self._held + data, 0
        self._held, taken = b"", _FIRST_BYTES
        while True:
            if self._decoder is None:
                at, taken = self._behind_filling(data, at), _FIRST_BYTES
                if len(data) - at < MAGIC_BYTES:
                    self._held = data[at:]
                    return
                if self._empty > _MAX_EMPTY:
                    raise Broken(f"continue with more than {_MAX_EMPTY:,} empty pieces")
                self._begin(data[at : at + MAGIC_BYTES])
            decoder = self._decoder
            assert decoder is not None
            chunk = data[at : at + taken] if decoder.needs_input else b""
            try:
                piece = decoder.decompress(chunk, BLOCK_BYTES)
            except self._failures as error:
                raise Broken(f"cannot be expanded ({error})") from None
            at += len(chunk)
            taken *= 4
            if piece:
                self._empty = -1
                yield piece
            if decoder.eof:
                at, self._decoder = at - len(decoder.unused_data), None
                self._empty += 1
            elif decoder.needs_input and at == len(data):
                return

    def _behind_filling(self, data: bytes, at: int) -> int:
        """Where the next stream begins: there may be zeros before all but the first."""
        zeros = _ZEROS.match(data, at)
        return zeros.end() if zeros is not None and self._begun else at

    def finish(self) -> Iterator[bytes]:
        """The rest, at the end of the data. Raises Broken if data is missing."""
        left, self._held = self._held, b""
        if self._decoder is None and left:
            # Too short for a check of its first bytes; the decoder decides.
            self._begin(left)
            assert self._decoder is not None
            try:
                piece = self._decoder.decompress(left, BLOCK_BYTES)
            except self._failures as error:
                raise Broken(f"cannot be expanded ({error})") from None
            if piece:
                yield piece
        if self._decoder is not None and not self._decoder.eof:
            raise Broken("end early: the file is cut off")

    def _begin(self, data: bytes) -> None:
        if by_magic(data) != self._compression:
            raise Broken("continue with something else")
        self._begun = True
        self._decoder = self._new()


class _Gzip:
    """A gzip member with the manners of `bz2` and `lzma`."""

    def __init__(self) -> None:
        import zlib

        self._stream = zlib.decompressobj(wbits=31)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        piece = self._stream.decompress(self._stream.unconsumed_tail + data, max_length)
        self.needs_input = not self._stream.unconsumed_tail and len(piece) < max_length
        return piece


def inflated(packed: Iterable[bytes]) -> Iterator[bytes]:
    """The content of a raw DEFLATE stream, in pieces of at most a block; bytes after its end are ignored.

    Raises:
        zlib.error: They are invalid.
        EOFError: They are truncated.
    """
    import zlib

    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    for piece in packed:
        left = piece
        while left and not inflate.eof:
            yield inflate.decompress(left, BLOCK_BYTES)
            left = inflate.unconsumed_tail
    yield inflate.flush()
    if not inflate.eof:
        raise EOFError


def _codec(compression: Compression) -> tuple[Callable[[], _Decoder], tuple[type[Exception], ...]]:
    """What makes decoders, and the failures of the library, which is imported only now."""
    if compression == "gzip":
        import zlib

        return _Gzip, (zlib.error,)
    if compression == "bzip2":
        import bz2

        return bz2.BZ2Decompressor, (OSError, ValueError)
    if compression == "xz":
        import lzma

        return (lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, EXPANSION_MEMORY_BYTES)), (lzma.LZMAError,)
    zstd = _zstd()
    options = {zstd.DecompressionParameter.window_log_max: EXPANSION_MEMORY_BYTES.bit_length() - 1}
    return (lambda: zstd.ZstdDecompressor(options=options)), (zstd.ZstdError,)


def _zstd() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd
