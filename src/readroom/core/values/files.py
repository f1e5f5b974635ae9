"""Values that describe files: kinds, stats, versions, definitions and documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Literal, Protocol, TypeAlias, final

from msgspec import Struct, field
from msgspec.structs import replace


class Kind(StrEnum):
    """What a file is, which decides its default window."""

    SOURCE = "source"
    LOG = "log"
    CSV = "csv"
    CONFIG = "config"
    MINIFIED = "minified"
    TEXT = "text"
    IMAGE = "image"
    DOCUMENT = "document"
    BINARY = "binary"


class Version(Struct, frozen=True):
    """Identity of one state of a file; equal versions mean equal bytes.

    For local files the POSIX stat fields, for stores without an inode a number
    that grows with every change.
    """

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


class EntryKind(StrEnum):
    """What a name in a folder stands for."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    OTHER = "other"


class Stat(Struct, frozen=True):
    """What is known about a file or folder without reading it. Times in nanoseconds since the epoch.

    `device` and `inode` together identify a file, if the store has them.  `changed_ns` is the last change of
    anything about it, including its name, and `created_ns` its creation; None if the store does not know.
    """

    kind: EntryKind
    size: int
    mtime_ns: int
    mode: int = 0o644
    links: int = 1
    device: int = 0
    inode: int = 0
    changed_ns: int | None = None
    created_ns: int | None = None


class Entry(Struct, frozen=True):
    """One name in a folder, before it was looked at."""

    name: str
    kind: EntryKind


class Names(Struct, frozen=True):
    """Names of one folder. `kinds` says what those are that are not regular files."""

    names: Sequence[str]
    kinds: Mapping[str, EntryKind]


# -----------------------------------------------------------------------------
# What a reply says in addition to the content.
# -----------------------------------------------------------------------------

Newline: TypeAlias = Literal["lf", "crlf", "mixed", "none"]
"""The form of a text's line ends; "none" when it has none."""


class LineEnds(Struct, frozen=True):
    """The line ends of a whole text: their number, how many are CR LF, and whether the last line has one.

    `final` is None if that does not matter, in an empty text, or is not known.
    """

    total: int = 0
    crlf: int = 0
    final: bool | None = None

    @property
    def form(self) -> Newline:
        """In one word."""
        if self.total == 0:
            return "none"
        return "crlf" if self.crlf == self.total else "mixed" if self.crlf else "lf"

    @property
    def unusual(self) -> list[str]:
        """What a reader cannot see and would lose by writing the text anew."""
        remarks = []
        if self.form == "mixed":
            remarks.append(f"mixed line ends ({self.crlf} CRLF, {self.total - self.crlf} LF)")
        if self.final is False:
            remarks.append("no final newline")
        return remarks


class Warn(Struct, frozen=True):
    """Something about the content that the reader should know; the text itself is never altered."""

    code: str
    detail: str
    line: int | None = None
    column: int | None = None


OTHER_SPELLING = Warn(
    "other_spelling", "its name has a different Unicode composition than the requested path"
)
"""No other name in the folder is canonically equal to the one that was asked for."""


class Packed(Struct, frozen=True):
    """That a file is compressed: with what, and the bytes of its content as far as it was expanded."""

    compression: str
    expanded_bytes: int


# -----------------------------------------------------------------------------
# The pieces of a file that a reply shows: truncated lines, images, parts of a document.
# -----------------------------------------------------------------------------


class Cut(Struct, frozen=True):
    """The part of a cut line that is shown: characters `first` to `last` of `total`."""

    first: int
    last: int
    total: int


class Image(Struct, frozen=True):
    """An image for the model: encoded bytes, their type, and the size before it was shrunk."""

    data: bytes
    media_type: str
    width: int
    height: int
    original_width: int
    original_height: int


class Attachment(Struct, frozen=True):
    """A file that goes with a reply as it is: its bytes, their type, and its path."""

    data: bytes
    media_type: str
    path: str


