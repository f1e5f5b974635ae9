"""Archives read in place: their members, and the bytes of each, piece by piece.

What a directory says is a claim. Names that lead out of the archive are left out and counted; of two members
with one name the listing says which one counts, if any; and what cannot be read says why, while the rest can
be. A new format is a module here and a row in `open_container`.

Knows: ZIP (with .jar and .whl), tar, 7z and ar (with .deb).
Does not know: paths of a workspace, policy, or where bytes are: an archive is read by range.
May be touched: with the hostile archives of the tests; a new format gets a builder there.
"""

from __future__ import annotations

from collections.abc import Callable

from readroom.core.values import Bytes
from readroom.documents.containers.members import Container

HEAD_BYTES = 512
"""Enough leading bytes of a file to detect an archive."""


_BEFORE_ZIP = (b"MZ", b"\x7fELF", b"#!", b"Cr24")
"""Magic bytes of programs, and of their signatures, that a ZIP may follow."""


def recognise(head: bytes) -> str | None:
    """The form of the archive that begins with these bytes; None when they begin none."""
    if head.startswith((b"PK\3\4", b"PK\5\6", b"PK\7\x08")):  # the last where it was to be cut in parts
        return "zip"
    if head.startswith(b"7z\xbc\xaf\x27\x1c"):
        return "7z"
    if head.startswith(b"!<arch>\n"):
        return "ar"
    if head[257:262] == b"ustar" or _is_old_tar(head):
        return "tar"
    return None


def form_of(file: Bytes) -> str | None:
    """The archive form of a file, self-extracting programs included; None for other files."""
    head = file.read_at(0, HEAD_BYTES)
    form = recognise(head)
    if form is None and head.startswith(_BEFORE_ZIP):
        from readroom.documents.containers import zips

        return "zip" if zips.is_behind(file) else None
    return form


def open_container(file: Bytes, check: Callable[[], object]) -> Container | None:
    """The archive in `file`, not expanded; None if it is no archive.

    `check` is called while members are looked for, and raises what ends that.

    Raises:
        BadContainer: It is damaged, or its directory is too much.
    """
    form = form_of(file)
    if form == "zip":
        from readroom.documents.containers import zips

        return zips.open_zip(file, check)
    if form == "7z":
        from readroom.documents.containers import seven

        return seven.open_seven(file)
    if form == "ar":
        from readroom.documents.containers import ars

        return ars.open_ar(file, check)
    if form == "tar":
        from readroom.documents.containers import tars

        return tars.open_tar(file, check)
    return None


def _is_old_tar(head: bytes) -> bool:
    """Whether this is the header of a tar without a magic number, by its checksum."""
    if len(head) < HEAD_BYTES or not head[0]:
        return False
    stored = head[148:156].strip(b" \0")
    if not stored or stored.strip(b"01234567"):
        return False
    return int(stored, 8) == sum(head) - sum(head[148:156]) + 8 * 32
