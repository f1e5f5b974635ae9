"""The header of a 7z archive: tags and numbers that describe its folders and files.

    packed streams   one after the other, from byte 32 on
    folder           a chain of coders that makes one content of a packed stream
    files            the content of each folder, divided into consecutive files

Counts are claims: a count larger than the bytes after it could hold is refused.
"""

from __future__ import annotations

import struct
from typing import final

from msgspec import Struct

from readroom.documents.containers.members import BadContainer
from readroom.documents.limits import CONTAINER_MEMBERS

DAMAGED = "its directory is damaged"

(_END, _HEADER, _MORE, _STREAMS, _FILES, _PACKED, _FOLDERS, _PIECES, SIZES, _SUMS, _FOLDER, _CODERS_SIZES) = (
    *range(3), 4, 5, 6, 7, 8, 9, 10, 11, 12,
)  # fmt: skip
_COUNTS, _NO_STREAM, _EMPTY, _ANTI, _NAMES, _MTIME, _ATTRIBUTES = 13, 14, 15, 16, 17, 20, 21
ENCODED = 23

_MOST_CODERS = 8
"""In one folder; four are usual for programs, and the format ends at 32."""


class Coder(Struct, frozen=True):
    """One step between packed and content; `size` is the size of its output."""

    method: bytes
    properties: bytes
    size: int


class Folder(Struct, frozen=True):
    """One content and how it is packed; the `coders` in the order in which it is unpacked.

    A `problem` is the reason why it cannot be. `at` counts from the end of the first 32 bytes of the file.
    """

    coders: tuple[Coder, ...]
    at: int
    packed: int
    size: int
    check: int | None
    problem: str = ""


class Stored(Struct):
    """A file as the header has it: where its content begins in that of its folder, counted from 0."""

    name: str
    folder: int = -1
    start: int = 0
    size: int = 0
    check: int | None = None
    mtime: int = 0
    attributes: int | None = None
    has_stream: bool = True
    is_empty_file: bool = False
    is_anti: bool = False


