"""The first stage of a ranked search: look for the words of the question in every visible file.

Each file is opened through the guard, or its kept text is used while a stat through the guard's
folders says that it is the same state of the same file.  Nothing else is counted, so a file that
may not be seen has no part in how rare a word is.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator
from contextlib import ExitStack, closing
from itertools import groupby
from typing import final

from msgspec import Struct, field
from msgspec.structs import replace

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.engine.ahead import in_step
from readroom.core.engine.cursors import end_of_folder, path_key
from readroom.core.engine.find.document import DocumentText, RanksDocuments
from readroom.core.engine.find.kept import KeptTexts, KnownText, as_document
from readroom.core.engine.find.opening import Opener, encoding_of, is_packed
from readroom.core.engine.scope import Scope, join_below
from readroom.core.engine.unsearched import Unsearched
from readroom.core.formats.kinds import UNKNOWN, is_archive_name, is_searched, sniff
from readroom.core.limits import HEAD_BYTES
from readroom.core.limits.find import FIND_FILE_BYTES
from readroom.core.paths import BORDER, WorkPath
from readroom.core.policy.guard import Guard, VisibleNames
from readroom.core.policy.rules.names import PACKED
from readroom.core.quoting import quote
from readroom.core.ranking.counting import CountedText
from readroom.core.ranking.names import NameHints
from readroom.core.ranking.order import Examine
from readroom.core.ranking.query import Query
from readroom.core.ranking.score import Counted, Glimpse, count, glance
from readroom.core.stores.base import Begun, Folder, Source, is_far, passed
from readroom.core.stores.spending import spending
from readroom.core.values import EntryKind

_REPORT_EVERY = 256
"""Files between two reports of progress."""


class Seen(Struct):
    """The results of the first stage.

    Attributes:
        examine: Counts exactly what a file has of the question.
        glimpses: Files whose text or names have something of the question.
        files: Files of text that were looked at.
        chars: Their total length in characters.
        stopped_at: Relative path of the first file that was not reached in time; None when all were.
        large: Paths of files that are too large to be looked at, the first of them.
        large_files: How many there are.
        documents: How many documents were not looked at because they were not asked for.
        compressed: Compressed files that were not looked at because they were not asked for.
        partial: Documents that were looked at, but not to their end.
        unreadable: Clauses about documents and archives that cannot be read.
        left: The other entries that were not checked.
    """

    examine: Examine
    glimpses: list[Glimpse] = field(default_factory=list)
    files: int = 0
    chars: int = 0
    stopped_at: str | None = None
    large: list[str] = field(default_factory=list)
    large_files: int = 0
    documents: int = 0
    compressed: list[WorkPath] = field(default_factory=list)
    partial: list[PartialDocument] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    left: Unsearched | None = None


class PartialDocument(Struct, frozen=True):
    """A document that was not read from a line of part `rest` on, of `total` parts; 0 if unknown."""

    path: str
    rest: int
    line: int
    total: int
    reason: str


FIND_LEFT_NAMES = 20
"""Names of files too large to be ranked that are shown."""


_SHARE_OF_COST = 0.8
"""The part of what a call may cost for looking at files; the best of them may have to be read again."""


@final
class Survey:
    """One pass over the files below a folder. Paths are relative to that folder."""

    def __init__(
        self,
        opener: Opener,
        query: Query,
        scope: Scope,
        texts: KeptTexts,
        documents: RanksDocuments | None,
        deadline: Deadline,
        patience: Deadline,
        left: Unsearched,
    ) -> None:
        """Prepare a pass.

        `deadline` is for looking at all files, `patience` for examining the best of them, and `left` collects
        what is not looked at.
        """
        self._left = left
        self._opener = opener
        self._query = query
        self._scope = scope
        self._texts = texts
        self._documents = documents
        self._deadline = deadline
        self._patience = patience
        self._hints = NameHints(query)
        self._least = b""
        self._end: bytes | None = None
        self._has_begun = False
        self.seen = Seen(self._examine, left=left)

    def look(self, top: Folder, since: str, until: str) -> Seen:
        """Look at files from `since` on and before `until` while there is time. Raises Cancelled."""
        self._least = path_key(since) if since else b""
        self._end = path_key(until) if until else None
        try:
            with spending(share=_SHARE_OF_COST):
                self._folder("", top, self._opener.guard)
        except errors.TransferLimit:
            if not self._has_begun:
                raise  # the next call would come no further
        except errors.TimedOut:
            pass  # `stopped_at` says where
        self._left.whole = self._left.whole and self.seen.stopped_at is None
        self._left.counted = True
        return self.seen

    def _folder(self, above: str, folder: Folder, guard: Guard) -> None:
        """Look at all files in a folder and below it; `above` is its path."""
        try:
            visible = guard.visible(folder)
        except (errors.Cancelled, errors.TimedOut):
            raise
        except errors.ReadroomError as error:
            if not above:
                raise
            self._note(folder.real, error)
            return
        names = [name for name, kind in visible.kinds.items() if kind is EntryKind.FILE]
        files = set(self._scope.taken(above, names, visible.marks))
        prefix = f"{above}/" if above else ""
        if guard is self._opener.guard:
            self._left.take(prefix, [name for name in visible.kinds if name not in files], visible.kinds)
        for name in self._asked_ahead(prefix, self._in_order(visible), files, folder, visible):
            path = prefix + name
            if self._end is not None and path_key(path) >= self._end:
                return  # so does everything after it
            if name in files:
                if not self._least or path_key(path) >= self._least:
                    self._check(path)
                    self._file(path, name, folder, visible, guard)
            elif name not in visible.kinds:
                self._members(path, join_below(folder.real, name.removesuffix(BORDER)), guard)
            elif visible.kinds[name] is EntryKind.FOLDER and self._enters(path):
                self._deeper(path, join_below(folder.real, name), guard)
            elif name[0] == "." and visible.kinds[name] is EntryKind.FOLDER:
                self._left.take_hidden(path, self._deadline)

    def _asked_ahead(
        self, prefix: str, names: list[str], files: Container[str], folder: Folder, visible: VisibleNames
    ) -> Iterator[str]:
        """The names, with the files asked for ahead, but none before a folder that comes first."""
        if not is_far(folder):
            yield from names
            return

        def ask(name: str) -> Begun | None:
            key = path_key(prefix + name)
            is_before = bool(self._least) and key < self._least
            if name not in files or is_before or (self._end is not None and key >= self._end):
                return passed
            if self._kept(folder, name, self._key(join_below(folder.real, name))) is not None:
                return passed
            return visible.ahead(name, self._deadline)

        for _, some in groupby(names, lambda name: visible.kinds.get(name) is EntryKind.FILE):
            with closing(in_step(some, ask)) as asked:
                yield from asked

    def _in_order(self, visible: VisibleNames) -> list[str]:
        """The names in path order, with archives once more, as folders."""
        names = list(visible.kinds)
        if self._opener.archives:
            archives = [
                name + BORDER
                for name, kind in visible.kinds.items()
                if kind is EntryKind.FILE and is_archive_name(name)
            ]
            # The file of that name on disk is meant, not the archive next to it.
            names += [name for name in archives if name not in visible.kinds]
        return sorted(names, key=None if "".join(names).isascii() else os.fsencode)

    def _enters(self, path: str) -> bool:
        ahead = not self._least or end_of_folder(path_key(path)) > self._least
        return ahead and self._scope.enters(path)

    def _deeper(self, path: str, real: WorkPath, guard: Guard) -> None:
        try:
            folder = guard.open_folder(real)
        except errors.TransferLimit:
            self.seen.stopped_at = path
            raise
        except errors.ReadroomError as error:
            self._note(real, error)
            return
        with folder:
            if folder.real == real:
                try:
                    self._folder(path, folder, guard)
                except errors.TransferLimit:
                    self.seen.stopped_at = self.seen.stopped_at or path
                    raise

    def _members(self, path: str, real: WorkPath, guard: Guard) -> None:
        """Look at the members of a file that may be an archive; `path` is its path as a folder."""
        if not self._enters(path) or not self._scope.sees(path.removesuffix(BORDER)):
            return
        self._check(path)
        with ExitStack() as opened:
            try:
                inside = opened.enter_context(self._opener.members(guard, real, self._deadline))
            except errors.Cancelled:
                raise
            except errors.TimedOut:
                self._check(path)
                self.seen.unreadable.append(f"{quote(real)} was not expanded in time")
                return
            except (errors.BrokenData, errors.BadDocument):
                self.seen.unreadable.append(f"{quote(real)} cannot be opened")
                return
            except errors.ReadroomError as error:
                self._note(real, error)
                return
            if inside is not None:
                missed: tuple[str, ...] = getattr(inside[0].store, "missed", ())
                self.seen.unreadable += [f"{quote(real)}: {why}" for why in missed]
                self._folder(path, inside[1], inside[0])

    def _check(self, path: str) -> None:
        if not self._has_begun and not self._deadline.cancelled:
            return  # a call that looked at nothing would continue where it began
        try:
            self._deadline.check()
        except errors.TimedOut:
            self.seen.stopped_at = path
            raise

    def _file(self, relative: str, name: str, folder: Folder, visible: VisibleNames, guard: Guard) -> None:
        real = join_below(folder.real, name)
        if relative == real:
            relative = real  # share one string: trees can be large
        key = self._key(real)
        known = self._kept(folder, name, key) or self._opened(visible, name, relative, real, guard)
        if known is None:
            return
        document = known.document
        if document is not None and document.reason == "timeout":
            self._check(relative)  # the next call reads it, with more time
        self._has_begun = True
        if known.packed and not self._opener.compressed:
            if is_archive_name(name):
                self._left.add("archives", relative)
            else:
                self.seen.compressed.append(real)
            return
        if document is None:
            if not known.text:
                if is_searched(name):
                    self.seen.documents += self._documents is None
                elif known.stat.size and not known.packed:
                    self._left.add_unread(relative)
                self._note_packed(real)
                return
        elif not self._is_open(real, document):
            return
        seen = self.seen
        seen.files += 1
        seen.chars += len(known.text)
        if seen.files % _REPORT_EVERY == 0:
            self._deadline.report(seen.files, None, "files")
        glimpse = self._glimpse(known, real, relative)
        if glimpse is not None:
            seen.glimpses.append(glimpse)

    def _is_open(self, real: WorkPath, document: DocumentText) -> bool:
        """Whether any of a document could be read; records what could not."""
        self.seen.unreadable += document.unreadable(real)
        self.seen.partial += _partial(real, document)
        return document.is_open

    def _key(self, real: str) -> str:
        """The cache key of a file, which is different when it is read as a document."""
        is_document = self._documents is not None and self._documents.may_take(real)
        return as_document(real) if is_document else real

    def _glimpse(self, known: KnownText, real: WorkPath, relative: str) -> Glimpse | None:
        question, glimpse = known.glimpse
        if question != self._question(relative):
            glimpse = glance(self._query, self._hints, real, relative, CountedText(known.text))
            known.glimpse = (self._question(relative), glimpse)
        return glimpse

    def _examine(self, glimpse: Glimpse) -> Counted | None:
        """What a file has of the question, exactly; None if it is gone."""
        self._patience.check()
        known = self._texts.current(self._key(glimpse.path))
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

    def _kept(self, folder: Folder, name: str, key: str) -> KnownText | None:
        """The cached text, if the file is unchanged."""
        if not self._texts.has(key):
            return None
        try:
            known = self._texts.get(key, folder.stat(name))
        except errors.ReadroomError:
            return None
        is_content = known is None or bool(known.text) or not known.packed
        return known if is_content or not self._opener.compressed else None

    def _opened(
        self, visible: VisibleNames, name: str, relative: str, real: WorkPath, guard: Guard
    ) -> KnownText | None:
        try:
            with visible.open(name) as source:
                if self._documents is not None and self._documents.takes(source):
                    document = self._documents.read(guard, source, self._deadline)
                    return self._texts.put(as_document(real), source, document.text, document)
                return self._text(source, real)
        except errors.Cancelled:
            raise
        except errors.TransferLimit:
            self.seen.stopped_at = relative
            raise
        except errors.TimedOut:
            self._check(relative)  # the next call reads it
            self.seen.unreadable.append(f"{quote(real)} was not expanded in time")
        except errors.ReadroomError as error:
            self._note(real, error)
        return None

    def _note(self, real: WorkPath, error: errors.ReadroomError) -> None:
        """Record a file that cannot be read; one that is denied or gone is ignored."""
        match error:
            case errors.BrokenData() | errors.BadDocument():
                # An encrypted or damaged member, named by its archive.
                problem = error.facts.get("problem") or "it is damaged"
                self.seen.unreadable.append(f"{quote(real)}: {problem}")
            case errors.Binary():
                self._note_packed(real)
            case errors.TooLarge():
                self.seen.unreadable.append(f"{quote(real)}: too large to be ranked")
            case (
                errors.NoPermission()
                | errors.StoreFailed()
                | errors.BadPath()
                | errors.HardLinked(known=False)
            ):
                self.seen.unreadable.append(quote(real))

    def _note_packed(self, real: WorkPath) -> None:
        """Name a compressed document if documents and compressed files are asked for."""
        stem = real.rpartition(".")[0]
        if self._documents is not None and real.lower().endswith(PACKED) and is_searched(stem):
            problem = "compressed documents are read and searched, not ranked"
            self.seen.unreadable.append(f"{quote(real)}: {problem}")

    def _text(self, source: Source, real: WorkPath) -> KnownText | None:
        """The text of a file; None if it is too large."""
        if source.size > FIND_FILE_BYTES and encoding_of(source, source.read_at(0, HEAD_BYTES)) is not None:
            self._leave(source.real)
            return None
        read, packed = self._opener.text(source, self._deadline), False
        if read is None or read.digits:
            packed = is_packed(source)
        if read is not None and read.problem:
            self.seen.unreadable.append(f"{quote(real)}: {read.problem}")
        # Keep an empty text for a file that is not text, so that it is not read again either.
        text = "" if read is None else read.text
        return self._texts.put(self._key(real), source, text, packed=packed)

    def _again(self, real: WorkPath) -> str | None:
        try:
            with self._opener.file(real) as (guard, source):
                if source.real != real:
                    return None
                if self._documents is not None and self._documents.takes(source):
                    return self._documents.read(guard, source, self._patience).text
                decoded = self._opener.text(source, self._patience)
        except (errors.Cancelled, errors.TimedOut):
            raise
        except errors.ReadroomError:
            return None
        return None if decoded is None else decoded.text

    def _leave(self, path: str) -> None:
        self.seen.large_files += 1
        if len(self.seen.large) < FIND_LEFT_NAMES:
            self.seen.large.append(path)


def look_at(source: Source, query: Query, opener: Opener, deadline: Deadline) -> Seen:
    """The first stage for one file that was asked for by name.

    Raises:
        Binary, TooLarge, BrokenData, TimedOut: It cannot be ranked.
    """
    decoded = opener.text(source, deadline)
    if decoded is None:
        media = sniff(source.read_at(0, HEAD_BYTES)) or UNKNOWN
        raise errors.Binary(source.real, media.name, source.stat.size, media.advice)
    seen = look_at_text(source.real, query, decoded.text)
    return replace(seen, unreadable=[f"{quote(source.real)}: {decoded.problem}"] if decoded.problem else [])


def look_at_document(real: WorkPath, query: Query, document: DocumentText) -> Seen:
    """The first stage for one document that was asked for by name. Raises BadDocument, EncryptedDocument."""
    if not document.is_open:
        raise document.failure(real)
    seen = look_at_text(real, query, document.text)
    return replace(seen, partial=_partial(real, document), unreadable=document.unreadable(real))


def _partial(real: str, document: DocumentText) -> list[PartialDocument]:
    if document.rest is None:
        return []
    return [PartialDocument(real, document.rest, document.line, document.total, document.reason)]


def look_at_text(real: WorkPath, query: Query, whole: str) -> Seen:
    """The first stage for one text."""
    text = CountedText(whole)
    glimpse = glance(query, NameHints(query), real, real, text)
    seen = Seen(lambda glimpse: count(query, glimpse, text), files=1, chars=text.size)
    return seen if glimpse is None else replace(seen, glimpses=[glimpse])
