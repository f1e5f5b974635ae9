"""Word documents (.docx, .docm, .dotx, .dotm), also in strict form, as sections of text.

A part is a section between headings of the top level (`sections`). Headings begin with `#`, list items with
their label, and cells of a row are separated by ` | `. Notes and comments are marked `[^3]`, `[^e1]`,
`[^c2]`, with their text at the end of the section. Headers and footers come once, in brackets, at the start
of the first section.

Shown are paragraphs and tables, inserted text, results of fields, links with their targets, text boxes after
the paragraph that holds them, and formulas as text. Deleted and hidden text is counted, not shown.

The XML is walked here instead of with python-docx, which loads and parses every part of a package, pictures
too, and does not know notes, text boxes or tracked changes. The tests compare with it.

Knows: the XML of Word.
Does not know: files and processes.
May be touched: freely.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import BinaryIO, TypeVar

from msgspec.structs import replace

from readroom.documents.formats import Document, Unreadable, macros, ooxml, sections, symbols, tables, told
from readroom.documents.formats import compound as compounds
from readroom.documents.formats.archives import ANOTHER_COPY
from readroom.documents.formats.docx import lists as docx_lists
from readroom.documents.formats.docx.lists import OFF, VAL, Lists, Styles, W
from readroom.documents.formats.elements import Element, local
from readroom.documents.formats.formulas import formula
from readroom.documents.formats.ooxml import Package, R, Relation
from readroom.documents.formats.sections import Block, Sections

_WP_NAMES = ("descr", "title")
MAX_DEPTH = 8
"""Deepest level of a list; programs have nine, from 0. A deeper one would be all indent."""

_AGAIN = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_DRAWN_TEXT = "{http://schemas.openxmlformats.org/drawingml/2006/main}t"

_CODE = re.compile(r"[0-9A-Fa-f]{1,5}")
_LINE_END = re.compile(r"\r\n|[\r\n]")
"""In text a line end is a space; the ends of lines are elements."""

_HOLDERS = frozenset(
    ("sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag", "Choice", "dir", "bdo", "fldSimple")
)
"""Elements that only hold others."""

_NOTES = {"footnoteReference": "", "endnoteReference": "e", "commentReference": "c"}
"""Before the number of a mark, by the element that refers to a note."""


_T = TypeVar("_T", str, Block)


class Story:
    """Writes one part's text; lists are counted through the whole document."""

    def __init__(
        self,
        styles: Styles,
        lists: Lists,
        relations: Mapping[str, Relation],
        graphic: Callable[[str, str], list[str]],
        embedded: Callable[[Relation | None], str],
    ) -> None:
        """`graphic` gives the lines of a chart or diagram by the id of its relation, and its kind.

        `embedded` gives the name under which an embedded object is counted.
        """
        self._graphic = graphic
        self._embedded = embedded
        self._styles = styles
        self._lists = lists
        self._relations = relations
        self._marks: list[str] = []
        self._dropped: Counter[str] = Counter()
        self._boxes: list[str] = []
        self._box: str | None = None
        self._about: Element | None = None
        self._tables: list[Element] = []
        """The properties of the tables around the paragraph that is read."""
        self.texts = 0
        """Elements of text that were shown or counted so far."""

    def blocks(self, parent: Element) -> Iterator[Block]:
        """The blocks inside `parent`, in order; empty paragraphs are left out."""
        for block in chain(self._blocks(parent), [Block(0, ())]):  # for the text after the last one
            if block.lines or self._dropped or self._marks:
                marks, dropped = tuple(self._marks), self._dropped
                self._marks, self._dropped = [], Counter()
                yield replace(block, marks=marks, dropped=dropped)

    def _blocks(self, parent: Element) -> Iterator[Block]:
        for element in parent:
            name = local(element)
            if name == "p":
                yield self._paragraph(element)
            elif name == "tbl":
                yield from self._table(element)
            elif name in _HOLDERS:
                yield from self._checked(element, self._blocks(element))
            elif name == "AlternateContent":
                yield from self._blocks(element[:1])
            elif name in ("del", "moveFrom"):
                self._drop("tracked deletion", element)
            elif name == "altChunk":
                self._dropped["embedded document"] += 1
            elif name in ("oMath", "oMathPara"):
                yield Block(0, (formula(element),))
            elif name == "sdtPr":
                self._control(element)

    def _paragraph(self, paragraph: Element) -> Block:
        properties = paragraph.find(f"{W}pPr")
        level = self._styles.heading(properties)
        listed, depth = self._styles.listed(properties)
        depth = min(depth, MAX_DEPTH)
        label = self._lists.label(listed, depth) if listed else ""
        outer, around = self._boxes, self._about
        self._boxes, self._about = [], properties
        text = "".join(self._inline(paragraph))
        boxes, self._boxes, self._about = self._boxes, outer, around
        if not text.strip():
            return Block(0, tuple(boxes))
        if level:
            return Block(level, (*sections.heading(level, label, text), *boxes))
        return Block(0, (*sections.item(text.rstrip(), label, depth), *boxes))

    def _table(self, table: Element) -> Iterator[Block]:
        """Its rows; those that are a line each as one block."""
        about = table.find(f"{W}tblPr")
        if about is not None and any(local(at) in ("tblCaption", "tblDescription") for at in about):
            said = (at.get(VAL, "") for at in about if local(at) in ("tblCaption", "tblDescription"))
            self._dropped[told("alternative text", "; ".join(said))] += 1
        cells = ([self._cell(cell) for cell in self._held(row, "tc")] for row in self._held(table, "tr"))
        rows = (list(tables.row(row)) for row in cells)
        self._tables += [] if about is None else [about]
        for (level, lines), is_table in tables.merged(rows):
            yield Block(level, tuple(lines), table=is_table)
        if about is not None:
            self._tables.pop()

    def _cell(self, cell: Element) -> list[tuple[int, Sequence[str]]]:
        merge = cell.find(f"{W}tcPr/{W}vMerge")
        if merge is not None and merge.get(VAL) != "restart":
            self.texts += _texts(cell)
            return []
        return [(block.level, block.lines) for block in self._blocks(cell)]

    def _held(self, parent: Element, name: str) -> Iterator[Element]:
        """Rows of a table or cells of a row, also inside wrappers; without deleted ones."""
        for element in parent:
            if local(element) == name:
                if element.find(f"{W}trPr/{W}del") is None:
                    yield element
                else:
                    self._drop("tracked deletion", element)
            elif local(element) in _HOLDERS:
                yield from self._held(element, name)

    def _inline(self, parent: Element) -> Iterator[str]:
        for element in parent:
            name = local(element)
            if name == "r":
                yield from self._run(element)
            elif name == "hyperlink":
                words, target = "".join(self._inline(element)), self._target(element)
                self._dropped[told("link target", target)] += sections.is_lost(words, target)
                yield sections.link(words, target)
            elif name in _HOLDERS:
                yield from self._checked(element, self._inline(element))
            elif name in ("del", "moveFrom"):
                self._drop("tracked deletion", element)
            elif name == "sdtPr":
                self._control(element)
            elif name in ("oMath", "oMathPara"):
                yield formula(element)
            elif name == "AlternateContent":
                yield from self._inline(element[:1])

    def _run(self, run: Element) -> Iterator[str]:
        if self._styles.hides(run.find(f"{W}rPr"), self._about, self._tables):
            if any(local(element) != "rPr" for element in run):
                self._drop("hidden text", run)
            return
        font = self._styles.font(run.find(f"{W}rPr"), self._about)
        for element in run:
            name = local(element)
            if self._box is not None and name in ("t", "sym"):
                self.texts += bool((element.text or "").strip())
                yield self._box
                self._box = ""
            elif name == "t":
                self.texts += bool((element.text or "").strip())
                text = " ".join(_LINE_END.split(element.text or ""))
                yield symbols.shown(font, text) if font else text
            elif name in _CHARACTERS:
                yield _CHARACTERS[name](element)
            elif name == "instrText":
                self._dropped[told("field code", element.text or "")] += bool((element.text or "").strip())
            elif name == "fldChar":
                yield self._field(element)
            elif name in _NOTES:
                yield self._mark(name, element)
            elif name in ("drawing", "pict", "object"):
                yield self._drawing(element)
            elif name == "AlternateContent":
                yield "".join(self._run(element[0])) if len(element) else ""
            elif name == "del":
                self._drop("tracked deletion", element)
            elif name == "ruby":
                base, above = (element.find(f"{W}{part}") for part in ("rubyBase", "rt"))
                yield "".join(self._inline(base)) if base is not None else ""
                yield f"({''.join(self._inline(above))})" if above is not None else ""

    def _checked(self, holder: Element, inside: Iterator[_T]) -> Iterator[_T]:
        """The content of a holder; for a checkbox its state in place of its sign."""
        tick = _tick(holder) if local(holder) == "sdt" else None
        outer, self._box = self._box, tick if tick is not None else self._box
        yield from inside
        if tick is not None:
            self._box = outer

    def _drop(self, kind: str, element: Element) -> None:
        """Count omitted content, and mark its text as known."""
        self._dropped[told(kind, " ".join(element.itertext()))] += 1
        self.texts += _texts(element)

    def _control(self, properties: Element) -> None:
        """Count the choices of a content control; the chosen one is its text."""
        items = [element for element in properties.iter() if local(element) == "listItem"]
        words = "; ".join(item.get(f"{W}displayText", "") or item.get(f"{W}value", "") for item in items)
        self._dropped[told("unselected choice", words)] += max(0, len(items) - 1)

    def _field(self, mark: Element) -> str:
        """The state of an old form field: typed text is in the document, a choice is not."""
        for box in mark.iter(f"{W}checkBox"):
            checked = box.find(f"{W}checked")
            state = checked if checked is not None else box.find(f"{W}default")
            return "[x]" if state is not None and state.get(VAL) not in OFF else "[ ]"
        for box in mark.iter(f"{W}ddList"):
            entries = [entry.get(VAL, "") for entry in box.findall(f"{W}listEntry")]
            chosen = box.find(f"{W}result")
            index = chosen.get(VAL, "0") if chosen is not None else "0"
            at = int(index) if index.isascii() and index.isdecimal() and len(index) < 6 else 0
            self._dropped[told("unselected choice", "; ".join(entries))] += max(0, len(entries) - 1)
            return entries[at] if at < len(entries) else ""
        return ""

    def _mark(self, name: str, element: Element) -> str:
        mark = _NOTES[name] + element.get(f"{W}id", "")
        self._marks.append(mark)
        return f"[^{mark}]"

    def _drawing(self, drawing: Element) -> str:
        """A picture's description in the text; the text of boxes after the paragraph."""
        for box in drawing.iter(f"{W}txbxContent"):
            if next(box.iterancestors(f"{W}txbxContent"), None) is None:
                self._boxes += [line for block in self._blocks(box) for line in block.lines]
        words = _described(drawing)
        written: list[str] = []
        for element in drawing.iter():
            name = local(element)
            if name in ("blip", "imagedata") and not written:
                written.append(sections.picture(words))
            elif name == "chart" or name == "relIds":
                key, kind = ("id", "chart") if name == "chart" else ("dm", "diagram")
                self._boxes += self._graphic(element.get(f"{R}{key}", ""), kind)
            elif name == "OLEObject":
                relation = self._relations.get(element.get(f"{R}id", ""))
                self._dropped[self._embedded(relation)] += 1
            elif name == "textpath":
                self._boxes.append(element.get("string", ""))
            elif element.tag == _DRAWN_TEXT and (element.text or "").strip():
                self.texts += 1
                self._boxes.append(" ".join((element.text or "").split()))
        return "".join(written) or (f"[drawing: {words}]" if words else "")

    def _target(self, link: Element) -> str:
        relation = self._relations.get(link.get(f"{R}id", ""))
        return relation.target if relation is not None and relation.external else ""


