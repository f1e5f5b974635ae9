"""ZIP files that hold documents: checked as a whole when opened, then read member by member.

The standard library reads the directory; everything else is done here, because sizes in a directory are
claims. A member is inflated in pieces, never beyond what it claims or its reader allows, and has to match its
claim. Directories that programs would read differently (two members of one name, overlapping members) are
refused.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import BinaryIO

from msgspec import Struct

from readroom.core.formats.compressed import inflated
from readroom.core.quoting import quote
from readroom.documents.containers.cut_zips import CutZip
from readroom.documents.formats import OR_MEMBERS, Encrypted, Unreadable
from readroom.documents.limits import ARCHIVE_MEMBER_BYTES

BROKEN_DIRECTORY = (
    zipfile.BadZipFile, OSError, ValueError, struct.error, EOFError, NotImplementedError, OverflowError,
    LookupError,
)  # fmt: skip
"""Exceptions of `zipfile` for damaged directories, found by changing archives at every place."""

ANOTHER_COPY = "Ask for another copy, or for an export as text (Markdown, HTML, CSV)."
"""Advice for a file that cannot be read at all."""

_ENCRYPTED = 0x1
_LOCAL_HEADER = 30
_PIECE_BYTES = 64 * 1024


class Archive(Struct, frozen=True):
    """An opened archive whose directory has passed every check; members by their full names.

    One that `is_recovered` has no directory: its members are those whose headers are found, as far as whole.
    """

    file: BinaryIO
    members: Mapping[str, zipfile.ZipInfo]
    is_recovered: bool = False

    def read(self, name: str) -> bytes:
        """A whole member, at most ARCHIVE_MEMBER_BYTES. Raises Unreadable."""
        info = self._info(name)
        if info.file_size > ARCHIVE_MEMBER_BYTES:
            raise too_large(name, info.file_size, ARCHIVE_MEMBER_BYTES)
        return b"".join(self.pieces(name))

    def pieces(self, name: str) -> Iterator[bytes]:
        """A member of any size, piece by piece. Raises Unreadable."""
        info = self._info(name)
        size = check = 0
        for piece in _inflated(info, self._packed(info)):
            size += len(piece)
            check = zlib.crc32(piece, check)
            if size > info.file_size:
                raise _damaged(name)
            yield piece
        if size != info.file_size or check != info.CRC:
            raise _damaged(name)

    def _info(self, name: str) -> zipfile.ZipInfo:
        if (info := self.members.get(name)) is None:
            raise Unreadable(f"its part {quote(name)} is missing", OR_MEMBERS)
        return info

    def _packed(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        """The packed bytes of a member."""
        self.file.seek(info.header_offset)
        header = self.file.read(_LOCAL_HEADER)
        if len(header) < _LOCAL_HEADER or header[:4] != b"PK\3\4":
            raise _damaged(info.filename)
        names = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        at, left = info.header_offset + _LOCAL_HEADER + names, info.compress_size
        while left:
            self.file.seek(at)
            piece = self.file.read(min(left, _PIECE_BYTES))
            if not piece:
                raise _damaged(info.filename)
            yield piece
            at += len(piece)
            left -= len(piece)


ARCHIVE_TOTAL_BYTES = 4 * 1024 * 1024 * 1024
"""All members together, whether they are read or not: four films in a presentation."""


RECOVERED = "the end of its archive is missing or damaged; what is there is recovered, unproven"


def open_archive(file: BinaryIO, *, recovers: bool = False) -> Archive:
    """The archive in `file`, its directory checked and nothing inflated.

    With `recovers`, one without its directory has the members that are found; the caller says so.

    Raises:
        Unreadable: It is damaged or too much.
    """
    is_recovered = False
    try:
        file.seek(0)
        directory = zipfile.ZipFile(_Careful(file))
        infos = directory.infolist()
        start = directory.start_dir
        for info in infos:  # some programs on Windows write names so
            info.filename = info.filename.replace("\\", "/")
    except BROKEN_DIRECTORY:
        infos, start = (_recovered(file), file.seek(0, 2)) if recovers else ([], 0)
        is_recovered = True
        if not infos:
            raise Unreadable("its archive is damaged or cut short", OR_MEMBERS) from None
    _check_count(len(infos))
    _check_places(infos, start)
    for info in infos:
        _check_member(info)
    total = sum(info.file_size for info in infos)
    if total > ARCHIVE_TOTAL_BYTES:
        raise Unreadable(
            f"its members are {total:,} bytes unpacked, more than the limit of {ARCHIVE_TOTAL_BYTES:,}",
            ANOTHER_COPY,
        )
    return Archive(file, {info.filename: info for info in infos}, is_recovered)


def _recovered(file: BinaryIO) -> list[zipfile.ZipInfo]:
    """The members whose headers are found, and that are whole."""
    infos: list[zipfile.ZipInfo] = []
    for found in CutZip(_Ranges(file, file.seek(0, 2)), lambda: None).members():
        if found.problem or len(infos) > ARCHIVE_MEMBERS:
            continue
        info = zipfile.ZipInfo(found.name.decode("utf-8", "replace").replace("\\", "/"))
        info.flag_bits, info.compress_type = found.fields[1], found.fields[2]
        info.CRC, info.compress_size, info.file_size = found.check, found.packed, found.size
        info.header_offset = found.at
        infos.append(info)
    return infos


class _Ranges(Struct, frozen=True):
    """The bytes of a file by their places."""

    file: BinaryIO
    size: int

    def read_at(self, offset: int, size: int) -> bytes:
        self.file.seek(offset)
        return self.file.read(size)

    def read_into(self, offset: int, buffer: memoryview) -> int:
        data = self.read_at(offset, len(buffer))
        buffer[: len(data)] = data
        return len(data)


def too_large(name: str, size: int, most: int) -> Unreadable:
    """The refusal of a member."""
    return Unreadable(
        f"its part {quote(name)} is {size:,} bytes unpacked, more than the limit of {most:,}",
        "Ask for the document in smaller pieces, or for an export as text.",
    )


def check_size(archive: Archive, name: str, most: int) -> None:
    """Refuse a member that goes by in pieces when it is too much even for that. Raises Unreadable."""
    info = archive.members.get(name)
    if info is not None and info.file_size > most:
        raise too_large(name, info.file_size, most)


ARCHIVE_DIRECTORY_BYTES = 2 * 1024 * 1024
"""Directory of an archive, which zipfile reads at once and turns into objects of some 700 bytes per member;
20,000 members with names of 50 characters."""


class _Careful(io.BufferedIOBase):
    """A file for `zipfile`, which reads a directory of any size at once."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int | None = -1, /) -> bytes:
        """Read like any file, but refuse more than a directory may have."""
        most = ARCHIVE_DIRECTORY_BYTES
        wanted = most + 1 if size is None or size < 0 else size
        data = self._file.read(wanted) if wanted <= most + 1 else b""
        if wanted > most + 1 or len(data) > most:
            raise Unreadable(f"its archive has a directory of more than {most:,} bytes", ANOTHER_COPY)
        return data

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True


