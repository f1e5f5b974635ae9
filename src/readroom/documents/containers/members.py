"""Members of an archive: their attributes, how to read them, and the tree of their names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, Protocol, Self, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.values import Bytes
from readroom.documents.limits import CONTAINER_NAME_BYTES, CONTAINER_NAME_DEPTH, CONTAINER_TARGET_BYTES

MemberKind: TypeAlias = Literal["file", "folder", "link", "other"]


PIECE_BYTES = 64 * 1024
"""Maximum size of one piece of content."""


WRONG_SUM = "it is damaged: its checksum does not match"


class BadContainer(Exception):
    """An archive, or a member of it, that cannot be read; `problem` is a clause about it."""

    def __init__(self, problem: str, *, is_encrypted: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.is_encrypted = is_encrypted


class NotUnpacked(BadContainer):
    """A sound member of a kind that is not read here, and that programs which unpack restore."""


class Member(Struct, frozen=True):
    """One entry of an archive.

    Attributes:
        name: In the form of a path inside the archive: no "..", no ".", no empty parts.
        kind: What it is.
        size: Bytes of its content.
        packed: Bytes that it occupies in the archive.
        mtime_ns: Since the epoch; formats that know no time zone are taken for UTC.
        mode: Its permissions, None where they are not written.
        target: The stored target of a link in a tar file.
        is_hard: Whether the link's target is a member's name, relative to the top.
        problem: A clause with the reason why its content cannot be read; empty if it can.
        at: Its offset in the archive; in 7z, where many share one content, its number.
        method: How it is compressed, in the numbers of ZIP.
        check: CRC-32 of its content, in ZIP.
        is_encrypted: Whether that is its problem.
    """

    name: str
    kind: MemberKind
    size: int
    packed: int
    mtime_ns: int
    mode: int | None = None
    target: str = ""
    is_hard: bool = False
    problem: str = ""
    at: int = 0
    method: int = 0
    check: int = 0
    is_encrypted: bool = False


class InMemory(Struct, frozen=True):
    """Bytes in memory."""

    data: bytes

    @property
    def size(self) -> int:
        """Their number."""
        return len(self.data)

    def read_at(self, offset: int, size: int) -> bytes:
        return self.data[offset : offset + size]

    def read_into(self, offset: int, buffer: memoryview) -> int:
        data = self.data[offset : offset + len(buffer)]
        buffer[: len(data)] = data
        return len(data)


def pieces(file: Bytes, at: int, left: int) -> Iterator[bytes]:
    """Exactly this many bytes of an archive from an offset. Raises BadContainer if it has fewer."""
    while left:
        piece = file.read_at(at, min(left, PIECE_BYTES))
        if not piece:
            raise BadContainer("it is cut short")
        yield piece
        at += len(piece)
        left -= len(piece)


def link_target(member: Member, content: Iterable[bytes]) -> str:
    """The target of a link whose content is the target. Raises BadContainer."""
    if member.size > CONTAINER_TARGET_BYTES:
        raise BadContainer("it is damaged: its link is too long")
    return b"".join(content).decode("utf-8", "surrogateescape")


class Reader(Protocol):
    """Reads the members of one format."""

    def place(self, member: Member) -> tuple[int, int] | None:
        """Offset and length of content that is stored as it is; None if it is compressed.

        Raises:
            BadContainer: It is damaged.
        """

    def pieces(self, member: Member) -> Iterator[bytes]:
        """The content in pieces of bounded size; it is checked as far as the format allows.

        Raises:
            BadContainer: It is damaged, also after some pieces.
        """

    def target(self, member: Member) -> str:
        """The target of a link. Raises BadContainer."""

    def over(self, file: Bytes) -> Reader:
        """The same for the same bytes, opened again."""


class StoredReader(Struct, frozen=True):
    """Reads members that are stored as they are."""

    file: Bytes

    def place(self, member: Member) -> tuple[int, int] | None:
        """The place of the content. Raises BadContainer."""
        if member.problem:
            raise BadContainer(member.problem)
        return member.at, member.size

    def pieces(self, member: Member) -> Iterator[bytes]:
        """The content. Raises BadContainer."""
        place = self.place(member)
        assert place is not None
        yield from pieces(self.file, *place)

    def target(self, member: Member) -> str:
        return member.target

    def over(self, file: Bytes) -> Self:
        return replace(self, file=file)


class Container(Struct, frozen=True):
    """An opened archive.

    Attributes:
        form: zip, tar, 7z or ar.
        reader: Reads members.
        members: By name, folders that have an entry of their own included.
        folders: What is directly in each folder, by its path; "" is the top.
        left_out: Names, as stored, that cannot be names inside the archive, the first of them.
        left_out_count: Their number.
        notes: Further remarks on the archive, each a clause.
        is_cut: Whether members may be missing that it had.
    """

    form: str
    reader: Reader
    members: Mapping[str, Member]
    folders: Mapping[str, Mapping[str, MemberKind]]
    left_out: tuple[str, ...] = ()
    left_out_count: int = 0
    notes: tuple[str, ...] = ()
    is_cut: bool = False


NAMED_LEFT_OUT = 5
"""Names that are left out and said; more are counted."""


CONTAINER_FOLDERS = 120_000
"""Folders above them, also some 400 bytes each: a member may be in CONTAINER_NAME_DEPTH of its own. The
source of Linux has 6,000."""


def arranged(
    form: str, reader: Reader, stored: Iterable[Member], notes: Iterable[str] = (), *, last_counts: bool
) -> Container:
    """An archive of members whose names are as stored.

    Args:
        form: Of the archive.
        reader: Reads members.
        stored: In the order of the archive.
        notes: Remarks on it, besides those found here.
        last_counts: Whether the last member of one name counts; otherwise none can be read.
    """
    remarks, members = list(notes), dict[str, Member]()
    folders: dict[str, dict[str, MemberKind]] = {"": {}}
    left_out: list[str] = []
    left_out_count = again = both = 0
    for member in stored:
        if len(folders) > CONTAINER_FOLDERS:
            remarks.append(f"only the members in its first {CONTAINER_FOLDERS:,} folders are read")
            break
        name = normal_name(member.name)
        if not name:
            if name is None or member.kind != "folder":  # the top itself has an entry now and then
                left_out_count += 1
                left_out += [member.name] if len(left_out) < NAMED_LEFT_OUT else []
            continue
        known = members.get(name)
        if known is not None and "folder" not in (known.kind, member.kind):
            again += 1
            if not last_counts:
                member = replace(member, problem="the archive has several members of this name")
        if _stands_in_the_way(members, folders, name, member):
            both += 1
            continue
        members[name] = member
        _enter(folders, name, member.kind)
    if again:
        which = "the last counts" if last_counts else "they cannot be read"
        remarks.append(f"{again:,} more {_members(again)} with a name that is already used: {which}")
    if both:
        remarks.append(f"{both:,} {_members(both)} named like a file and a folder: not shown")
    return Container(form, reader, members, folders, tuple(left_out), left_out_count, tuple(remarks))


def _members(count: int) -> str:
    return "member" if count == 1 else "members"


def _stands_in_the_way(
    members: Mapping[str, Member], folders: Mapping[str, Mapping[str, MemberKind]], name: str, member: Member
) -> bool:
    """Whether a name cannot be had: it is a folder's by now, or one of its folders is a file or a link."""
    if member.kind != "folder" and name in folders:
        return True
    cuts = [at for at, char in enumerate(name) if char == "/"]
    above = (members.get(name[:at]) for at in reversed(cuts))
    if any(member_above is not None and member_above.kind != "folder" for member_above in above):
        return True
    return member.kind == "folder" and name in members and members[name].kind != "folder"


