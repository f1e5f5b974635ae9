"""The text of a Word story (body, note, comment, header): paragraphs and tables as blocks of lines.

What is shown: inserted text, the results of fields, links with their targets, text
boxes after the paragraph that holds them, formulas as their letters.  Deleted and
hidden text is counted, not shown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from readroom.formats import links, tables
from readroom.formats.docx_lists import VAL, Lists, Styles, W
from readroom.formats.markup import Element, local
from readroom.formats.opc import R, Relation

_WP_NAMES = ("descr", "title")
MAX_DEPTH = 8
"""Deepest level of a list; programs have nine, from 0. What says to be deeper would be all indent."""

_LINE_END = re.compile(r"\r\n|[\r\n]")
"""In text a line end is a space; the ends of lines are elements."""

_OFF = ("0", "false", "off")
_HOLDERS = frozenset(
    ("sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag", "Choice", "dir", "bdo", "fldSimple")
)
"""Elements that only hold others."""

_NOTES = {"footnoteReference": "", "endnoteReference": "e", "commentReference": "c"}
"""Before the number of a mark, by the element that refers to a note."""


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph or a table.

    Attributes:
        level: Of a heading, from 1; 0 for all else.
        lines: Its text.
        table: Whether it is a table.
        marks: Notes that it refers to: `3`, `e1`, `c2`.
        dropped: How many pieces of which sort are not shown.
    """

    level: int
    lines: tuple[str, ...]
    table: bool = False
    marks: tuple[str, ...] = ()
    dropped: Counter[str] = field(default_factory=Counter)


class Story:
    """Writes one part's text; lists are counted through the whole document."""

    def __init__(self, styles: Styles, lists: Lists, relations: Mapping[str, Relation]) -> None:
        self._styles = styles
        self._lists = lists
        self._relations = relations
        self._marks: list[str] = []
        self._dropped: Counter[str] = Counter()
        self._boxes: list[str] = []

    def blocks(self, parent: Element) -> Iterator[Block]:
        """The blocks inside `parent`, in order; empty paragraphs are none."""
        for block in self._blocks(parent):
            if block.lines or self._dropped or self._marks:
                marks, dropped = tuple(self._marks), self._dropped
                self._marks, self._dropped = [], Counter()
                yield Block(block.level, block.lines, block.table, marks, dropped)

    def _blocks(self, parent: Element) -> Iterator[Block]:
        for element in parent:
            name = local(element)
            if name == "p":
                yield self._paragraph(element)
            elif name == "tbl":
                yield from self._table(element)
            elif name in _HOLDERS:
                yield from self._blocks(element)
            elif name == "AlternateContent":
                yield from self._blocks(element[:1])
            elif name in ("del", "moveFrom"):
                self._dropped["deletion"] += 1
            elif name == "altChunk":
                self._dropped["embedded document"] += 1

    def _paragraph(self, paragraph: Element) -> Block:
        properties = paragraph.find(f"{W}pPr")
        level = self._styles.heading(properties)
        listed, depth = self._styles.listed(properties)
        depth = min(depth, MAX_DEPTH)
        label = self._lists.label(listed, depth) if listed else ""
        outer, self._boxes = self._boxes, []
        text = "".join(self._inline(paragraph))
        boxes, self._boxes = self._boxes, outer
        if not text.strip():
            return Block(0, tuple(boxes))
        if level:
            title = " ".join(text.split())
            return Block(level, (f"{'#' * level} {label + ' ' if label else ''}{title}", *boxes))
        return Block(0, (*_labelled(text.rstrip(), label, depth), *boxes))

    def _table(self, table: Element) -> Iterator[Block]:
        """Its rows; those that are a line each as one block."""
        plain: list[str] = []
        for row in _held(table, "tr"):
            found = list(tables.row([self._cell(cell) for cell in _held(row, "tc")]))
            if len(found) == 1 and not found[0][0] and len(found[0][1]) == 1:
                plain += found[0][1]
                continue
            if plain:
                yield Block(0, tuple(plain), table=True)
                plain = []
            yield from (Block(level, tuple(lines)) for level, lines in found)
        if plain:
            yield Block(0, tuple(plain), table=True)

    def _cell(self, cell: Element) -> list[tuple[int, Sequence[str]]]:
        merge = cell.find(f"{W}tcPr/{W}vMerge")
        if merge is not None and merge.get(VAL) != "restart":
            return []
        return [(block.level, block.lines) for block in self._blocks(cell)]

    def _inline(self, parent: Element) -> Iterator[str]:
        for element in parent:
            name = local(element)
            if name == "r":
                yield from self._run(element)
            elif name == "hyperlink":
                yield links.shown("".join(self._inline(element)), self._target(element))
            elif name in _HOLDERS:
                yield from self._inline(element)
            elif name in ("del", "moveFrom"):
                self._dropped["deletion"] += 1
            elif name in ("oMath", "oMathPara"):
                yield _formula(element)
            elif name == "AlternateContent":
                yield from self._inline(element[:1])

    def _run(self, run: Element) -> Iterator[str]:
        hidden = run.find(f"{W}rPr/{W}vanish")
        if hidden is not None and hidden.get(VAL) not in _OFF:
            self._dropped["hidden"] += any(local(element) != "rPr" for element in run)
            return
        for element in run:
            name = local(element)
            if name == "t":
                yield " ".join(_LINE_END.split(element.text or ""))
            elif name in _CHARACTERS:
                yield _CHARACTERS[name](element)
            elif name in _NOTES:
                yield self._mark(name, element)
            elif name in ("drawing", "pict", "object"):
                yield self._drawing(element)
            elif name == "AlternateContent":
                yield "".join(self._run(element[0])) if len(element) else ""
            elif name == "ruby":
                base, above = (element.find(f"{W}{part}") for part in ("rubyBase", "rt"))
                yield "".join(self._inline(base)) if base is not None else ""
                yield f"({''.join(self._inline(above))})" if above is not None else ""

    def _mark(self, name: str, element: Element) -> str:
        mark = _NOTES[name] + element.get(f"{W}id", "")
        self._marks.append(mark)
        return f"[^{mark}]"

    def _drawing(self, drawing: Element) -> str:
        """A picture's description in the text; the text of boxes after the paragraph."""
        for box in drawing.iter(f"{W}txbxContent"):
            if next(box.iterancestors(f"{W}txbxContent"), None) is None:
                self._boxes += [line for block in self._blocks(box) for line in block.lines]
        for element in drawing.iter():
            name = local(element)
            if name in ("blip", "imagedata"):
                return links.picture(_described(drawing))
            if name in ("chart", "relIds"):
                return "[chart]" if name == "chart" else "[diagram]"
        return ""

    def _target(self, link: Element) -> str:
        relation = self._relations.get(link.get(f"{R}id", ""))
        return relation.target if relation is not None and relation.external else ""


