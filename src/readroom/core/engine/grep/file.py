"""Search one opened file, in any store: its lines, the parts of a document, or what is compressed in it.

small      read as a whole and searched by RE2, if RE2 and rg agree on the pattern; otherwise rg gets
           the same text
large      rg reads the descriptor that the guard opened; its lines are looked up again
foreign    not UTF-8: its characters are searched, as above; if it is too large for that, its bytes
           are, and the file is recorded
no rg      a store without files: RE2, despite its differences (search.pattern.DIFFERENCES)

In a search of many files each gets a share of the time, and one that is left unfinished is noted.  A file
that is searched alone gets all of the time.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import final

from msgspec.structs import replace

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.engine.cursors import Cursor
from readroom.core.engine.grep.brought import SearchesDocuments
from readroom.core.engine.grep.left import ITSELF, Left
from readroom.core.engine.grep.lines import (
    Searched,
    Text,
    count_of_source,
    form_of,
    lines_of_bytes,
    lines_of_source,
)
from readroom.core.engine.grep.page import Collects, Reached
from readroom.core.engine.read.compressed import searchable
from readroom.core.formats.compressed import by_magic
from readroom.core.formats.kinds import PDF_MARK, is_archive_name
from readroom.core.limits import (
    BLOCK_BYTES,
    GREP_FILE_LEAST_S,
    GREP_LINE_BYTES,
    HEAD_BYTES,
    SMALL_FILE_BYTES,
    Limits,
)
from readroom.core.paths import WorkPath
from readroom.core.quoting import quote
from readroom.core.search.pattern import Hit, Pattern, is_binary, is_mixed, with_lf
from readroom.core.search.prefilter import superset
from readroom.core.session.expansions import ExpandedSource
from readroom.core.session.index_cache import IndexCache
from readroom.core.stores.base import Source, is_far
from readroom.core.text.encodings import UTF8, by_bom, detect, holds_other, is_wide_unmarked, to_utf8
from readroom.core.text.encodings.detect import is_journal
from readroom.core.values import GrepRequest, Warn

GONE = (errors.RefusedError, errors.AbsentError, errors.NotAFile, errors.NotAFolder)
"""Reasons to drop a candidate: it is refused, gone, or no longer a file."""

UNREADABLE = (
    errors.NoPermission,
    errors.StoreFailed,
    errors.Changed,
    errors.BadDocument,
    errors.BadPath,
    errors.BrokenData,
    errors.TooLarge,
)
"""Reasons to name it as one that cannot be read."""


def _looks_binary(text: bytes) -> bool:
    # A PDF of nothing but ASCII is not readable text either.
    nul = is_binary(text) and not is_journal(text) and not is_mixed(text)
    return nul or text.startswith(PDF_MARK)


GREP_WIDE_BYTES = 16 * 1024 * 1024
"""Largest file that is searched by its characters if it is not UTF-8, and across CR LF: it is held in memory
as UTF-8, which takes up to three times its size."""


GREP_FAR_BYTES = 32 * 1024 * 1024
"""Largest file that a search fetches from elsewhere: half of what one call fetches in all."""


@final
class Opened:
    """A file that is about to be searched: its beginning and its encoding.

    Attributes:
        deadline: Ends the search of this file.
        encoding: Also UTF-8 if the file is not text: then its bytes are searched.
        foreign: Whether the encoding is not UTF-8.
        wide_unmarked: Whether rg misreads it: UTF-16 without a byte order mark, an export of journald.
        compression: The format it is compressed with; None if it is not.
        is_text: Whether a read shows it as text.
    """

    def __init__(self, source: Source, deadline: Deadline) -> None:
        self.source = source
        self.deadline = deadline
        self.head = source.read_at(0, HEAD_BYTES)
        detected = by_bom(self.head) or detect(self.head, complete=source.size <= len(self.head))
        self.encoding = detected or UTF8
        self.foreign = self.encoding.name != "utf-8"
        self.wide_unmarked = is_wide_unmarked(self.head, detected)
        self.compression = by_magic(self.head)
        self.is_text = detected is not None

    @property
    def too_large(self) -> bool:
        """Whether decoding it would take too much memory, if it is foreign."""
        return self.source.size > GREP_WIDE_BYTES

    def text(self, *, keep_cr: bool) -> bytes:
        """The whole file as text to search."""
        source = self.source
        if self.foreign and not self.too_large:
            return to_utf8(source, self.encoding, keep_cr=keep_cr)
        whole = self.head if source.size <= len(self.head) else source.read_at(0, source.size)
        return with_lf(whole, keep_cr=keep_cr)


@final
class Searcher:
    """Finds the matching lines of opened files for one call."""

    def __init__(self, request: GrepRequest, pattern: Pattern, left: Left, *, local: bool) -> None:
        self._request = request
        self._pattern = pattern
        self._left = left
        self._local = local

    def search(self, file: Opened, after: int = 0) -> Searched | None:
        """The matching lines of a file, possibly without those up to `after`; None if it is not searched."""
        if is_far(file.source) and file.source.size > GREP_FAR_BYTES:
            self._left.too_far.append(file.source.real)
            return None
        if file.foreign and file.too_large:
            if file.encoding.unit > 1:
                self._left.too_wide.append(file.source.real)
                return None
            self._left.as_bytes.append(file.source.real)
        if self.leaves(file):
            return None
        searched = self._by_program(file, after) if self._stays_in_file(file) else self._small(file)
        binary = file.encoding.unit == 1 and (_looks_binary(file.head) or not file.is_text)
        return replace(searched, binary=True) if binary and searched is not None else searched

    def count(self, file: Opened) -> int:
        """How many lines of a file match."""
        if self._stays_in_file(file) and not self._request.multiline and not file.foreign:
            if self._is_binary(file, file.head):
                return 0
            self._note_mixed(file, self._end(file))
            return count_of_source(file.source, self._request, file.deadline)
        searched = self.search(file)
        return 0 if searched is None else sum(1 for _ in searched.hits)

    def _stays_in_file(self, file: Opened) -> bool:
        """Whether rg searches the text in its file, instead of in memory."""
        if not self._local or file.source.size <= SMALL_FILE_BYTES:
            return False
        if file.too_large:
            return True
        ends_matter = self._request.multiline and not self._pattern.keeps_cr and b"\r\n" in file.head
        return not file.foreign and not ends_matter

    def leaves(self, file: Opened) -> bool:
        """Whether a file is skipped because it is binary; records it."""
        return file.encoding.unit == 1 and self._is_binary(file, file.head)

    def _is_binary(self, file: Opened, text: bytes) -> bool:
        binary = "binary" not in self._request.include and _looks_binary(text)
        if binary:
            self._left.unread[file.source.real] = file.head
        return binary

    def _note_mixed(self, file: Opened, data: bytes) -> None:
        """Record a file with text in another encoding than its own, which its search does not find."""
        if (file.encoding.unit > 1 or not file.foreign) and holds_other(data, file.encoding):
            self._left.mixed.append(file.source.real)

    def _end(self, file: Opened) -> bytes:
        """The last bytes of a large file, where text was added."""
        return file.source.read_at(max(0, file.source.size - BLOCK_BYTES), BLOCK_BYTES)

    def _small(self, file: Opened) -> Searched | None:
        text = file.text(keep_cr=self._pattern.keeps_cr)
        wide = file.encoding.unit > 1
        self._note_mixed(file, file.source.read_at(0, file.source.size) if wide else text)
        if file.encoding.unit > 1 and self._is_binary(file, text):
            return None
        encoding = file.encoding if file.foreign and file.too_large else UTF8
        if self._pattern.decides(text) or not self._local:
            return Searched(Text(text, encoding), self._pattern.hits(text, file.deadline.check))
        if not self._request.multiline:
            text = file.text(keep_cr=True)
        kept = Text(text, encoding)
        hits = lines_of_bytes(text, self._request, file.deadline)
        return Searched(kept, (self._placed(kept, hit, file.deadline) for hit in hits))

    def _by_program(self, file: Opened, after: int) -> Searched:
        source = file.source
        text = Text(source, file.encoding, file.deadline)
        self._note_mixed(file, self._end(file))
        mark = len(codecs.BOM_UTF8) if file.head.startswith(codecs.BOM_UTF8) else 0
        hits = lines_of_source(source, self._request, file.deadline, self._across_line_ends(), after)
        moved = (replace(hit, start=hit.start + mark) for hit in hits)
        # The file may have been rewritten since rg read it: only what begins a line counts.
        lines = (hit for hit in moved if hit.start == mark or text.slice(hit.start - 1, hit.start) == b"\n")
        return Searched(text, (self._placed(text, hit, file.deadline) for hit in lines))

    def _across_line_ends(self) -> list[str]:
        """The pattern with line feeds that match CR LF as well; empty if that makes no difference."""
        request = self._request
        if not request.multiline or self._pattern.keeps_cr or self._pattern.problem is not None:
            return []
        wider = superset(
            request.pattern,
            fixed=request.fixed,
            ignore_case=request.ignore_case,
            multiline=True,
            foreign=False,
        )
        return [] if wider is None else [wider]

    def _placed(self, text: Text, hit: Hit, deadline: Deadline) -> Hit:
        """The hit with the position of its match in the line, which rg does not report here."""
        at = hit.start
        while True:
            end = text.feed_after(at, at + GREP_LINE_BYTES)
            stop = end if end >= 0 else min(at + BLOCK_BYTES, text.size)
            span = self._pattern.first_in(text.slice(at, stop).partition(b"\n")[0].removesuffix(b"\r"))
            if span is not None:
                return replace(hit, column=at - hit.start + span[0], length=span[1] - span[0])
            if end >= 0 or stop >= text.size:
                return hit
            deadline.check()
            # A match may span two blocks.
            at = stop - GREP_LINE_BYTES // 2


GREP_FILE_SHARE = 2
"""The part of a folder search's time that one file may take, so that the files after it get the rest."""


