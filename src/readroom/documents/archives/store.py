"""An opened archive as a read-only store, so that a guard can be put in front of its members.

Names are those of the workspace: the path of the archive, `!/`, and the path inside.  Links, hard links
included, are followed inside the archive only; the guard checks the name that a link leads to, as it does
on disk.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import final

from msgspec import Struct, field
from msgspec.structs import replace

from readroom.core import errors
from readroom.core.closeable import Closeable
from readroom.core.deadline import Deadline
from readroom.core.limits import HEAD_BYTES
from readroom.core.lru import LruCache
from readroom.core.paths import BORDER, WorkPath, join
from readroom.core.policy.guard import Guard
from readroom.core.quoting import quote
from readroom.core.session.expansions import TempSpool
from readroom.core.stores.base import Change, Leftover, Source, WriteTarget, is_far
from readroom.core.stores.promises import Promises
from readroom.core.values import Bytes, Entry, EntryKind, ListRequest, Names, Stat, Version
from readroom.core.values.files import Warn
from readroom.documents.containers.members import (
    BadContainer,
    Container,
    InMemory,
    Member,
    MemberKind,
    NotUnpacked,
    resolved_link,
)

# -----------------------------------------------------------------------------
# The bytes of members while they are read: as they stand, in memory, or in a file without a name.
#
# Small members are held in memory, their checksums verified.  A large member that is stored
# uncompressed is read where it is.  Of a compressed one the beginning is there at once, so that
# finding out that it is not text costs little; the rest is expanded on demand, verified, and kept
# for the next page.
# -----------------------------------------------------------------------------


class Slice(Struct, frozen=True):
    """A range of other bytes."""

    base: Bytes
    at: int
    size: int

    def read_at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`; shorter only at the end."""
        return self.base.read_at(self.at + offset, max(0, min(size, self.size - offset)))

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Fill `buffer` from `offset`; the number of bytes, smaller only at the end."""
        return self.base.read_into(self.at + offset, buffer[: max(0, self.size - offset)])


@final
class Expanding:
    """A member with its beginning in memory; reading past that expands it."""

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
    """A member is larger than `most`, the largest size that is expanded."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self.most = most


CONTAINER_MEMORY_BYTES = 1024 * 1024
"""Members up to this size are held in memory while they are read; larger ones in an unnamed file."""

CONTAINER_KEPT_BYTES = 2 * 1024 * 1024 * 1024
"""Expanded members cached by a session for their next page."""

CONTAINER_KEPT = 32
"""Their number; each keeps a descriptor open."""


@final
class Contents:
    """Expanded members of a session. Safe to share between threads."""

    def __init__(self, most: int) -> None:
        """Expand up to `most` bytes of a member."""
        self._most = most
        self._kept: LruCache[Version, TempSpool] = LruCache(
            CONTAINER_KEPT_BYTES, lambda content: content.size, CONTAINER_KEPT
        )

    def at_once(self, container: Container, base: Bytes, member: Member) -> Bytes | None:
        """The content of a small or uncompressed member; None for others. Raises BadContainer."""
        place = container.reader.place(member)
        if member.size <= CONTAINER_MEMORY_BYTES:
            return InMemory(b"".join(container.reader.pieces(member)))
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
            OSError: The disk is full.
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
        """Forget everything; content that is still being read stays until it is closed."""
        self._kept.clear()


# -----------------------------------------------------------------------------
# The archive as a tree of names.
# -----------------------------------------------------------------------------

_KINDS: Mapping[MemberKind, EntryKind] = {
    "file": EntryKind.FILE,
    "folder": EntryKind.FOLDER,
    "link": EntryKind.LINK,
    "other": EntryKind.OTHER,
}
_ADVICE = "Ask the user for a copy without a password."
_UNPACK = "Ask the user to unpack it, which restores it; the other members of the archive can be read."


class Origin(Struct, frozen=True):
    """Where members come from.

    Attributes:
        path: The path of the archive, as the caller wrote it.
        source: The archive itself, open.
        content: The archive, expanded if it is compressed.
        container: Its members.
        compression: How it is compressed; empty if it is not.
    """

    path: WorkPath
    source: Source
    content: Bytes
    container: Container
    compression: str = ""

    @property
    def form(self) -> str:
        """Its format in a word or two."""
        return f"{self.container.form}, {self.compression}" if self.compression else self.container.form


CONTAINER_HOPS = 16
"""Links followed for one name inside an archive, because loops have no end."""


MEMBERS = Promises(opening="store", exchange="none", locks="none", together="none")
"""Members are found in the archive as it was opened, and nothing is written to them."""


