"""HTML as text: sections from one heading of the top level to the next.

Headings are marked by `#`, items of lists by `-` or their number, cells of tables
are parted by ` | `, links have their target where it is short, preformatted text
stays as it is.  What style sheets hide is not known and is shown.
"""

from __future__ import annotations

import re
from typing import BinaryIO

from readroom.formats import html_text, sections
from readroom.formats.documents import Part, Unreadable
from readroom.formats.sections import Sections
from readroom.limits import HEAD_BYTES
from readroom.limits_documents import HTML_BYTES, META_BYTES
from readroom.text import encodings

_META = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w:.-]{1,40})""", re.IGNORECASE)
_XML = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w:.-]{1,40})""")
_REALLY = {"iso-8859-1": "cp1252", "latin-1": "cp1252", "ascii": "cp1252", "us-ascii": "cp1252"}
"""What browsers read where a page says this, as the standard of encodings demands."""


def open_document(file: BinaryIO) -> Sections:
    """The page in `file`. Raises Unreadable."""
    data = file.read(HTML_BYTES + 1)
    if len(data) > HTML_BYTES:
        raise Unreadable(
            f"it is a page of more than {HTML_BYTES:,} bytes", "Read it as the text it is, without `pages`."
        )
    page, blocks = html_text.read(decoded(data))
    parts: list[Part] = []
    headings = []
    for number, span in enumerate(sections.spans([block.level for block in blocks]), 1):
        group = blocks[span.start : span.stop]
        title = group[0].lines[0].lstrip("#").strip() if group and group[0].level else ""
        lines = list(html_text.lines(group))
        headings += [sections.entry(block.level, block.lines[0], number) for block in group if block.level]
        parts.append(Part(number, title, lines))
    first = parts[0]
    if page.title and page.title not in (heading.title for heading in headings[:1]):
        first = Part(1, first.title, [f"[title: {page.title}]", *first.lines])
    parts[0] = Part(1, first.title, first.lines, notes=html_text.notes(page.dropped))
    return Sections(parts, sections.bounded(headings))


def decoded(data: bytes) -> str:
    """The characters of a page: by its mark, by what it says, or by what its bytes are."""
    found = (
        encodings.by_bom(data)
        or _said(data)
        or encodings.detect(data[:HEAD_BYTES], complete=len(data) <= HEAD_BYTES)
    )
    if found is None:
        return data.decode("utf-8", "replace")
    return encodings.decode(data, found).removeprefix("\ufeff")


def _said(data: bytes) -> encodings.Encoding | None:
    said = _META.search(data[:META_BYTES]) or _XML.search(data[:META_BYTES])
    if said is None:
        return None
    name = said[1].decode("ascii", "replace").lower()
    if name.startswith(("utf-16", "utf-32")):
        name = "utf-8"  # it could not be read as ASCII so far
    if name in ("utf-8", "utf8") and not _is_utf8(data):
        return None
    try:
        return encodings.named(_REALLY.get(name, name))
    except encodings.UnknownEncoding:
        return None


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
