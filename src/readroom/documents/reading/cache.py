"""The document cache of a workspace: hashes, extracted parts, and processes with an open document.

Parts are cached by the hash of their document, so that neither its name nor its times matter.  A process
that has answered is kept for a moment: the next page of the same document then takes a millisecond
instead of a tenth of a second.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Sequence
from types import TracebackType
from typing import Self, TypeAlias, final

from msgspec import Struct

from readroom.core.deadline import Deadline
from readroom.core.formats.registry import table
from readroom.core.limits.outline import LARGE_MEMORY_KIB
from readroom.core.lru import LruCache
from readroom.core.stores.base import Source
from readroom.core.text.hashes import digits_of, of_state
from readroom.core.values import Version
from readroom.documents.formats import Area, Part
from readroom.documents.formats.protocol import Opened
from readroom.documents.limits import DOCUMENT_CHILD_CPU_S
from readroom.documents.reading.extractor import Extractor, is_read_by_ranges
from readroom.documents.reading.withheld import Denies, Withheld

_PartKey: TypeAlias = tuple[str, str, int, Area | None, bool]
"""Hash and format of the document, part, area, and whether pictures were left out."""

_PART_BYTES = 500
"""Estimated size of a cached part besides its text; each of its lines adds 60."""

_LINE_BYTES = 60


class _Idle(Struct):
    """An idle process, its open document, and the timer that ends it."""

    extractor: Extractor
    opened: Opened
    timer: threading.Timer


DOCUMENT_CACHE_BYTES = 16 * 1024 * 1024
"""Extracted parts cached by a workspace: a book of 3,000 pages."""

DOCUMENT_HASHES = 1_000
"""Documents whose hash and titles are cached."""

DOCUMENT_FLAT = 16
"""Documents read as one text whose line counts per part are cached: 4 bytes per part."""

DOCUMENT_PROCESSES = 3
"""Documents that are extracted at once, each in a process of up to DOCUMENT_CHILD_BYTES."""

DOCUMENT_KEPT = 2
"""Processes that keep a document open for its next page, which then takes a tenth of the time."""

DOCUMENT_IDLE_S = 20.0
"""How long they wait: a model reads a page and asks for the next one within it."""


@final
class DocumentCache:
    """Caches documents and their processes. Safe to share between threads."""

    def __init__(self, part_bytes: int = DOCUMENT_CACHE_BYTES) -> None:
        """Cache up to `part_bytes` of extracted parts."""
        self._lock = threading.Lock()
        self._turns = threading.BoundedSemaphore(DOCUMENT_PROCESSES)
        self._idle: LruCache[tuple[Version, str], _Idle] = LruCache(DOCUMENT_KEPT)
        self._hashes: LruCache[Version, str] = LruCache(DOCUMENT_HASHES)
        self._parts: LruCache[_PartKey, Part] = LruCache(part_bytes, _size)
        self._part_bytes = part_bytes
        self._opened: LruCache[tuple[str, str], Opened] = LruCache(DOCUMENT_HASHES)
        self._counts: LruCache[tuple[str, str], array[int]] = LruCache(DOCUMENT_FLAT)
        self._extracted = 0
        self._closed = False

    def open(
        self, source: Source, form: str, deadline: Deadline, denies: Denies, *, eager: bool = True
    ) -> Reading:
        """Open a document for reading, as a context manager.

        `denies` decides which attached files are withheld.  With `eager`, its process is started
        during the first hashing, not after it.
        """
        return Reading(self, source, form, deadline, Withheld(denies), eager=eager)

    @property
    def extracted(self) -> int:
        """How many parts were extracted so far; cached parts are not extracted again."""
        return self._extracted

    @property
    def waiting(self) -> list[Extractor]:
        """The processes that keep a document open for its next part."""
        return [waiting.extractor for _, waiting in self._idle.items()]

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            self._closed = True
            idle = self._idle.clear()
        for waiting in idle:
            waiting.timer.cancel()
            waiting.extractor.close()

    # --- for `Reading` ------------------------------------------------------------------------

    def _take(self, key: tuple[Version, str]) -> tuple[Extractor, Opened] | None:
        waiting = self._idle.pop(key)
        if waiting is None:
            return None
        waiting.timer.cancel()
        return waiting.extractor, waiting.opened

    def _give(self, key: tuple[Version, str], extractor: Extractor, opened: Opened) -> None:
        """Keep a process for a while, in place of the one that has waited longest."""
        timer = threading.Timer(DOCUMENT_IDLE_S, self._drop, (key, extractor))
        timer.daemon = True
        gone: list[_Idle] = []
        with self._lock:
            if self._closed or key in self._idle:
                gone.append(_Idle(extractor, opened, timer))
            else:
                gone += self._idle.put(key, _Idle(extractor, opened, timer))
                timer.start()
        for waiting in gone:
            waiting.timer.cancel()
            waiting.extractor.close()

    def _drop(self, key: tuple[Version, str], extractor: Extractor) -> None:
        with self._lock:
            waiting = self._idle.get(key)
            if waiting is None or waiting.extractor is not extractor:
                return
            self._idle.pop(key)
        extractor.close()

    def _hash(self, source: Source, deadline: Deadline) -> str:
        known = self._hashes.get(source.version)
        if known is not None:
            return known
        if is_read_by_ranges(source):
            return of_state(source.version)
        digits = digits_of(source, deadline)
        if source.current() == source.version:
            self._hashes.put(source.version, digits)
        return digits

    def _knows(self, version: Version) -> bool:
        return version in self._hashes

    def _known(self, digits: str, form: str) -> Opened | None:
        return self._opened.get((digits, form))

    def _counted(self, key: tuple[str, str]) -> array[int]:
        """The line counts of the first parts of a document read as one text, as far as known."""
        return self._counts.get_or_put(key, lambda: array("I"))

    def _count(self, key: tuple[str, str], number: int, lines: int) -> None:
        with self._lock:
            known = self._counts.get(key)
            if known is not None and len(known) == number - 1:
                known.append(lines)

    def _part(self, key: _PartKey) -> Part | None:
        return self._parts.get(key)

    def _keep(self, key: _PartKey, part: Part, opened: Opened) -> None:
        with self._lock:
            self._extracted += 1
        if _size(part) > self._part_bytes // 4:
            return
        self._opened.put(key[:2], opened)
        self._parts.put(key, part)


def _size(part: Part) -> int:
    lines = (*part.lines, *part.counted)
    texts = sum(map(len, lines)) + _LINE_BYTES * len(lines)
    return _PART_BYTES + 2 * texts + sum(len(picture.data) for picture in part.pictures)


OUTLINE_FORM = "outline:"
"""Prefix of the form of a text to be outlined; the rest is an `outline.large.OutlineAsked`."""

FLAT_FORM = "flat:"
"""Prefix of the form of a document that is read as one text."""


def _extractor(source: Source, form: str, most_s: float) -> Extractor:
    if not form.startswith(OUTLINE_FORM):
        row = table().rows[form.removeprefix(FLAT_FORM)]
        place = row.flat if form.startswith(FLAT_FORM) else row.opener
        return Extractor(source, place, most_s=most_s)
    argument = form.removeprefix(OUTLINE_FORM)
    memory = LARGE_MEMORY_KIB * 1024
    return Extractor(
        source, "readroom.documents.large", argument=argument, memory_bytes=memory, most_s=most_s
    )


@final
class Reading:
    """A document that is being read; its process is started when it is needed."""

    def __init__(
        self,
        room: DocumentCache,
        source: Source,
        form: str,
        deadline: Deadline,
        withheld: Withheld,
        *,
        eager: bool,
    ) -> None:
        self._room = room
        self._source = source
        self._form = form
        self._deadline = deadline
        self._withheld = withheld
        self._eager = eager
        self._key = (source.version, form)
        self._extractor: Extractor | None = None
        self._opened: Opened | None = None
        self._digits: str | None = None
        self._is_open = False
        self._has_turn = False

    @property
    def digits(self) -> str:
        """The SHA-256 of its bytes, in hex; of one that is read by ranges, what stands for it.

        Raises Shrunk if it became shorter while it was read.
        """
        if self._digits is None:
            if self._eager and not self._room._knows(self._source.version):
                self._start()
            self._digits = self._room._hash(self._source, self._deadline)
        return self._digits

    @property
    def opened(self) -> Opened:
        """The description of the document without denied names. Raises Unreadable, TimedOut or Cancelled."""
        return self._withheld.from_opened(self._whole())

    def _whole(self) -> Opened:
        if self._opened is None:
            self._opened = self._room._known(self.digits, self._form)
        return self._opened or self._running()[1]

    @property
    def counted(self) -> Sequence[int]:
        """How many lines its first parts have in one text, as far as `count` has recorded them."""
        return self._room._counted((self.digits, self._form))

    def count(self, number: int, lines: int) -> None:
        """Record how many lines a part has in one text."""
        self._room._count((self.digits, self._form), number, lines)

    def part(self, number: int, area: Area | None = None, *, text_only: bool = False) -> Part:
        """One part, without its pictures for a search; of a denied attachment only a note.

        Raises:
            Unreadable: It cannot be extracted.
            TimedOut, Cancelled: From the deadline.
        """
        return self._withheld.from_part(self._whole(), number, lambda: self._part(number, area, text_only))

    def _part(self, number: int, area: Area | None, text_only: bool) -> Part:
        keys = [(self.digits, self._form, number, area, skim) for skim in {False, text_only}]
        for key in keys:
            part = self._room._part(key)
            if part is not None:
                return part
        extractor, opened = self._running()
        part = extractor.part(number, area, self._deadline, text_only=text_only)
        self._room._keep((self.digits, self._form, number, area, text_only), part, opened)
        return part

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        extractor, self._extractor = self._extractor, None
        if extractor is not None:
            same = extractor.alive and extractor.is_fresh and self._source.current() == self._source.version
            if same and self._is_open and self._opened is not None:
                self._room._give(self._key, extractor, self._opened)
            else:
                extractor.close()
        if self._has_turn:
            self._room._turns.release()

    def _start(self) -> Extractor:
        if self._extractor is not None and self._extractor.alive:
            return self._extractor
        self._wait_for_turn()
        idle = self._room._take(self._key)
        if idle is None:
            most_s = max(DOCUMENT_CHILD_CPU_S, 2 * (self._deadline.work_s or 0))
            self._extractor = _extractor(self._source, self._form, most_s)
            self._is_open = False
        else:
            (self._extractor, self._opened), self._is_open = idle, True
            if self._extractor.source is not None:
                self._extractor.source = self._source
        return self._extractor

    def _running(self) -> tuple[Extractor, Opened]:
        extractor = self._start()
        if not self._is_open or self._opened is None:
            self._opened = extractor.opened(self._deadline)
            self._is_open = True
        return extractor, self._opened

    def _wait_for_turn(self) -> None:
        while not self._has_turn:
            self._deadline.check()
            self._has_turn = self._room._turns.acquire(timeout=0.1)
