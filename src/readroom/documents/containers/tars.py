"""Tar archives: members one after the other, each after a header of 512 bytes.

Headers are walked without reading the contents between them. An extra header may come first: with a long name
in it (GNU), or with any field (pax). Of members with one name the last one counts, as when a tar is unpacked:
this is how tar files are appended to.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from readroom.core.values import Bytes
from readroom.documents.containers.members import (
    BadContainer,
    Container,
    Member,
    MemberKind,
    NotUnpacked,
    StoredReader,
    arranged,
    kept_name,
)
from readroom.documents.limits import CONTAINER_HEADER_BYTES, CONTAINER_MEMBERS, CONTAINER_TARGET_BYTES

_BLOCK = 512
_READ_BYTES = 64 * 1024
"""Bytes of headers to read at once: headers of small members are close together."""

_EMPTY = b"\0" * _BLOCK
_KINDS: dict[bytes, MemberKind] = {
    tarfile.REGTYPE: "file",
    tarfile.AREGTYPE: "file",
    tarfile.CONTTYPE: "file",
    tarfile.GNUTYPE_SPARSE: "file",
    tarfile.DIRTYPE: "folder",
    tarfile.SYMTYPE: "link",
    tarfile.LNKTYPE: "link",
    tarfile.CHRTYPE: "other",
    tarfile.BLKTYPE: "other",
    tarfile.FIFOTYPE: "other",
    b"V": "other",  # the name of a tape
    b"M": "other",  # the rest of a member of another tape
}
_WITHOUT_DATA = (
    tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE,
)  # fmt: skip
_SPARSE = "it is a sparse file, and only pieces of it are stored"
_MORE_MAP_FIRST, _MORE_MAP = 482, 504
"""The byte that is set if another block of pieces follows: in a header of GNU, and in those blocks."""

_MOST_DIGITS = 18
_CUT_SHORT = "it is cut short after the last member"

_TOO_LARGE = 1 << 63
"""A size that no file has; a header can hold larger ones."""

_BEHIND_BYTES = 1024 * 1024
"""Bytes after the end that are checked for anything but zeros; programs write up to 512 kB of zeros."""

_HEADERS_BEFORE = 64
"""With more headers before one member it is rejected: programs write three, each up to a megabyte."""


def open_tar(file: Bytes, check: Callable[[], object]) -> Container:
    """The archive in `file`; `check` is called before each header, and its exceptions end the walk.

    Raises:
        BadContainer: It does not begin with a member.
    """
    walk = _Walk(file, check)
    members = list(walk.members())
    if not members and walk.notes:
        raise BadContainer(walk.notes[0])
    made = arranged("tar", _TarReader(file), members, walk.notes, last_counts=True)
    return replace(made, is_cut=walk.is_cut)


class _ExtendedFields(Struct):
    """Fields that extended headers set for the next header."""

    name: str | None = None
    target: str | None = None
    size: int | None = None
    mtime: float | None = None
    is_sparse: bool = False


class _Walk(Struct):
    """One pass over the headers; `notes` has the reason of an early end, `is_cut` whether it is damage."""

    file: Bytes
    check: Callable[[], object]
    notes: list[str] = field(default_factory=list)
    is_cut: bool = False
    _at: int = 0
    _read: bytes = b""
    _read_at: int = 0
    _always: _ExtendedFields = field(default_factory=_ExtendedFields)

    def members(self) -> Iterator[Member]:
        """The members in their order."""
        header, count, headers = _ExtendedFields(), 0, 0
        while True:
            self.check()
            block = self._block(self._at)
            if block is None or block == _EMPTY:
                self._end(block, is_open=bool(headers))
                return
            try:
                info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
            except (tarfile.HeaderError, ValueError, OverflowError):
                self._cut(f"it is damaged at byte {self._at:,}: the rest is not read")
                return
            if count == CONTAINER_MEMBERS:
                self.notes.append(f"only its first {count:,} members are read")
                return
            if not 0 <= info.size < _TOO_LARGE or headers > _HEADERS_BEFORE:
                self._cut(f"it is damaged at byte {self._at:,}: the rest is not read")
                return
            self._at += _BLOCK
            if info.type in (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.XGLTYPE) or info.type in (
                tarfile.GNUTYPE_LONGNAME,
                tarfile.GNUTYPE_LONGLINK,
            ):
                if not self._extended(info, header):
                    return
                headers += 1
                continue
            member = self._member(info, block, header)
            header, headers = _ExtendedFields(), 0
            if member is None:
                return
            count += 1
            yield member

    def _end(self, block: bytes | None, *, is_open: bool) -> None:
        """Note what is odd about the end, which is a block of zeros or the end of the file.

        Unpacking programs also stop at the zeros; if archives were concatenated, the
        first would pass for all of them.
        """
        if is_open or (block is None and self._at != self.file.size):
            self._cut(_CUT_SHORT)
        elif block is not None and self.file.read_at(self._at, _BEHIND_BYTES).strip(b"\0"):
            self.notes.append(f"data after its end at byte {self._at:,} is not read")

    def _cut(self, problem: str) -> None:
        self.notes.append(problem)
        self.is_cut = True

    def _extended(self, info: tarfile.TarInfo, header: _ExtendedFields) -> bool:
        """Apply a header that describes the next one; returns whether to continue."""
        data = b"" if info.size > CONTAINER_HEADER_BYTES else self.file.read_at(self._at, info.size)
        if len(data) < info.size:
            self._cut(f"it is damaged at byte {self._at:,}: the rest is not read")
            return False
        self._at += _padded(info.size)
        text = data.split(b"\0")[0].decode("utf-8", "surrogateescape")
        if info.type == tarfile.GNUTYPE_LONGNAME:
            header.name = kept_name(text)
        elif info.type == tarfile.GNUTYPE_LONGLINK:
            header.target = text[: CONTAINER_TARGET_BYTES + 1]
        else:
            listed, is_whole = _records(data)
            fields = dict(listed)
            if not is_whole:
                self.notes.append(f"the extended header at byte {self._at:,} is damaged")
            _take(self._always if info.type == tarfile.XGLTYPE else header, fields)
        return True

    def _member(self, info: tarfile.TarInfo, block: bytes, header: _ExtendedFields) -> Member | None:
        """The member of a header; None if nothing can be found after it."""
        always = self._always
        name = header.name or always.name or info.name
        kind = _KINDS.get(info.type, "file")
        if info.type == tarfile.AREGTYPE and name.endswith("/"):
            kind = "folder"
        size = next((value for value in (header.size, always.size) if value is not None), info.size)
        size = 0 if info.type in _WITHOUT_DATA else size
        is_sparse = info.type == tarfile.GNUTYPE_SPARSE
        if is_sparse and not self._pass_map(block):
            return None
        target = header.target or always.target or info.linkname
        mtime = next((value for value in (header.mtime, always.mtime) if value is not None), info.mtime)
        at = self._at
        problem = "it is cut short" if at + size > self.file.size else ""
        if kind == "file" and (is_sparse or header.is_sparse or always.is_sparse):
            problem = _SPARSE
        self._at += _padded(size)
        return Member(
            name,
            kind,
            size,
            size,
            _nanoseconds(mtime),
            info.mode & 0o7777,
            target if kind == "link" else "",
            info.type == tarfile.LNKTYPE,
            problem,
            at,
        )

    def _pass_map(self, block: bytes) -> bool:
        """Go past the blocks of a sparse file's map; false when they have no end."""
        more = bool(block[_MORE_MAP_FIRST])
        while more:
            self.check()
            following = self._block(self._at)
            if following is None:
                self._cut(_CUT_SHORT)
                return False
            more = bool(following[_MORE_MAP])
            self._at += _BLOCK
        return True

    def _block(self, at: int) -> bytes | None:
        """The block at an offset; None at the end."""
        if at + _BLOCK > self.file.size:
            return None  # a size may be more than any place in a file
        start = at - self._read_at
        if start < 0 or start + _BLOCK > len(self._read):
            self._read, self._read_at, start = self.file.read_at(at, _READ_BYTES), at, 0
        block = self._read[start : start + _BLOCK]
        return block if len(block) == _BLOCK else None