@final
class MemberStore(Struct, dict=True):
    """The members of one archive, for one call."""

    origin: Origin
    contents: Contents
    deadline: Deadline
    promises: Promises = MEMBERS
    folder: None = None
    roots: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()  # clauses about members that no search finds
    _outer: list[Guard] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The archive."""
        return self.origin.path

    @property
    def _top(self) -> WorkPath:
        return WorkPath(self.origin.path + BORDER)

    @property
    def _real_top(self) -> WorkPath:
        return WorkPath(self.origin.source.real + BORDER)

    def holds(self, outer: Guard) -> None:
        """Close the guard of the outer archive together with this store."""
        self._outer.append(outer)

    def require_root(self) -> None:
        """Always succeeds, since nothing else can take the place of an archive."""

    def open(self, path: WorkPath) -> Source:
        """Open a member for reading."""
        inner, member = self._found(path)
        if member is None or member.kind == "folder":
            raise errors.NotAFile(path, "folder")
        if member.kind == "other":
            raise errors.NotAFile(path, "device or pipe")
        version, container = self._version(member), self.origin.container
        self.deadline.check()
        with self._translated(path, member):
            content = self.contents.at_once(container, self.origin.content, member)
            if content is None:
                head = self.contents.head(container, member, version)
                content = Expanding(member.size, head, partial(self._whole, path, member, version))
        return MemberSource(self._named(inner), self._stat(member), version, content, self.origin.source)

    def open_folder(self, path: WorkPath) -> MemberFolder:
        """Open a folder of the archive."""
        inner, member = self._found(path)
        if inner not in self.origin.container.folders:
            raise errors.NotAFolder(path, "file" if member is None or member.kind == "file" else member.kind)
        return MemberFolder(self, self._named(inner), inner)

    def stat(self, path: WorkPath) -> tuple[WorkPath, Stat]:
        """The real name and the stat of a member."""
        inner, member = self._found(path)
        return self._named(inner), self._stat(member)

    def version(self, path: WorkPath) -> Version | None:
        """Identity of the current content."""
        try:
            _, member = self._found(path)
        except errors.ReadroomError:
            return None
        return None if member is None else self._version(member)

    def is_still(self, path: WorkPath, version: Version | None) -> bool:
        return self.version(path) == version

    def place(self, path: WorkPath) -> WriteTarget:
        """Raises ReadOnlyPlace: nothing can be changed."""
        raise errors.ReadOnlyPlace(path)

    def commit(self, changes: Sequence[Change], ready: Callable[[], None]) -> Sequence[Sequence[Warn]]:
        """Raises ReadOnlyPlace, as `place` does before it."""
        raise errors.ReadOnlyPlace(changes[0].place.real)

    def recover(self) -> Sequence[Leftover]:
        """Nothing is ever left half done."""
        return ()

    def close(self) -> None:
        """Release the archive."""
        self.origin.source.close()
        while self._outer:
            self._outer.pop().close()

    def _whole(self, path: WorkPath, member: Member, version: Version) -> Bytes:
        with self._translated(path, member):
            return self.contents.whole(self.origin.container, member, version, self.deadline)

    @contextmanager
    def _translated(self, path: WorkPath, member: Member) -> Iterator[None]:
        try:
            yield
        except BadContainer as error:
            if member.is_encrypted:
                raise errors.EncryptedDocument(path, self.origin.form, error.problem, _ADVICE) from None
            if isinstance(error, NotUnpacked):
                others = ListRequest(self.origin.path)
                raise errors.BadDocument(
                    path, self.origin.form, error.problem, _UNPACK, next_request=others
                ) from None
            raise errors.BrokenData(path, self.origin.form, member.packed, error.problem) from None
        except TooMuch as error:
            advice = "Ask the user to unpack it."
            raise errors.TooLarge(quote(path), member.size, error.most, "bytes", advice) from None
        except OSError as error:
            raise errors.store_failure(error, path) from None

    # --- inside -------------------------------------------------------------------------------

    def member_stat(self, inner: str) -> Stat:
        """The stat of a name inside, without following a link. Raises NotFound."""
        member = self.origin.container.members.get(inner)
        if member is None and inner not in self.origin.container.folders:
            raise errors.NotFound(self._named(inner))
        return self._stat(member)

    def target(self, inner: str) -> str | None:
        """The target of a link, as stored; None if it is not a link or damaged."""
        member = self.origin.container.members.get(inner)
        if member is None or member.kind != "link":
            return None
        try:
            return self.origin.container.reader.target(member)
        except BadContainer:
            return None

    def _inner(self, path: WorkPath) -> str | None:
        """The name inside the archive; None if the path is outside it."""
        for top in (self._top, self._real_top):
            if path == top:
                return ""
            if path.startswith(f"{top}/"):
                return path[len(top) + 1 :]
        return None

    def _named(self, inner: str) -> WorkPath:
        return join(self._real_top, inner) if inner else self._real_top

    def _found(self, path: WorkPath) -> tuple[str, Member | None]:
        """Resolve a path: the real name inside, and its member, None for an implicit folder.

        Raises:
            NotFound: There is no such name.
            OutsideRoot: A link on the way leads out of the archive.
        """
        inner = self._inner(path)
        if inner is None:
            raise errors.NotFound(path)
        container = self.origin.container
        for _ in range(CONTAINER_HOPS):
            link = self._first_link(inner)
            if link is None:
                if inner not in container.members and inner not in container.folders:
                    raise errors.NotFound(path)
                return inner, container.members.get(inner)
            inner = self._followed(path, inner, link)
        raise errors.NotFound(path)

    def _first_link(self, inner: str) -> str | None:
        members = self.origin.container.members
        ends = [at for at, char in enumerate(inner) if char == "/"]
        for end in (*ends, len(inner)):
            member = members.get(inner[:end])
            if member is not None and member.kind == "link":
                return inner[:end]
        return None

    def _followed(self, path: WorkPath, inner: str, link: str) -> str:
        """The name with a link on the way replaced by its target."""
        member = self.origin.container.members[link]
        try:
            target = self.origin.container.reader.target(member)
        except BadContainer as error:
            raise errors.BrokenData(path, self.origin.form, member.packed, error.problem) from None
        led = resolved_link("" if member.is_hard else link, target)
        if led is None:
            raise errors.OutsideRoot(path, "a link points outside the archive")
        return f"{led}{inner[len(link) :]}".strip("/")

    def _stat(self, member: Member | None) -> Stat:
        own = self.origin.source.stat
        if member is None:
            return Stat(EntryKind.FOLDER, 0, own.mtime_ns, 0o755, device=own.device)
        version = self._version(member)
        mode = (0o755 if member.kind == "folder" else 0o644) if member.mode is None else member.mode
        return Stat(
            _KINDS[member.kind], member.size, member.mtime_ns, mode, device=own.device, inode=version.inode
        )

    def _version(self, member: Member) -> Version:
        """The identity of a member: that of its archive, and the member's position."""
        own = self.origin.source.version
        which = f"{own}|{member.at}|{member.name}".encode("utf-8", "surrogatepass")
        number = int.from_bytes(hashlib.sha256(which).digest()[:8], "big")
        return replace(own, inode=number, size=member.size, mtime_ns=member.mtime_ns)


