"""Rank one text that is too large to hold in memory, in windows of whole lines.

Windows of a large text are ranked like files of a tree: a first pass tells which words each window has
and how rare a word is, then the best windows are read again and split together.  So a question about a
log of 100 MB is answered in one pass and bounded memory.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TypeVar, final, overload

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.engine.find.kept import Apart
from readroom.core.engine.find.opening import encoding_of
from readroom.core.engine.find.survey import Seen
from readroom.core.errors import Binary, TooLarge
from readroom.core.formats.kinds import UNKNOWN, sniff
from readroom.core.limits import HEAD_BYTES
from readroom.core.limits.find import FIND_FILE_BYTES
from readroom.core.quoting import quote
from readroom.core.ranking.counting import CountedText
from readroom.core.ranking.names import NameHints
from readroom.core.ranking.parts import TextPart, cut_rows
from readroom.core.ranking.query import Query
from readroom.core.ranking.score import Candidate, Counted, Glimpse, RankedFile, count, glance
from readroom.core.stores.base import Source
from readroom.core.text import encodings
from readroom.core.text.encodings import Encoding

_T = TypeVar("_T")

_ADVICE = "Search it with grep_files, or read a part of it."


class Window(Struct, frozen=True):
    """Whole lines of a text: the number of the first, and their byte range."""

    line: int
    start: int
    end: int


FIND_WINDOW_BYTES = 64 * 1024
"""A larger file that is asked for by its path is ranked in windows of whole lines: some 600 of a log."""

FIND_LARGE_BYTES = 512 * 1024 * 1024
"""Largest such file: about as much as a whole tree that is searched within the time of a call."""


@final
class LargeText:
    """An opened text, examined for one question. The caller closes the source.

    Attributes:
        seen: Its windows, as a survey reports files.
    """

    def __init__(self, source: Source, query: Query, deadline: Deadline) -> None:
        """Look at the whole text. Raises Binary, TooLarge, TimedOut, Cancelled."""
        self._source = source
        self._query = query
        self._encoding = self._require_text()
        self._windows: dict[str, Window] = {}
        self._lines = 0
        self._digits = ""
        self.seen = Seen(self._examine)
        self._look(deadline)

    def _require_text(self) -> Encoding:
        source = self._source
        head = source.read_at(0, HEAD_BYTES)
        encoding = encoding_of(source, head)
        if encoding is None:
            media = sniff(head) or UNKNOWN
            raise Binary(source.real, media.name, source.size, media.advice)
        if source.size > FIND_LARGE_BYTES or encoding.unit > 1 or encoding.name in encodings.STATEFUL:
            raise TooLarge(quote(source.real), source.size, FIND_LARGE_BYTES, "bytes", _ADVICE)
        return encoding

    def _look(self, deadline: Deadline) -> None:
        hints, hasher = NameHints(self._query), hashlib.sha256()
        for number, (window, data) in enumerate(self._cut(deadline)):
            hasher.update(data)
            text = self._decoded(window, data)
            self.seen.files += 1
            self.seen.chars += len(text)
            glimpse = glance(self._query, hints, f"{number:08}", "", CountedText(text))
            if glimpse is not None:
                self._windows[glimpse.path] = window
                self.seen.glimpses.append(glimpse)
        self._digits = hasher.hexdigest()

    def _cut(self, deadline: Deadline) -> Iterator[tuple[Window, bytes]]:
        """The windows in order, with their bytes."""
        at, size, line = 0, self._source.size, 1
        while at < size:
            deadline.check()
            deadline.report(at, size, "bytes")
            data = self._source.read_at(at, FIND_WINDOW_BYTES)
            if not data:
                break  # it was truncated meanwhile
            if at + len(data) < size:
                data = self._whole_lines(at, data)
            yield Window(line, at, at + len(data)), data
            at += len(data)
            line += data.count(b"\n")
            self._lines = line if not data.endswith(b"\n") else line - 1

    def _whole_lines(self, at: int, data: bytes) -> bytes:
        """The bytes up to the last line end in them, or to the first after them if there is none."""
        end = data.rfind(b"\n")
        while end < 0:
            more = self._source.read_at(at + len(data), FIND_WINDOW_BYTES)
            feed = more.find(b"\n")
            end = -1 if feed < 0 else len(data) + feed
            data += more
            if not more:
                return data
            if len(data) > FIND_FILE_BYTES:
                raise TooLarge(
                    quote(self._source.real), len(data), FIND_FILE_BYTES, "bytes in a line", _ADVICE
                )
        return data[: end + 1]

    def _decoded(self, window: Window, data: bytes) -> str:
        mark = self._encoding.bom if window.start == 0 else b""
        return encodings.visible(encodings.decode(data[len(mark) :], self._encoding))

    def _again(self, window: Window) -> str:
        return self._decoded(window, self._source.read_at(window.start, window.end - window.start))

    def _examine(self, glimpse: Glimpse) -> Counted:
        return count(self._query, glimpse, CountedText(self._again(self._windows[glimpse.path])))

    def apart(self, best: Sequence[RankedFile]) -> Apart:
        """The best windows split together; parts have the line numbers of the text."""
        lines, starts, parts, texts = Sparse[str](), Sparse[int](), list[TextPart](), list[str]()
        place = 0
        for window in sorted((self._windows[each.path] for each in best), key=lambda each: each.line):
            text = self._again(window)
            rows = text.removesuffix("\n").split("\n")
            places = [place]
            for row in rows:
                places.append(places[-1] + len(row) + 1)
            texts += rows
            place = places[-1]
            rows = [row.removesuffix("\r") for row in rows]
            lines.put(window.line - 1, rows)
            starts.put(window.line - 1, places)
            above = window.line - 1
            parts += [
                replace(part, first=part.first + above, last=part.last + above) for part in cut_rows(rows)
            ]
        lines.length, starts.length = self._lines, self._lines + 1
        real = self._source.real
        file = RankedFile(real, 0.0, 1.0, Counted(real, real, place, (), ()))
        candidate = Candidate(file, CountedText("\n".join([*texts, ""])), parts, starts)
        return Apart(candidate, self._source.stat.links, lines, self._digits)


@final
class Sparse(Sequence[_T]):
    """A long sequence with only some runs filled in; an index or slice must be within one run.

    Attributes:
        length: Of the whole.
    """

    def __init__(self) -> None:
        self.length = 0
        self._firsts: list[int] = []
        self._runs: list[Sequence[_T]] = []

    def put(self, first: int, run: Sequence[_T]) -> None:
        """Fill in a run from a position on; positions must increase."""
        self._firsts.append(first)
        self._runs.append(run)

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, at: int) -> _T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[_T]: ...
    def __getitem__(self, at: int | slice) -> _T | Sequence[_T]:
        first = at.start if isinstance(at, slice) else at
        if first < 0:
            return self._runs[-1][-1]
        number = bisect_right(self._firsts, first) - 1
        run, above = self._runs[number], self._firsts[number]
        if isinstance(at, slice):
            return run[first - above : at.stop - above]
        return run[first - above]
