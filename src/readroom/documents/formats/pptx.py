"""PowerPoint presentations (.pptx, .pptm, .ppsx, .potx and the like): a part for each slide, with notes.

The title comes first, then every shape in the order of the slide, which is also that of screen readers. A
slide is read on request. The XML is walked here instead of with python-pptx, which loads and parses
a whole package with its videos and opens neither shows nor templates; the tests compare with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import BinaryIO

from msgspec import Struct, field

from readroom.documents.formats import (
    Area,
    Document,
    Heading,
    Part,
    Unit,
    Unreadable,
    macros,
    omission_note,
    ooxml,
    sections,
    symbols,
    tables,
    told,
)
from readroom.documents.formats import compound as compounds
from readroom.documents.formats.archives import ANOTHER_COPY
from readroom.documents.formats.elements import Element, local
from readroom.documents.formats.formulas import formula
from readroom.documents.formats.ooxml import Package, R, Relation

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"

TITLES = frozenset(("title", "ctrTitle"))
LISTED = frozenset(("", "body", "obj", "subTitle"))
"""Placeholders whose paragraphs are the items of a list unless they say otherwise."""

NOT_SHOWN = frozenset(("sldNum", "sldImg"))
LAYOUTS = ("slideLayout", "slideMaster", "notesMaster", "handoutMaster")
MAX_DEPTH = 8
"""Levels of a list that are indented; programs have nine."""


def open_document(file: BinaryIO) -> Document:
    """The presentation in `file`. Raises Unreadable."""
    if compounds.is_ole(file):
        return compounds.opened(file)
    package = ooxml.open_package(file)
    related = package.relations(package.main)
    listed = package.root(package.main).iter(f"{P}sldId")
    members = [_target(related.get(entry.get(f"{R}id", ""))) for entry in listed]
    sections.check_slides(len(members))
    return Slides(package, members)


class Slides(Struct, frozen=True, dict=True):
    """An opened presentation and the members of its slides; empty for a missing one."""

    package: Package
    members: Sequence[str]
    unit: Unit = Unit.SLIDE
    _titles: dict[str, str] = field(default_factory=dict)

    @property
    def titles(self) -> Sequence[str]:
        """The title of each slide; empty where it has none or cannot be read."""
        for member in self.members:
            if member not in self._titles:
                self._titles[member] = self._title(member)
        return [self._titles[member] for member in self.members]

    @property
    def contents(self) -> Sequence[Heading]:
        """The slides that have a title."""
        return sections.titled(self.titles)

    def part(self, number: int, area: Area | None = None) -> Part:
        """The slide with this number. Raises Unreadable."""
        member = self.members[sections.checked(number, len(self.members), self.unit, area) - 1]
        try:
            return self._part(number, member)
        except RecursionError:
            raise Unreadable("its shapes are nested too deeply", ANOTHER_COPY) from None

    def _part(self, number: int, member: str) -> Part:
        root = self.package.root(member)
        slide = _Slide(self.package, member)
        shapes = list(slide.shapes(root))
        title = next((shape for shape in shapes if shape.is_title and shape.lines), None)
        words = "" if title is None else " ".join(" ".join(title.lines).split())
        lines = [f"# {words}"] if title else []
        lines += [line for shape in shapes if shape is not title for line in shape.lines]
        spoken = [line for part in self.package.related(member, "notesSlide") for line in self._notes(part)]
        comments = [
            line for part in self.package.related(member, "comments") for line in self._comments(part)
        ]
        lines += sections.remarks(spoken, comments)
        notes = [sections.HIDDEN_SLIDE] if root.get("show") in ("0", "false") else []
        if number == 1:
            slide.dropped.update(self._beside())
        notes += [*omission_note(slide.dropped), *self.package.unread()]
        return Part(number, words, lines, notes=notes)

    def _comments(self, member: str) -> Iterator[str]:
        """Comments of the old and of the new kind, with their authors."""
        root = self.package.beside(member)
        for comment in () if root is None else root.iter():
            if local(comment) not in ("cm", "reply"):
                continue
            author = self._authors.get(comment.get("authorId", ""), "")
            own = [at for at in comment if local(at) in ("text", "txBody")]
            words = " ".join(" ".join((at.text or "") + " " + ooxml.text_of(at, "t") for at in own).split())
            yield f"{author}: {words}" if author else words

    @cached_property
    def _authors(self) -> Mapping[str, str]:
        authors = {}
        for kind in ("commentAuthors", "authors"):
            for part in self.package.related(self.package.main, kind):
                root = self.package.beside(part)
                for at in () if root is None else root.iter():
                    authors[at.get("id", "")] = at.get("name", "")
        return authors

    def _beside(self) -> Counter[str]:
        """Counts of hidden content outside of slides."""
        counts = ooxml.properties(self.package)
        for name in self.package.archive.members:
            kind = name.removeprefix("ppt/").partition("s/")[0]
            if kind in LAYOUTS and name.endswith(".xml") and "/_rels/" not in name:
                counts["text of layouts and masters"] += self._standing(name)
        main = self.package.root(self.package.main)
        counts["section name"] = sum(local(at) == "section" for at in main.iter())
        return counts + ooxml.beside_of(self.package, {ooxml.MACROS: macros.KIND})

    def _standing(self, member: str) -> int:
        """Texts of a layout that are not places for those of slides."""
        try:
            root = self.package.root(member)
        except Unreadable:
            return 0
        return sum(
            shape.kind is None and bool(shape.lines) for shape in _Slide(self.package, "").shapes(root)
        )

    def _notes(self, member: str) -> Iterator[str]:
        root = self.package.beside(member)
        for shape in () if root is None else _Slide(self.package, member).shapes(root):
            yield from (line.removeprefix("- ") for line in shape.lines)

    def _title(self, member: str) -> str:
        try:
            shapes = _Slide(self.package, "").shapes(self.package.root(member))
            title = next((shape for shape in shapes if shape.is_title and shape.lines), None)
        except (Unreadable, RecursionError):
            return ""  # reported when the slide itself is requested
        return "" if title is None else " ".join(" ".join(title.lines).split())


class _Shape(Struct, frozen=True):
    """The text of a shape; `kind` is that of its placeholder, None if it is not one."""

    kind: str | None
    lines: Sequence[str]

    @property
    def is_title(self) -> bool:
        return self.kind in TITLES


class _Slide:
    """Reads the shapes of a slide or of its notes."""

    def __init__(self, package: Package, member: str) -> None:
        """`member` is the part whose relations count; empty for none."""
        self._package = package
        self._member = member
        self._relations = package.relations(member) if member else {}
        self.dropped: Counter[str] = Counter()

    def shapes(self, root: Element) -> Iterator[_Shape]:
        tree = root.find(f"{P}cSld/{P}spTree")
        if tree is not None:
            yield from self._within(tree)

    def _within(self, parent: Element) -> Iterator[_Shape]:
        for element in parent:
            name = local(element)
            if _is_hidden(element):
                words = " ".join(at.text or "" for at in element.iter(f"{A}t"))
                self.dropped[told("hidden shape", words)] += 1
                continue
            self._count(element, name)
            if name in ("sp", "cxnSp"):
                yield self._shape(element)
            elif name == "contentPart":
                self.dropped["drawing by hand"] += 1
            elif name == "grpSp":
                yield from self._within(element)
            elif name == "AlternateContent":
                yield from self._within(element[0] if len(element) else element)
            elif name == "graphicFrame":
                yield _Shape(None, list(self._frame(element)))
            elif name == "pic":
                about = element.find(f"{P}nvPicPr/{P}cNvPr")
                descriptions = () if about is None else (about.get("descr", ""), about.get("title", ""))
                yield _Shape(
                    None,
                    [sections.picture("; ".join(words for words in dict.fromkeys(descriptions) if words))],
                )

    def _count(self, element: Element, name: str) -> None:
        """Count content of a shape other than text."""
        about = element.find("*/{*}cNvPr")
        if about is None:
            return
        if name != "pic" and (about.get("descr") or about.get("title")):
            words = "; ".join(filter(None, (about.get("title"), about.get("descr"))))
            self.dropped[told("alternative text", words)] += 1
        for link in about.iter(f"{A}hlinkClick", f"{A}hlinkHover"):
            relation = self._relations.get(link.get(f"{R}id", ""))
            target = relation.target if relation is not None and relation.external else ""
            self.dropped[told("link target", target)] += bool(target)
        media = element.find("*/{*}nvPr")
        if media is not None:
            self.dropped["film or sound"] += any(local(at).endswith("File") for at in media)

    def _shape(self, shape: Element) -> _Shape:
        placeholder = shape.find(f"{P}nvSpPr/{P}nvPr/{P}ph")
        kind = None if placeholder is None else placeholder.get("type", "")
        body = shape.find(f"{P}txBody")
        if body is None or kind in NOT_SHOWN:
            return _Shape(kind, ())
        return _Shape(kind, list(self._lines(body, kind in LISTED)))

    def _frame(self, frame: Element) -> Iterator[str]:
        table = next(frame.iter(f"{A}tbl"), None)
        if table is not None:
            for row in table.findall(f"{A}tr"):
                for _, lines in tables.row([self._cell(cell) for cell in row.findall(f"{A}tc")]):
                    yield from lines
            return
        for element in frame.iter():
            name = local(element)
            if name == "chart":
                yield from ooxml.drawing_lines(
                    self._package, self._member, element.get(f"{R}id", ""), "chart"
                )
            elif name == "relIds":
                yield from ooxml.drawing_lines(
                    self._package, self._member, element.get(f"{R}dm", ""), "diagram"
                )
            elif name == "oleObj":
                relation = self._relations.get(element.get(f"{R}id", ""))
                self.dropped[ooxml.told_embedded(self._package, relation)] += 1
                return

    def _cell(self, cell: Element) -> list[tuple[int, Sequence[str]]]:
        body = cell.find(f"{A}txBody")
        return [] if body is None else [(0, list(self._lines(body, listed=False)))]

    def _lines(self, body: Element, listed: bool) -> Iterator[str]:
        for paragraph in body.findall(f"{A}p"):
            text = "".join(self._inline(paragraph)).rstrip()
            if not text.strip():
                continue
            properties = paragraph.find(f"{A}pPr")
            level = _level(properties)
            label = "- " if _is_item(properties, listed or level > 0) else ""
            first, *others = text.split("\n")
            yield f"{'  ' * level}{label}{first}"
            yield from (f"{'  ' * level}{'  ' if label else ''}{line}" for line in others)

    def _inline(self, paragraph: Element) -> Iterator[str]:
        for element in paragraph:
            name = local(element)
            if name == "br":
                yield "\n"
            elif name in ("r", "fld"):
                text = element.find(f"{A}t")
                words = "" if text is None else " ".join((text.text or "").replace("\r", "\n").split("\n"))
                words = _signs(element, words)
                link = element.find(f"{A}rPr/{A}hlinkClick")
                relation = None if link is None else self._relations.get(link.get(f"{R}id", ""))
                target = relation.target if relation is not None and relation.external else ""
                self.dropped[told("link target", target)] += sections.is_lost(words, target)
                yield sections.link(words.replace("\v", "\n"), target)
            elif name in ("AlternateContent", "m"):
                roots = [element] if name == "m" else element[:1]  # the second form is for old programs
                yield "".join(formula(at) for root in roots for at in root.iter() if local(at) == "oMath")


def _is_hidden(shape: Element) -> bool:
    """Whether a shape is not shown; titles are hidden for the eye alone, and name their slides."""
    about = shape.find("*/{*}cNvPr")
    if about is None or about.get("hidden") not in ("1", "true"):
        return False
    placeholder = shape.find("*/{*}nvPr/{*}ph")
    return placeholder is None or placeholder.get("type", "") not in TITLES


def _signs(run: Element, words: str) -> str:
    """The words of a run, decoded if the font has signs; such a font has private characters only."""
    for name, shown in (("latin", symbols.shown), ("sym", symbols.private)):
        font = run.find(f"{A}rPr/{A}{name}")
        if font is not None and symbols.known(font.get("typeface", "")):
            words = shown(font.get("typeface", ""), words)
    return words


def _target(relation: Relation | None) -> str:
    return relation.target if relation is not None and not relation.external else "a slide"


def _level(properties: Element | None) -> int:
    level = "" if properties is None else properties.get("lvl", "")
    return min(int(level), MAX_DEPTH) if level.isascii() and level.isdecimal() and len(level) < 3 else 0


def _is_item(properties: Element | None, usual: bool) -> bool:
    if properties is None:
        return usual
    if properties.find(f"{A}buNone") is not None:
        return False
    return usual or any(
        properties.find(f"{A}{name}") is not None for name in ("buChar", "buAutoNum", "buBlip")
    )
