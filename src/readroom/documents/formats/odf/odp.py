"""OpenDocument presentations and drawings (.odp, .otp, .odg): a part for each slide, with its notes.

The title comes first, then every shape in the order of the file, then speaker notes and comments. A slide is
written when it is asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import BinaryIO

from msgspec import Struct

from readroom.documents.formats import Area, Heading, Part, Unit, odf, omission_note, sections
from readroom.documents.formats.elements import Element, local
from readroom.documents.formats.odf import DRAW, OFFICE, PRESENTATION, STYLE, TEXT, OdfPackage
from readroom.documents.formats.odf import text as odf_text
from readroom.documents.formats.odf.text import Walker

_NOT_SHAPES = frozenset(("notes", "annotation", "forms", "layer-set", "animations", "title", "desc"))
_COMMENTS = (f"{OFFICE}annotation", "{http://openoffice.org/2009/office}annotation")
"""Elements of comments on slides; LibreOffice writes the second, which the format does not have."""

_STANDING = ("header", "footer", "date-time")


def open_document(file: BinaryIO) -> OdfSlides:
    """The presentation in `file`. Raises Unreadable."""
    package = odf.open_package(file)
    body = package.body("presentation", "drawing")
    pages = [element for element in body if local(element) == "page"]
    sections.check_slides(len(pages))
    unit = Unit.SLIDE if local(body) == "presentation" else Unit.PAGE
    return OdfSlides(package, body, pages, unit)


class OdfSlides(Struct, frozen=True, dict=True):
    """An opened presentation."""

    package: OdfPackage
    body: Element
    pages: Sequence[Element]
    unit: Unit

    @cached_property
    def titles(self) -> Sequence[str]:
        """The title of each slide; empty where it has none."""
        return [self._title(page) for page in self.pages]

    @property
    def contents(self) -> Sequence[Heading]:
        """The slides that have a title."""
        return sections.titled(self.titles)

    def part(self, number: int, area: Area | None = None) -> Part:
        """The slide with this number. Raises Unreadable."""
        page = self.pages[sections.checked(number, len(self.pages), self.unit, area) - 1]
        try:
            return self._part(number, page)
        except RecursionError:
            raise odf_text.too_deep() from None

    def _part(self, number: int, page: Element) -> Part:
        walker = Walker(self.package)
        shapes = [shape for shape in page if local(shape) not in _NOT_SHAPES]
        title = next((shape for shape in shapes if _is_title(shape) and _words(shape)), None)
        words = "" if title is None else " ".join(walker.shape(title)).strip()
        lines = [f"# {' '.join(words.split())}"] if words else []
        lines += [line for shape in shapes if shape is not title for line in walker.shape(shape)]
        standing = self._standing(number, page)
        lines += [line for kind, text in standing for line in sections.margin(kind, [text])]
        comments = [line for at in page.iter(*_COMMENTS) for line in walker.comment(at)]
        lines += sections.remarks(list(_notes(page, walker)), comments)
        lines += [line for mark in walker.notes if not mark.startswith("c") for line in walker.notes[mark]]
        dropped = walker.dropped
        dropped["form"] += sum(1 for at in page if local(at) == "forms" for _ in at)
        hidden = page.get(f"{DRAW}style-name") in self._hidden
        if number == 1:
            dropped.update(self.package.beside() + self._layouts())
        notes = [sections.HIDDEN_SLIDE] if hidden else []
        notes += omission_note({kind: count for kind, count in sorted(dropped.items()) if count})
        return Part(number, self.titles[number - 1], lines, notes=notes)

    def _title(self, page: Element) -> str:
        titles = (_words(shape) for shape in page if _is_title(shape))
        return next((words for words in titles if words), "")

    def _standing(self, number: int, page: Element) -> Iterator[tuple[str, str]]:
        """Text that is on every slide, for the first one that shows it."""
        for kind in _STANDING:
            name = page.get(f"{PRESENTATION}use-{kind}-name")
            before = (at.get(f"{PRESENTATION}use-{kind}-name") for at in self.pages[: number - 1])
            if name is None or name in before:
                continue
            for element in self.body.iter(f"{PRESENTATION}{kind}-decl"):
                if element.get(f"{PRESENTATION}name") == name and (text := (element.text or "").strip()):
                    yield kind.partition("-")[0], " ".join(text.split())

    @cached_property
    def _hidden(self) -> frozenset[str]:
        """The styles of slides that are not shown."""
        return frozenset(
            style.get(f"{STYLE}name", "")
            for style in self.package.content.iter(f"{STYLE}style")
            if any(at.get(f"{PRESENTATION}visibility") == "hidden" for at in style)
        )

    def _layouts(self) -> Counter[str]:
        """Texts of master pages that are not places for those of slides."""
        if self.package.styles is None:
            return Counter()
        masters = self.package.styles.iter(f"{STYLE}master-page")
        shapes = (shape for master in masters for shape in master if local(shape) not in _NOT_SHAPES)
        own = (at for at in shapes if at.get(f"{PRESENTATION}class") is None)
        return Counter({"text of layouts and masters": sum(bool(_words(shape)) for shape in own)})


def _is_title(shape: Element) -> bool:
    return bool(shape.get(f"{PRESENTATION}class") == "title")


def _words(shape: Element) -> str:
    texts = (" ".join("".join(at.itertext()).split()) for at in shape.iter(f"{TEXT}p", f"{TEXT}h"))
    return " ".join(text for text in texts if text)


def _notes(page: Element, walker: Walker) -> Iterator[str]:
    for notes in page:
        if local(notes) == "notes":
            for shape in notes:
                is_number = shape.get(f"{PRESENTATION}class") == "page-number"
                yield from () if is_number or local(shape) in _NOT_SHAPES else walker.shape(shape)
