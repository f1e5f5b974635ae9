"""OpenDocument text: paragraphs, lists, tables and drawings as blocks of lines.

Unknown elements are walked through, so that their text is shown; known ones that are not shown (tracked
deletions, hidden text, controls, macros) are counted.

A text (.odt, .ott) is divided and written like a Word document: headings with `#`, list items with their
label, cells with ` | `, notes and comments as `[^3]`, `[^e1]`, `[^c2]` with their text at the end of the
section, headers and footers once at the start.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.paths import BORDER
from readroom.documents.formats import Unreadable, odf, sections, symbols, tables, told
from readroom.documents.formats.archives import ANOTHER_COPY
from readroom.documents.formats.elements import Element, local
from readroom.documents.formats.formulas import formula
from readroom.documents.formats.odf import DRAW, OFFICE, STYLE, TABLE, TEXT, XLINK, OdfPackage
from readroom.documents.formats.sections import Block, Sections

MAX_DEPTH = 8
"""Levels of a list that are indented."""

_ID = "{http://www.w3.org/XML/1998/namespace}id"

_SPACES = re.compile("[ \t\r\n]+")
_ROWS = frozenset(("table-header-rows", "table-rows", "table-row-group"))
_INDEX_MARKS = (
    "toc-mark", "toc-mark-start", "alphabetical-index-mark", "alphabetical-index-mark-start",
    "user-index-mark", "user-index-mark-start",
)  # fmt: skip
_SILENT = frozenset(
    ("soft-page-break", "annotation-end", "sequence-decls", "variable-decls", "user-field-decls",
     "dde-connection-decls", "alphabetical-index-auto-mark-file", "number", "bookmark-end", "title", "desc",
     "glue-point", "enhanced-geometry", "image-map", "thumbnail", "page-thumbnail", "scripts")
)  # fmt: skip
"""Elements without text of their own."""

_COUNTED = {
    "bookmark": "bookmark",
    "bookmark-start": "bookmark",
    "event-listener": "macro",
    "script": "macro",
    "execute-macro": "macro",
    "control": "form control",
    "object-ole": "embedded object",
    "plugin": "film or sound",
    "applet": "embedded object",
    "floating-frame": "frame",
    **dict.fromkeys(_INDEX_MARKS, "index mark"),
}
"""Elements that are counted, and their names."""

_SHAPES = frozenset(
    ("frame", "g", "custom-shape", "rect", "line", "polyline", "polygon", "regular-polygon", "path", "circle",
     "ellipse", "connector", "caption", "measure", "scene", "control", "a", "page-thumbnail")
)  # fmt: skip


class _ListItem(Struct):
    """The item of a list that is being written: its first paragraph takes the label."""

    label: str
    depth: int


REPEATED_ROWS = 200
"""Maximum repetitions that are written of a row or cell of a table in an OpenDocument text."""

REPEATED_SPACES = 1_000
"""Maximum spaces for one element of OpenDocument."""


class Walker:
    """Writes the text of one document; lists, notes and headings are counted through all of it."""

    def __init__(self, package: OdfPackage) -> None:
        self._package = package
        self._lists = odf.lists(package)
        self._hidden = odf.hidden_styles(package)
        self._fonts = odf.symbol_fonts(package)
        self._keys: dict[str, str] = {}
        self._items: list[_ListItem] = []
        self._marks: list[str] = []
        self._boxes: list[str] = []
        self.dropped: Counter[str] = Counter()
        self.notes: dict[str, list[str]] = {}

    def blocks(self, parent: Element) -> Iterator[Block]:
        """The blocks inside `parent`, in order; empty paragraphs are left out."""
        for block in chain(self._blocks(parent), [Block(0, ())]):  # for the text after the last one
            if block.lines or self._marks or self.dropped:
                marks, dropped = tuple(self._marks), self.dropped
                self._marks, self.dropped = [], Counter()
                yield replace(block, marks=marks, dropped=dropped)

    def lines(self, parent: Element) -> list[str]:
        """The lines of the blocks inside `parent`."""
        return [line for block in self._blocks(parent) for line in block.lines]

    def shape(self, shape: Element) -> list[str]:
        """The lines that a drawn element is written as."""
        outer, self._boxes = self._boxes, []
        words = self._drawing(shape)
        lines, self._boxes = [*([words] if words else []), *self._boxes], outer
        return lines

    # --- paragraphs, lists, tables ---------------------------------------------------------------

    def _blocks(self, parent: Element) -> Iterator[Block]:
        for element in parent:
            name = local(element)
            if name in ("p", "h") and element.tag.startswith(TEXT):
                yield self._paragraph(element, name == "h")
            elif name == "list":
                yield from self._list(element)
            elif name == "table":
                yield from self._table(element)
            elif name == "tracked-changes":
                for deletion in element.iter(f"{TEXT}deletion"):
                    self.dropped[told("tracked deletion", _written(deletion))] += 1
            elif name == "section" and element.get(f"{TEXT}display") in ("none", "condition"):
                self.dropped[told("hidden section", _written(element))] += 1
            elif name == "forms":
                self.dropped["form"] += sum(local(at) == "form" for at in element)
            elif name == "annotation":
                self._comment(element)
            elif element.tag.startswith(DRAW) and name in _SHAPES:
                yield Block(0, tuple(self.shape(element)))
            elif name in _COUNTED:
                self.dropped[_COUNTED[name]] += 1
            elif name and name not in _SILENT and not name.endswith("-source"):
                yield from self._blocks(element)

    def _paragraph(self, element: Element, is_heading: bool) -> Block:
        outer, self._boxes = self._boxes, []
        if element.get(f"{TEXT}style-name") in self._hidden:
            self.dropped[told("hidden text", _written(element))] += 1
            text = ""
        else:
            text = "".join(self._inline(element)).strip(" ")
        boxes, self._boxes = tuple(self._boxes), outer
        if not text.strip():
            return Block(0, boxes)
        item = self._items[-1] if self._items else None
        label, depth = ("", 0) if item is None else (item.label, min(item.depth, MAX_DEPTH))
        if is_heading:
            level = min(max(1, odf.number(element, f"{TEXT}outline-level")), MAX_DEPTH + 1)
            if item is None and element.get(f"{TEXT}is-list-header") != "true":
                label = self._lists.heading(level, _start(element))
            elif item is not None:
                item.label = ""
            return Block(level, (*sections.heading(level, label, text), *boxes))
        if item is not None:
            item.label = ""
        if item is not None and not label:
            lines = tuple("  " * (depth + 1) + line for line in text.split("\n"))
        else:
            lines = sections.item(text, label, depth)
        return Block(0, (*lines, *boxes))

    def _list(self, element: Element) -> Iterator[Block]:
        """A list and the lists in it; one that continues another counts on."""
        style = element.get(f"{TEXT}style-name", "")
        continued = self._keys.get(element.get(f"{TEXT}continue-list", ""))
        if continued is None and element.get(f"{TEXT}continue-numbering") == "true":
            continued = self._keys.get(f"style {style}")
        key = continued or f"list {len(self._keys)}"
        self._keys[f"style {style}"] = key
        self._keys[element.get(_ID) or key] = key
        yield from self._items_of(element, key, style, 1)

    def _items_of(self, element: Element, key: str, style: str, level: int) -> Iterator[Block]:
        style = element.get(f"{TEXT}style-name", style)
        for entry in element:
            name = local(entry)
            if name not in ("list-item", "list-header"):
                continue
            nested = len(entry) > 0 and all(local(at) == "list" for at in entry)
            start = _start(entry)
            labelled = name == "list-item" and not nested
            label = self._lists.label(key, style, level, start) if labelled else ""
            self._items.append(_ListItem(label, level - 1))
            for child in entry:
                if local(child) == "list":
                    yield from self._items_of(child, key, style, level + 1)
                else:
                    yield from self._blocks([child])
            self._items.pop()

    def _table(self, table: Element) -> Iterator[Block]:
        """Its rows; those that are a line each as one block."""
        words = "; ".join(at.text or "" for at in table if local(at) in ("title", "desc")).strip("; ")
        self.dropped[told("alternative text", words)] += bool(words)
        outer, self._items = self._items, []
        for (level, lines), is_table in tables.merged(self._written_rows(table)):
            yield Block(level, tuple(lines), table=is_table)
        self._items = outer

    def _written_rows(self, table: Element) -> Iterator[Sequence[tables.Block]]:
        for row in self._rows(table):
            blocks = list(tables.row(list(self._cells(row))))
            times = odf.number(row, f"{TABLE}number-rows-repeated")
            if blocks and times > REPEATED_ROWS:
                self.dropped["repeated row"] += times - REPEATED_ROWS
            yield from (blocks for _ in range(min(times, REPEATED_ROWS) if blocks else 0))

    def _rows(self, parent: Element) -> Iterator[Element]:
        for element in parent:
            name = local(element)
            if name == "table-row":
                yield element
            elif name in _ROWS:
                yield from self._rows(element)

    def _cells(self, row: Element) -> Iterator[tables.Cell]:
        width = 0
        for cell in row:
            name = local(cell)
            if name == "covered-table-cell":
                self.dropped["covered cell"] += bool("".join(cell.itertext()).strip())
            if name not in ("table-cell", "covered-table-cell"):
                continue
            cell_lines = []
            if name == "table-cell":
                cell_lines = [(block.level, block.lines) for block in self._blocks(cell) if block.lines]
            times = odf.number(cell, f"{TABLE}number-columns-repeated")
            for _ in range(min(times, max(1, REPEATED_ROWS - width))):
                width += 1
                yield cell_lines

    # --- inside paragraphs -------------------------------------------------------------------------

    def _inline(self, parent: Element) -> Iterator[str]:
        yield _SPACES.sub(" ", parent.text or "")
        for element in parent:
            yield from self._piece(element, local(element))
            yield _SPACES.sub(" ", element.tail or "")

    def _piece(self, element: Element, name: str) -> Iterator[str]:
        if name == "s":
            yield " " * min(odf.number(element, f"{TEXT}c"), REPEATED_SPACES)
        elif name in ("tab", "line-break"):
            yield "\t" if name == "tab" else "\n"
        elif name == "note":
            yield self._note(element)
        elif name == "annotation":
            yield self._comment(element)
        elif name == "a" and element.tag.startswith(TEXT):
            words, target = "".join(self._inline(element)), element.get(f"{XLINK}href", "")
            self.dropped[told("link target", target)] += sections.is_lost(words, target)
            yield sections.link(words, target)
        elif name in ("hidden-text", "hidden-paragraph"):
            self.dropped[told("hidden text", _written(element))] += 1
        elif element.get(f"{TEXT}style-name") in self._hidden or element.get(f"{TEXT}display") == "none":
            words = _written(element)
            self.dropped[told("hidden text", words)] += bool(words)
        elif name == "span" and (font := self._fonts.get(element.get(f"{TEXT}style-name", ""))):
            yield symbols.shown(font, "".join(self._inline(element)))
        elif name == "ruby":
            base, above = element.find(f"{TEXT}ruby-base"), element.find(f"{TEXT}ruby-text")
            yield "" if base is None else "".join(self._inline(base))
            yield "" if above is None else f" ({''.join(self._inline(above))})"
        elif element.tag.startswith(DRAW) and name in _SHAPES:
            yield self._drawing(element)
        elif name in _COUNTED:
            self.dropped[_COUNTED[name]] += 1
            yield from self._inline(element)
        elif name and name not in _SILENT:
            if name == "drop-down":
                choices = sum(local(at) == "label" for at in element)
                words = "; ".join(at.get(f"{TEXT}value", "") for at in element if local(at) == "label")
                self.dropped[told("unselected choice", words)] += max(0, choices - 1)
            yield from self._inline(element)

    def _note(self, element: Element) -> str:
        prefix = "e" if element.get(f"{TEXT}note-class") == "endnote" else ""
        mark = f"{prefix}{1 + sum(known.startswith('e') == bool(prefix) for known in self._numbered())}"
        self.notes[mark] = []
        body = element.find(f"{TEXT}note-body")
        if body is not None:
            outer, self._items = self._items, []
            self.notes[mark] = [line.strip() for line in self.lines(body)]
            self._items = outer
        self._marks.append(mark)
        return f"[^{mark}]"

    def _numbered(self) -> list[str]:
        return [mark for mark in self.notes if not mark.startswith("c")]

    def _comment(self, element: Element) -> str:
        mark = f"c{1 + sum(known.startswith('c') for known in self.notes)}"
        self.notes[mark] = []
        self._marks.append(mark)
        self.notes[mark] = self.comment(element)
        return f"[^{mark}]"

    def comment(self, element: Element) -> list[str]:
        """The lines of a comment, after its author."""
        author = "".join(at.text or "" for at in element if local(at) == "creator")
        outer, self._items = self._items, []
        texts = [at for at in element if at.tag.startswith(TEXT)]
        lines = [line for block in self._blocks(texts) for line in block.lines]
        self._items = outer
        return sections.comment(" ".join(author.split()), lines)

    # --- drawings ----------------------------------------------------------------------------------

    def _drawing(self, element: Element) -> str:
        """A picture's description in its place; text of boxes and shapes goes to `_boxes`."""
        name = local(element)
        if name == "a":
            target = element.get(f"{XLINK}href", "").strip()
            self.dropped[told("link target", target)] += bool(target)
        if name in ("g", "a", "scene"):
            self._drop_description(element)
            return "".join(self._drawing(at) for at in element if local(at) in _SHAPES)
        if name == "control":
            self.dropped["form control"] += 1
            return ""
        if name == "frame":
            return self._frame(element)
        outer, self._items = self._items, []
        lines = self.lines(element)
        self._items = outer
        self._boxes += lines
        words = _described(element)
        return f"[drawing: {words}]" if words else ""

    def _frame(self, frame: Element) -> str:
        kinds = [local(at) for at in frame]
        words = _described(frame)
        outer, self._items = self._items, []
        for child, kind in zip(frame, kinds, strict=True):
            if kind in ("text-box", "table"):
                self._boxes += [line for block in self._blocks([child]) for line in block.lines]
            elif kind in _COUNTED:
                self.dropped[_COUNTED[kind]] += 1
            elif kind == "object":
                self._boxes += self._object(child)
        self._items = outer
        if "image" in kinds and not {"object", "object-ole", "plugin", "applet", "table"} & set(kinds):
            return sections.picture(words)
        return f"[drawing: {words}]" if words else ""

    def _drop_description(self, element: Element) -> None:
        words = _described(element)
        self.dropped[told("alternative text", words)] += bool(words)

    def _object(self, element: Element) -> list[str]:
        """The words of a chart, the letters of a formula; others are counted."""
        target = posixpath.normpath(element.get(f"{XLINK}href", "") or "-")
        root = self._package.part(f"{target}/content.xml") if not len(element) else element[0]
        if root is not None and local(root) == "math":
            return [formula(root)]
        chart = None if root is None else next(root.iter(f"{OFFICE}chart"), None)
        if chart is None:
            self.dropped[told("embedded object", f"{BORDER}/{target}" if root is None else "")] += 1
            return []
        texts = (" ".join("".join(at.itertext()).split()) for at in chart.iter(f"{TEXT}p"))
        return sections.drawing("chart", [text for text in texts if text])


