"""The values that pass between layers: requests, results and facts.

Requests are canonical: lines and columns are 1-based and inclusive, regardless of the contract.  A
continuation is itself a request, so that what a reply suggests is what the engine accepts.  No I/O here.

Knows: requests, results and facts; all frozen, and none reads a file.
Does not know: stores, contracts or faces.
May be touched: a field may be added freely; to rename or remove one changes the library for its users.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct, field

from readroom.values.changes import (
    EditFilesRequest,
    EditFilesResult,
    EditRequest,
    EditResult,
    NameRequest,
    NameResult,
    WriteRequest,
    WriteResult,
)
from readroom.values.commands import RunRequest, RunResult
from readroom.values.files import BytesRequest, BytesResult, OutlineView, PartView, Row, ShownDocument, Stream
from readroom.values.files import Cut as Cut
from readroom.values.files import Entry as Entry
from readroom.values.files import EntryKind as EntryKind
from readroom.values.files import Image as Image
from readroom.values.files import Kind as Kind
from readroom.values.files import LineEnds as LineEnds
from readroom.values.files import Names as Names
from readroom.values.files import Packed as Packed
from readroom.values.files import Stat as Stat
from readroom.values.files import Version as Version
from readroom.values.files import Warn as Warn
from readroom.values.find import FindRequest as FindRequest
from readroom.values.find import FoundFile
from readroom.values.options import NATIVE_READ, NATIVE_SEARCH, ReadOptions, SearchOptions

Fact: TypeAlias = "str | int | float | bool | Sequence[Fact] | Mapping[str, Fact] | None"
"""A JSON value; facts are what a program may rely on."""


class Bytes(Protocol):
    """Bytes by range: what the pure layer knows of an opened file."""

    @property
    def size(self) -> int:
        """Length in bytes at the moment of opening."""

    def read_at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`; shorter only at the end."""

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Fill `buffer` from `offset`; the number of bytes, smaller only at the end."""


ReadMode: TypeAlias = Literal["offset", "tail"]
ReadView: TypeAlias = Literal["text", "outline", "full_outline", "formulas"]
GrepOutput: TypeAlias = Literal["content", "files", "count"]
GrepSort: TypeAlias = Literal["path", "relevance", "mtime"]
ListSort: TypeAlias = Literal["name", "mtime", "size"]
ListOrder: TypeAlias = ListSort | Literal["made"]
"""A store in memory can also list files in the order in which they were made."""
Include: TypeAlias = Literal["hidden", "ignored", "binary", "compressed", "archives"]
ListInclude: TypeAlias = Literal["ignored"]
"""Listings show hidden names anyway, and never open files."""


class ReadRequest(Struct, frozen=True):
    """A window of one file.

    `offset` is the first line, negative from the end, None for the kind's own start (the tail of a log).
    `limit` is in lines, None for the kind's default; negative, they are those that end with line `offset`,
    and reading goes on above them.  `column` is the first character of the first line: then what is read is
    the rest of it, and of the `limit` lines from there (one by default) what a page cuts off.  It goes on
    behind them, unless `limit` is 1.  `pages` names parts of a document; then the lines are those of the
    first of them.  `symbol` is a definition: its lines are the whole, `offset` is one of them.  With `view`
    outline, `limit` counts definitions, and `column` those that start in line `offset`.  With `view`
    formulas, cells of a sheet show what they compute with, not the value.
    """

    path: str
    offset: int | None = None
    limit: int | None = None
    column: int = 1
    known_hash: str | None = None
    encoding: str | None = None
    pages: str | None = None
    symbol: str | None = None
    view: ReadView = "text"
    options: ReadOptions = NATIVE_READ


class GrepRequest(Struct, frozen=True):
    """A search below one path. The first `skip` matches are passed over."""

    pattern: str
    path: str = "."
    glob: tuple[str, ...] = ()
    type: str | None = None
    output: GrepOutput = "content"
    before: int = 0
    after: int = 0
    ignore_case: bool = False
    multiline: bool = False
    fixed: bool = False
    include: frozenset[Include] = frozenset()
    sort: GrepSort | None = None
    limit: int | None = None
    cursor: str | None = None
    timeout_s: float | None = None
    documents: bool = False
    symbols: bool = False
    skip: int = 0
    options: SearchOptions = NATIVE_SEARCH


class ListRequest(Struct, frozen=True):
    """A page of the names below one folder.

    With `skip` that many entries are passed over, and pages go on by number instead of by cursor.
    """

    path: str = "."
    glob: tuple[str, ...] = ()
    depth: int = 1
    include: frozenset[ListInclude] = frozenset()
    sort: ListOrder = "name"
    limit: int | None = None
    cursor: str | None = None
    skip: int | None = None


Request: TypeAlias = (
    ReadRequest
    | GrepRequest
    | FindRequest
    | ListRequest
    | EditRequest
    | EditFilesRequest
    | WriteRequest
    | RunRequest
    | NameRequest
    | BytesRequest
)


class Omission(Struct, frozen=True):
    """Something that a reply left out, why, and the request that shows it.

    `what` is lines, columns, parts, headings, definitions, members, bytes, files, matches or entries; `first`
    and `last` are 1-based and inclusive; `line` is set for columns, `part` for what is
    left out of a part of a document.
    """

    what: str
    first: int
    last: int
    reason: str
    line: int | None = None
    request: Request | None = None
    part: int | None = None


class ReadResult(Struct, frozen=True):
    """What one read yielded, before a contract words it.

    `lines` are the shown lines without their ends, the first of them being line `start` (0 when nothing
    is shown); `cuts` says which of them are partial.  Of rests of lines, which need not follow each
    other, `numbers` are theirs, and `uncut` counts the lines beside them that have none.  `header` is
    line 1 of a table shown above a later window.  Of a document, all that is shown is in `document`, and
    lines are counted in its parts.  `content_hash` and `total_lines` are None when they are not known;
    then lines that are shown of the end have negative numbers, -1 being the last.  `raw` are the first
    bytes of a binary file, where the options of the request have them handed out.
    """

    path: str
    kind: Kind
    size_bytes: int
    content_hash: str | None
    total_lines: int | None = 0
    encoding: str = "utf-8"
    bom: bool = False
    ends: LineEnds = field(default_factory=LineEnds)
    read_mode: ReadMode = "offset"
    start: int = 0
    lines: Sequence[str] = ()
    numbers: Sequence[int] = ()
    uncut: int = 0
    header: str | None = None
    cuts: Mapping[int, Cut] = field(default_factory=dict)
    omitted: Sequence[Omission] = ()
    next: ReadRequest | None = None
    warnings: Sequence[Warn] = ()
    image: Image | None = None
    document: ShownDocument | None = None
    packed: Packed | None = None
    not_modified: bool = False
    symbol: Row | None = None
    outline: OutlineView | None = None
    raw: bytes | None = None

    @property
    def end(self) -> int:
        """The last shown line, 0 when none is."""
        if self.numbers:
            return self.numbers[-1]
        return self.start + len(self.lines) - 1 if self.lines else 0


class GrepLine(Struct, frozen=True):
    """One line of a search reply: a match or context around one.

    `text` is the preview; `column` is its first character's column in the line and `chars` the length of
    the whole line, None when its end is too far away to be looked for.  `part` is the part of a document
    that the number counts in, `symbol` the definition that a match stands in.
    """

    number: int
    text: str
    is_match: bool
    column: int = 1
    chars: int | None = 0
    part: int | None = None
    symbol: str | None = None


class GrepFile(Struct, frozen=True):
    """One file of a search reply. `matches` is the number of matching lines known so far."""

    path: str
    matches: int = 0
    lines: Sequence[GrepLine] = ()


class GrepResult(Struct, frozen=True):
    """What one search yielded.

    `shown` counts matches (content) or files (files, count) in this reply.  `complete` is false when a limit
    or the deadline stopped it; then `next` continues.  With `reason` "unfinished" all files were reached,
    and some were left before their end: the requests that search just them are in `omitted`.
    `searched_files` is how far the search came.  `total_matches` counts those that are not shown, too,
    where the options of the request have them counted.
    """

    request: GrepRequest
    files: Sequence[GrepFile] = ()
    shown: int = 0
    complete: bool = True
    reason: str | None = None
    searched_files: int | None = None
    total_files: int | None = None
    total_matches: int | None = None
    omitted: Sequence[Omission] = ()
    next: GrepRequest | None = None
    warnings: Sequence[Warn] = ()


class ListEntry(Struct, frozen=True):
    """One listed name, relative to the listed folder.

    `target` is where a link points, as stored; `made` orders the files of a store in memory;
    `mode` are its permissions, None when not known.
    """

    path: str
    kind: EntryKind
    size: int | None
    mtime_ns: int | None
    target: str | None = None
    made: int = 0
    mode: int | None = None


class FindResult(Struct, frozen=True):
    """One page of a ranked search, best files first.

    `shown` counts passages, or files where only their names are shown.  `more_passages` are those of the
    files taken apart so far, `more_files` those that match and were not taken apart.  `searched_files` is
    how many files were looked at; `complete` is false when the deadline ended that, and then `next` looks
    at the rest.  `left_words` are words of the question that were not looked for.
    """

    request: FindRequest
    files: Sequence[FoundFile] = ()
    shown: int = 0
    more_passages: int = 0
    more_files: int = 0
    searched_files: int = 0
    complete: bool = True
    reason: str | None = None
    left_words: int = 0
    omitted: Sequence[Omission] = ()
    next: FindRequest | None = None
    warnings: Sequence[Warn] = ()


class ListResult(Struct, frozen=True):
    """One page of a listing; denied names are counted, never named."""

    request: ListRequest
    entries: Sequence[ListEntry] = ()
    first: int = 0
    total: int = 0
    total_known: bool = True
    ignored: int = 0
    denied: int = 0
    reason: str | None = None
    omitted: Sequence[Omission] = ()
    next: ListRequest | None = None
    warnings: Sequence[Warn] = ()


Result: TypeAlias = (
    ReadResult
    | GrepResult
    | FindResult
    | ListResult
    | EditResult
    | EditFilesResult
    | WriteResult
    | RunResult
    | NameResult
    | BytesResult
)


# -----------------------------------------------------------------------------
# The bytes that a contract's rendering adds to the text it carries, in UTF-8.
#
# Engines select by it, so that the selection fits the reply.  A contract measures only what
# its tools need: one without a search does not measure matches.
# -----------------------------------------------------------------------------


class ReadMeasure(Struct, frozen=True):
    """Of a read.

    Attributes:
        numbered: The prefix of a line of that number, and its line feed.
        outlined: One row of an outline.
        mark_bytes: What stands behind a line that is not shown whole.
        content_bytes: All numbered lines at most; None for all that fit the reply.
    """

    numbered: Callable[[int], int]
    outlined: Callable[[Row], int]
    mark_bytes: int
    content_bytes: int | None = None


class PartsMeasure(Struct, frozen=True):
    """Of a document that is read part by part.

    Attributes:
        heading: An entry of a table of contents: depth, title, part.
        part: What a part costs before its lines, with its unit and the number of all parts.
    """

    heading: Callable[[tuple[int, str, int]], int]
    part: Callable[[PartView, str, int], int]


class SearchMeasure(Struct, frozen=True):
    """Of a search.

    Attributes:
        file: What a file costs before its lines.
        line: One line with everything around it.
        names_each: The reply names the file with every match.
        content_bytes: All matches at most; None for all that fit the reply.
    """

    file: Callable[[GrepFile], int]
    line: Callable[[GrepLine], int]
    names_each: bool = False
    content_bytes: int | None = None


class ListMeasure(Struct, frozen=True):
    """Of a listing.

    Attributes:
        listed: One entry.
    """

    listed: Callable[[ListEntry], int]


class OutputMeasure(Struct, frozen=True):
    """Of the output of a command.

    Attributes:
        numbered: The number of a line, and its line feed; None without numbers.
        gap_bytes: What a reply says where lines are left out, at most.
        escapes: Output is sent as JSON, and what that adds counts.
    """

    numbered: Callable[[int], int] | None
    gap_bytes: int = 0
    escapes: bool = False


class Measure(Struct, frozen=True):
    """Of all replies of a contract.

    Attributes:
        frame: Header and closing line of a reply about a path, at their longest.
        read: Of a read.
        parts: Of a document; None where documents are not read part by part.
        search: None where there is no search.
        find_tokens: What a page of ranked search takes, as an estimate; None where there is none.
        list: None where there is no listing.
        output: None where no commands run.
    """

    frame: Callable[[str], int]
    read: ReadMeasure
    parts: PartsMeasure | None = None
    search: SearchMeasure | None = None
    find_tokens: Callable[[FindResult], int] | None = None
    list: ListMeasure | None = None
    output: OutputMeasure | None = None


class Cap(Struct, frozen=True):
    """The size of one reply's text in UTF-8 bytes, and how it is counted.

    One unit for every client: bytes are never fewer than characters or UTF-16 units, so a cap in bytes
    holds for a client that counts either.  `lines` is the most that one passes on, None where it counts none.
    """

    size: int
    measure: Measure
    lines: int | None = None


class Call(Struct, frozen=True):
    """A tool call, ready to send."""

    tool: str
    arguments: dict[str, Fact]

    def to_fact(self) -> dict[str, Fact]:
        """The call as facts carry it."""
        return {"tool": self.tool, "arguments": self.arguments}


_said = attrgetter("text", "images", "is_error")


class Reply(Struct, frozen=True, dict=True, eq=False):
    """What a caller receives: one text for the model, images, and facts for programs.

    `stream` has the bytes of a file that a program asked for; its receiver closes it.  Facts are built
    when asked for: a host that only wants the text does not pay for them; `build_sent` has them for who
    changes nothing in them.  `shown` is the result as far as the text has it, where that is less than the
    engine selected.  `build_cost` has what the reply costs: an estimate, until what counts tokens knows.
    """

    text: str
    build_facts: Callable[[], dict[str, Fact]]
    images: Sequence[Image] = ()
    is_error: bool = False
    shown: Result | None = None
    stream: Stream | None = None
    build_cost: Callable[[], dict[str, Fact]] = dict
    build_sent: Callable[[], dict[str, Fact]] | None = None

    @cached_property
    def facts(self) -> dict[str, Fact]:
        """JSON-ready values, documented in the reference of facts."""
        return {**self.build_facts(), **self.build_cost()}

    @cached_property
    def counted(self) -> dict[str, int]:
        """Its tokens by what counted them; what counts them keeps them here."""
        return {}

    def __eq__(self, other: object) -> bool:
        """Whether both say the same."""
        return _said(self) == _said(other) if isinstance(other, Reply) else NotImplemented

    def __hash__(self) -> int:
        return hash(_said(self))

    def __repr__(self) -> str:
        return f"Reply(text={self.text!r}, images={self.images!r}, is_error={self.is_error!r})"
