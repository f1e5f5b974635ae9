"""Documents: numbered parts of text, and the module that opens each format.

Extractors run in a child process with limits of its own and read one file from a stream; they never see a
path. Their text is lines without line ends.

Knows: what parts a document has, and which module opens which format.
Does not know: files, policies and processes.
May be touched: the module of a format freely: it runs in a child, within bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from importlib import import_module
from typing import BinaryIO, Protocol, runtime_checkable

from msgspec import Struct

from readroom.core.formats.regions import Region
from readroom.core.formats.registry import table
from readroom.core.quoting import plural


class Unit(StrEnum):
    """The unit of a document's parts."""

    PAGE = "page"
    SLIDE = "slide"
    SHEET = "sheet"
    CELL = "cell"
    SECTION = "section"
    PART = "part"
    TABLE = "table"

    @property
    def has_rows(self) -> bool:
        """Whether its lines are rows, so that an area can be requested."""
        return self in (Unit.SHEET, Unit.TABLE)

    @property
    def has_files(self) -> bool:
        """Whether parts can be files with names of their own, as attachments are."""
        return self is Unit.PART


class Area(Struct, frozen=True):
    """A rectangle of a sheet; rows and columns are 1-based and inclusive, None is open.

    With `formulas`, cells that have one show it instead of its value.  `columns` are those of a
    table of data, as a caller wrote them; empty for the first of them.  `lines` is the maximum number of
    lines of a sheet, None for as many as fit.  With a `region`, it is that of the picture of a page.
    """

    first_row: int = 1
    last_row: int | None = None
    first_column: int = 1
    last_column: int | None = None
    formulas: bool = False
    columns: str = ""
    lines: int | None = None
    region: Region | None = None


class Heading(Struct, frozen=True):
    """An entry of a table of contents: its depth from 1, its words, and the part it leads to."""

    level: int
    title: str
    part: int


class Picture(Struct, frozen=True):
    """An image of a part, embedded or rendered, and its MIME type."""

    data: bytes
    mime: str