def _described(drawing: Element) -> str:
    """The descriptions of a drawing and of its pieces, each once."""
    said: dict[str, None] = {}
    for element in drawing.iter():
        name = local(element)
        keys = _WP_NAMES if name in ("docPr", "cNvPr") else ("alt", "title") if name == "shape" else ()
        said.update(dict.fromkeys(" ".join(element.get(key, "").split()) for key in keys))
    return "; ".join(words for words in said if words)


def _texts(element: Element) -> int:
    """Text elements inside another, without the copies for old programs."""

    def filled(holder: Element) -> int:
        return sum(bool((at.text or "").strip()) for at in holder.iter(f"{W}t", _DRAWN_TEXT))

    return filled(element) - sum(map(filled, element.iter(_AGAIN)))


def unknown_texts(root: Element, story: Story) -> int:
    """Elements of text in `root` that the story, which has read all of it, does not know."""
    return max(0, _texts(root) - story.texts)


def _symbol(element: Element) -> str:
    code = element.get(f"{W}char", "")
    if not _CODE.fullmatch(code):
        return ""
    return symbols.sign(element.get(f"{W}font", ""), int(code, 16))


def _tick(control: Element) -> str | None:
    """The state of a content control that is a checkbox, whatever sign it shows."""
    for box in control.findall(f"{W}sdtPr/*"):
        if local(box) == "checkbox":
            states = [next(iter(at.attrib.values()), "1") for at in box if local(at) == "checked"]
            return "[x]" if states and states[0] not in OFF else "[ ]"
    return None


