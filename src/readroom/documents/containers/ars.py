"""`ar` archives: Debian packages (`.deb`) and static libraries (`.a`).

Each member has a header of 60 characters and is stored as it is. Long names are in a member of their own
(System V) or before the content (BSD); tables of symbols are members without a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct, field

from readroom.core.values import Bytes
from readroom.documents.containers.members import (
    NAME_READ_BYTES,
    BadContainer,
    Container,
    Member,
    StoredReader,
    arranged,
    kept_name,
)
from readroom.documents.limits import CONTAINER_HEADER_BYTES, CONTAINER_MEMBERS

MARK = b"!<arch>\n"
_HEADER = 60
_END = b"`\n"
_LONG_NAMES = b"//"
_TABLES = (b"/", b"/SYM64/", b"__.SYMDEF", b"__.SYMDEF SORTED")
_BSD = b"#1/"


def open_ar(file: Bytes, check: Callable[[], object]) -> Container:
    """The archive in `file`; `check` is called before each header, and its exceptions end the walk.

    Raises:
        BadContainer: It does not begin with a member.
    """
    walk = _ArWalk(file, check)
    members = list(walk.members())
    if not members and walk.notes:
        raise BadContainer(walk.notes[0])
    return arranged("ar", StoredReader(file), members, walk.notes, last_counts=False)


class _ArWalk(Struct):
    """One pass over the headers; `notes` has the reason of an early end."""

    file: Bytes
    check: Callable[[], object]
    notes: list[str] = field(default_factory=list)
    _names: bytes = b""

    def members(self) -> Iterator[Member]:
        """The members in their order."""
        at, count = len(MARK), 0
        while at < self.file.size:
            self.check()
            head = self.file.read_at(at, _HEADER)
            size = _number(head[48:58], 10)
            if len(head) < _HEADER or head[58:] != _END or size is None:
                self.notes.append(f"it is damaged at byte {at:,}: the rest is not read")
                return
            if count == CONTAINER_MEMBERS:
                self.notes.append(f"only its first {count:,} members are read")
                return
            member = self._member(head, at + _HEADER, size)
            at += _HEADER + size + size % 2
            if member is not None:
                count += 1
                yield member

    def _member(self, head: bytes, at: int, size: int) -> Member | None:
        """The member of a header; None for a table of names or symbols."""
        raw = head[:16].rstrip(b" ")
        if raw == _LONG_NAMES:
            self._names = self.file.read_at(at, min(size, CONTAINER_HEADER_BYTES))
            return None
        name, inside = self._name(raw, at, size)
        if name in _TABLES:
            return None
        problem = "it is cut short" if at + size > self.file.size else ""
        at, size = at + inside, size - inside
        seconds, mode = _number(head[16:28], 10), _number(head[40:48], 8)
        time, rights = (seconds or 0) * 1_000_000_000, None if mode is None else mode & 0o7777
        words = kept_name(name.decode("utf-8", "surrogateescape"))
        return Member(words, "file", size, size, time, rights, problem=problem, at=at)

    def _name(self, raw: bytes, at: int, size: int) -> tuple[bytes, int]:
        """A name, and how many bytes of the content it takes."""
        if raw.startswith(_BSD) and (length := _number(raw[len(_BSD) :], 10)) is not None:
            length = min(length, size)
            return self.file.read_at(at, min(length, NAME_READ_BYTES)).rstrip(b"\0"), length
        place = _number(raw[1:], 10) if raw.startswith(b"/") else None
        if place is not None:
            return self._names[place : place + NAME_READ_BYTES].split(b"\n", 1)[0].removesuffix(b"/"), 0
        return raw if raw in _TABLES else raw.removesuffix(b"/"), 0


def _number(letters: bytes, base: int) -> int | None:
    """A space-padded number of a header; None if it is not a number."""
    digits = letters.strip(b" ")
    return int(digits, base) if digits and not digits.strip(b"0123456789"[:base]) else None
