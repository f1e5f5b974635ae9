"""The coders of a 7z file: each makes pieces of bytes of pieces of bytes, and holds little meanwhile."""

from __future__ import annotations

import lzma
from collections.abc import Callable, Iterator
from typing import TypeAlias

from readroom.formats.containers.expanding import decoded, inflated_raw, lzma1_filter, remembered, unpacked
from readroom.formats.containers.members import BadContainer
from readroom.formats.containers.seven.header import Coder, Folder

_Packed: TypeAlias = Iterator[bytes]

_BRANCHES = {
    b"\x03\x03\x01\x03": lzma.FILTER_X86,
    b"\x04": lzma.FILTER_X86,
    b"\x03\x03\x02\x05": lzma.FILTER_POWERPC,
    b"\x05": lzma.FILTER_POWERPC,
    b"\x03\x03\x04\x01": lzma.FILTER_IA64,
    b"\x06": lzma.FILTER_IA64,
    b"\x03\x03\x05\x01": lzma.FILTER_ARM,
    b"\x07": lzma.FILTER_ARM,
    b"\x03\x03\x07\x01": lzma.FILTER_ARMTHUMB,
    b"\x08": lzma.FILTER_ARMTHUMB,
    b"\x03\x03\x08\x05": lzma.FILTER_SPARC,
    b"\x09": lzma.FILTER_SPARC,
}
"""What makes programs easier to pack."""

_OTHERS = {
    b"\x03\x03\x01\x1b": "BCJ2", b"\x03\x04\x01": "PPMd", b"\x04\x01\x09": "Deflate64", b"\x0a": "ARM64",
    b"\x0b": "RISC-V", b"\x04\xf7\x11\x02": "Brotli", b"\x04\xf7\x11\x04": "LZ4", b"\x04\xf7\x11\x05": "LZ5",
}  # fmt: skip
"""What is named when it cannot be read."""


def is_encrypted(folder: Folder) -> bool:
    """Whether nothing of it can be read without a password."""
    return any(coder.method.startswith(b"\x06\xf1") for coder in folder.coders)


def why_not(folder: Folder) -> str:
    """A clause that says why a folder cannot be unpacked; empty when it can."""
    if is_encrypted(folder):
        return "it is encrypted"
    unknown = [coder.method for coder in folder.coders if coder.method not in _STEPS]
    if unknown:
        name = _OTHERS.get(unknown[0], unknown[0].hex() or "no name")
        return f"it is compressed in a way that is not read here ({name})"
    return folder.problem


def content_of(folder: Folder, packed: _Packed) -> Iterator[bytes]:
    """The content of a folder. Raises BadContainer where it is damaged, also after some pieces."""
    for coder in folder.coders:
        packed = _cut(_STEPS[coder.method](coder, packed), coder.size)
    return packed


def _cut(pieces: _Packed, size: int) -> Iterator[bytes]:
    """No more than a coder says: what some of them add behind it is none of the content."""
    for piece in pieces:
        if len(piece) >= size:
            yield piece[:size]
            return
        size -= len(piece)
        yield piece


def _copied(coder: Coder, packed: _Packed) -> Iterator[bytes]:
    return packed


def _lzma1(coder: Coder, packed: _Packed) -> Iterator[bytes]:
    return unpacked([lzma1_filter(coder.properties)], packed)


def _lzma2(coder: Coder, packed: _Packed) -> Iterator[bytes]:
    if len(coder.properties) != 1 or coder.properties[0] > 40:
        raise BadContainer("it is damaged (its properties are wrong)")
    bits = coder.properties[0]
    size = 0xFFFFFFFF if bits == 40 else (2 | bits & 1) << (bits // 2 + 11)
    return unpacked([{"id": lzma.FILTER_LZMA2, "dict_size": remembered(size)}], packed)


def _delta(coder: Coder, packed: _Packed) -> Iterator[bytes]:
    return _filtered({"id": lzma.FILTER_DELTA, "dist": (coder.properties or b"\0")[0] + 1}, packed)


def _branched(coder: Coder, packed: _Packed) -> Iterator[bytes]:
    return _filtered({"id": _BRANCHES[coder.method]}, packed)


def _filtered(chosen: dict[str, int], packed: _Packed) -> Iterator[bytes]:
    """Through a filter alone, which the library has only before LZMA: what is stored is LZMA2, too."""
    return unpacked([chosen, {"id": lzma.FILTER_LZMA2, "dict_size": 4096}], _as_lzma2(packed))


def _as_lzma2(pieces: _Packed) -> Iterator[bytes]:
    """Pieces as chunks that are not compressed, the first of which forgets what was before."""
    mark = b"\x01"
    for piece in pieces:
        for at in range(0, len(piece), 0x10000):
            chunk = piece[at : at + 0x10000]
            yield mark + (len(chunk) - 1).to_bytes(2, "big") + chunk
            mark = b"\x02"
    yield b"\0"


_STEPS: dict[bytes, Callable[[Coder, _Packed], Iterator[bytes]]] = {
    b"\0": _copied,
    b"\x03\x01\x01": _lzma1,
    b"\x21": _lzma2,
    b"\x03": _delta,
    b"\x04\x01\x08": lambda coder, packed: inflated_raw(packed),
    b"\x04\x02\x02": lambda coder, packed: decoded("bzip2", packed),
    b"\x04\xf7\x11\x01": lambda coder, packed: decoded("zstd", packed),
    **dict.fromkeys(_BRANCHES, _branched),
}
"""By the names that the format has for them."""
