"""7z archives: a header at the end, and files inside compressed folders.

A folder is one compressed stream of many files ("solid"), so a file is reached through all before it. The
last position is kept: reading files in order costs one pass. How many bytes may precede a file is
limited. Each coder turns an iterator of bytes into another and buffers little.

Knows: 7z with Copy, LZMA, LZMA2, Delta, branch filters, Deflate, bzip2 and Zstandard.
Does not know: how members form a tree; encryption.
May be touched: with the hostile archives of the tests.
"""

from __future__ import annotations

import lzma
import stat
import struct
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, final

from msgspec.structs import replace

from readroom.core.values import Bytes
from readroom.documents.containers.expanding import decoded, inflated_raw, lzma1_filter, remembered, unpacked
from readroom.documents.containers.members import (
    WRONG_SUM,
    BadContainer,
    Container,
    Member,
    MemberKind,
    arranged,
    link_target,
    pieces,
)
from readroom.documents.containers.seven.header import (
    DAMAGED,
    ENCODED,
    Coder,
    Folder,
    HeaderFields,
    Stored,
    files_in,
    folders_in,
)
from readroom.documents.limits import CONTAINER_DIRECTORY_BYTES, CONTAINER_RATIO, CONTAINER_RATIO_BYTES

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
"""Filters that make programs compress better."""

_OTHERS = {
    b"\x03\x03\x01\x1b": "BCJ2", b"\x03\x04\x01": "PPMd", b"\x04\x01\x09": "Deflate64", b"\x0a": "ARM64",
    b"\x0b": "RISC-V", b"\x04\xf7\x11\x02": "Brotli", b"\x04\xf7\x11\x04": "LZ4", b"\x04\xf7\x11\x05": "LZ5",
}  # fmt: skip
"""Names of methods that cannot be read."""


def is_encrypted(folder: Folder) -> bool:
    """Whether nothing of it can be read without a password."""
    return any(coder.method.startswith(b"\x06\xf1") for coder in folder.coders)


def why_not(folder: Folder) -> str:
    """A clause with the reason why a folder cannot be unpacked; empty if it can."""
    if is_encrypted(folder):
        return "it is encrypted"
    unknown = [coder.method for coder in folder.coders if coder.method not in _STEPS]
    if unknown:
        name = _OTHERS.get(unknown[0], unknown[0].hex() or "no name")
        return f"its compression is not supported ({name})"
    return folder.problem


def content_of(folder: Folder, packed: _Packed) -> Iterator[bytes]:
    """The content of a folder. Raises BadContainer where it is damaged, also after some pieces."""
    for coder in folder.coders:
        packed = _cut(_STEPS[coder.method](coder, packed), coder.size)
    return packed


def _cut(pieces: _Packed, size: int) -> Iterator[bytes]:
    """No more than a coder declares: trailing padding is not content."""
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
    """A filter alone; the library has filters only before LZMA, so the data is wrapped as stored LZMA2."""
    return unpacked([chosen, {"id": lzma.FILTER_LZMA2, "dict_size": 4096}], _as_lzma2(packed))


def _as_lzma2(pieces: _Packed) -> Iterator[bytes]:
    """Pieces as uncompressed chunks; the first one resets the decoder."""
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


_START = struct.Struct("<6sBBLQQL")
_MOST_ENCODED = 4
"""A header may be packed several times; once is usual."""

_FOLDER_ATTRIBUTE, _UNIX_ATTRIBUTE = 0x10, 0x8000
_EPOCH = 116_444_736_000_000_000
"""1970 in the hundreds of nanoseconds since 1601 that times are."""

_LATEST = 253_402_300_800 * 1_000_000_000
"""Replies cannot represent a time after the year 9999."""


def open_seven(file: Bytes) -> Container:
    """The archive in `file`. Raises BadContainer."""
    head = file.read_at(0, _START.size)
    if len(head) < _START.size:
        raise BadContainer("it is cut short")
    _, version, _, check, offset, size, header_check = _START.unpack(head)
    if version or zlib.crc32(head[12:]) != check:
        raise BadContainer("its beginning is damaged")
    header = _read(file, _START.size + offset, size, header_check) if size else b"\1\0"
    for _ in range(_MOST_ENCODED):
        if header[:1] != bytes([ENCODED]):
            break
        header = _decoded(file, header)
    folders, files = files_in(header)
    folders = [_checked(folder, file.size - _START.size) for folder in folders]
    reader = _Seven(file, folders, files)
    return arranged("7z", reader, _members(folders, files), last_counts=False)


def _checked(folder: Folder, size: int) -> Folder:
    """The folder, with why it cannot be read; `size` bytes of the file can hold packed streams."""
    problem = why_not(folder)
    if not problem and folder.at + folder.packed > size:
        problem = "it is cut short"
    if not problem and _is_stored(folder) and folder.size != folder.packed:
        problem = "it is damaged"
    if not problem and folder.size > max(CONTAINER_RATIO_BYTES, CONTAINER_RATIO * folder.packed):
        ratio = folder.size // max(folder.packed, 1)
        problem = f"it claims to expand {ratio:,}-fold, like a decompression bomb"
    return replace(folder, problem=problem)


def _is_stored(folder: Folder) -> bool:
    return all(coder.method == b"\0" for coder in folder.coders)


def _read(file: Bytes, at: int, size: int, check: int) -> bytes:
    if size > CONTAINER_DIRECTORY_BYTES:
        raise BadContainer(
            f"its directory has {size:,} bytes, more than the limit of {CONTAINER_DIRECTORY_BYTES:,}"
        )
    if at + size > file.size:
        raise BadContainer("it is cut short, or the first part of a split archive")
    data = file.read_at(at, size)
    if zlib.crc32(data) != check:
        raise BadContainer(DAMAGED)
    return data


