"""Search one file: its lines, the parts of a document, or the content of a compressed file.

In a search of many files each gets a share of the time, and one that is left unfinished is noted.  A file
that is searched alone gets all of the time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, final

from msgspec.structs import replace

from readroom.deadline import Deadline
from readroom.engine.cursors import Cursor
from readroom.engine.grep.coverage import ITSELF, Left
from readroom.engine.grep.lines import Opened, Searcher
from readroom.engine.grep.page import Page, Reached
from readroom.engine.read.compressed import searchable
from readroom.errors import (
    AbsentError,
    BadDocument,
    BadPath,
    Binary,
    BrokenData,
    Changed,
    NoPermission,
    NotAFile,
    NotAFolder,
    RefusedError,
    StoreFailed,
    TimedOut,
    TooLarge,
)
from readroom.formats.holding import is_archive_name
from readroom.limits import GREP_FILE_LEAST_S, GREP_FILE_SHARE, SMALL_FILE_BYTES, Limits
from readroom.paths import WorkPath
from readroom.quoting import quote
from readroom.search.pattern import is_mixed
from readroom.session.expansions import ExpandedSource
from readroom.session.index_cache import IndexCache
from readroom.stores.base import Source
from readroom.values import GrepRequest, Warn

if TYPE_CHECKING:
    from readroom.engine.grep.documents import DocumentSearch

GONE = (RefusedError, AbsentError, NotAFile, NotAFolder)
"""Reasons to drop a candidate: it is refused, gone, or no longer a file."""

UNREADABLE = (NoPermission, StoreFailed, Changed, BadDocument, BadPath, BrokenData, TooLarge)
"""Reasons to name it as one that cannot be read."""


@final
class FileSearch:
    """Searches opened files for one call, and adds their matches to its page.

    Attributes:
        deadline: That of the whole search.
        share: Seconds that one file of many may take.
        documents: Searches documents; None where they are not asked for.
    """

    def __init__(
        self,
        request: GrepRequest,
        indexes: IndexCache,
        limits: Limits,
        searcher: Searcher,
        page: Page,
        left: Left,
        cursor: Cursor | None,
        deadline: Deadline,
        seconds: float,
    ) -> None:
        """`seconds` are those of the whole search."""
        self._request = request
        self._indexes = indexes
        self._limits = limits
        self._searcher = searcher
        self._page = page
        self._left = left
        self._cursor = cursor
        self.deadline = deadline
        self.share = max(seconds / GREP_FILE_SHARE, GREP_FILE_LEAST_S)
        self.documents: DocumentSearch | None = None

    def text(self, file: Opened, path: WorkPath, relative: str) -> bool:
        """Search a text; False when the page is full."""
        after = self._begun_in(relative)
        if after is None:
            return True
        if self._request.output == "count":
            matches = self._searcher.count(file)
            return not matches or self._page.add_file(path, relative, matches)
        searched = self._searcher.search(file, after)
        if searched is None:
            return True
        if self._request.output == "files":
            return next(searched.hits, None) is None or self._page.add_file(path, relative, 1)
        return self._page.add_lines(path, relative, searched, after)

    def document(self, source: Source, path: WorkPath, relative: str, deadline: Deadline) -> bool:
        """Search a document; False when the page is full."""
        assert self.documents is not None
        after = self._begun_in(relative)
        if after is None:
            return True
        reached = Reached(place=after)
        try:
            self.documents.show(source, self._page, path, relative, after, deadline, reached)
        except TimedOut:
            # In the middle of a part, everything up to the last line shown is done.
            last = self._page.last
            last_line = last.line if last is not None and last.path == relative else None
            if relative == ITSELF or not self.deadline.expired:
                self._left.document(relative, reached, max(reached.place, last_line or 0))
            raise
        finally:
            self._left.broken(path, reached)
        return self._page.full is None

    def _begun_in(self, relative: str) -> int | None:
        """The line, or place, after which a file is searched; None if all of it is done."""
        if self._cursor is None or self._cursor.path != relative:
            return 0
        return self._cursor.line

    @contextmanager
    def content(self, file: Opened, path: WorkPath) -> Iterator[Opened]:
        """The source to search: the content of a compressed file, completely expanded, or the file itself.

        It may be a document, which `is_document` tells.

        Raises:
            TimedOut: It was not expanded in time; the next call goes on.
            Binary: The content is not text.
            BrokenData, Changed, StoreFailed: It cannot be expanded.
        """
        if file.compression is None:
            yield file
            return
        request, documents = replace(self._request, path=path), self.documents is not None
        shared = (self._indexes, self._limits, file.deadline)
        with searchable(file.source, request, *shared, documents=documents) as content:
            yield Opened(content, file.deadline)
            if isinstance(content, ExpandedSource) and content.stopped is not None:
                about = content.stopped
                alone = path == self._request.path
                warning = about if alone else replace(about, detail=f"{quote(path)}: {about.detail}")
                self._left.beside.append(warning)

    def is_document(self, source: Source) -> bool:
        """Whether a file, or the content of one, is searched as a document."""
        return self.documents is not None and self.documents.takes(source)

    def comes_late(self, file: Opened) -> bool:
        """Whether a file is of the second round: rg does not search it, or not as what it is."""
        unseen = "binary" not in self._request.include and is_mixed(file.head)
        return unseen or file.wide_unmarked or file.compression is not None

    def leave(self, file: Opened, relative: str) -> None:
        """Record a file whose time is up."""
        last = self._page.last
        shown = last.line if last is not None and last.path == relative else self._begun_in(relative)
        line = shown or 0
        if file.compression is not None:
            self._left.compressed_text(relative, file.source.size, line)
            return
        self._left.text(relative, _read_to(file.source), file.source.size, line)

    def document_of_many(self, source: Source, path: WorkPath, relative: str) -> bool:
        """Search a document within its share of the time; False when the page is full."""
        assert self.documents is not None
        try:
            return self.document(source, path, relative, self.documents.within(self.deadline, alone=False))
        except TimedOut:
            if self.deadline.expired:
                raise
            return True

    def one_of_many(self, file: Opened, path: WorkPath, relative: str) -> bool:
        """Search a file within its share of the time; False when the page is full."""
        if file.compression is not None and not self._takes_compressed(path, relative):
            return True
        if file.source.size <= SMALL_FILE_BYTES and file.compression is None:
            return self.text(file, path, relative)
        with self.deadline.share(self.share) as file.deadline:
            try:
                if "compressed" not in self._request.include:
                    return self.text(file, path, relative)
                with self.content(file, path) as content:
                    if self.is_document(content.source):
                        return self.document_of_many(content.source, path, relative)
                    return self.text(content, path, relative)
            except TimedOut:
                if self.deadline.expired:
                    raise
                self.leave(file, relative)
                return True
            except Binary:
                return True
            except BrokenData as error:
                self._left.beside.append(Warn("broken_data", str(error)))
                return True

    def leaves(self, relative: str, source: Source) -> bool:
        """Whether a file is left out for what it holds; records it."""
        self.deadline.check()
        file = Opened(source, self.deadline)
        if file.compression is None:
            return self._searcher.leaves(file)
        is_archive = is_archive_name(relative)
        return is_archive and not self._takes_compressed(WorkPath(relative), relative)

    def _takes_compressed(self, path: WorkPath, relative: str) -> bool:
        """Whether a compressed file is searched; records it otherwise."""
        if "compressed" in self._request.include:
            return True
        if self._left.names is None or not is_archive_name(relative):
            self._left.compressed.append(path)
        elif "archives" not in self._request.include:
            self._left.names.add("archives", relative)
        return "binary" in self._request.include


def _read_to(source: Source) -> int | None:
    """How far a child process has read a file through our descriptor, which moves it; None if unknown."""
    fd = source.fileno()
    return None if fd is None else os.lseek(fd, 0, os.SEEK_CUR)
