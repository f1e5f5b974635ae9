"""The values that pass between layers: requests, results and facts.

Requests are canonical: lines and columns are 1-based and inclusive.  A continuation is itself a request, so
that what a reply suggests is what the engine accepts.  No I/O here.

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

from readroom.core.values import calls, changes
from readroom.core.values.calls import Call as Call
from readroom.core.values.calls import Fact as Fact
from readroom.core.values.calls import Following
from readroom.core.values.calls import Pages as Pages
from readroom.core.values.commands import CommandRequest, CommandResult
from readroom.core.values.files import Attachment, OutlineView, Row, ShownDocument, Stream
from readroom.core.values.files import Cut as Cut
from readroom.core.values.files import Entry as Entry
from readroom.core.values.files import EntryKind as EntryKind
from readroom.core.values.files import Image as Image
from readroom.core.values.files import Kind as Kind
from readroom.core.values.files import LineEnds as LineEnds
from readroom.core.values.files import Names as Names
from readroom.core.values.files import Packed as Packed
from readroom.core.values.files import Stat as Stat
from readroom.core.values.files import Version as Version
from readroom.core.values.files import Warn as Warn
from readroom.core.values.find import FindRequest as FindRequest
from readroom.core.values.find import FoundFile
from readroom.core.values.history import PastRequest, PastResult
from readroom.core.values.many import ReadManyRequest, ReadManyResult
from readroom.core.values.matches import GrepFile as GrepFile
from readroom.core.values.matches import GrepLine as GrepLine
from readroom.core.values.matches import UseCounts, UseKind
from readroom.core.values.measures import OutputMeasure as OutputMeasure
from readroom.core.values.measures import PartsMeasure as PartsMeasure
from readroom.core.values.measures import ReadMeasure as ReadMeasure
from readroom.core.values.measures import SearchMeasure as SearchMeasure
from readroom.core.values.options import NATIVE_READ, NATIVE_SEARCH, ReadOptions, SearchOptions
from readroom.core.values.packing import ProgramRequest, ProgramResult


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
ReadView: TypeAlias = Literal["text", "outline", "full_outline", "formulas", "image", "not_shown"]
GrepOutput: TypeAlias = Literal["content", "files", "count", "references"]
GrepSort: TypeAlias = Literal["path", "relevance", "mtime"]
ListSort: TypeAlias = Literal["name", "mtime", "size"]
ListOrder: TypeAlias = ListSort | Literal["made", "locale"]
"""Listings can also have the order of a dictionary, or that in which a store was filled."""
Include: TypeAlias = Literal["hidden", "ignored", "binary", "compressed", "archives"]
ListInclude: TypeAlias = Literal["ignored"]
"""Listings show hidden names anyway, and never open files."""


class ReadRequest(Struct, frozen=True):
    """A window of one file.

    `offset` is the first line; negative counts from the end, None means the default of the kind (the end of
    a log).  `limit` is a number of lines, None for the default of the kind; a negative limit asks for the
    lines that end with line `offset`, and the next page is above them.  `column` is the first character of
    the first line: the read then shows the rest of that line, and of the `limit` lines from there (one by
    default) what a page cuts off; it continues after them, unless `limit` is 1.  `pages` names parts of a
    document; lines are then those of the first part.  `symbol` names a definition: its lines are the whole,
    and `offset` is one of them.  With `view` outline, `limit` counts definitions, and `column` counts those
    that start in line `offset`.  With `view` formulas, a sheet shows formulas instead of values.
    With `view` image, a page is shown as a picture; `pages` may then name a region of it, or of an image.
    With `view` not_shown, the lines of a part are what its notes count.
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
    """A search below one path. The first `skip` matches are skipped.

    With `output` references the pattern is a name, and `kinds` are those shown of its places, all if empty.
    """

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
    kinds: tuple[UseKind, ...] = ()
    skip: int = 0
    options: SearchOptions = NATIVE_SEARCH


