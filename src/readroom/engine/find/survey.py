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

from readroom.deadline import Deadline
from readroom.engine.cursors import end_of_folder, path_key
from readroom.engine.find.kept import KeptTexts, KnownText
from readroom.engine.grep.scope import Scope, join_below
from readroom.errors import Binary, Cancelled, ReadroomError, TimedOut, TooLarge
from readroom.formats.kinds import UNKNOWN, classify, sniff
from readroom.limits import HEAD_BYTES
from readroom.limits.find import FIND_FILE_BYTES, FIND_LEFT_NAMES
from readroom.paths import WorkPath
from readroom.policy.guard import Guard
from readroom.quoting import quote
from readroom.ranking.counting import CountedText
from readroom.ranking.query import Query
from readroom.ranking.score import Counted, count
from readroom.stores.base import Folder, Source
from readroom.text import encodings
from readroom.text.encodings import Encoding
from readroom.values import EntryKind, Kind

_REPORT_EVERY = 256
"""Files between two reports of progress."""


class Seen(Struct):
    """What the first stage found.

    Attributes:
        found: Files in which, or in whose names, something of the question is.
        files: Files of text that were looked at.
        chars: How long they are together.
        stopped_at: Relative path of the first file that was not reached in time; None when all were.
        large: Paths of files that are too large to be looked at, the first of them.
        large_files: How many there are.
    """

    found: list[Counted] = field(default_factory=list)
    files: int = 0
    chars: int = 0
    stopped_at: str | None = None
    large: list[str] = field(default_factory=list)
    large_files: int = 0


@final
class Survey:
    """One pass over the files below a folder. Paths are relative to it."""

    def __init__(
        self, guard: Guard, query: Query, scope: Scope, texts: KeptTexts, deadline: Deadline
    ) -> None:
        self._guard = guard
        self._query = query
        self._scope = scope
        self._texts = texts
        self._deadline = deadline
        self._least = b""
        self.seen = Seen()

    def look(self, top: Folder, since: str) -> Seen:
        """Look at all files from `since` on, or as many as there is time for. Raises Cancelled."""
        self._least = path_key(since) if since else b""
        with suppress(TimedOut):  # `stopped_at` says where
            self._folder("", top)
        return self.seen

    def _folder(self, prefix: str, folder: Folder) -> None:
        kinds = {entry.name: entry.kind for entry in folder.entries()}
        folders = {name for name, kind in kinds.items() if kind is EntryKind.FOLDER}
        denied = self._guard.denied(folder.real, list(kinds), folders)
        for name in sorted(kinds.keys() - denied, key=os.fsencode):
            path = prefix + name
            key = path_key(path)
            if kinds[name] is EntryKind.FILE:
                if key >= self._least and self._scope.takes(path):
                    self._check(path)
                    self._file(path, name, folder)
            elif (
                kinds[name] is EntryKind.FOLDER
                and end_of_folder(key) > self._least
                and self._scope.enters(path)
            ):
                self._deeper(path, join_below(folder.real, name))

    def _deeper(self, path: str, real: WorkPath) -> None:
        try:
            folder = self._guard.open_folder(real)
        except ReadroomError:
            return  # denied, or gone since its name was read
        with folder:
            if folder.real == real:
                self._folder(f"{path}/", folder)

    def _check(self, path: str) -> None:
        if not self.seen.files and not self._deadline.cancelled:
            return  # a call that looked at nothing would go on where it began
        try:
            self._deadline.check()
        except TimedOut:
            self.seen.stopped_at = path
            raise

    def _file(self, relative: str, name: str, folder: Folder) -> None:
        real = join_below(folder.real, name)
        kept = self._kept(folder, name, real) or self._opened(real)
        if kept is None or not kept.text:
            return
        seen = self.seen
        seen.files += 1
        seen.chars += len(kept.text)
        if seen.files % _REPORT_EVERY == 0:
            self._deadline.report(seen.files, None, "files")
        counted = self._counted(kept, real, relative)
        if counted is not None:
            seen.found.append(counted)

    def _counted(self, kept: KnownText, real: WorkPath, relative: str) -> Counted | None:
        question = f"{relative}\0{self._query.text}"
        known_question, counted = kept.answer
        if known_question != question:
            counted = count(self._query, real, relative, CountedText(kept.text), len(kept.text))
            kept.answer = (question, counted)
        return counted

    def _kept(self, folder: Folder, name: str, real: WorkPath) -> KnownText | None:
        """The text as it was read before, when the file is still in that state."""
        if not self._texts.has(real):
            return None
        try:
            return self._texts.get(real, folder.stat(name))
        except ReadroomError:
            return None

    def _opened(self, real: WorkPath) -> KnownText | None:
        try:
            with self._guard.open(real) as source:
                # Links are not followed: what they lead to is looked at where it is.
                if source.real != real:
                    return None
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

    def _leave(self, path: str) -> None:
        self.seen.large_files += 1
        if len(self.seen.large) < FIND_LEFT_NAMES:
            self.seen.large.append(path)


def look_at(guard: Guard, query: Query, path: WorkPath) -> Seen:
    """The first stage for one file that was asked for by name, hidden and ignored or not.

    Raises:
        TooLarge, Binary: It cannot be ranked.
        NotFound, Denied, OutsideRoot, NoPermission, NotAFile, HardLinked: As `Guard.open`.
    """
    with guard.open(path) as source:
        if source.size > _ALONE * FIND_FILE_BYTES:
            advice = "Search it with grep_files, or read a part of it."
            raise TooLarge(quote(path), source.size, _ALONE * FIND_FILE_BYTES, "bytes", advice)
        decoded = read_text(source)
        if decoded is None:
            media = sniff(source.read_at(0, HEAD_BYTES)) or UNKNOWN
            raise Binary(path, media.name, source.stat.size, media.advice)
        counted = count(query, source.real, source.real, CountedText(decoded.text), len(decoded.text))
    return Seen([counted] if counted else [], 1, len(decoded.text))


_ALONE = 8
"""How many times larger a file may be that is looked at alone."""


class DecodedFile(Struct, frozen=True):
    """A file as text."""

    text: str
    data: bytes
    encoding: Encoding


def read_text(source: Source) -> DecodedFile | None:
    """The text of an opened file; None when it is not one."""
    head = source.read_at(0, min(source.size, HEAD_BYTES))
    encoding = _encoding_of(source, head)
    if encoding is None:
        return None
    rest = source.size - len(head)
    data = head + source.read_at(len(head), rest) if rest > 0 else head
    text = encodings.decode(data[len(encoding.bom) :], encoding)
    return None if "\0" in text else DecodedFile(encodings.visible(text), data, encoding)


def _encoding_of(source: Source, head: bytes) -> Encoding | None:
    """How a file is read that begins so; None when it is not text."""
    if head.isascii() and not any(mark in head for mark in _TELLING):
        return encodings.UTF8
    encoding = encodings.detect(head, complete=source.size <= HEAD_BYTES)
    binary = encoding is None or classify(source.real, head, encoding) in (Kind.BINARY, Kind.IMAGE)
    return None if binary else encoding


_TELLING = (b"\0", b"\x1b", b"%PDF")
"""In ASCII that may be something else: binary, an encoding with escapes, a document."""
