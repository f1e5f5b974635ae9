"""Office packages written by hand: a ZIP of parts, and the XML around what a test is about."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from typing import BinaryIO

from readroom.documents.formats import Document, Unreadable

DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
RELATION_TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/"

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


def relations(*entries: tuple[str, str, str], external: tuple[str, ...] = ()) -> str:
    """A part of relations: id, kind and target of each; external ones are named by their id."""
    inside = "".join(
        f'<Relationship Id="{identity}" Type="{RELATION_TYPES}{kind}" Target="{target}"'
        + (' TargetMode="External"/>' if identity in external else "/>")
        for identity, kind, target in entries
    )
    return f'{DECLARATION}<Relationships xmlns="{PACKAGE}relationships">{inside}</Relationships>'


def word(body: str, parts: Mapping[str, str] | None = None, links: str = "") -> io.BytesIO:
    """A Word document with this body; `parts` by file name without `.xml`, `links` as relation entries."""
    given = parts or {}
    entries = [(f"p{at}", name.rstrip("0123456789"), f"{name}.xml") for at, name in enumerate(given)]
    related = relations(*entries).replace("</Relationships>", f"{links}</Relationships>")
    document = f"<w:document {NAMESPACES}><w:body>{body}</w:body></w:document>"
    return zipped(
        {
            "[Content_Types].xml": f'{DECLARATION}<Types xmlns="{PACKAGE}content-types"/>',
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


def survives(opener: Callable[[BinaryIO], Document], data: bytes) -> Unreadable | None:
    """Open and read all of it: None when that works, and no other exception than Unreadable."""
    try:
        document = opener(io.BytesIO(data))
        for number in range(1, len(document.titles) + 1):
            document.part(number)
    except Unreadable as problem:
        return problem
    return None