def _held(parent: Element, name: str) -> Iterator[Element]:
    """Rows of a table or cells of a row, also inside what only holds them; deleted ones are not there."""
    for element in parent:
        if local(element) == name:
            if element.find(f"{W}trPr/{W}del") is None:
                yield element
        elif local(element) in _HOLDERS:
            yield from _held(element, name)


def _labelled(text: str, label: str, depth: int) -> list[str]:
    lines = text.split("\n")
    if not label:
        return lines
    indent = "  " * depth
    return [f"{indent}{label} {lines[0].lstrip()}", *(f"{indent}  {line}" for line in lines[1:])]


def _described(drawing: Element) -> str:
    for element in drawing.iter():
        name = local(element)
        if name == "docPr":
            said = next((element.get(key) for key in _WP_NAMES if element.get(key)), "")
        elif name == "shape":
            said = element.get("alt", "")
        else:
            continue
        if said:
            return str(said)
    return ""


def _symbol(element: Element) -> str:
    try:
        return chr(int(element.get(f"{W}char", ""), 16))
    except (ValueError, OverflowError):
        return ""


def _break(element: Element) -> str:
    return "" if element.get(f"{W}type") in ("page", "column") else "\n"


_CHARACTERS: Mapping[str, Callable[[Element], str]] = {
    "tab": lambda _: "\t",
    "ptab": lambda _: "\t",
    "br": _break,
    "cr": lambda _: "\n",
    "noBreakHyphen": lambda _: "-",
    "sym": _symbol,
}
"""Characters that are elements."""


def _formula(element: Element) -> str:
    """The letters of a formula; fractions, powers and indexes as they are typed."""
    name = local(element)
    if name == "t":
        return element.text or ""
    parts = [_formula(child) for child in element if local(child) != "rPr"]
    written = [part for part in parts if part]
    joiner = {"f": "/", "sSup": "^", "sSub": "_"}.get(name)
    if joiner is None:
        return "".join(written)
    return joiner.join(part if len(part) == 1 or part.isalnum() else f"({part})" for part in written)