def _enter(folders: dict[str, dict[str, MemberKind]], name: str, kind: MemberKind) -> None:
    """Put a name, and the folders above it, into the tree."""
    if kind == "folder":
        folders.setdefault(name, {})
    while name:
        above, _, last = name.rpartition("/")
        known = above in folders
        folders.setdefault(above, {})[last] = kind
        if known and above:
            return  # it was entered with all that is above it
        name, kind = above, "folder"


# -----------------------------------------------------------------------------
# Names of members as paths inside their archive.
# -----------------------------------------------------------------------------

NAME_READ_BYTES = CONTAINER_NAME_BYTES + 1
"""Characters of a stored name that are enough to decide whether it can be used."""

_SHOWN_CHARS = 80


def kept_name(name: str) -> str:
    """A name as it is; of one that is too long only the beginning, and a NUL, which makes it unusable.

    A hundred thousand members with names of a megabyte would fill the memory.
    """
    return name if len(name) <= CONTAINER_NAME_BYTES else f"{name[:_SHOWN_CHARS]}…\0"


def normal_name(name: str) -> str | None:
    """A name as a path inside the archive, "" for its top; None if it leads out or cannot be used.

    Absolute names and names with ".." are never inside: programs that unpack disagree about them.
    """
    if name.startswith("/") or "\0" in name:
        return None
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts or len(parts) > CONTAINER_NAME_DEPTH:
        return None
    path = "/".join(parts)
    try:
        data = os.fsencode(path)
    except UnicodeEncodeError:
        return None
    # One spelling for a name, as in `paths`: escaped bytes that form a character become that character.
    return os.fsdecode(data) if len(data) <= CONTAINER_NAME_BYTES else None


def resolved_link(name: str, target: str) -> str | None:
    """The path in the archive that the link `name` leads to; None if it is outside.

    A hard link counts from the top: its `name` is "" here.
    """
    if target.startswith("/"):
        return None
    above = name.split("/")[:-1]
    for part in target.split("/"):
        if part == "..":
            if not above:
                return None
            above.pop()
        elif part not in ("", "."):
            above.append(part)
    return "/".join(above)
