"""The texts that ranked searches have read, cached so that the next search need not read them again.

A cached text belongs to one state of one file: the same name, device, inode, size, times, mode and link
count.  Whether the file may be seen is checked anew every time: a text is looked up only after the guard
has let its folder and its name through.  Word counts are cached for the last question only, because its
next page is the call that most often follows.

Nothing is kept on disk.  We tried an index of all words: building it takes as long as a dozen searches
of the same tree, so it pays off only where files do not change, and it would hold text that was readable
under rules that have changed since.  Without an index there is nothing to go stale, lock, fill a disk or
leak.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import final, overload

from msgspec import Struct

from readroom.core.engine.find.document import DocumentText
from readroom.core.ranking.parts import TextPart
from readroom.core.ranking.score import Candidate, Counted, Glimpse
from readroom.core.stores.base import Source
from readroom.core.values import Stat

_UNUSED = 4
"""Searches after which an unused text makes room for others. Dropping the least recently used text would, in
a tree larger than the bound, drop each shortly before it is needed."""


def as_document(path: str) -> str:
    """The key for a file's text as a document; no path is equal to it."""
    return f"{path}\0"


@final
class TextLines(Sequence[str]):
    """The lines of a text, sliced on access: a list of strings would take twice the memory of the text."""

    __slots__ = ("_starts", "text")

    def __init__(self, text: str, starts: Sequence[int]) -> None:
        """`starts` are the positions where lines begin, and the position after the last line end."""
        self.text = text
        self._starts = starts

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        at = range(len(self))[at]
        return self.text[self._starts[at] : self._starts[at + 1] - 1].removesuffix("\r")


class Apart(Struct, frozen=True):
    """A file split into parts.

    Attributes:
        candidate: What the ranking uses of it.
        links: The number of its names (hard links).
        lines: All lines.
        digits: The hash of the file.
        document: Its data if it is a document.
        windows: Its parts without an outline.
        definitions: Its parts by the outline, once known.
        encoding: The encoding of the file.
    """

    candidate: Candidate
    links: int
    lines: Sequence[str]
    digits: str
    document: DocumentText | None = None
    windows: Sequence[TextPart] = ()
    definitions: Sequence[TextPart] | None = None
    encoding: str = ""

    def at(self, line: int) -> tuple[int | None, int]:
        """The part of a document that a line is in, and its number there."""
        return (None, line) if self.document is None else self.document.at(line)


class KnownText(Struct):
    """A cached text with its state, its size in memory, the search that used it last, and its document.

    `packed` is whether the file is compressed; its text is then empty unless it was requested.
    `glimpse` and `counted` pair a question with its result; each is a single value because threads share it.
    """

    stat: Stat
    text: str
    size: int
    search: int
    glimpse: tuple[str, Glimpse | None] = ("", None)
    counted: tuple[str, Counted | None] = ("", None)
    document: DocumentText | None = None
    packed: bool = False


FIND_KEPT_BYTES = 24 * 1024 * 1024
"""Texts cached by a workspace between ranked searches: all of a usual repository. The rest is read by every
search; of a tree twice as large nothing is cached."""

FIND_APART_CHARS = 2 * 1024 * 1024
"""Characters of split files that are cached for the next page of the same question, some two bytes each."""