class PartView(Struct, frozen=True):
    """The shown part of one page, slide, sheet, cell or section.

    Attributes:
        number: From 1; 0 for the table of contents.
        title: Empty if it has none.
        total_lines: The number of lines in the whole part.
        start: The number of the first shown line; in a sheet, its row.
        lines: The shown lines, without line ends.
        numbers: The line numbers of rests of lines, which need not follow each other.
        cuts: The lines that are shown partially, by line number.
        header: The first row of a sheet, above a later window.
        notes: Sentences about content that cannot be shown.
        images: The pictures that are shown.
        total_known: Whether `total_lines` is exact; otherwise it is a minimum.
        rows: If a line is a run of empty rows of a sheet: the row of each line, and the one after them.
        figures: How many figures of a page are not shown.
        drawn: Width and height of the picture that shows them.
        counted: How many lines the view `not_shown` has of what its notes count.
        is_bare: Whether they count something that has no words.
        formulas: How many formulas are shown as their values.
        region: The region that is shown as a picture, as `0,0,100,100`; empty if the text is.
    """

    number: int
    title: str
    total_lines: int
    start: int = 1
    lines: Sequence[str] = ()
    numbers: Sequence[int] = ()
    cuts: Mapping[int, Cut] = field(default_factory=dict)
    header: str | None = None
    notes: Sequence[str] = ()
    images: Sequence[Image] = ()
    total_known: bool = True
    rows: Sequence[int] = ()
    figures: int = 0
    drawn: tuple[int, int] = (0, 0)
    region: str = ""
    counted: int = 0
    is_bare: bool = False
    formulas: int = 0

    @property
    def end(self) -> int:
        """The last shown line, 0 when none is."""
        if self.rows:
            return self.rows[-1] - 1
        if self.numbers:
            return self.numbers[-1]
        return self.start + len(self.lines) - 1 if self.lines else 0


class ShownDocument(Struct, frozen=True):
    """The shown parts of a document.

    Attributes:
        format: Its format, such as pdf, docx or ipynb.
        unit: The name of its parts: page, slide, sheet, cell or section.
        total_parts: The number of parts in the whole document.
        parts: In the requested order.
        contents: Its table of contents, or the titles of its parts: depth from 1, title, part.
        contents_left: The number of headings that did not fit.
    """

    format: str
    unit: str
    total_parts: int
    parts: Sequence[PartView] = ()
    contents: Sequence[tuple[int, str, int]] = ()
    contents_left: int = 0

    @property
    def images(self) -> Sequence[Image]:
        """All that are shown, in the order of the parts."""
        return [image for part in self.parts for image in part.images]


# -----------------------------------------------------------------------------
# Outlines as values: the definitions in a file, by lines.
#
# Lines are 1-based and inclusive, those of the file.  A span holds the definition
# with its decorators, attributes and the comment lines directly above.
# -----------------------------------------------------------------------------


class Item(Struct, frozen=True):
    """One definition, heading or key.

    `line` is the line of the signature, within `start` to `end`.  `owner` names what the item belongs to if
    it is not nested in it: the receiver of a Go method, the class before the `::` of a C++ method.  If it is
    not `certain`, the text around it does not parse, and it may end before `end`.  A `minor` item belongs to
    a larger one (a field, a constant, a function inside another): it can be found by name, and is folded
    where many of them would flood an outline.
    """

    kind: str
    name: str
    signature: str
    start: int
    end: int
    line: int
    owner: tuple[str, ...] = ()
    members: tuple[Item, ...] = ()
    certain: bool = True
    minor: bool = False


class Outline(Struct, frozen=True):
    """The items of one file, in file order.

    `partial` says why some may be missing: the file does not parse completely, or is nested too deeply.
    `errors` are the lines that do not parse.
    """

    language: str
    items: tuple[Item, ...] = ()
    partial: str | None = None
    errors: tuple[tuple[int, int], ...] = ()


CONTENTS_WORD, SCHEMA_WORD = "contents", "schema"
"""In place of the parts of a document: its table of contents; the columns of all its tables."""

OUTLINES = frozenset({"outline", "full_outline"})
"""Views that show what a file defines; the full one always includes fields, constants and the like."""