ARCHIVE_MEMBERS = 20_000
"""Members of a document. A presentation of 1,000 slides has about 5,000, the largest books a few thousand."""


def _check_count(count: int) -> None:
    if count > ARCHIVE_MEMBERS:
        raise Unreadable(
            f"its archive has {count:,} members, more than the limit of {ARCHIVE_MEMBERS:,}", ANOTHER_COPY
        )


def _check_places(infos: list[zipfile.ZipInfo], directory_start: int) -> None:
    """Every name once, and no byte that belongs to two members."""
    if len({info.filename for info in infos}) < len(infos):
        raise Unreadable("its archive has two members of the same name", ANOTHER_COPY)
    places = sorted((info.header_offset, _LOCAL_HEADER + info.compress_size) for info in infos)
    if places and places[0][0] < 0:
        raise Unreadable("its archive is damaged or cut short", ANOTHER_COPY)
    places.append((directory_start, 0))
    if any(start + size > following for (start, size), (following, _) in pairwise(places)):
        raise Unreadable("its archive has members that overlap", ANOTHER_COPY)


ARCHIVE_RATIO = 300
"""Maximum expansion of a member. XML of sheets reaches 50, deflate at most 1,032."""

ARCHIVE_RATIO_BYTES = 4 * 1024 * 1024
"""Smaller members may have any ratio: empty sheets and plain pictures do, and are harmless."""


def _check_member(info: zipfile.ZipInfo) -> None:
    if info.flag_bits & _ENCRYPTED:
        raise Encrypted("it is encrypted", "Ask for a copy without a password.")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise Unreadable("its archive is compressed in a way that documents do not use", ANOTHER_COPY)
    if info.file_size > ARCHIVE_RATIO_BYTES and info.file_size > ARCHIVE_RATIO * info.compress_size:
        raise Unreadable(
            f"its part {quote(info.filename)} has a compression ratio above {ARCHIVE_RATIO}:1, "
            "like a decompression bomb",
            ANOTHER_COPY,
        )


def _inflated(info: zipfile.ZipInfo, packed: Iterator[bytes]) -> Iterator[bytes]:
    if info.compress_type == zipfile.ZIP_STORED:
        yield from packed
        return
    try:
        yield from inflated(packed)
    except (zlib.error, EOFError):
        raise _damaged(info.filename) from None


def _damaged(name: str) -> Unreadable:
    return Unreadable(f"its part {quote(name)} is damaged", ANOTHER_COPY)
