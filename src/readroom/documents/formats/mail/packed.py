"""Files in an archive that is attached to a message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct

from readroom.documents.containers import open_container
from readroom.documents.containers.members import BadContainer, Container, InMemory, Member
from readroom.documents.formats import Unreadable, omission_note
from readroom.documents.limits import MAIL_BYTES


class PackedFile(Struct, frozen=True):
    """A file in an archive: `data` reads it, and raises Unreadable."""

    name: str
    size: int
    data: Callable[[], bytes]


class PackedFiles(Struct, frozen=True):
    """The files of an archive, and notes about the rest of it."""

    files: Sequence[PackedFile]
    notes: Sequence[str]


def files_in(archive: Callable[[], bytes]) -> PackedFiles | None:
    """The files in the bytes that `archive` reads; None if they are no archive, or a compressed one."""
    try:
        container = open_container(InMemory(archive()), lambda: None)
    except BadContainer as error:
        return PackedFiles([], [f"Its files cannot be listed: {error.problem}."])
    if container is None:
        return None
    members = [container.members[name] for name in sorted(container.members)]
    files = [
        PackedFile(member.name, member.size, partial(_data, archive, container, member))
        for member in members
        if member.kind == "file"
    ]
    rest = {
        "link or device": sum(member.kind in ("link", "other") for member in members),
        "file with an unusable name": container.left_out_count,
    }
    notes = [f"{note[:1].upper()}{note[1:]}." for note in container.notes]
    return PackedFiles(files, [*notes, *omission_note(rest)])


def _data(archive: Callable[[], bytes], container: Container, member: Member) -> bytes:
    """The bytes of a file. Raises Unreadable."""
    if member.size > MAIL_BYTES:
        problem = f"it has {member.size:,} bytes unpacked, more than the limit of {MAIL_BYTES:,}"
        raise Unreadable(problem, "Ask the user to save the archive as a file.")
    try:
        return b"".join(container.reader.over(InMemory(archive())).pieces(member))
    except BadContainer as error:
        raise Unreadable(error.problem, "Ask the user to unpack it.") from None