class Part(Struct, frozen=True):
    """One page, slide, sheet, cell or section; or a message or attachment.

    Attributes:
        number: From 1.
        title: Of a sheet or slide, or the kind of a cell; empty if it has none.
        lines: Its text.  In a sheet: one row each, values separated by tabs.
        pictures: The page, if it has no text; the image outputs of a notebook cell.
        header: The first row of a sheet, if the area starts below it.
        first_row: The row number of the first line, in a sheet.
        total_rows: Rows of the whole sheet.
        notes: Sentences on missing content: formulas without values, missing images.
        brief: Number of its lines that are shown among other parts; None for all.
        total_known: Whether `total_rows` is exact; otherwise it is a minimum.
        naming: Lines that name a file which the document carries, each with the path of that file inside;
            also lines of what its notes count.
        figures: How many figures, drawings and forms of a page the text does not show.
        drawn: Width and height of the picture that a page with figures would be.
        counted: Lines of what its notes count, as far as it has words.
        is_bare: Whether they count something without words.
        formulas: How many formulas are shown as their values.
        rows: For a sheet in which a line is a run of empty rows: the row that each line is, or begins with,
            and the row after the last.
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
    total_known: bool = True
    naming: Sequence[tuple[str, str]] = ()
    rows: Sequence[int] = ()
    figures: int = 0
    drawn: tuple[int, int] = (0, 0)
    counted: Sequence[str] = ()
    is_bare: bool = False
    formulas: int = 0


class Document(Protocol):
    """An opened document. Only requested parts are extracted."""

    @property
    def unit(self) -> Unit:
        """The unit of its parts."""

    @property
    def titles(self) -> Sequence[str]:
        """One for each part, empty if it has none; the length is the number of parts."""

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


@runtime_checkable
class Drawn(Protocol):
    """A document whose parts can be shown as pictures."""

    def picture_of(self, number: int, region: Region) -> Part:
        """A region of the part with this number as a picture, without its text. Raises Unreadable."""


@runtime_checkable
class Carrying(Protocol):
    """A document some of whose parts are files with names, as attachments of a message."""

    @property
    def names(self) -> Sequence[str]:
        """For each part the path that it has inside, parted as paths into archives are; empty for none."""


OTHER_COPY = "Ask the user for another copy, or for an export as text."
"""Advice for a document that cannot be read at all."""

OR_MEMBERS = "List its members, which can be read as those of any archive, or ask for another copy."
"""The same for one that is an archive."""


class Unreadable(Exception):
    """A document or a part that cannot be opened.

    `problem` is a clause with the reason ("it is encrypted", "its archive is damaged");
    `advice` says what still works.
    """

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.advice = advice


class Encrypted(Unreadable):
    """A document that only a password opens."""


class NoSuchColumn(Unreadable):
    """A picked column is not in the table."""


class Opener(Protocol):
    """A function that opens documents of a format."""

    def __call__(self, file: BinaryIO) -> Document:
        """Open a document from a seekable stream. Raises Unreadable, and nothing else on purpose."""


def opener(name: str) -> Opener:
    """The opener of the format with this name."""
    module, _, function = table().rows[name].opener.partition(":")
    found: Opener = getattr(import_module(module), function or "open_document")
    return found


BESIDE_CHARS = 64 * 1024
"""Longest text of one thing that is counted; the HTML form of a message has some 10,000."""

_WORDS, _CONTENT, _NAME = "\0", "\1", "\2"
_NO_MARKS = str.maketrans("", "", _WORDS + _CONTENT + _NAME)


def told(kind: str, words: str) -> str:
    """The name under which something is counted, with its words, which another view shows."""
    kept = words.strip().translate(_NO_MARKS)[:BESIDE_CHARS]
    return f"{kind}{_WORDS}{kept}" if kept else kind


def told_file(kind: str, head: str, content: Sequence[str], names: Sequence[str]) -> str:
    """The name under which a carried file is counted; its content is indented below its line.

    `head` is different for each of a document; `names` are asked about: policy may deny one of them.
    """
    whole = "\n".join(content).replace("\r\n", "\n").replace("\r", "\n")
    lines = whole.translate(_NO_MARKS)[:BESIDE_CHARS]
    one_line = " ".join(head.translate(_NO_MARKS).split())
    asked = "".join(_NAME + name.translate(_NO_MARKS) for name in names)
    return f"{kind}{_WORDS}{one_line}{_CONTENT}{lines}{asked}"


INDENT = "  "
"""Before each line of a carried file, so that none of them looks like the line of another one."""


class Count(str):
    """A note that counts what is not shown; `counted` are the lines that show it, all unless it `is_bare`.

    `formulas` are those that are shown as their values: another view shows them in their cells. `naming` is
    as of a `Part`, for lines of `counted`.
    """

    __slots__ = ("counted", "formulas", "is_bare", "naming")

    counted: Sequence[str]
    is_bare: bool
    formulas: int
    naming: Sequence[tuple[str, str]]

    def __new__(
        cls,
        sentence: str,
        counted: Sequence[str] = (),
        *,
        is_bare: bool = True,
        formulas: int = 0,
        naming: Sequence[tuple[str, str]] = (),
    ) -> Count:
        """A sentence with its lines."""
        made = super().__new__(cls, sentence)
        made.counted, made.is_bare, made.formulas, made.naming = counted, is_bare, formulas, naming
        return made


def omission_note(counts: Mapping[str, int]) -> list[str]:
    """A sentence that counts what is not shown, by its kind in the singular; empty if all is shown.

    What was counted with its words (`told`) is in the lines of the note.
    """
    totals: dict[str, int] = {}
    beside: list[str] = []
    naming: list[tuple[str, str]] = []
    is_bare = False
    for name, count in counts.items():
        kind, _, words = name.partition(_WORDS)
        totals[kind] = totals.get(kind, 0) + count
        is_bare |= not words and count > 0
        if words and count > 0:
            words, *names = words.split(_NAME)
            shown = _shown_beside(kind, words, count)
            beside += shown
            naming += [(shown[0], name) for name in names]
    named = [f"{count:,} {kind if count == 1 else plural(kind)}" for kind, count in totals.items() if count]
    sentence = f"Not shown: {', '.join(named)}."
    return [Count(sentence, beside, is_bare=is_bare, naming=naming)] if named else []


def _shown_beside(kind: str, words: str, count: int) -> list[str]:
    head, is_file, content = words.partition(_CONTENT)
    if is_file:
        return [f"[{kind}: {head}]", *(f"{INDENT}{line}" for line in content.split("\n") if content)]
    times = f" ({count:,} times)" if count > 1 else ""
    lines = words.split("\n")
    if len(lines) == 1:
        return [f"[{kind}{times}: {' '.join(words.split())}]"]
    return [f"[{kind}{times}]", *lines, f"[end of {kind}]"]
