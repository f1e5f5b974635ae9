"""Sparse files in tar archives: only data is stored, and a map says where it belongs.

The map is in the header and in blocks after it (GNU), in the extended header (pax 0.0 and 0.1), or in lines
of numbers before the content (pax 1.0). It is a claim, read when the member is: a map that goes backwards, or
does not fit what is stored, is damage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from readroom.formats.containers.members import PIECE_BYTES, BadContainer, Member, StoredReader, pieces
from readroom.limits.documents import CONTAINER_HEADER_BYTES
from readroom.values import Bytes

Form: TypeAlias = Literal["", "gnu", "header", "lines"]
"""The place of the map; none for a file that is not sparse."""

_BLOCK = 512
_NUMBER = 12
_FIRST, _FIRST_COUNT, _FIRST_MORE = 386, 4, 482
_NEXT_COUNT, _NEXT_MORE = 21, 504
"""In a header of GNU: where its part of the map begins, how many pairs it has, and whether a block of
more pairs follows; in those blocks."""

_REAL_SIZE = 483
_DAMAGED = "it is damaged: its map of what is stored is wrong"
_MOST_DIGITS = 18

Extent: TypeAlias = tuple[int, int]
"""The offset in the file and the length of a stored piece."""


class SparseMember(Member, frozen=True):
    """A member that is stored in pieces.

    Attributes:
        form: Where its map stands.
        map_at: Where that begins: the header, or the extended header.
    """

    form: Form = ""
    map_at: int = 0


class TarReader(StoredReader, frozen=True):
    """Reads members of a tar, stored as they are or in pieces."""

    def place(self, member: Member) -> tuple[int, int] | None:
        """The place of the content; None if it is in pieces. Raises BadContainer."""
        place = super().place(member)
        return None if isinstance(member, SparseMember) else place

    def pieces(self, member: Member) -> Iterator[bytes]:
        """The content. Raises BadContainer."""
        if not isinstance(member, SparseMember):
            yield from super().pieces(member)
            return
        self.place(member)
        extents, at = _map(self.file, member)
        position = 0
        for offset, length in extents:
            yield from _zeros(offset - position)
            yield from pieces(self.file, at, length)
            at, position = at + length, offset + length
        yield from _zeros(member.size - position)


def real_size(block: bytes) -> int | None:
    """The size that a header of GNU says its sparse file has; None for none."""
    return _octal(block[_REAL_SIZE : _REAL_SIZE + _NUMBER])


def more_follows(block: bytes, *, is_first: bool) -> bool:
    """Whether the map goes on in another block."""
    return bool(block[_FIRST_MORE if is_first else _NEXT_MORE])


def decimal(digits: str) -> int | None:
    """A number in an extended header; None if it is not one, or too large for a file."""
    is_one = digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS
    return int(digits) if is_one else None


def _map(file: Bytes, member: SparseMember) -> tuple[Sequence[Extent], int]:
    """The map of a member and where its content begins. Raises BadContainer."""
    start = member.at
    if member.form == "gnu":
        numbers: Iterable[int | None] = _of_blocks(file, member.map_at)
    elif member.form == "header":
        numbers = _of_header(file.read_at(member.map_at, CONTAINER_HEADER_BYTES))
    else:
        numbers, start = _of_lines(file, member)
    extents: list[Extent] = []
    end, stored = 0, member.packed - (start - member.at)
    values = list(numbers)
    for offset, length in zip(values[::2], values[1::2], strict=False):
        if offset is None or length is None or offset < end:
            raise BadContainer(_DAMAGED)
        extents.append((offset, length))
        end, stored = offset + length, stored - length
    if len(values) % 2 or stored or end > member.size:
        raise BadContainer(_DAMAGED)
    return extents, start


def _of_blocks(file: Bytes, at: int) -> Iterator[int | None]:
    """The numbers in a header of GNU and the blocks behind it."""
    first, last = at, at + CONTAINER_HEADER_BYTES
    while at < last:
        block = file.read_at(at, _BLOCK)
        start, count = (_FIRST, _FIRST_COUNT) if at == first else (0, _NEXT_COUNT)
        for number in range(start, start + 2 * count * _NUMBER, 2 * _NUMBER):
            pair = block[number : number + _NUMBER], block[number + _NUMBER : number + 2 * _NUMBER]
            if any(field.strip(b"\0 ") for field in pair):  # the rest of a block is empty
                yield from map(_octal, pair)
        if len(block) < _BLOCK or not more_follows(block, is_first=at == first):
            return
        at += _BLOCK
    raise BadContainer(f"its map of what is stored is longer than {CONTAINER_HEADER_BYTES:,} bytes")


def _of_header(data: bytes) -> Iterator[int | None]:
    """The numbers of an extended header: all in one field, or two fields for each piece."""
    fields, _ = records(data)
    for keyword, value in fields:
        if keyword == "GNU.sparse.map":
            yield from (decimal(number) for number in value.split(",") if value)
        elif keyword in ("GNU.sparse.offset", "GNU.sparse.numbytes"):
            yield decimal(value)


def _of_lines(file: Bytes, member: SparseMember) -> tuple[list[int | None], int]:
    """The numbers before a content, and where that begins: at the next whole block."""
    data = file.read_at(member.at, min(member.packed, CONTAINER_HEADER_BYTES))
    line, _, rest = data.partition(b"\n")
    count = decimal(line.decode("latin-1"))
    # Two letters are the least that a number takes: a count beyond that is made to take memory.
    if count is None or count * 4 > len(rest):
        raise BadContainer(_DAMAGED)
    lines = rest.split(b"\n", 2 * count)[: 2 * count]
    used = len(line) + 1 + sum(len(number) + 1 for number in lines)
    numbers = [decimal(number.decode("latin-1")) for number in lines]
    return numbers, member.at + -(-used // _BLOCK) * _BLOCK


def _octal(field: bytes) -> int | None:
    """A number of a header: in digits of eight, or as bytes behind a mark; None for none of a file."""
    if field[:1] == b"\x80":
        number = int.from_bytes(field[1:], "big")
        return number if number < 10**_MOST_DIGITS else None
    digits = field.strip(b"\0 ")
    return int(digits, 8) if digits and not digits.strip(b"01234567") else None


def _zeros(count: int) -> Iterator[bytes]:
    piece = bytes(min(count, PIECE_BYTES))
    for _ in range(count // PIECE_BYTES):
        yield piece
    if rest := count % PIECE_BYTES:
        yield piece[:rest]


def records(data: bytes) -> tuple[Sequence[tuple[str, str]], bool]:
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
