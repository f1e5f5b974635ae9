"""The bytes of members while they are read: as they stand, in memory, or in a file without a name.

Small members are held, checked to their end.  Of large ones, what is stored as it is is read where
it is; of what is compressed, the beginning is there at once, so that what is not text costs nothing
more, and the rest is expanded when it is asked for, checked, and kept for the next page.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from msgspec import Struct

from readroom.deadline import Deadline
from readroom.formats.containers.members import Container, Member
from readroom.limits import HEAD_BYTES
from readroom.limits.documents import CONTAINER_KEPT, CONTAINER_KEPT_BYTES, CONTAINER_MEMORY_BYTES
from readroom.lru import LruCache
from readroom.session.expansions import TempSpool
from readroom.values import Bytes, Version


class Slice(Struct, frozen=True):
    """A part of other bytes."""

    base: Bytes
    at: int
    size: int

    def read_at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`; shorter only at the end."""
        return self.base.read_at(self.at + offset, max(0, min(size, self.size - offset)))

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Fill `buffer` from `offset`; the number of bytes, smaller only at the end."""
        return self.base.read_into(self.at + offset, buffer[: max(0, self.size - offset)])


class Held(Struct, frozen=True):
    """Bytes in memory."""

    data: bytes

    @property
    def size(self) -> int:
        """Their number."""
        return len(self.data)

    def read_at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`; shorter only at the end."""
        return self.data[offset : offset + size]

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Fill `buffer` from `offset`; the number of bytes, smaller only at the end."""
        data = self.data[offset : offset + len(buffer)]
        buffer[: len(data)] = data
        return len(data)


@final
class Expanding:
    """A member whose beginning is in memory; the first look behind that expands it."""

    def __init__(self, size: int, head: bytes, expand: Callable[[], Bytes]) -> None:
        self.size = size
        self._head = head
        self._expand = expand
        self._whole: Bytes | None = None

    def read_at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`; shorter only at the end."""
        if offset + size <= len(self._head):
            return self._head[offset : offset + size]
        return self.whole.read_at(offset, size)

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Fill `buffer` from `offset`; the number of bytes, smaller only at the end."""
        return self.whole.read_into(offset, buffer)

    @property
    def whole(self) -> Bytes:
        """All of it."""
        if self._whole is None:
            self._whole = self._expand()
        return self._whole


class TooMuch(Exception):
    """A member is larger than what is expanded; `most` is that."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self.most = most


@final
class Contents:
    """Expanded members of a session. Safe to share between threads."""

    def __init__(self, most: int) -> None:
        """At most `most` bytes of one member are expanded."""
        self._most = most
        self._kept: LruCache[Version, TempSpool] = LruCache(
            CONTAINER_KEPT_BYTES, lambda content: content.size, CONTAINER_KEPT
        )

    def at_once(self, container: Container, base: Bytes, member: Member) -> Bytes | None:
        """The content of a member that needs no expanding, or little; None of others.

        Raises:
            BadContainer: It cannot be read.
        """
        place = container.reader.place(member)
        if member.size <= CONTAINER_MEMORY_BYTES:
            return Held(b"".join(container.reader.pieces(member)))
        return None if place is None else Slice(base, *place)

    def head(self, container: Container, member: Member, key: Version) -> bytes:
        """The first bytes of a large member. Raises BadContainer or TooMuch."""
        if member.size > self._most:
            raise TooMuch(self._most)
        content = self._kept.get(key)
        if content is not None:
            return content.read_at(0, HEAD_BYTES)
        head = b""
        for piece in container.reader.pieces(member):
            head += piece
            if len(head) >= HEAD_BYTES:
                break
        return head[:HEAD_BYTES]

    def whole(self, container: Container, member: Member, key: Version, deadline: Deadline) -> Bytes:
        """A large member, expanded; `key` is its identity.

        Raises:
            BadContainer: It cannot be read.
            OSError: There is no place for it.
            TimedOut, Cancelled: From the deadline.
        """
        content = self._kept.get(key)
        if content is not None:
            return content
        spool = TempSpool()
        for piece in container.reader.pieces(member):
            deadline.check()
            spool.append(piece)
            deadline.report(spool.size, member.size, "bytes")
        self._kept.put(key, spool)
        return spool

    def close(self) -> None:
        """Let go of all; what is still read stays until it is closed."""
        self._kept.clear()
