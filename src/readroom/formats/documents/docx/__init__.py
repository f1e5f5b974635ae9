"""Word documents (.docx, .docm, .dotx, .dotm), also of the strict variant: sections of text.

A part is a section from one heading of the top level to the next (`sections`).
Headings are marked by `#`, list items by their label, rows of tables have their
cells parted by ` | `; marks of foot- and endnotes and of comments stand as `[^3]`,
`[^e1]`, `[^c2]`, their text at the end of the section.  Headers and footers stand
once, in brackets, at the start of the first section.

The XML is walked here instead of with python-docx, which loads and parses every
part of a package, pictures too, and knows neither notes nor text boxes nor tracked
changes.  The tests compare with it.

Knows: the XML of Word.
Does not know: files and processes.
May be touched: freely.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO

from readroom.formats.documents import Unreadable, drawings, ooxml, running
from readroom.formats.documents.archives import ANOTHER_COPY
from readroom.formats.documents.docx import lists as docx_lists
from readroom.formats.documents.docx.lists import W
from readroom.formats.documents.docx.text import Story, unknown_texts
from readroom.formats.documents.ooxml import Package
from readroom.formats.documents.running import Block
from readroom.formats.documents.sections import Sections
from readroom.formats.documents.xml import Element

STORIES = (("footnotes", "", "footnote"), ("endnotes", "e", "endnote"), ("comments", "c", "comment"))
"""Parts of notes: their relation, what stands before their numbers, and the element of each note."""

RELATED = {
    "glossaryDocument": "part of building blocks",
    "vbaProject": "macro project",
    "subDocument": "linked document",
    "aFChunk": "embedded document",
    "attachedToolbars": "toolbar",
}
"""Parts of a document that are not read, and what they are called."""

_SEPARATORS = ("separator", "continuationSeparator", "continuationNotice")


def open_document(file: BinaryIO) -> Sections:
    """The document in `file`. Raises Unreadable."""
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
            raise Unreadable("it has no text part of a Word document", ANOTHER_COPY)
        story = self._story(main)
        blocks = [block for body in bodies for block in story.blocks(body)]
        unknown = sum(unknown_texts(body, story) for body in bodies[:1]) if len(bodies) == 1 else 0
        marginal = [*self._marginal("header"), *self._marginal("footer")]
        referred = {mark for block in blocks for mark in block.marks}
        notes = self._notes(referred)
        self._beside["text in a place that is not known"] += unknown
        marks = (at.get(f"{W}name", "_") for body in bodies for at in body.iter(f"{W}bookmarkStart"))
        self._beside["bookmark"] += sum(not name.startswith("_") for name in marks)
        for relation in self._package.relations(main).values():
            self._beside[RELATED.get(relation.kind, "")] += relation.kind in RELATED
        self._beside += ooxml.properties(self._package)
        return running.document(blocks, marginal, notes, self._beside)

    def _notes(self, wanted: set[str]) -> Mapping[str, Sequence[str]]:
        """The text of foot- and endnotes and comments, by their marks; notes of notes with them."""
        notes: dict[str, Sequence[str]] = {}
        for kind, prefix, tag in STORIES:
            for part in self._package.related(self._package.main, kind):
                story = self._story(part)
                for element in self._package.root(part).iter(f"{W}{tag}"):
                    mark = prefix + element.get(f"{W}id", "")
                    if mark not in wanted:
                        self._beside["note without a place"] += element.get(f"{W}type") not in _SEPARATORS
                        continue
                    blocks = list(story.blocks(element))
                    wanted |= {mark for block in blocks for mark in block.marks}
                    lines = [line.strip() for block in blocks for line in block.lines]
                    author = element.get(f"{W}author", "")
                    if author:
                        lines = [f"{author}: {lines[0] if lines else ''}", *lines[1:]]
                    notes[mark] = lines
                    self._count(blocks)
        return notes

    def _count(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            self._beside += block.dropped

    def _marginal(self, kind: str) -> Iterator[str]:
        """Each different header or footer once."""
        texts: dict[str, None] = {}
        for part in self._package.related(self._package.main, kind):
            blocks = list(self._story(part).blocks(self._package.root(part)))
            self._count(blocks)
            lines = [line.strip() for block in blocks for line in block.lines if line.strip()]
            if lines:
                texts["\n".join(running.margin(kind, lines))] = None
        yield from (line for text in texts for line in text.split("\n"))

    def _story(self, part: str) -> Story:
        def graphic(relation: str, kind: str) -> list[str]:
            return drawings.lines(self._package, part, relation, kind)

        return Story(self._styles, self._lists, self._package.relations(part), graphic)

    def _one(self, kind: str) -> Element | None:
        part = next(iter(self._package.related(self._package.main, kind)), None)
        return None if part is None else self._package.root(part)