def _decoded(file: Bytes, header: bytes) -> bytes:
    """The header in a packed one."""
    fields = HeaderFields(header)
    fields.expect(ENCODED)
    folders, _ = folders_in(fields)
    if len(folders) != 1:
        raise BadContainer(DAMAGED)
    folder = folders[0]
    if is_encrypted(folder):
        raise BadContainer("its directory is encrypted, with the names of its members", is_encrypted=True)
    problem = why_not(folder)
    if problem or folder.size > CONTAINER_DIRECTORY_BYTES:
        raise BadContainer(problem or f"its directory has {folder.size:,} bytes")
    data = b"".join(content_of(folder, pieces(file, _START.size + folder.at, folder.packed)))
    if len(data) != folder.size or (folder.check is not None and zlib.crc32(data) != folder.check):
        raise BadContainer(DAMAGED)
    return data


def _members(folders: Sequence[Folder], files: Sequence[Stored]) -> Iterator[Member]:
    for number, file in enumerate(files):
        folder = folders[file.folder] if file.folder >= 0 else None
        kind = _kind(file)
        attributes = file.attributes or 0
        mode = attributes >> 16 if attributes & _UNIX_ATTRIBUTE else None
        yield Member(
            # A stream that was packed without a name.
            file.name or "content",
            kind,
            file.size,
            0 if folder is None else folder.packed * file.size // max(folder.size, 1),
            _time(file.mtime),
            None if mode is None else stat.S_IMODE(mode),
            problem=_problem(file, folder),
            at=number,
            check=file.check or 0,
            is_encrypted=folder is not None and is_encrypted(folder),
        )


def _kind(file: Stored) -> MemberKind:
    attributes = file.attributes or 0
    form = stat.S_IFMT(attributes >> 16) if attributes & _UNIX_ATTRIBUTE else 0
    if file.is_anti:
        return "other"
    if attributes & _FOLDER_ATTRIBUTE or (not file.has_stream and not file.is_empty_file):
        return "folder"
    if form == stat.S_IFLNK:
        return "link"
    return "file" if form in (0, stat.S_IFREG) else "other"


CONTAINER_SKIPPED_BYTES = 256 * 1024 * 1024
"""How much of other members of a 7z file is unpacked to reach one: about 3 s of LZMA."""


def _problem(file: Stored, folder: Folder | None) -> str:
    if file.is_anti:
        return "it has no content: it marks a file to delete"
    if folder is None or folder.problem:
        return "" if folder is None else folder.problem
    if file.start > CONTAINER_SKIPPED_BYTES and not _is_stored(folder):
        return f"it follows {file.start:,} bytes of other members that would have to be unpacked first"
    return ""


def _time(mtime: int) -> int:
    nanoseconds = (mtime - _EPOCH) * 100
    return nanoseconds if mtime and abs(nanoseconds) < _LATEST else 0


@final
class _Cursor:
    """A content that is being unpacked: which folder's, and how far it went."""

    def __init__(self, folder: int, content: Iterator[bytes]) -> None:
        self.folder = folder
        self.at = 0
        self._content = content
        self._held = b""

    def take(self, most: int) -> bytes:
        """The next `count` bytes at most. Raises BadContainer at the end."""
        piece = self._held or next(self._content, b"")
        if not piece:
            raise BadContainer("it is damaged: its data are truncated")
        self._held = piece[most:]
        self.at += min(len(piece), most)
        return piece[:most]


@final
class _Seven:
    """Reads members. Safe to share between threads: each takes the cursor for itself while it reads."""

    def __init__(self, file: Bytes, folders: Sequence[Folder], files: Sequence[Stored]) -> None:
        self._file = file
        self._folders = folders
        self._files = files
        self._lock = threading.Lock()
        self._cursor: _Cursor | None = None

    def place(self, member: Member) -> tuple[int, int] | None:
        if member.problem:
            raise BadContainer(member.problem)
        stored = self._files[member.at]
        folder = self._folders[stored.folder] if stored.folder >= 0 else None
        if folder is None or not _is_stored(folder):
            return None
        return _START.size + folder.at + stored.start, stored.size

    def pieces(self, member: Member) -> Iterator[bytes]:
        """The content, checked by its sum. Raises BadContainer."""
        if member.problem:
            raise BadContainer(member.problem)
        stored = self._files[member.at]
        if not stored.size:
            return
        cursor = self._reached(stored)
        left, check = stored.size, 0
        while left:
            piece = cursor.take(left)
            left -= len(piece)
            check = zlib.crc32(piece, check)
            yield piece
        with self._lock:
            self._cursor = cursor
        if stored.check is not None and check != stored.check:
            raise BadContainer(WRONG_SUM)

    def target(self, member: Member) -> str:
        return link_target(member, self.pieces(member))

    def over(self, file: Bytes) -> _Seven:
        return _Seven(file, self._folders, self._files)

    def _reached(self, stored: Stored) -> _Cursor:
        """A cursor where a file begins: the one at hand, or a new one."""
        with self._lock:
            cursor, self._cursor = self._cursor, None
        if cursor is None or cursor.folder != stored.folder or cursor.at > stored.start:
            folder = self._folders[stored.folder]
            packed = pieces(self._file, _START.size + folder.at, folder.packed)
            cursor = _Cursor(stored.folder, content_of(folder, packed))
        while cursor.at < stored.start:
            cursor.take(stored.start - cursor.at)
        return cursor
