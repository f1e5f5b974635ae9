"""XML in documents, by a parser that hostile XML cannot harm.

A document type is refused before the parser sees it, because it can hold entities that explode and files to
fetch; so are encodings in which it could hide.  Names of the strict variant of Office Open XML become those
of the usual one.  lxml itself refuses more than some 2,000 levels.
"""

from __future__ import annotations

import re

from lxml import etree

from readroom.core.quoting import quote
from readroom.documents.formats import Unreadable
from readroom.documents.formats.archives import ANOTHER_COPY
from readroom.documents.formats.elements import Element

_DOCTYPE = re.compile(
    b"<!DOCTYPE|<!ENTITY|" + b"|".join("<!".encode(name) for name in ("utf-16-le", "utf-16-be"))
)
"""In UTF-16 this also refuses comments, which office programs do not write there."""

_ENCODING = re.compile(rb"""^\s*<\?xml[^>]*\bencoding\s*=\s*["']([^"']*)["']""")
_PLAIN = frozenset({b"utf-8", b"utf8", b"us-ascii", b"ascii", b"iso-8859-1", b"windows-1252"})
_WIDE = (b"\xff\xfe<\0", b"\xfe\xff\0<", b"<\0?\0", b"\0<\0?")

_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)(/[\w/]*)?")
_USUAL = {
    b"wordprocessingml": b"http://schemas.openxmlformats.org/wordprocessingml/2006",
    b"presentationml": b"http://schemas.openxmlformats.org/presentationml/2006",
    b"spreadsheetml": b"http://schemas.openxmlformats.org/spreadsheetml/2006",
    b"drawingml": b"http://schemas.openxmlformats.org/drawingml/2006",
    b"officeDocument": b"http://schemas.openxmlformats.org/officeDocument/2006",
}


XML_TAGS = 1_000_000
"""Tags of a part. Each element takes some 150 bytes of memory and 5 us; 1,000 pages have about 400,000."""


def parse(data: bytes, name: str) -> Element:
    """The root element of the part `name`. Raises Unreadable."""
    check_start(data, name)
    if (tags := data.count(b"<")) > XML_TAGS:
        raise Unreadable(
            f"its part {quote(name)} has {tags:,} tags, more than the limit of {XML_TAGS:,}",
            "Ask for the document in smaller pieces, or for an export as text.",
        )
    parser = etree.XMLParser(resolve_entities=False, load_dtd=False, no_network=True, remove_pis=True,
                             remove_comments=True)  # fmt: skip
    try:
        return etree.fromstring(_STRICT.sub(_usual, data), parser)
    except (etree.XMLSyntaxError, ValueError, LookupError):
        raise Unreadable(f"its part {quote(name)} is broken XML or nested too deeply", ANOTHER_COPY) from None


XML_DECLARATION_BYTES = 200
"""Bytes that are searched for the XML declaration of a part; it comes first."""


def check_start(data: bytes, name: str) -> None:
    """Refuse XML with a document type, or in an encoding other than UTF-16 or like ASCII.

    Raises:
        Unreadable: It is such.
    """
    if _DOCTYPE.search(data):
        raise Unreadable(f"its part {quote(name)} has a document type, which no document needs", ANOTHER_COPY)
    if data.startswith(_WIDE):
        return
    start = data[:XML_DECLARATION_BYTES].removeprefix(b"\xef\xbb\xbf")
    declared = _ENCODING.match(start)
    if not start.lstrip().startswith(b"<") or (declared and declared[1].lower() not in _PLAIN):
        raise Unreadable(f"its part {quote(name)} is in an unsupported encoding", ANOTHER_COPY)


def _usual(match: re.Match[bytes]) -> bytes:
    usual = _USUAL.get(match[1])
    return match[0] if usual is None else usual + (match[2] or b"")
