"""What a search did not look into or finish, so that no reply looks more complete than it is."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Self, final, get_args

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.engine.cursors import path_key, write_grep_cursor
from readroom.core.engine.grep.lines import form_of, shown
from readroom.core.engine.grep.page import Reached, Symbols, part_of, row_of
from readroom.core.engine.grep.ripgrep import Noted
from readroom.core.engine.scope import join_below
from readroom.core.engine.unsearched import CUT_SHORT, UNUSABLE, Unsearched
from readroom.core.errors import Binary, ReadroomError
from readroom.core.formats.kinds import is_searched, stored_lines_note
from readroom.core.limits import GREP_MAX_TIMEOUT_S, MAX_OMITTED, MAX_WARNINGS
from readroom.core.paths import WorkPath
from readroom.core.quoting import first_of, quote
from readroom.core.stores.base import Source
from readroom.core.text import hidden
from readroom.core.values import GrepFile, GrepRequest, Include, ListRequest, Omission, ReadRequest, Warn

# -----------------------------------------------------------------------------
# How much of a tree a search has covered when its deadline passes.
#
# Counting files costs a walk, so it is done in a thread of its own, and only when half of the time has gone.
# -----------------------------------------------------------------------------

_KEPT_EVERY = 16
"""One name in 16 is kept: a tree of a million files takes 8 MB, and the count is at most 15 too low."""


@final
class Coverage:
    """Counts the files of a tree in path order, in a thread of its own."""

    def __init__(self, listing: Callable[[Deadline], Iterator[str]], deadline: Deadline) -> None:
        """`listing` gives the names in path order."""
        self._listing = listing
        self._deadline = deadline
        self._enough = threading.Event()
        self._keys: list[bytes] = []
        self._count = 0
        self._whole = False
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        left = self._deadline.remaining
        if left is not None:
            self._thread = threading.Thread(
                target=self._wait_and_count, args=(left / 2,), name="readroom-coverage", daemon=True
            )
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._enough.set()
        if self._thread is not None:
            self._thread.join()

    def _wait_and_count(self, seconds: float) -> None:
        if not self._enough.wait(seconds):
            self.count()

    def count(self) -> None:
        """Count to the end, to the deadline, or until the search is over."""
        try:
            for name in self._listing(self._deadline):
                if self._count % _KEPT_EVERY == 0:
                    if self._enough.is_set():
                        return
                    self._keys.append(path_key(name))
                self._count += 1
            self._whole = True
        except ReadroomError:
            return

    def at(self, path: str) -> tuple[int | None, int | None]:
        """How many files come before `path` at least, and how many there are; None where unknown."""
        key = path_key(path)
        before = bisect_left(self._keys, key)
        known = self._whole or before < len(self._keys)
        searched = (before - 1) * _KEPT_EVERY + 1 if known and before else 0 if known else None
        return searched, self._count if self._whole else None


# -----------------------------------------------------------------------------
# What a search left out or did not finish, with the calls that search it.
#
# Each file gets a share of the time of a search, so that no file keeps the search from the
# next ones.  The cursor passes an unfinished file; a search of that file alone continues
# where this one stopped, as far as that can be named: after a line, or a part of a document.
# -----------------------------------------------------------------------------

NAMED = 3
"""Files that a warning names; more are counted."""

_PATIENCE = 3
"""Factor for the suggested time limit when the given one did not suffice."""

_LEAST_S = 1.0
"""The shortest time limit that is suggested: a shorter search has hardly begun."""

ITSELF = "."
"""The path of a searched file in its own cursors."""


def more_time(seconds: float) -> float:
    """The time limit to suggest after one of `seconds` was too short."""
    return min(max(seconds * _PATIENCE, _LEAST_S), GREP_MAX_TIMEOUT_S)


def instead(request: GrepRequest, *, alone: bool) -> Omission:
    """The omission at the longest time limit, with a request for smaller steps: a read, or a listing."""
    other = ReadRequest(request.path) if alone else ListRequest(request.path)
    return Omission("files", 1, 1, "timeout", request=other)


def patient(request: GrepRequest) -> GrepRequest:
    """The same request with at least the shortest useful time limit."""
    timeout_s = request.timeout_s
    return request if timeout_s is None else replace(request, timeout_s=max(timeout_s, _LEAST_S))


def _including(request: GrepRequest, kinds: Sequence[str]) -> GrepRequest | None:
    """The search that looks into kinds of files that were left out; None if none does."""
    include = request.include.union(kind for kind in get_args(Include) if kind in kinds)
    again = replace(request, include=include, documents=request.documents or "documents" in kinds)
    if again == request:
        return None
    # Documents and archives are searched in path order.
    sort = None if again.documents or "archives" in include else request.sort
    return replace(again, sort=sort, cursor=None)


class _Unfinished(Struct, frozen=True):
    path: WorkPath
    said: str
    omission: Omission


@final
class Left:
    """What one search left out, or left unfinished.

    Attributes:
        compressed: Compressed files that were not searched.
        names: Files that a search below a folder left out.
        unreadable: Files and folders, relative, that could not be opened.
        cut: Archives, relative, some members of which may be missing.
        unusable: Archives, relative, with members that no path leads to.
        unread: Files that were skipped because they are binary, by their real names, with their beginnings.
        too_wide: Files that were skipped because they are large and UTF-16 or UTF-32.
        as_bytes: Files that were searched as if they were UTF-8, because they are large.
        mixed: Files that hold text in another encoding than their own, which was not searched.
        too_far: Files that were skipped because all of each would have to be fetched.
        unnamed: How much was seen that no path leads to.
        linked: Files with a match that have several names, and how many.
        latest: The file that was left last.
        remarks: Remarks about single files.
    """

    def __init__(self, request: GrepRequest, seconds: float, symbols: Symbols | None) -> None:
        self._request = request
        self._seconds = seconds
        self._symbols = symbols
        self._unfinished: dict[str, _Unfinished] = {}
        self._broken: list[str] = []
        self.latest: str | None = None
        self.compressed: list[WorkPath] = []
        self.names: Unsearched | None = None
        self.unreadable: list[str] = []
        self.cut: list[str] = []
        self.unusable: list[str] = []
        self.unread: dict[WorkPath, bytes] = {}
        self.too_wide: list[str] = []
        self.as_bytes: list[str] = []
        self.mixed: list[str] = []
        self.too_far: list[str] = []
        self.unnamed = 0
        self.linked: dict[WorkPath, int] = {}
        self.remarks: list[Warn] = []

    # --- taking note --------------------------------------------------------------------------

    def begin_again(self, why: Warn) -> None:
        """Forget everything recorded so far, because the search starts over."""
        self.unreadable.clear()
        self.cut.clear()
        self.unusable.clear()
        self.compressed.clear()
        self.remarks[:] = [why]

    def add(self, noted: Noted) -> None:
        """Record what the finders could not read."""
        self.unreadable += sorted(set(noted.unreadable).difference(self.unreadable))
        self.cut += noted.cut
        self.unusable += noted.unusable
        self.unnamed = max(self.unnamed, noted.unnamed)

    def text(self, relative: str, searched: int | None, size: int | None, line: int) -> None:
        """Record a file that was left unfinished: the bytes searched, if known, and the last line shown."""
        if searched is not None and size is not None:
            detail = f"{searched:,} of {size:,} bytes searched"
        else:
            detail = "not searched completely"
        self._leave(relative, detail, "bytes", (searched or 0) + 1, size or 0, line)

    def compressed_text(self, relative: str, size: int, line: int) -> None:
        """Record a compressed file that was not expanded in time, or left after a line."""
        detail = "not searched completely" if line else "not expanded in time"
        self._leave(relative, detail, "bytes", 1, size, line)

    def document(self, relative: str, reached: Reached, place: int) -> None:
        """Record a document that was left unfinished at a place in it."""
        if not reached.total:
            self._leave(relative, "not opened in time", "parts", 1, 0, 0)
            return
        part, row = part_of(place), row_of(place)
        unit = reached.unit
        if row:
            detail = f"{unit} {part} of {reached.total} searched to row {row:,}"
        elif part > 1:
            detail = f"{unit}s 1-{part - 1:,} of {reached.total:,} searched"
        else:
            detail = f"{unit} 1 of {reached.total:,} not searched in time"
        self._leave(relative, detail, "parts", max(part, 1), reached.total, place)

    def broken(self, path: WorkPath, reached: Reached) -> None:
        """Record the parts of a document that cannot be read."""
        for part, problem in reached.broken:
            where = f"{reached.unit} {part} of {quote(path)}" if part else quote(path)
            self._broken.append(f"{where} cannot be read: {problem}")

    def _leave(self, relative: str, detail: str, what: str, first: int, last: int, after: int) -> None:
        path = join_below(WorkPath(self._request.path), "" if relative == ITSELF else relative)
        alone = replace(self._request, path=path, glob=(), type=None, sort=None, limit=None, cursor=None)
        alone = replace(alone, timeout_s=more_time(self._seconds))
        if after and self._request.output == "content":
            alone = replace(alone, cursor=write_grep_cursor(alone, (), ITSELF, after))
        omission = Omission(what, first, max(first, last), "timeout", request=alone)
        if relative not in self._unfinished:
            self._unfinished[relative] = _Unfinished(path, detail, omission)
            self.latest = relative

    # --- saying it ----------------------------------------------------------------------------

    @property
    def some_unfinished(self) -> bool:
        """Whether a file was left unfinished."""
        return bool(self._unfinished)

    def omissions(self) -> Iterator[Omission]:
        """The omissions, with the requests that search what was left."""
        for relative, unfinished in list(self._unfinished.items())[:MAX_OMITTED]:
            if relative != ITSELF:  # the search itself continues there
                yield unfinished.omission
        count = len(self.compressed)
        if count:
            again = replace(self._request, include=self._request.include | {"compressed"}, cursor=None)
            yield Omission("files", 1, count, "compressed", request=again)
        if self.names is not None and (total := self.names.total):
            kinds = [*self.names.kinds, *(["compressed"] if count else [])]
            yield Omission("files", 1, total, "left_out", request=_including(self._request, kinds))

    def warnings(self, files: Sequence[GrepFile]) -> Iterator[Warn]:
        """All warnings of a search that shows `files`."""
        yield from self._about_left()
        if self.linked:
            paths, counts = first_of(list(self.linked), NAMED), list(self.linked.values())
            several = f" has {counts[0]} names" if len(counts) == 1 else ": several names each"
            yield Warn("hard_link", f"{paths}{several}")
        if self.unreadable:
            top, names = WorkPath(self._request.path), sorted({*self.unreadable}, key=path_key)
            whole = [top if name == "." else join_below(top, name) for name in names]
            yield Warn("unreadable", f"{first_of(whole, NAMED)} cannot be read")
        if self.cut:
            top = WorkPath(self._request.path)
            whole = [join_below(top, name) for name in sorted({*self.cut}, key=path_key)]
            yield Warn("unreadable", f"{first_of(whole, NAMED)}: {CUT_SHORT}")
        if self.unusable:
            top = WorkPath(self._request.path)
            whole = [join_below(top, name) for name in sorted({*self.unusable}, key=path_key)]
            yield Warn("unreadable", f"{first_of(whole, NAMED)}: {UNUSABLE}")
        cells = next(filter(None, (stored_lines_note(file.path) for file in files)), None)
        if cells is not None and not self._request.documents and self._request.output == "content":
            yield Warn("notebook", cells)
        if self.too_wide:
            named = first_of([*dict.fromkeys(self.too_wide)], NAMED)
            yield Warn("too_large", f"{named}: too large to be searched in UTF-16; read_file reads them")
        if self.too_far:
            named = first_of([*dict.fromkeys(self.too_far)], NAMED)
            yield Warn("too_large", f"{named}: too large to be fetched for a search; read_file reads parts")
        if self.unnamed:
            keys = f"{self.unnamed:,} key{'s' if self.unnamed > 1 else ''}"
            yield Warn("unnamed", f"{keys} that no path leads to: not searched")
        if self.as_bytes:
            named = first_of([*dict.fromkeys(self.as_bytes)], NAMED)
            why = "too large to be searched in an encoding other than UTF-8, so only ASCII text was found"
            yield Warn("searched_as_bytes", f"{named}: {why}; read_file reads them")
        if self.mixed:
            named = first_of([*dict.fromkeys(self.mixed)], NAMED)
            why = "text in two encodings, one of them UTF-16; only that in the first was searched"
            yield Warn("mixed_encodings", f"{named}: {why}, read_file shows the rest")
        if self._symbols is not None and self._symbols.gave_up:
            yield Warn("no_symbols", "not enough time to name the symbols in all files")
        yield from hidden_in(files)
        yield from hidden.in_names((file.path for file in files), limit=NAMED)

    def _about_left(self) -> Iterator[Warn]:
        items = list(self._unfinished.values())
        if items:
            detail = "; ".join(f"{quote(file.path)}: {file.said}" for file in items[:NAMED])
            more = f"; and {len(items) - NAMED} more" if len(items) > NAMED else ""
            yield Warn("unfinished", f"out of time, no error: {detail}{more}")
        if self._broken:
            others = len(self._broken) - NAMED
            detail = "; ".join(self._broken[:NAMED])
            yield Warn("unreadable", detail + (f"; and {others} more" if others > 0 else ""))
        if self.names is not None:
            yield from self.names.warnings(self.compressed)
        yield from self.remarks[:MAX_WARNINGS]
        unnamed = self.remarks[MAX_WARNINGS:]
        if unnamed:
            yield Warn(unnamed[0].code, f"{len(unnamed):,} more files could not be searched completely")


TEXTS_UNKNOWN = Warn(
    "left_out",
    "texts with a NUL, for lack of time; a search of one by its path covers all of it",
)
"""For a later page of a search in a tree that cannot be scanned within its time."""


NOT_SORTED = Warn("unsorted", "too many files to sort in time, so they are in path order")
"""For the first page of a search in another order."""

BEGINS_AGAIN = Warn(
    "unsorted",
    "too many files to sort in time, so the next call starts again, in path order: "
    "it repeats what earlier pages showed",
)
"""For a later page of a search in another order, at the longest time limit."""


def hidden_in(files: Sequence[GrepFile]) -> list[Warn]:
    """Warnings about hidden characters in the shown lines, each with its file."""
    lines = [(file, line) for file in files for line in file.lines]
    if not hidden.scan([line.text for _, line in lines], 1, limit=1):
        return []
    warnings = [
        Warn(warn.code, f"{quote(file.path)}: {warn.detail}", warn.line, warn.column)
        for file, line in lines
        for warn in hidden.scan([line.text], line.number, limit=MAX_WARNINGS, first_column=line.column)
    ]
    return hidden.first_told(warnings, MAX_WARNINGS)


def shown_in(files: Sequence[GrepFile]) -> list[GrepFile]:
    """The files with their lines as replies show them; their warnings are about the lines as they are."""
    return [replace(file, lines=[*map(shown, file.lines)]) for file in files]


def in_documents(request: GrepRequest) -> GrepRequest:
    """The same search including documents, which are searched in path order."""
    return replace(request, documents=True, sort=None, cursor=None)


def not_text(request: GrepRequest, source: Source) -> tuple[Warn, GrepRequest]:
    """A warning that the only file of a search was not searched, and the search that does it."""
    if form_of(source) is not None:
        detail = "the file is a document and was not searched"
        return Warn("binary", detail), in_documents(request)
    detail = "the file is binary and was not searched"
    return Warn("binary", detail), replace(request, include=request.include | {"binary"}, cursor=None)


def with_documents(error: Binary, request: GrepRequest) -> Binary:
    """The failure of a search in one compressed file, with the search that looks into it as a document."""
    if request.documents or not is_searched(request.path.rpartition(".")[0]):
        return error
    again = in_documents(request)
    advice = "Search its text with documents."
    return Binary(error.path, error.media_type, error.size_bytes, advice, next_request=again)