@final
class FileSearch:
    """Searches opened files for one call, and adds their matches to its page.

    Attributes:
        deadline: That of the whole search.
        share: Seconds that one file of many may take.
        documents: Searches documents; None if they are not asked for.
    """

    def __init__(
        self,
        request: GrepRequest,
        indexes: IndexCache,
        limits: Limits,
        searcher: Searcher,
        page: Collects,
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
        self.documents: SearchesDocuments | None = None

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
        return self._page.add_lines(path, relative, [(None, searched, None)], after)

    def document(self, source: Source, path: WorkPath, relative: str, deadline: Deadline) -> bool:
        """Search a document; False when the page is full."""
        assert self.documents is not None
        after = self._begun_in(relative)
        if after is None:
            return True
        reached = Reached(place=after)
        try:
            self.documents.show(source, self._page, path, relative, after, deadline, reached)
        except errors.TimedOut:
            # In the middle of a part, everything up to the last line shown is done.
            last = self._page.last
            last_line = last.line if last is not None and last.path == relative else None
            if relative == ITSELF or not self.deadline.expired:
                self._left.document(relative, reached, max(reached.place, last_line or 0))
            raise
        finally:
            self._left.broken(path, reached)
        return self._page.goes_on

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
            TimedOut: It was not expanded in time; the next call continues.
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
                self._left.remarks.append(warning)

    def is_document(self, source: Source) -> bool:
        """Whether a file, or the content of one, is searched as a document."""
        return self.documents is not None and form_of(source) is not None

    def is_second_round(self, file: Opened) -> bool:
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
        except errors.TimedOut:
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
            except errors.TimedOut:
                if self.deadline.expired:
                    raise
                self.leave(file, relative)
                return True
            except errors.Binary:
                return True
            except errors.BrokenData as error:
                self._left.remarks.append(Warn("broken_data", str(error)))
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