class ListRequest(Struct, frozen=True):
    """A page of the names below one folder.

    With `skip`, that many entries are skipped, and pages continue by number.  With `files`, only regular
    files are entries, and hidden folders are entered only if the path or a glob asks for them.
    """

    path: str = "."
    glob: tuple[str, ...] = ()
    depth: int = 1
    include: frozenset[ListInclude] = frozenset()
    sort: ListOrder = "name"
    limit: int | None = None
    cursor: str | None = None
    skip: int | None = None
    files: bool = False


Request: TypeAlias = (
    ReadRequest
    | ReadManyRequest
    | GrepRequest
    | FindRequest
    | ListRequest
    | changes.EditRequest
    | changes.EditFilesRequest
    | changes.ChangesRequest
    | changes.WriteRequest
    | CommandRequest
    | changes.NameRequest
    | PastRequest
    | ProgramRequest
)


class Omission(Struct, frozen=True):
    """Something that a reply left out, why, and the request that shows it.

    `what` is lines, columns, parts, headings, definitions, signatures, members, bytes, files, matches,
    figures, formulas, counted (in notes) or entries, `first` to `last`; `line` is set for columns, and `part`
    for omissions in a part of a document.
    """

    what: str
    first: int
    last: int
    reason: str
    line: int | None = None
    request: Request | None = None
    part: int | None = None


class ReadResult(Struct, frozen=True):
    """The result of one read, before a contract formats it.

    `lines` are the shown lines without line ends; the first is line `start` (0 if nothing is shown), and
    `cuts` says which are partial.  Rests of lines need not follow each other: `numbers` has their line
    numbers, and `uncut` counts the lines among them that have no rest.  `header` is line 1 of a table, shown
    above a later window.  For a document, `document` has everything that is shown, and lines are counted in
    its parts.  `content_hash` and `total_lines` are None if not known; lines from the end then have negative
    numbers, -1 being the last.  `raw` are the first bytes of a binary file, if the options of the request
    ask for them.
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


class GrepResult(Struct, frozen=True):
    """The result of one search.

    `shown` counts matches (content) or files (files, count) in this reply.  `complete` is false if a limit
    or the deadline stopped the search; then `next` continues it.  With `reason` "unfinished" all files were
    reached, but some were not searched to their end: `omitted` has the requests that search just them.
    `total_matches` also counts matches that are not shown, if the options of the request ask for it.  Of
    references, `uses` counts what was found; a file comes once for each of its kinds.
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
    uses: UseCounts | None = None


class ListEntry(Struct, frozen=True):
    """One listed name, relative to the listed folder.

    `target` is the stored target of a link, `leads_to` what it is; `made` orders the files of a store in
    memory; `mode` are the permissions.  What is not known is None.
    """

    path: str
    kind: EntryKind
    size: int | None
    mtime_ns: int | None
    target: str | None = None
    made: int = 0
    mode: int | None = None
    leads_to: EntryKind | None = None