def _padded(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _nanoseconds(seconds: float) -> int:
    # Headers can hold times after the year 9999, replies cannot.
    return int(seconds * 1_000_000_000) if abs(seconds) < 253_402_300_800 else 0


def _take(header: _ExtendedFields, fields: dict[str, str]) -> None:
    """The fields that matter here; numbers that do not parse are skipped."""
    header.name = kept_name(fields.get("GNU.sparse.name") or fields.get("path") or "") or header.name
    header.target = fields.get("linkpath", "")[: CONTAINER_TARGET_BYTES + 1] or header.target
    header.is_sparse |= any(keyword.startswith("GNU.sparse.") for keyword in fields)
    size = fields.get("size", "")
    if size.isascii() and size.isdigit() and len(size) <= _MOST_DIGITS:
        header.size = int(size)
    try:
        header.mtime = float(fields["mtime"]) if "mtime" in fields else header.mtime
    except ValueError:
        return
    if header.mtime is not None and not abs(header.mtime) < 1e15:
        header.mtime = None


def _records(data: bytes) -> tuple[Sequence[tuple[str, str]], bool]:
    """Fields of an extended header (length, space, keyword=value, line feed), and whether that is all."""
    fields: list[tuple[str, str]] = []
    at = 0
    while at < len(data):
        length, _, rest = data[at : at + 20].partition(b" ")
        if not length.isdigit() or not rest or len(length) > 8:
            return fields, not data[at:].strip(b"\0")
        end = at + int(length)
        keyword, mark, value = data[at + len(length) + 1 : end - 1].partition(b"=")
        if end > len(data) or end <= at or not mark:
            return fields, False
        fields.append((keyword.decode("utf-8", "surrogateescape"), value.decode("utf-8", "surrogateescape")))
        at = end
    return fields, True


class _TarReader(StoredReader, frozen=True):
    """Reads members of a tar; a sparse file is for programs that unpack."""

    def place(self, member: Member) -> tuple[int, int] | None:
        if member.problem == _SPARSE:
            raise NotUnpacked(_SPARSE)
        return super().place(member)
