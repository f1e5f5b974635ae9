"""Notebooks as text alone: the source of their cells, in order, without what running them has put out.

Knows: the JSON of notebooks.
Does not know: files and processes.
May be touched: freely.
"""

from __future__ import annotations

from typing import BinaryIO, final

from readroom.formats.documents import Area, Document, Part
from readroom.formats.documents.notebook import cells


@final
class NotebookText:
    """An opened notebook whose cells have no outputs."""

    def __init__(self, whole: cells.Notebook) -> None:
        self._whole = whole
        self.unit = whole.unit
        self.titles = whole.titles
        self.contents = whole.contents

    def part(self, number: int, area: Area | None = None) -> Part:
        """The source of the cell with this number."""
        return self._whole.source(number)


def open_document(file: BinaryIO) -> Document:
    """Open a notebook. Raises Unreadable."""
    return NotebookText(cells.open_notebook(file))