@final
class MemberSource(Closeable):
    """An opened member."""

    def __init__(self, real: WorkPath, stat: Stat, version: Version, data: Bytes, archive: Source) -> None:
        self.real = real
        self.stat, self.version, self.size = stat, version, data.size
        self.far = isinstance(data, Slice) and is_far(data.base)
        self._data = data
        self._archive = archive
        self._fd = -1

    def current(self) -> Version:
        """The identity of the current state, which is unchanged while the archive is."""
        now = self._archive.current()
        return self.version if now == self._archive.version else now

    def read_at(self, offset: int, size: int) -> bytes:
        return self._data.read_at(offset, size)

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Fill `buffer` from `offset`; the number of bytes, smaller only at the end."""
        return self._data.read_into(offset, buffer)

    def fileno(self) -> int | None:
        """A descriptor of the content, if it is in a file of its own."""
        data = self._data.whole if isinstance(self._data, Expanding) else self._data
        if self._fd < 0 and isinstance(data, TempSpool):
            self._fd = data.descriptor()
        return None if self._fd < 0 else self._fd

    def close(self) -> None:
        """Release the descriptor; the archive is closed by its opener."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


@final
class MemberFolder(Closeable):
    """An opened folder of an archive."""

    def __init__(self, store: MemberStore, real: WorkPath, inner: str) -> None:
        self.real = real
        self._store = store
        self._inner = inner
        self._names = store.origin.container.folders[inner]

    def entries(self) -> Iterator[Entry]:
        """The names in it."""
        for name, kind in self._names.items():
            yield Entry(name, _KINDS[kind])

    def names(self, most: int) -> Iterator[Names]:
        """The same in batches of up to `most`."""
        names = list(self._names)
        for at in range(0, len(names), most):
            some = names[at : at + most]
            kinds = {name: _KINDS[self._names[name]] for name in some if self._names[name] != "file"}
            yield Names(some, kinds)

    def stat(self, name: str) -> Stat:
        """The stat of a name in it, without following a link. Raises NotFound."""
        return self._store.member_stat(f"{self._inner}/{name}" if self._inner else name)

    def target(self, name: str) -> str | None:
        """The stored target of a link; None if it is no link."""
        return self._store.target(f"{self._inner}/{name}" if self._inner else name)

    def open(self, name: str) -> Source:
        """Open a member in it, never following a link."""
        path = join(self.real, name)
        if self.stat(name).kind is EntryKind.LINK:
            raise errors.NotAFile(path, "link")
        return self._store.open(path)

    def fileno(self) -> None:
        """Always None."""
        return

    def close(self) -> None:
        """Does nothing."""