def _written(element: Element) -> str:
    return " ".join(" ".join(element.itertext()).split())


def margins(package: OdfPackage, walker: Walker) -> Iterator[Sequence[str]]:
    """The headers and footers of the printed pages."""
    for master in () if package.styles is None else package.styles.iter(f"{STYLE}master-page"):
        for element in master:
            kind = local(element).partition("-")[0]
            if kind in ("header", "footer") and element.get(f"{STYLE}display") != "false":
                lines = [line.strip() for line in walker.lines(element) if line.strip()]
                yield sections.margin(kind, lines)


def too_deep() -> Unreadable:
    """The refusal of a document whose elements are nested without end."""
    return Unreadable("its parts are nested too deeply", ANOTHER_COPY)


def _start(element: Element) -> int | None:
    for name in ("start-value", "restart-numbering"):
        value = element.get(f"{TEXT}{name}")
        if value == "true":
            return 1
        if value is not None and value.isascii() and value.isdecimal() and len(value) < 7:
            return int(value)
    return None


def _described(element: Element) -> str:
    said = (" ".join((at.text or "").split()) for at in element if local(at) in ("title", "desc"))
    return "; ".join(dict.fromkeys(words for words in said if words))


def open_document(file: BinaryIO) -> Sections:
    """The text in `file`. Raises Unreadable."""
    package = odf.open_package(file)
    walker = Walker(package)
    try:
        blocks = list(walker.blocks(package.body("text")))
        beside_text = list(margins(package, walker))
    except RecursionError:
        raise too_deep() from None
    beside: Counter[str] = package.beside() + walker.dropped
    return sections.document(blocks, beside_text, walker.notes, beside)
