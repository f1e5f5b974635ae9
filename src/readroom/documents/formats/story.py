"""A story (body, note, header) as blocks, from the marks at the ends of its paragraphs, cells and rows.

RTF and the binary Word format mark where tables end, but not where they begin.
"""

from __future__ import annotations

from collections import Counter

from msgspec import Struct, field

from readroom.documents.formats import sections, tables
from readroom.documents.formats.sections import Block

MAX_DEPTH = 8
"""Levels of a list that are indented."""

MAX_TABLES = 6
"""Nested tables; cells of deeper ones go to the deepest."""

_SYMBOLS = frozenset("·•◦▪●○■□–—*o-\uf0b7\uf0a7\uf0d8\uf0fc\uf0a8\uf076")


class Paragraph(Struct, frozen=True):
    """The style of a paragraph, and its place in lists and tables."""

    style: int = 0
    outline: int | None = None
    in_table: bool = False
    table_depth: int = 1
    list_depth: int = 0

    @property
    def table(self) -> int:
        """How many tables it is in."""
        return min(max(1, self.table_depth), MAX_TABLES) if self.in_table else 0


class FlowStory(Struct):
    """Text that is being read. Tables are counted from the outermost, 1."""

    blocks: list[Block] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    label: str = ""
    boxes: list[str] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    _cell: dict[int, list[Block]] = field(default_factory=dict)
    _cells: dict[int, list[tables.Cell]] = field(default_factory=dict)
    _rows: list[str] = field(default_factory=list)

    def end_paragraph(self, paragraph: Paragraph, level: int) -> None:
        """A paragraph is over; `level` is that of the heading that it is, 0 for all else."""
        text = sound("".join(self.text)).strip(" ")
        boxes, label = tuple(self.boxes), self.label
        self.text, self.boxes, self.label = [], [], ""
        lines = boxes
        if text.strip():
            if level:
                lines = (*sections.heading(level, label, text), *boxes)
            else:
                depth = min(paragraph.list_depth, MAX_DEPTH) if label else 0
                lines = (*sections.item(text.rstrip(), label, depth), *boxes)
        block = Block(level if text.strip() else 0, lines)
        if paragraph.table:
            self._cell.setdefault(paragraph.table, []).append(block)
            return
        self.end_rows()
        self._add(block)

    def end_cell(self, depth: int) -> None:
        """A cell is over, whose last paragraph has ended."""
        depth = min(max(1, depth), MAX_TABLES)
        blocks = [block for block in self._cell.pop(depth, []) if block.lines]
        self._cells.setdefault(depth, []).append([(block.level, block.lines) for block in blocks])

    def end_row(self, depth: int) -> None:
        """A row is over."""
        depth = min(max(1, depth), MAX_TABLES)
        for deeper in range(MAX_TABLES, depth, -1):
            if deeper in self._cells or deeper in self._cell:
                self.end_row(deeper)
        if depth in self._cell:
            self.end_cell(depth)
        row_lines = list(tables.row(self._cells.pop(depth, [])))
        if depth > 1:
            self._cell.setdefault(depth - 1, []).extend(
                Block(level, tuple(lines)) for level, lines in row_lines
            )
        elif len(row_lines) == 1 and not row_lines[0][0] and len(row_lines[0][1]) == 1:
            self._rows += row_lines[0][1]
        else:
            self._end_table()
            for level, lines in row_lines:
                self._add(Block(level, tuple(lines)))

    def end_rows(self) -> None:
        """No table is open any more; cells without an end of their row are a row."""
        for depth in range(MAX_TABLES, 0, -1):
            if depth in self._cells or depth in self._cell:
                self.end_row(depth)
        self._end_table()

    def end(self, paragraph: Paragraph, level: int) -> None:
        """The story is over."""
        self.end_paragraph(paragraph, level)
        self.end_rows()
        if self.dropped or self.marks:
            self._add(Block(0, ()))

    def lines(self) -> list[str]:
        """All lines that are not empty."""
        return [line for block in self.blocks for line in block.lines if line.strip()]

    def _end_table(self) -> None:
        if self._rows:
            rows, self._rows = tuple(self._rows), []
            self._add(Block(0, rows, table=True))

    def _add(self, block: Block) -> None:
        if not (block.lines or self.marks or self.dropped):
            return
        marks, dropped = tuple(self.marks), self.dropped
        self.marks, self.dropped = [], Counter()
        self.blocks.append(Block(block.level, block.lines, block.table, marks, dropped))


def sound(text: str) -> str:
    """Text with pairs of surrogates as one character, and lone ones as U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def label(text: str) -> str:
    """The label of an item of a list, whose symbols are `-`."""
    words = " ".join(text.split())
    return "-" if words in _SYMBOLS or (len(words) == 1 and not words.isalnum()) else words