@final
class HeaderFields:
    """Numbers and bytes of a header, one after the other. Raises BadContainer where they end early."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        """Bytes that follow."""
        return len(self._data) - self._at

    def take(self, count: int) -> bytes:
        """The next bytes."""
        if count > self.left:
            raise BadContainer(DAMAGED)
        self._at += count
        return self._data[self._at - count : self._at]

    def byte(self) -> int:
        """The next byte."""
        return self.take(1)[0]

    def number(self) -> int:
        """A number, whose first byte has a bit set for each further one."""
        first, value, mask = self.byte(), 0, 0x80
        for at in range(8):
            if not first & mask:
                return value | (first & (mask - 1)) << (8 * at)
            value |= self.byte() << (8 * at)
            mask >>= 1
        return value

    def count(self) -> int:
        """A count of things that each take at least a byte, or a bit, of the bytes that follow."""
        value = self.number()
        if value > min(8 * self.left, CONTAINER_MEMBERS):
            raise BadContainer(
                DAMAGED
                if value > 8 * self.left
                else f"it has {value:,} members, and at most {CONTAINER_MEMBERS:,} are read"
            )
        return value

    def expect(self, mark: int) -> None:
        """The next byte is this one."""
        if self.byte() != mark:
            raise BadContainer(DAMAGED)

    def bits(self, count: int) -> list[bool]:
        """A list of bits, the highest of each byte first."""
        data = self.take((count + 7) // 8)
        return [bool(data[at >> 3] & 0x80 >> (at & 7)) for at in range(count)]

    def marked(self, count: int) -> list[bool]:
        """Likewise, after a byte that is set if all of them are."""
        return [True] * count if self.byte() else self.bits(count)

    def sums(self, count: int) -> list[int | None]:
        """A check sum for each that has one."""
        return [struct.unpack("<L", self.take(4))[0] if known else None for known in self.marked(count)]


def folders_in(fields: HeaderFields) -> tuple[list[Folder], list[Stored]]:
    """The folders of a header, and a nameless file for each piece of their contents."""
    at, sizes, folders, pieces = 0, list[int](), list[Folder](), list[Stored]()
    mark = fields.byte()
    if mark == _PACKED:
        at, sizes = _packed(fields)
        mark = fields.byte()
    if mark == _FOLDERS:
        folders = _folders(fields, at, sizes)
        mark = fields.byte()
    if mark == _PIECES:
        pieces = _pieces(fields, folders)
        mark = fields.byte()
    else:
        pieces = [Stored("", number, 0, folder.size, folder.check) for number, folder in enumerate(folders)]
    if mark != _END:
        raise BadContainer(DAMAGED)
    return folders, pieces


def files_in(data: bytes) -> tuple[list[Folder], list[Stored]]:
    """The folders and files of a header that is not packed."""
    fields = HeaderFields(data)
    fields.expect(_HEADER)
    mark, folders, pieces = fields.byte(), list[Folder](), list[Stored]()
    if mark == 2:  # properties of the archive, not needed here
        while fields.byte():
            fields.take(fields.number())
        mark = fields.byte()
    if mark == 3:
        raise BadContainer("it has streams besides its files, which are not read here")
    if mark == _STREAMS:
        folders, pieces = folders_in(fields)
        mark = fields.byte()
    files = _files(fields) if mark == _FILES else []
    if sum(file.has_stream for file in files) != len(pieces):
        raise BadContainer(DAMAGED)
    rest = iter(pieces)
    for file in files:
        if file.has_stream:
            piece = next(rest)
            file.folder, file.start = piece.folder, piece.start
            file.size, file.check = piece.size, piece.check
    return folders, files


def _packed(fields: HeaderFields) -> tuple[int, list[int]]:
    """Offset and sizes of the packed streams."""
    at, count, sizes = fields.number(), fields.count(), list[int]()
    while (mark := fields.byte()) != _END:
        if mark == SIZES:
            sizes = [fields.number() for _ in range(count)]
        elif mark == _SUMS:
            fields.sums(count)
        else:
            raise BadContainer(DAMAGED)
    if len(sizes) != count:
        raise BadContainer(DAMAGED)
    return at, sizes


def _folders(fields: HeaderFields, at: int, sizes: list[int]) -> list[Folder]:
    fields.expect(_FOLDER)
    count = fields.count()
    if fields.byte():
        raise BadContainer("its directory is in several pieces, which are not supported")
    shapes = [_shape(fields) for _ in range(count)]
    fields.expect(_CODERS_SIZES)
    unpacked = [[fields.number() for _ in range(shape.outs)] for shape in shapes]
    sums: list[int | None] = [None] * count
    while (mark := fields.byte()) != _END:
        if mark != _SUMS:
            raise BadContainer(DAMAGED)
        sums = fields.sums(count)
    found, streams = list[Folder](), iter(sizes)
    for shape, out, check in zip(shapes, unpacked, sums, strict=True):
        own = [next(streams, None) for _ in range(shape.streams)]
        if not own or None in own:
            raise BadContainer(DAMAGED)
        packed = sum(size for size in own if size is not None)
        coders = tuple(Coder(*shape.coders[number], out[number]) for number in shape.order)
        size = max(out) if shape.problem else out[shape.order[-1]]
        found.append(Folder(coders, at, packed, size, check, shape.problem))
        at += packed
    return found


class _Wiring(Struct):
    """The coders of a folder, the order in which they unpack, and how many streams they have."""

    coders: list[tuple[bytes, bytes]]
    order: list[int]
    outs: int
    streams: int
    problem: str = ""


def _shape(fields: HeaderFields) -> _Wiring:
    coders, ins, outs = list[tuple[bytes, bytes]](), 0, 0
    count = fields.number()
    if not 0 < count <= _MOST_CODERS:
        raise BadContainer(DAMAGED)
    for _ in range(count):
        flags = fields.byte()
        method = fields.take(flags & 15)
        own_ins, own_outs = (fields.number(), fields.number()) if flags & 0x10 else (1, 1)
        if own_ins > _MOST_CODERS or own_outs > 1 or flags & 0xC0:
            raise BadContainer(DAMAGED)
        ins, outs = ins + own_ins, outs + own_outs
        coders.append((method, fields.take(fields.number()) if flags & 0x20 else b""))
    bound = [(fields.number(), fields.number()) for _ in range(outs - 1)]
    streams = ins - len(bound)
    if streams > 1:
        for _ in range(streams):
            fields.number()
    if streams != 1 or ins != outs:
        # In any order, since nothing but their names is of use.
        problem = "it is packed in several streams, which are not supported"
        return _Wiring(coders, list(range(outs)), outs, streams, problem)
    return _Wiring(coders, _chain(dict(bound), outs), outs, 1)


def _chain(bound: dict[int, int], count: int) -> list[int]:
    """The coders in the order in which they unpack: `bound` maps each input to an output."""
    first = [number for number in range(count) if number not in bound]
    feeds = {source: target for target, source in bound.items()}
    order = first[:1]
    while order and order[-1] in feeds and len(order) <= count:
        order.append(feeds[order[-1]])
    if len(order) != count or len(set(order)) != count:
        raise BadContainer(DAMAGED)
    return order


def _pieces(fields: HeaderFields, folders: list[Folder]) -> list[Stored]:
    counts = [1] * len(folders)
    mark = fields.byte()
    if mark == _COUNTS:
        counts = [fields.number() for _ in folders]
        mark = fields.byte()
    if sum(counts) > CONTAINER_MEMBERS:
        raise BadContainer(f"it has more than {CONTAINER_MEMBERS:,} members")
    has_sizes, pieces = mark == SIZES, list[Stored]()
    for number, (folder, count) in enumerate(zip(folders, counts, strict=True)):
        start = 0
        for at in range(count):
            size = folder.size - start if at == count - 1 else fields.number() if has_sizes else -1
            if not 0 <= size <= folder.size - start:
                raise BadContainer(DAMAGED)
            pieces.append(Stored("", number, start, size, folder.check if count == 1 else None))
            start += size
    mark = fields.byte() if has_sizes else mark
    while mark != _END:
        if mark != _SUMS:
            raise BadContainer(DAMAGED)
        unknown = [piece for piece in pieces if piece.check is None]
        for piece, check in zip(unknown, fields.sums(len(unknown)), strict=True):
            piece.check = check
        mark = fields.byte()
    return pieces


def _files(fields: HeaderFields) -> list[Stored]:
    count = fields.count()
    files = [Stored("") for _ in range(count)]
    while (mark := fields.byte()) != _END:
        own = HeaderFields(fields.take(fields.number()))
        if mark == _NO_STREAM:
            for file, has_none in zip(files, own.bits(count), strict=True):
                file.has_stream = not has_none
        elif mark in (_EMPTY, _ANTI):
            without = [file for file in files if not file.has_stream]
            for file, is_set in zip(without, own.bits(len(without)), strict=True):
                file.is_empty_file |= is_set and mark == _EMPTY
                file.is_anti |= is_set and mark == _ANTI
        elif mark == _NAMES:
            _inside(own)
            for file, name in zip(files, _names(own, count), strict=True):
                file.name = name
        elif mark in (_MTIME, _ATTRIBUTES):
            known = own.marked(count)
            _inside(own)
            for file in (file for file, is_set in zip(files, known, strict=True) if is_set):
                if mark == _MTIME:
                    file.mtime = int.from_bytes(own.take(8), "little")
                else:
                    file.attributes = int.from_bytes(own.take(4), "little")
    return files


def _inside(fields: HeaderFields) -> None:
    if fields.byte():
        raise BadContainer("its directory is in several pieces, which are not supported")


def _names(fields: HeaderFields, count: int) -> list[str]:
    """Names in UTF-16, each ended by a zero."""
    text = fields.take(fields.left).decode("utf-16-le", "replace")
    names = text.split("\0")
    if len(names) != count + 1 or names[-1]:
        raise BadContainer(DAMAGED)
    return names[:-1]