_CHARACTERS: Mapping[str, Callable[[Element], str]] = {
    "tab": lambda _: "\t",
    "ptab": lambda _: "\t",
    **dict.fromkeys(("br", "cr"), lambda _: "\n"),
    "noBreakHyphen": lambda _: "-",
    "sym": _symbol,
}
"""Characters that are elements."""


STORIES = (("footnotes", "", "footnote"), ("endnotes", "e", "endnote"), ("comments", "c", "comment"))
"""Parts with notes: their relation, the prefix of their numbers, and the element of a note."""

RELATED = {
    "glossaryDocument": "part of building blocks",
    ooxml.MACROS: macros.KIND,
    "subDocument": "linked document",
    "aFChunk": "embedded document",
    "attachedToolbars": "toolbar",
}
"""Parts that are not read, and their names."""

_SEPARATORS = ("separator", "continuationSeparator", "continuationNotice")


def open_document(file: BinaryIO) -> Document:
    """The document in `file`. Raises Unreadable."""
    if compounds.is_ole(file):
        return compounds.opened(file)
    package = ooxml.open_package(file)
    try:
        return _DocxReader(package).document()
    except RecursionError:
        raise Unreadable("its parts are nested too deeply", ANOTHER_COPY) from None


class _DocxReader:
    """Reads the parts of one package that hold text."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._styles = docx_lists.styles(self._one("styles"))
        self._lists = docx_lists.lists(self._one("numbering"))
        self._beside: Counter[str] = Counter()

    def document(self) -> Sections:
        main = self._package.main
        bodies = self._package.root(main).findall(f"{W}body")  # one, but a file with several is not lost
        if not bodies:
            raise Unreadable("it has no Word text part", ANOTHER_COPY)
        story = self._story(main)
        blocks = [block for body in bodies for block in story.blocks(body)]
        unknown = sum(unknown_texts(body, story) for body in bodies[:1]) if len(bodies) == 1 else 0
        marginal = [*self._marginal("header"), *self._marginal("footer")]
        referred = {mark for block in blocks for mark in block.marks}
        notes = self._notes(referred)
        self._beside["text in an unknown place"] += unknown
        marks = (at.get(f"{W}name", "_") for body in bodies for at in body.iter(f"{W}bookmarkStart"))
        self._beside.update(told("bookmark", name) for name in marks if not name.startswith("_"))
        self._beside += ooxml.beside_of(self._package, RELATED)
        self._beside += ooxml.properties(self._package)
        document = sections.document(blocks, marginal, notes, self._beside)
        first, *others = document.parts
        first = replace(first, notes=[*first.notes, *self._package.unread()])
        return replace(document, parts=[first, *others])

    def _notes(self, wanted: set[str]) -> Mapping[str, Sequence[str]]:
        """The text of foot- and endnotes and comments, by their marks; notes of notes with them."""
        notes: dict[str, Sequence[str]] = {}
        for kind, prefix, tag in STORIES:
            for part in self._package.related(self._package.main, kind):
                story = self._story(part)
                root = self._package.beside(part)
                for element in () if root is None else root.iter(f"{W}{tag}"):
                    mark = prefix + element.get(f"{W}id", "")
                    if mark not in wanted:
                        self._beside["note without a place"] += element.get(f"{W}type") not in _SEPARATORS
                        continue
                    blocks = list(story.blocks(element))
                    wanted |= {mark for block in blocks for mark in block.marks}
                    lines = [line.strip() for block in blocks for line in block.lines]
                    author = element.get(f"{W}author", "")
                    notes[mark] = [f"{author}: {lines[0] if lines else ''}", *lines[1:]] if author else lines
                    self._count(blocks)
        return notes

    def _count(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            self._beside += block.dropped

    def _marginal(self, kind: str) -> Iterator[Sequence[str]]:
        """The headers, or the footers."""
        for part in self._package.related(self._package.main, kind):
            root = self._package.beside(part)
            blocks = [] if root is None else list(self._story(part).blocks(root))
            self._count(blocks)
            lines = [line.strip() for block in blocks for line in block.lines if line.strip()]
            yield sections.margin(kind, lines)

    def _story(self, part: str) -> Story:
        def graphic(relation: str, kind: str) -> list[str]:
            return ooxml.drawing_lines(self._package, part, relation, kind)

        embedded = partial(ooxml.told_embedded, self._package)
        return Story(self._styles, self._lists, self._package.relations(part), graphic, embedded)

    def _one(self, kind: str) -> Element | None:
        part = next(iter(self._package.related(self._package.main, kind)), None)
        return None if part is None else self._package.beside(part)
