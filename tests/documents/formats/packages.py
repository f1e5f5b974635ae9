"""Office packages written by hand: a ZIP of parts, and the XML around what a test is about."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO

from readroom.documents.formats import Document, Unreadable

DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
RELATION_TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/"
MANIFEST = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"

_OFFICE = "application/vnd.openxmlformats-officedocument."
_MAIN_TYPES = {
    "word": "wordprocessingml.document.main+xml",
    "xl": "spreadsheetml.sheet.main+xml",
    "ppt": "presentationml.presentation.main+xml",
}
_FAMILIES = {"word": "wordprocessingml", "xl": "spreadsheetml", "ppt": "presentationml"}
_OTHER_TYPES = {
    "chart": "drawingml.chart+xml",
    "diagramData": "drawingml.diagramData+xml",
    "drawing": "drawing+xml",
    "glossaryDocument": "wordprocessingml.document.glossary+xml",
}

NAMESPACES = " ".join(
    f'xmlns:{prefix}="{uri}"'
    for prefix, uri in {
        "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "r": "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
        "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
        "p": "http://schemas.openxmlformats.org/presentationml/2006/main",
        "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
        "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
        "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
        "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
        "v": "urn:schemas-microsoft-com:vml",
    }.items()
)


def zipped(members: Mapping[str, str | bytes], compression: int = zipfile.ZIP_DEFLATED) -> io.BytesIO:
    """An archive of these members, in this order."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file


def package(
    members: Mapping[str, str | bytes], compression: int = zipfile.ZIP_DEFLATED, kinds: str = ""
) -> io.BytesIO:
    """An Office package: its members, after the list of what each is, which follows from its relations.

    `kinds` are further entries of that list.
    """
    defaults = "".join(
        f'<Default Extension="{ending}" ContentType="{kind}"/>'
        for ending, kind in (
            ("rels", "application/vnd.openxmlformats-package.relationships+xml"),
            ("xml", "application/xml"),
            ("bin", "application/octet-stream"),
        )
    )
    found = {part: _type_of(part, kind) for part, kind in _related(members) if part in members}
    known = "".join(
        f'<Override PartName="/{part}" ContentType="{kind}"/>' for part, kind in found.items() if kind
    )
    types = f'{DECLARATION}<Types xmlns="{PACKAGE}content-types">{defaults}{known}{kinds}</Types>'
    return zipped({"[Content_Types].xml": types, **members}, compression)


def _related(members: Mapping[str, str | bytes]) -> Iterator[tuple[str, str]]:
    """The parts that relations lead to, each with the last word of its kind."""
    for name, data in members.items():
        if not name.endswith(".rels"):
            continue
        folder = posixpath.dirname(posixpath.dirname(name))
        text = data if isinstance(data, str) else data.decode()
        for entry in re.findall("<Relationship [^>]*>", text):
            given = dict(re.findall('(Type|Target)="([^"]*)"', entry))
            target = posixpath.normpath(posixpath.join("/", folder, given.get("Target", "")))
            yield target.strip("/"), given.get("Type", "").rpartition("/")[2]


def _type_of(part: str, kind: str) -> str:
    """What a part is by the relation to it; "" is only XML."""
    family = part.partition("/")[0]
    if kind == "core-properties":
        return "application/vnd.openxmlformats-package.core-properties+xml"
    if kind == "officeDocument" and family in _MAIN_TYPES:
        return _OFFICE + _MAIN_TYPES[family]
    if kind in _OTHER_TYPES:
        return _OFFICE + _OTHER_TYPES[kind]
    if family in _FAMILIES and part.endswith(".xml"):
        return f"{_OFFICE}{_FAMILIES[family]}.{kind}+xml"
    return ""


def open_document(
    kind: str, members: Mapping[str, str | bytes], compression: int = zipfile.ZIP_DEFLATED
) -> io.BytesIO:
    """An OpenDocument package of that kind (`text`): its kind first and not compressed, its manifest last."""
    media = f"application/vnd.oasis.opendocument.{kind}"
    entries = "".join(
        f'<manifest:file-entry manifest:full-path="{name}" manifest:media-type="{form}"/>'
        for name, form in (("/", media), *((name, "text/xml") for name in members))
    )
    manifest = f'<manifest:manifest xmlns:manifest="{MANIFEST}">{entries}</manifest:manifest>'
    file = zipped({"mimetype": media}, zipfile.ZIP_STORED)
    with zipfile.ZipFile(file, "a", compression) as archive:
        for name, data in {**members, "META-INF/manifest.xml": manifest}.items():
            archive.writestr(name, data)
    return file


def relations(*entries: tuple[str, str, str], external: tuple[str, ...] = ()) -> str:
    """A part of relations: id, kind and target of each; external ones are named by their id."""
    inside = "".join(
        f'<Relationship Id="{identity}" Type="{_relation_type(kind)}" Target="{target}"'
        + (' TargetMode="External"/>' if identity in external else "/>")
        for identity, kind, target in entries
    )
    return f'{DECLARATION}<Relationships xmlns="{PACKAGE}relationships">{inside}</Relationships>'


def _relation_type(kind: str) -> str:
    if kind == "core-properties":
        return f"{PACKAGE}relationships/metadata/{kind}"
    return RELATION_TYPES + kind


def word(body: str, parts: Mapping[str, str] | None = None, links: str = "") -> io.BytesIO:
    """A Word document with this body; `parts` by file name without `.xml`, `links` as relation entries."""
    given = parts or {}
    entries = [(f"p{at}", name.rstrip("0123456789"), f"{name}.xml") for at, name in enumerate(given)]
    related = relations(*entries).replace("</Relationships>", f"{links}</Relationships>")
    document = f"<w:document {NAMESPACES}><w:body>{body}</w:body></w:document>"
    return package(
        {
            "_rels/.rels": relations(("r1", "officeDocument", "word/document.xml")),
            "word/document.xml": DECLARATION + document,
            "word/_rels/document.xml.rels": related,
            **{f"word/{name}.xml": f"{DECLARATION}{xml}" for name, xml in given.items()},
        }
    )


def paragraph(text: str, properties: str = "") -> str:
    """A paragraph of one run."""
    return f'<w:p><w:pPr>{properties}</w:pPr><w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


def text_of(document: Document) -> list[str]:
    """The lines of all parts."""
    return [line for number in range(1, len(document.titles) + 1) for line in document.part(number).lines]


def refused(opener: Callable[[BinaryIO], Document], file: BinaryIO) -> Unreadable:
    """Why a document cannot be opened."""
    try:
        opener(file)
    except Unreadable as problem:
        return problem
    raise AssertionError("it was opened")


def is_refused_or_says(opener: Callable[[BinaryIO], Document], data: bytes) -> bool:
    """Whether a file that is cut is refused, or its first part says that it was recovered."""
    try:
        part = opener(io.BytesIO(data)).part(1)
    except Unreadable:
        return True
    return any("recovered, unproven" in note for note in part.notes)


def survives(opener: Callable[[BinaryIO], Document], data: bytes) -> Unreadable | None:
    """Open and read all of it: None when that works, and no other exception than Unreadable."""
    try:
        document = opener(io.BytesIO(data))
        for number in range(1, len(document.titles) + 1):
            document.part(number)
    except Unreadable as problem:
        return problem
    return None
