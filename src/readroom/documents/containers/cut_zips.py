"""ZIP archives whose directory is missing or damaged: the members that their own headers name.

Every member begins with a header that repeats what the directory says of it. From one header the walk goes
to the next one: past the content where its length is said; where it follows the content, to the record that
says it, which is known by the length in it. Bytes between two members are passed by, and counted.

It is no proof: a header can be forged, a removed member has one as well, and links and modes are in the
directory alone. So what is found is always said to be recovered, and content is checked by its sum.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct, field

from readroom.core.values import Bytes
from readroom.documents.limits import CONTAINER_MEMBERS

HEADER = struct.Struct("<4s5H3L2H")
MARK = b"PK\3\4"
_DESCRIPTOR = b"PK\7\x08"
_OF_DIRECTORY = (b"PK\1\2", b"PK\5\6", b"PK\6\6", b"PK\6\7", b"PK\6\x08")
_HEADER = re.compile(rb"PK\x03\x04")
_BEHIND = re.compile(rb"PK(?:\x07\x08|\x03\x04|\x01\x02)")
"""Marks that may end a content: of the record of its lengths, the next header, or the directory."""

_FORMS = (struct.Struct("<3L"), struct.Struct("<L2Q"))
"""Check, stored length and length; of large ones with more bytes."""

_UNTOLD = "it is cut short, or its length is not there"
_FOLLOWS = 0x8
_FULL = 0xFFFFFFFF
_EXTRA_64 = 0x1
_FIRST_BYTES, _PIECE_BYTES = 4096, 1024 * 1024
"""The first and the largest piece that is looked at for one mark: most are near."""

_A_SEARCH = 1024
"""The cost of a search for one mark, in bytes: a file may consist of marks."""


SEARCHED_BYTES = 256 * 1024 * 1024
"""Bytes of an archive that are searched for headers and lengths, besides the headers themselves: 0.2 s."""


class Found(Struct, frozen=True):
    """A header: its fields, the name and the extra fields as stored, where it is and what follows it.

    Attributes:
        fields: The numbers of the header.
        name: As stored.
        extras: By their kind.
        at: Where the header begins.
        check: CRC-32 of the content.
        size: Bytes of the content.
        packed: Bytes that it takes.
        problem: Why it cannot be read; empty if it can.
    """

    fields: tuple[int, ...]
    name: bytes
    extras: Mapping[int, bytes]
    at: int
    check: int
    size: int
    packed: int
    problem: str = ""


class CutZip(Struct):
    """One walk over the headers of an archive; `notes` say what is odd."""

    file: Bytes
    check: Callable[[], object]
    notes: list[str] = field(default_factory=list)
    _between: int = 0
    _searched: int = 0

    def members(self) -> Iterator[Found]:
        """The members that can be found, in the order of the file."""
        at, count = 0, 0
        while True:
            self.check()
            following = at if self.file.read_at(at, 4) == MARK else self._find(_HEADER, at)
            if following is None:
                break
            self._between += following - at
            if count == CONTAINER_MEMBERS:
                self.notes.append(f"only the first {count:,} members that are found are read")
                break
            found = self._header(following)
            if found is None:  # it looks like a header by chance
                at = following + len(MARK)
                self._between += len(MARK)
                continue
            count += 1
            yield found
            at = self._end(found)
            if at >= self.file.size:
                self._count_inside(found)
                break
        if self._between:
            self.notes.append(f"{self._between:,} bytes between its members belong to none that is found")
        if self._searched >= SEARCHED_BYTES:
            self.notes.append(f"no more than {SEARCHED_BYTES:,} bytes of it were searched: there may be more")

    # --- one member ---------------------------------------------------------------------------------

    def _header(self, at: int) -> Found | None:
        """The member whose header is at a place; None if there is none."""
        data = self.file.read_at(at, HEADER.size)
        if len(data) < HEADER.size:
            return None
        fields = HEADER.unpack(data)[1:]
        flags, check, packed, size, names, extra = fields[1], *fields[5:]
        words = self.file.read_at(at + HEADER.size, names + extra)
        if len(words) < names + extra or not names:
            return None
        name = words[:names]
        extras = dict(_extras(words[names:]))
        size, packed = _longer(extras.get(_EXTRA_64, b""), size, packed)
        start = at + HEADER.size + names + extra
        if flags & _FOLLOWS and not packed:
            told = self._told_behind(start)
            if told is None:
                following = self._find(_HEADER, start)
                rest = (self.file.size if following is None else following) - start
                return Found(fields, name, extras, at, check, size, max(0, rest), _UNTOLD)
            check, packed, size = told
        left = max(0, self.file.size - start)
        problem = ""
        if packed > left:
            problem = f"it is cut short: {left:,} of its {packed:,} stored bytes are there"
        return Found(fields, name, extras, at, check, size, packed, problem)

    def _told_behind(self, start: int) -> tuple[int, int, int] | None:
        """Check, stored length and length of a content by the record after it; None if that is not found.

        The record has a mark of its own, or none: then it is just before the next header.
        """
        for at in self._all(_BEHIND, start):
            is_marked = self.file.read_at(at, 4) == _DESCRIPTOR
            told = self._record(start, at, at + 4 if is_marked else None)
            if told is not None:
                return told
        return self._record(start, self.file.size, None)

    def _record(self, start: int, place: int, behind: int | None) -> tuple[int, int, int] | None:
        """The record of a content from `start` on: `behind` its mark at a place, or before the place."""
        for form in _FORMS:
            at = place - form.size if behind is None else behind
            end, following = (at, place) if behind is None else (place, at + form.size)
            record = self.file.read_at(at, form.size) if end >= start else b""
            if len(record) == form.size:
                check, said, whole = form.unpack(record)
                if said == end - start and self._begins(following):
                    return check, said, whole
        return None

    def _begins(self, at: int) -> bool:
        """Whether something of an archive begins at a place, or the file ends there."""
        head = self.file.read_at(at, 4)
        return len(head) < 4 or head == MARK or head in _OF_DIRECTORY

    def _end(self, found: Found) -> int:
        """The place at which the next member is looked for."""
        end = found.at + HEADER.size + found.fields[8] + found.fields[9] + found.packed
        if found.fields[1] & _FOLLOWS and not found.problem:
            mark = 4 if self.file.read_at(end, 4) == _DESCRIPTOR else 0
            ends = (end + mark + form.size for form in _FORMS)
            return next((place for place in ends if self._begins(place)), end)
        return end

    def _count_inside(self, found: Found) -> None:
        """Say how many headers the bytes of a member have that is cut: of an archive in it, or of others."""
        count = sum(1 for _ in self._all(_HEADER, found.at + len(MARK))) if found.problem else 0
        if count:
            headers = "header is" if count == 1 else "headers are"
            self.notes.append(f"{count:,} more {headers} in the bytes of its last member, and not listed")

    # --- searching ----------------------------------------------------------------------------------

    def _all(self, mark: re.Pattern[bytes], at: int) -> Iterator[int]:
        """The places of a mark from a place on."""
        while (place := self._find(mark, at)) is not None:
            yield place
            at = place + 1

    def _find(self, mark: re.Pattern[bytes], at: int) -> int | None:
        """The place of a mark of four bytes from a place on; None if it does not come."""
        rest, most = b"", _FIRST_BYTES
        self._searched += _A_SEARCH
        while self._searched < SEARCHED_BYTES:
            self.check()
            piece = self.file.read_at(at, most)
            if not piece:
                return None
            if found := mark.search(rest + piece):
                self._searched += found.start()
                return at - len(rest) + found.start()
            self._searched += len(piece)
            rest = (rest + piece)[-len(MARK) + 1 :]
            at, most = at + len(piece), min(2 * most, _PIECE_BYTES)
        return None


def _extras(extra: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, at)
        yield kind, extra[at + 4 : at + 4 + size]
        at += 4 + size


def _longer(extra: bytes, size: int, packed: int) -> tuple[int, int]:
    """The lengths, taken from the ZIP64 field where they did not fit: the content's comes first."""
    at = 0
    if size == _FULL and at + 8 <= len(extra):
        size, at = int.from_bytes(extra[at : at + 8], "little"), at + 8
    if packed == _FULL and at + 8 <= len(extra):
        packed = int.from_bytes(extra[at : at + 8], "little")
    return size, packed