class FindResult(Struct, frozen=True):
    """One page of a ranked search, best files first.

    `shown` counts passages, or files if only names are shown.  `more_passages` counts further passages of the
    files split so far, `more_files` matching files that were not split.  `searched_files` is the number of
    files read; `complete` is false if the deadline ended the search, and then `next` reads the rest.
    `left_words` are words of the question that were not searched for.
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
    | ReadManyResult
    | GrepResult
    | FindResult
    | ListResult
    | changes.EditResult
    | changes.EditFilesResult
    | changes.ChangesResult
    | changes.WriteResult
    | CommandResult
    | changes.NameResult
    | PastResult
    | ProgramResult
)


# -----------------------------------------------------------------------------
# The bytes that a contract's rendering adds to the text it carries, in UTF-8.
#
# Engines select by it, so that the selection fits the reply.  A contract measures what its tools need.
# -----------------------------------------------------------------------------


class ListMeasure(Struct, frozen=True):
    """The formatting of a listing.

    Attributes:
        listed: One entry.
    """

    listed: Callable[[ListEntry], int]


class Measure(Struct, frozen=True):
    """The formatting of all replies of a contract.

    Attributes:
        frame: The longest header and closing line of a reply about a path.
        read: For reads.
        parts: For documents; None if they are not read part by part.
        search: For searches; None if the contract has none.
        find_tokens: The estimated tokens of a page of ranked search; None if the contract has none.
        list: For listings; None if the contract has none.
        output: For commands; None if the contract runs none.
    """

    frame: Callable[[str], int]
    read: ReadMeasure
    parts: PartsMeasure | None = None
    search: SearchMeasure | None = None
    find_tokens: Callable[[FindResult], int] | None = None
    list: ListMeasure | None = None
    output: OutputMeasure | None = None


class Cap(Struct, frozen=True):
    """The size limit of one reply's text in UTF-8 bytes, and how it is counted.

    Bytes are never fewer than characters or UTF-16 units, so a cap in bytes also holds for clients that count
    those.  `lines` is the most that a client passes on, None without a limit; `images` is whether it does.
    """

    size: int
    measure: Measure
    lines: int | None = None
    images: bool = True


_said = attrgetter("text", "images", "attached", "is_error")


class Reply(Struct, frozen=True, dict=True, eq=False):
    """What a caller receives: one text for the model, images, and facts for programs.

    `attached` are files that go with it; `stream` has the bytes of one that a program asked for, which closes
    it.  Facts are built on demand, as some hosts only want the text; `build_sent` builds them for callers
    that do not modify them.  `shown` is the result as far as the text shows it, if less than was selected.
    `build_cost` gives the cost: an estimate until the tokens are counted.  `follow` makes other calls as this
    one was made.
    """

    text: str
    build_facts: Callable[[], dict[str, Fact]]
    images: Sequence[Image] = ()
    attached: Sequence[Attachment] = ()
    is_error: bool = False
    shown: Result | None = None
    stream: Stream | None = None
    build_cost: Callable[[], dict[str, Fact]] = dict
    build_sent: Callable[[], dict[str, Fact]] | None = None
    follow: Following[Reply] | None = None

    @cached_property
    def facts(self) -> dict[str, Fact]:
        """JSON-ready values, documented in the reference of facts."""
        return {**self.build_facts(), **self.build_cost()}

    @cached_property
    def counted(self) -> dict[str, int]:
        """Its tokens by what counted them; what counts them keeps them here."""
        return {}

    @property
    def next(self) -> Call | None:
        """The call that shows what comes after this reply; after a failure, one that works. None without."""
        facts = self.facts.get("error") if self.is_error else self.facts
        return calls.of_fact(facts.get("next")) if isinstance(facts, Mapping) else None

    @property
    def tokens(self) -> int:
        """The tokens that the reply costs a model: those of its text, and of its images by their size."""
        tokens = self.build_cost().get("tokens")
        return tokens if isinstance(tokens, int) else 0

    @property
    def hash(self) -> str | None:
        """The hash of the file as it is after the call, which a change expects; None without one file."""
        known = self.facts.get("content_hash")
        return known if isinstance(known, str) else None

    def pages(self) -> Pages[Reply]:
        """This reply and those that continue it, each made when it is asked for.

        A log is shown from its end, and so are its pages; with `offset=1` it is read from the beginning.

        Raises:
            ReadroomError: While iterating, as the method that made this reply does.
        """
        return Pages(self, _after)

    def __eq__(self, other: object) -> bool:
        """Whether both say the same."""
        return _said(self) == _said(other) if isinstance(other, Reply) else NotImplemented

    def __hash__(self) -> int:
        return hash(_said(self))

    def __repr__(self) -> str:
        return f"Reply(text={self.text!r}, images={self.images!r}, is_error={self.is_error!r})"


def _after(page: Reply) -> tuple[Following[Reply], Call] | None:
    """How the page after one is made; None after the last, and after a failure."""
    call = None if page.is_error else page.next
    return None if call is None or page.follow is None else (page.follow, call)
