"""Office Open XML as a package: which part is which, and what a part refers to.

Only the parts that are asked for are read; pictures, films and fonts never are.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Mapping
from enum import Enum
from typing import BinaryIO
from urllib.parse import unquote

from msgspec import Struct

from readroom.formats.documents import Encrypted, Unreadable, archives, xml
from readroom.formats.documents.archives import Archive
from readroom.formats.documents.elements import Element, local
from readroom.limits.documents import OLE_SCAN_BYTES

# -----------------------------------------------------------------------------
# What an OLE file is: an encrypted document, or one of the binary formats before 2007.
#
# The names of its streams tell, in capitals or not; they stand in its directory as UTF-16.  Only that
# they occur is looked at: what is inside is for a library, or nobody, to read.
# -----------------------------------------------------------------------------

OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


class Ole(Enum):
    """What an OLE file holds, by the stream that says so, in the order in which they are looked for."""

    ENCRYPTED = "EncryptedPackage"
    SHEETS = "Workbook"
    OLD_SHEETS = "Book"
    WORD = "WordDocument"
    SLIDES = "PowerPoint Document"
    MAIL = "__properties_version1.0"


REFUSALS = {
    Ole.WORD: (
        "it is a Word document from before 2007",
        "Give it a name that ends with .doc, then it is read.",
    ),
    Ole.SLIDES: (
        "it is a presentation from before 2007",
        "Give it a name that ends with .ppt, then it is read.",
    ),
    Ole.MAIL: ("it is a message of Outlook", "Give it a name that ends with .msg, then it is read."),
}
"""What is read under another name."""

DAMAGED = ("its streams are damaged or cut short", "Ask for another copy, or for an export as text.")
UNKNOWN = ("it is a binary file of an older office program", "Ask for it in a current format, or as text.")
SHEETS = ("it is a workbook of Excel before 2007", "Give it a name that ends with .xls, then it is read.")


def is_ole(file: BinaryIO) -> bool:
    """Whether the magic bytes say so."""
    file.seek(0)
    return file.read(len(OLE_MAGIC)) == OLE_MAGIC


def kind(file: BinaryIO) -> Ole | None:
    """What the file holds, as far as its first OLE_SCAN_BYTES and its last ones tell."""
    size = file.seek(0, 2)
    file.seek(0)
    text = file.read(OLE_SCAN_BYTES)
    if size > OLE_SCAN_BYTES:
        file.seek(max(OLE_SCAN_BYTES, size - OLE_SCAN_BYTES))
        text += file.read(OLE_SCAN_BYTES)
    # Names of streams are the same in any case, says the format; some programs write BOOK.
    names = text.upper()
    return next((candidate for candidate in Ole if _entry(candidate.value.upper()) in names), None)


def refusal(actual: Ole | None, wanted: Ole | None = None) -> Unreadable:
    """Why a file that holds this is not read, and what to do; `wanted` is what should have been in it."""
    if actual is not None and actual is wanted:
        return Unreadable(*DAMAGED)
    if actual is Ole.ENCRYPTED:
        return Encrypted("it is encrypted", "Ask for a copy without a password.")
    return Unreadable(*UNKNOWN if actual is None else REFUSALS.get(actual, SHEETS))


def check_not_ole(file: BinaryIO) -> None:
    """Refuse an OLE file where a ZIP is expected.

    Raises:
        Unreadable: It is one.
    """
    if is_ole(file):
        raise refusal(kind(file))


def _entry(name: str) -> bytes:
    """A stream's name as its directory entry starts; the length that follows keeps shorter ones apart."""
    return name.encode("utf-16-le").ljust(64, b"\0") + (2 * len(name) + 2).to_bytes(2, "little")


RELATIONS = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


class Relation(Struct, frozen=True):
    """What a part refers to: the last word of the relation's type, and a member's name or a link."""

    kind: str
    target: str
    external: bool


class Package(Struct, frozen=True):
    """An opened package, and the name of its main part."""

    archive: Archive
    main: str

    def root(self, name: str) -> Element:
        """The root element of a part. Raises Unreadable."""
        return xml.parse(self.archive.read(name), name)

    def relations(self, part: str) -> Mapping[str, Relation]:
        """What `part` refers to, by id; empty when it says nothing. Raises Unreadable."""
        return _relations(self.archive, part)

    def related(self, part: str, kind: str) -> tuple[str, ...]:
        """Parts that `part` refers to as `kind` and that exist, in the order of the file."""
        relations = (relation for relation in self.relations(part).values() if relation.kind == kind)
        return tuple(at.target for at in relations if not at.external and at.target in self.archive.members)


def open_package(file: BinaryIO) -> Package:
    """The package in `file`. Raises Unreadable."""
    check_not_ole(file)
    archive = archives.open_archive(file)
    main = next(
        (relation for relation in _relations(archive, "").values() if relation.kind == "officeDocument"), None
    )
    if main is None or main.external:
        raise Unreadable("it does not say which of its parts is the document", archives.OR_MEMBERS)
    return Package(archive, main.target)


def text_of(element: Element, name: str) -> str:
    """The text of all elements with this local name inside `element`; ends of paragraphs are spaces."""
    pieces = []
    for at in element.iter():
        if local(at) == name:
            pieces.append(at.text or "")
        elif local(at) == "p" and pieces:
            pieces.append(" ")
    return "".join(pieces)


_PROPERTIES = ("core-properties", "custom-properties", "extended-properties")
_BY_PROGRAMS = frozenset(("created", "modified", "lastPrinted", "revision", "version"))
_BY_PEOPLE = frozenset(("Company", "Manager", "HyperlinkBase"))
"""Of the extended properties, which are otherwise what programs count."""


def properties(package: Package) -> Counter[str]:
    """How many properties the document was given: title, subject, keywords and others."""
    count = 0
    for relation in _relations(package.archive, "").values():
        if relation.kind not in _PROPERTIES or relation.target not in package.archive.members:
            continue
        try:
            root = package.root(relation.target)
        except Unreadable:
            continue
        filled = [local(at) for at in root if "".join(at.itertext()).strip()]
        extended = relation.kind == "extended-properties"
        count += sum(name in _BY_PEOPLE if extended else name not in _BY_PROGRAMS for name in filled)
    return Counter({"document property": count})


def _relations(archive: Archive, part: str) -> Mapping[str, Relation]:
    folder, _, name = part.rpartition("/")
    source = f"{folder}/_rels/{name}.rels".lstrip("/")
    if source not in archive.members:
        return {}
    root = xml.parse(archive.read(source), source)
    return {entry.get("Id", ""): _relation(entry, folder) for entry in root.iter(RELATIONS)}


def _relation(entry: Element, folder: str) -> Relation:
    target = entry.get("Target", "")
    external = entry.get("TargetMode") == "External"
    if not external:
        # Some writers quote names, some start at the root, and all but a few are relative.
        target = posixpath.normpath(posixpath.join("/" + folder, unquote(target.partition("#")[0]))).lstrip(
            "/"
        )
    return Relation(entry.get("Type", "").rpartition("/")[2], target, external)
