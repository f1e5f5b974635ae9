"""The first stage of a ranked search: every file that may be seen, and what of the question is in it.

Each file is opened through the guard, or its kept text is used while a stat through the guard's
folders says that it is the same state of the same file.  Nothing else is counted, so a file that
may not be seen has no part in how rare a word is.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import final

from msgspec import Struct, field
from msgspec.structs import replace

from readroom.deadline import Deadline
from readroom.engine.cursors import end_of_folder, path_key
from readroom.engine.find.kept import KeptTexts, KnownText
from readroom.engine.grep.scope import Scope, join_below
from readroom.errors import Binary, Cancelled, ReadroomError, TimedOut
from readroom.formats.kinds import UNKNOWN, classify, sniff
from readroom.limits import HEAD_BYTES
from readroom.limits.find import FIND_FILE_BYTES, FIND_LEFT_NAMES
from readroom.paths import WorkPath
from readroom.policy.guard import Guard, VisibleNames
from readroom.ranking.counting import CountedText
from readroom.ranking.names import NameHints
from readroom.ranking.order import Examine
from readroom.ranking.query import Query
from readroom.ranking.score import Counted, Glimpse, count, glance
from readroom.stores.base import Folder, Source
from readroom.text import encodings
from readroom.text.encodings import Encoding
from readroom.values import EntryKind, Kind

_REPORT_EVERY = 256
"""Files between two reports of progress."""


class Seen(Struct):
    """What the first stage found.

    Attributes:
        examine: Says exactly what there is of the question in one of the files.
        glimpses: Files in which, or in whose names, something of the question is.
        files: Files of text that were looked at.
        chars: How long they are together.
        stopped_at: Relative path of the first file that was not reached in time; None when all were.
        large: Paths of files that are too large to be looked at, the first of them.
        large_files: How many there are.
    """

    examine: Examine
    glimpses: list[Glimpse] = field(default_factory=list)
    files: int = 0
    chars: int = 0
    stopped_at: str | None = None
    large: list[str] = field(default_factory=list)
    large_files: int = 0


@final
class Survey:
    """One pass over the files below a folder. Paths are relative to it."""

    def __init__(
        self,
        guard: Guard,
        query: Query,
        scope: Scope,
        texts: KeptTexts,
        deadline: Deadline,
        patience: Deadline,
    ) -> None:
        """`deadline` is for looking at all files, `patience` for examining the best of them."""
        self._guard = guard
        self._query = query
        self._scope = scope
        self._texts = texts
        self._deadline = deadline
        self._patience = patience
        self._hints = NameHints(query)
        self._least = b""
        self.seen = Seen(self._examine)

    def look(self, top: Folder, since: str) -> Seen:
        """Look at all files from `since` on, or as many as there is time for. Raises Cancelled."""
        self._least = path_key(since) if since else b""
        with suppress(TimedOut):  # `stopped_at` says where
            self._folder("", top)
        return self.seen

    def _folder(self, above: str, folder: Folder) -> None:
        """Look at all files in a folder and below it; `above` is its path."""
        visible = self._guard.visible(folder)
        names = [name for name, kind in visible.kinds.items() if kind is EntryKind.FILE]
        files = set(self._scope.taken(above, names, visible.marks))
        prefix = f"{above}/" if above else ""
        plain = "".join(visible.kinds).isascii()
        for name in sorted(visible.kinds, key=None if plain else os.fsencode):
            path = prefix + name
            if name in files:
                if not self._least or path_key(path) >= self._least:
                    self._check(path)
                    self._file(path, name, folder, visible)
            elif visible.kinds[name] is EntryKind.FOLDER and self._enters(path):
                self._deeper(path, join_below(folder.real, name))

    def _enters(self, path: str) -> bool:
        behind = not self._least or end_of_folder(path_key(path)) > self._least
        return behind and self._scope.enters(path)

    def _deeper(self, path: str, real: WorkPath) -> None:
        try:
            folder = self._guard.open_folder(real)
        except ReadroomError:
            return  # denied, or gone since its name was read
        with folder:
            if folder.real == real:
                self._folder(path, folder)

    def _check(self, path: str) -> None:
        if not self.seen.files and not self._deadline.cancelled:
            return  # a call that looked at nothing would go on where it began
        try:
            self._deadline.check()
        except TimedOut:
            self.seen.stopped_at = path
            raise

    def _file(self, relative: str, name: str, folder: Folder, visible: VisibleNames) -> None:
        real = join_below(folder.real, name)
        known = self._kept(folder, name, real) or self._opened(visible, name, real)
        if known is None or not known.text:
            return
        seen = self.seen
        seen.files += 1
        seen.chars += len(known.text)
        if seen.files % _REPORT_EVERY == 0:
            self._deadline.report(seen.files, None, "files")
        glimpse = self._glimpse(known, real, relative)
        if glimpse is not None:
            seen.glimpses.append(glimpse)

    def _glimpse(self, known: KnownText, real: WorkPath, relative: str) -> Glimpse | None:
        question, glimpse = known.glimpse
        if question != self._question(relative):
            glimpse = glance(self._query, self._hints, real, relative, CountedText(known.text))
            known.glimpse = (self._question(relative), glimpse)
        return glimpse

    def _examine(self, glimpse: Glimpse) -> Counted | None:
        """What there is of the question in a file that was looked at; None when it is gone by now."""
        self._patience.check()
        known = self._texts.current(glimpse.path)
        if known is None:
            text = self._again(WorkPath(glimpse.path))
            return None if text is None else count(self._query, glimpse, CountedText(text))
        question, counted = known.counted
        if counted is None or question != self._question(glimpse.place):
            counted = count(self._query, glimpse, CountedText(known.text))
            known.counted = (self._question(glimpse.place), counted)
        return counted

    def _question(self, relative: str) -> str:
        return f"{relative}\0{self._query.text}"

    def _kept(self, folder: Folder, name: str, real: WorkPath) -> KnownText | None:
        """The text as it was read before, when the file is still in that state."""
        if not self._texts.has(real):
            return None
        try:
            return self._texts.get(real, folder.stat(name))
        except ReadroomError:
            return None

    def _opened(self, visible: VisibleNames, name: str, real: WorkPath) -> KnownText | None:
        try:
            with visible.open(name) as source:
                if source.size > FIND_FILE_BYTES:
                    self._leave(real)
                    return None
                decoded = read_text(source)
                # What is not text is kept as an empty one: it need not be looked at again either.
                return self._texts.put(real, source, "" if decoded is None else decoded.text)
        except Cancelled:
            raise
        except ReadroomError:
            return None  # what may not be read is not there; what cannot be read has no words

    def _again(self, real: WorkPath) -> str | None:
        try:
            with self._guard.open(real) as source:
                if source.real != real or source.size > FIND_FILE_BYTES:
                    return None
                decoded = read_text(source)
        except Cancelled:
            raise
        except ReadroomError:
            return None
        return None if decoded is None else decoded.text

    def _leave(self, path: str) -> None:
        self.seen.large_files += 1
        if len(self.seen.large) < FIND_LEFT_NAMES:
            self.seen.large.append(path)


def look_at(source: Source, query: Query) -> Seen:
    """The first stage for one file that was asked for by name, hidden and ignored or not.

    Raises:
        Binary: It cannot be ranked.
    """
    decoded = read_text(source)
    if decoded is None:
        media = sniff(source.read_at(0, HEAD_BYTES)) or UNKNOWN
        raise Binary(source.real, media.name, source.stat.size, media.advice)
    text = CountedText(decoded.text)
    glimpse = glance(query, NameHints(query), source.real, source.real, text)
    seen = Seen(lambda glimpse: count(query, glimpse, text), files=1, chars=text.size)
    return seen if glimpse is None else replace(seen, glimpses=[glimpse])


class DecodedFile(Struct, frozen=True):
    """A file as text."""

    text: str
    data: bytes
    encoding: Encoding


def read_text(source: Source) -> DecodedFile | None:
    """The text of an opened file; None when it is not one."""
    head = source.read_at(0, min(source.size, HEAD_BYTES))
    encoding = encoding_of(source, head)
    if encoding is None:
        return None
    rest = source.size - len(head)
    data = head + source.read_at(len(head), rest) if rest > 0 else head
    text = encodings.decode(data[len(encoding.bom) :], encoding)
    return None if "\0" in text else DecodedFile(encodings.visible(text), data, encoding)


def encoding_of(source: Source, head: bytes) -> Encoding | None:
    """How a file is read that begins so; None when it is not text."""
    # ASCII that is something else: binary, an encoding with escapes, a document.
    if head.isascii() and b"\0" not in head and b"\x1b" not in head and b"%PDF" not in head:
        return encodings.UTF8
    encoding = encodings.detect(head, complete=source.size <= HEAD_BYTES)
    binary = encoding is None or classify(source.real, head, encoding) in (Kind.BINARY, Kind.IMAGE)
    return None if binary else encoding