RUN = "run"
"""The kind of an item that stands for several functions."""


class Row(Struct, frozen=True):
    """An item by itself: its depth, and its names from the outermost.

    `folded` counts, by kind, the minor items in it that are not listed after it.
    """

    item: Item
    depth: int
    path: tuple[str, ...]
    folded: tuple[tuple[str, int], ...] = ()

    @property
    def is_run(self) -> bool:
        """Whether it names several functions, with its own name first; `folded` counts them."""
        return self.item.kind == RUN

    @property
    def name(self) -> str:
        """Its qualified name, as `symbol` takes it."""
        return ".".join(self.path)


class OutlineView(Struct, frozen=True):
    """The part of an outline that a reply shows: `total` items were requested, `left_out` of them not shown.

    `folded` counts the minor items of the file that are in none of the listed items.
    """

    language: str
    rows: Sequence[Row]
    total: int
    left_out: int = 0
    partial: str | None = None
    folded: tuple[tuple[str, int], ...] = ()


def rows(items: Sequence[Item], depth: int = 0, path: tuple[str, ...] = ()) -> Iterator[Row]:
    """All items, each before its members."""
    for item in items:
        names = (*path, *item.owner, item.name)
        yield Row(item, depth, names)
        if item.members:
            yield from rows(item.members, depth + 1, names)


def main_rows(items: Sequence[Item], depth: int = 0, path: tuple[str, ...] = ()) -> Iterator[Row]:
    """The items that are not minor, each before its members and with what is folded in it."""
    for item in items:
        if not item.minor:
            names = (*path, *item.owner, item.name)
            yield Row(item, depth, names, folded_in(item.members) if item.members else ())
            if item.members:
                yield from main_rows(item.members, depth + 1, names)


def folded_in(items: Sequence[Item]) -> tuple[tuple[str, int], ...]:
    """How many of them are minor, by kind."""
    counts: dict[str, int] = {}
    for item in items:
        if item.minor:
            counts[item.kind] = counts.get(item.kind, 0) + 1
    return tuple(counts.items())


def main_items(items: Sequence[Item]) -> tuple[Item, ...]:
    """The items without the minor ones among them, and in them."""
    return tuple(
        replace(item, members=main_items(item.members)) if item.members else item
        for item in items
        if not item.minor
    )


# -----------------------------------------------------------------------------
# Values for reading raw bytes: programs receive them piece by piece.
#
# The holder of a `Stream` has an open file that was allowed when it was opened.
# -----------------------------------------------------------------------------


class ByteFile(Protocol):
    """An opened file."""

    def read_at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`; shorter only at the end."""

    def close(self) -> None:
        """Release it; a second call does nothing."""


@final
class Stream:
    """Bytes of one opened file, in order. For one thread at a time; its holder closes it."""

    def __init__(self, file: ByteFile, first: int, count: int) -> None:
        """`count` bytes from `first`; the file is closed with this."""
        self._file = file
        self._at = first
        self.left = count

    def read(self, size: int) -> bytes:
        """The next bytes, at most `size`; empty at the end, or when the file has become shorter."""
        piece = self._file.read_at(self._at, min(size, self.left)) if self.left else b""
        self._at += len(piece)
        self.left -= len(piece)
        return piece

    def close(self) -> None:
        """Release the file; a second call does nothing."""
        self._file.close()

    def __del__(self) -> None:
        # A reply that is never consumed must not keep a file open.
        self.close()


class ResolveRequest(Struct, frozen=True):
    """The real name of a path, links followed; what is missing of it is kept."""

    path: str


class ResolveResult(Struct, frozen=True):
    """A path, and the real name relative to the root that it means."""

    path: str
    real: str


class BytesRequest(Struct, frozen=True):
    """Bytes of one file: `count` from `first`, which counts from 0; None for all that follow."""

    path: str
    first: int = 0
    count: int | None = None


class BytesResult(Struct, frozen=True):
    """An opened file, and the range of its bytes that is handed out."""

    path: str
    size_bytes: int
    first: int
    count: int
    stream: Stream
