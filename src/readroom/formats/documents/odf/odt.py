"""OpenDocument texts (.odt, .ott): sections of text, from one heading of the top level to the next.

Written as Word documents are: headings by `#`, items of lists by their label, rows of
tables with ` | `, marks of notes and comments as `[^3]`, `[^e1]`, `[^c2]` with their
text at the end of the section, headers and footers once at the start.
"""

from __future__ import annotations

from collections import Counter
from typing import BinaryIO

from readroom.formats.documents import odf, running
from readroom.formats.documents.odf import text as odf_text
from readroom.formats.documents.odf.text import Walker
from readroom.formats.documents.sections import Sections


def open_document(file: BinaryIO) -> Sections:
    """The text in `file`. Raises Unreadable."""
    package = odf.open_package(file)
    walker = Walker(package)
    try:
        blocks = list(walker.blocks(package.body("text")))
        margins = odf_text.margins(package, walker)
    except RecursionError:
        raise odf_text.too_deep() from None
    beside: Counter[str] = package.beside() + walker.dropped
    return running.document(blocks, margins, walker.notes, beside)
