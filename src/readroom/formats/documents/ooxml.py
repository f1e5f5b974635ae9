"""Office Open XML as a package: which part is which, and what a part refers to.

Only the parts that are asked for are read; pictures, films and fonts never are.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Mapping
from typing import BinaryIO
from urllib.parse import unquote

from msgspec import Struct

from readroom.formats.documents import Unreadable, archives, xml
from readroom.formats.documents.archives import Archive
from readroom.formats.documents.compound import check_not_ole
from readroom.formats.documents.elements import Element, local

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
