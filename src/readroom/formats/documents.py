"""What a document is once it is opened: numbered parts of text, and the module that opens each kind.

Extractors run in a child process with limits of its own and read one file from
the start of a stream; they never see a path.  Their text comes as lines without
line ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import BinaryIO, Protocol, runtime_checkable


class Unit(StrEnum):
    """What the parts of a document are called."""

    PAGE = "page"
    SLIDE = "slide"
    SHEET = "sheet"
    CELL = "cell"
    SECTION = "section"


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle of a sheet; rows and columns are 1-based and inclusive, None is open.

    With `formulas`, cells that have one show it instead of its value.
    """

    first_row: int = 1
    last_row: int | None = None
    first_column: int = 1
    last_column: int | None = None
    formulas: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """An entry of a table of contents: its depth from 1, its words, and the part it leads to."""

    level: int
    title: str
    part: int


@dataclass(frozen=True, slots=True)
class Picture:
    """An image of a part as the document holds it or as it was rendered, and its MIME type."""

    data: bytes
    mime: str


@dataclass(frozen=True, slots=True)
class Part:
    """One page, slide, sheet, cell or section.

    Attributes:
        number: From 1.
        title: Of a sheet or slide, or what kind of cell it is; empty when it has none.
        lines: Its text.  Of a sheet: one row each, values parted by tabs.
        pictures: Of a page without text, the page; of a notebook cell, its image outputs.
        header: Of an area of a sheet that starts below row 1: the first row.
        first_row: Of a sheet: the row that the first line is.
        total_rows: Of a sheet: rows that the whole sheet has.
        notes: What cannot be shown, each a sentence: formulas without values, missing images.
        brief: How many of its lines are shown when it is read together with others; None for all.
    """

    number: int
    title: str
    lines: Sequence[str]
    pictures: Sequence[Picture] = ()
    header: str | None = None
    first_row: int = 1
    total_rows: int | None = None
    notes: Sequence[str] = ()
    brief: int | None = None


class Document(Protocol):
    """An opened document. Only the parts that are asked for are extracted."""

    @property
    def unit(self) -> Unit:
        """What its parts are."""

    @property
    def titles(self) -> Sequence[str]:
        """One for each part, empty where there is none; its length is the number of parts."""

    @property
    def contents(self) -> Sequence[Heading]:
        """Its table of contents, bounded; empty when it has none."""

    def part(self, number: int, area: Area | None = None) -> Part:
        """The part with this number. Only sheets take an area."""


@runtime_checkable
class Skimmed(Protocol):
    """A document whose pictures take time: a search, which needs none, asks it for the text alone."""

    def text_part(self, number: int) -> Part:
        """The part with this number, without its pictures."""


class Unreadable(Exception):
    """A document that cannot be opened, or a part that cannot.

    `problem` is a clause that says why ("it is encrypted", "its archive is damaged");
    `advice` says what still works.
    """

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.advice = advice


class Encrypted(Unreadable):
    """A document that only a password opens."""


class Opener(Protocol):
    """What a module of the registry has as `open_document`."""

    def __call__(self, file: BinaryIO) -> Document:
        """Open a document from a seekable stream. Raises Unreadable, and nothing else on purpose."""


OPENERS: Mapping[str, str] = {
    "pdf": "readroom.formats.pdf",
    "ipynb": "readroom.formats.notebook",
    "ipynb-source": "readroom.formats.notebook_text",
    "docx": "readroom.formats.docx",
    "pptx": "readroom.formats.pptx",
    "xlsx": "readroom.formats.sheets",
    "ods": "readroom.formats.sheets",
    "xls": "readroom.formats.sheets",
    "doc": "readroom.formats.olefiles",
    "ppt": "readroom.formats.olefiles",
    "html": "readroom.formats.html",
    "epub": "readroom.formats.epub",
}
"""Module by kind of document; it is imported in the child."""

FLAT: Mapping[str, str] = {"pdf": "pdf", "docx": "docx", "ipynb": "ipynb-source"}
"""Kinds of documents that can be read as one text, and the opener that is used for that."""