@final
class KeptTexts:
    """The cache of texts by real path, and of the files split last. Safe to share between threads."""

    def __init__(self, max_bytes: int = FIND_KEPT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._search = 0
        self._refused = 0
        self._tree, self._read = "", 0
        self._kept: OrderedDict[str, KnownText] = OrderedDict()
        self._apart: OrderedDict[str, tuple[Stat, Apart]] = OrderedDict()
        self._apart_chars = 0
        self._lock = threading.Lock()

    def begin(self, tree: str) -> None:
        """Start a search of a tree; nothing is cached for a tree that was too large in the last search."""
        with self._lock:
            self._search += 1
            is_large = tree == self._tree and self._read > 2 * self._max_bytes
            # Filling and clearing the cache with every search would fragment memory.
            self._refused = self._max_bytes + 1 if is_large else 0
            self._tree, self._read = tree, 0

    def has(self, path: str) -> bool:
        """Whether a text of that file is cached, in any state."""
        return path in self._kept

    def get(self, path: str, now: Stat) -> KnownText | None:
        """The text of the file, if it is unchanged."""
        with self._lock:
            kept = self._kept.get(path)
            if kept is None:
                return None
            if kept.stat != now:
                self._bytes -= self._kept.pop(path).size
                return None
            kept.search = self._search
            self._kept.move_to_end(path)
            return kept

    def current(self, path: str) -> KnownText | None:
        """The text of a file as the current search has seen it."""
        known = self._kept.get(path)
        return known if known is not None and known.search == self._search else None

    def put(
        self,
        path: str,
        source: Source,
        text: str,
        document: DocumentText | None = None,
        *,
        packed: bool = False,
    ) -> KnownText:
        """Add the text of an opened file, cached if its state is reliable and there is room."""
        size = sys.getsizeof(text)
        known = KnownText(source.stat, text, size, self._search, document=document, packed=packed)
        with self._lock:
            self._read += known.size
            old = self._kept.pop(path, None)
            self._bytes -= old.size if old else 0
            if not self._has_room(known.size):
                self._refuse(known.size)
            elif (document is None or document.may_be_kept) and _is_settled(source):
                self._kept[path] = known
                self._bytes += known.size
        return known

    def _refuse(self, size: int) -> None:
        """Cache nothing of a tree at least twice as large as the room, since that would save little."""
        self._refused += size
        if self._refused > self._max_bytes and self._kept:
            self._kept.clear()
            self._bytes = 0

    def _has_room(self, size: int) -> bool:
        """Whether there is room for so many bytes, after dropping what was not used for long."""
        if self._refused > self._max_bytes:
            return False
        while self._bytes + size > self._max_bytes and self._kept:
            first = next(iter(self._kept))
            if self._kept[first].search > self._search - _UNUSED:
                return False
            self._bytes -= self._kept.pop(first).size
        return self._bytes + size <= self._max_bytes

    def get_apart(self, path: str, now: Stat) -> Apart | None:
        """The file as it was split, if it is unchanged."""
        with self._lock:
            stat, apart = self._apart.get(path, (None, None))
            if apart is not None and stat == now:
                self._apart.move_to_end(path)
                return apart
        return None

    def put_apart(self, path: str, source: Source, apart: Apart) -> None:
        """Cache a split file in place of the least recently used ones."""
        size = apart.candidate.starts[-1]
        if not _is_settled(source) or size > FIND_APART_CHARS:
            return
        with self._lock:
            old = self._apart.pop(path, None)
            self._apart_chars += size - (old[1].candidate.starts[-1] if old else 0)
            self._apart[path] = (source.stat, apart)
            while self._apart_chars > FIND_APART_CHARS:
                self._apart_chars -= self._apart.popitem(last=False)[1][1].candidate.starts[-1]

    def outlined(self, path: str, apart: Apart) -> None:
        """Update a cached split file with its definitions, if it is still in that state."""
        with self._lock:
            stat, known = self._apart.get(path, (None, None))
            if stat is not None and known is not None and known.digits == apart.digits:
                self._apart[path] = (stat, apart)


FIND_SETTLED_NS = 2_000_000_000
"""A file that was changed this shortly before it was read is not cached: it could change again within one
tick of the file system's clock, and look the same."""


def _is_settled(source: Source) -> bool:
    """Whether a later change would change the state of an opened file.

    A file with several names can change under another one; one that was changed a moment ago can
    change again within a tick of the file system's clock; and a store may know too little.
    """
    stat = source.stat
    if stat.links != 1 or stat.changed_ns is None or not stat.inode:
        return False
    latest = max(stat.mtime_ns, stat.changed_ns)
    return time.time_ns() - latest > FIND_SETTLED_NS and source.current() == source.version
