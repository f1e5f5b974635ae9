"""The matching lines of one opened file: what a search shows comes from here, in every store.

small      read whole and searched by RE2, where RE2 means what rg means; otherwise rg is given
           the very text
large      rg reads the descriptor that the guard opened; its lines are looked up again
foreign    not UTF-8: its characters are searched, as above; when it is too large for that its
           bytes are, and that is counted
no rg      a store without files: RE2, whatever it means (search.dialect.DIFFERENCES)
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import final

from readroom.deadline import Deadline
from readroom.engine.grep_descriptor import count_of_source, lines_of_bytes, lines_of_source
from readroom.engine.grep_text import FileText, HeldText, Text
from readroom.formats.compressed import by_magic
from readroom.formats.recognise import PDF_MARK
from readroom.limits import BLOCK_BYTES, GREP_LINE_BYTES, GREP_WIDE_BYTES, HEAD_BYTES, SMALL_FILE_BYTES
from readroom.model import GrepRequest
from readroom.search.pattern import BINARY_HEAD, Hit, Pattern, held, is_binary
from readroom.search.superset import superset
from readroom.stores.base import Source
from readroom.text.encodings import UTF8, by_bom, detect
from readroom.text.guess import is_journal
from readroom.text.plain import is_wide_unmarked, to_utf8


@dataclass(frozen=True, slots=True)
class Searched:
    """A file's text and its matching lines, found as they are asked for."""

    text: Text
    hits: Iterator[Hit]


@final
class Opened:
    """A file that is about to be searched: its beginning, and how its characters stand in it.

    Attributes:
        deadline: Ends the search of this file.
        encoding: UTF-8 where it is no text, too: then its bytes are searched.
        foreign: Whether that is not UTF-8.
        wide_unmarked: Whether rg takes it for something else: UTF-16 without a mark, an export of journald.
        compression: What it is compressed with; None when it is not.
    """

    def __init__(self, source: Source, deadline: Deadline) -> None:
        self.source = source
        self.deadline = deadline
        self.head = source.read_at(0, BINARY_HEAD)
        sample = self.head[:HEAD_BYTES]
        found = by_bom(sample) or detect(sample, complete=source.size <= len(sample))
        self.encoding = found or UTF8
        self.foreign = self.encoding.name != "utf-8"
        self.wide_unmarked = is_wide_unmarked(sample, found)
        self.compression = by_magic(self.head)

    @property
    def too_large(self) -> bool:
        """Whether its characters would take too much memory, if it is foreign."""
        return self.source.size > GREP_WIDE_BYTES

    def text(self, *, keep_cr: bool) -> bytes:
        """All of it as text to search."""
        source = self.source
        if self.foreign and not self.too_large:
            return to_utf8(source, self.encoding, keep_cr=keep_cr)
        whole = self.head if source.size <= len(self.head) else source.read_at(0, source.size)
        return held(whole, keep_cr=keep_cr)


@final
class Searcher:
    """Searches opened files for one call.

    Attributes:
        binary: Whether a file was passed over because it is binary.
        too_wide: Files that were passed over because they are large and UTF-16 or UTF-32.
        as_bytes: Files that were searched as if they were UTF-8, because they are large.
    """

    def __init__(self, request: GrepRequest, pattern: Pattern, *, local: bool) -> None:
        self._request = request
        self._pattern = pattern
        self._local = local
        self.binary = False
        self.too_wide: list[str] = []
        self.as_bytes: list[str] = []

    def search(self, file: Opened) -> Searched | None:
        """The matching lines of a file; None when it is not searched."""
        if file.foreign and file.too_large:
            if file.encoding.unit > 1:
                self.too_wide.append(file.source.real)
                return None
            self.as_bytes.append(file.source.real)
        if file.encoding.unit == 1 and self._is_binary(file.head):
            return None
        return self._by_program(file) if self._stays_in_file(file) else self._small(file)

    def count(self, file: Opened) -> int:
        """How many lines of a file match."""
        if self._stays_in_file(file) and not self._request.multiline and not file.foreign:
            return (
                0
                if self._is_binary(file.head)
                else count_of_source(file.source, self._request, file.deadline)
            )
        found = self.search(file)
        return 0 if found is None else sum(1 for _ in found.hits)

    def _stays_in_file(self, file: Opened) -> bool:
        """Whether its text is searched where it is, by rg."""
        if not self._local or file.source.size <= SMALL_FILE_BYTES:
            return False
        if file.too_large:
            return True
        ends_matter = self._request.multiline and not self._pattern.keeps_cr and b"\r\n" in file.head
        return not file.foreign and not ends_matter

    def _is_binary(self, text: bytes) -> bool:
        # A PDF of letters alone is no text that anybody reads either.
        binary = (is_binary(text) and not is_journal(text)) or text.startswith(PDF_MARK)
        found = "binary" not in self._request.include and binary
        self.binary = self.binary or found
        return found

    def _small(self, file: Opened) -> Searched | None:
        text = file.text(keep_cr=self._pattern.keeps_cr)
        if file.encoding.unit > 1 and self._is_binary(text):
            return None
        encoding = file.encoding if file.foreign and file.too_large else UTF8
        if self._pattern.decides(text) or not self._local:
            return Searched(HeldText(text, encoding), self._pattern.hits(text, file.deadline.check))
        if not self._request.multiline:
            text = file.text(keep_cr=True)
        kept = HeldText(text, encoding)
        found = lines_of_bytes(text, self._request, file.deadline)
        return Searched(kept, (self._placed(kept, hit, file.deadline) for hit in found))

    def _by_program(self, file: Opened) -> Searched:
        source = file.source
        text = FileText(source, file.deadline, file.encoding)
        mark = len(codecs.BOM_UTF8) if file.head.startswith(codecs.BOM_UTF8) else 0
        found = lines_of_source(source, self._request, file.deadline, self._across_line_ends())
        moved = (replace(hit, start=hit.start + mark) for hit in found)
        lines = (hit for hit in moved if _is_start(text, hit.start, mark))
        return Searched(text, (self._placed(text, hit, file.deadline) for hit in lines))

    def _across_line_ends(self) -> list[str]:
        """The pattern so that its line feeds match CR LF as well; none if that is no other."""
        request = self._request
        if not request.multiline or self._pattern.keeps_cr or self._pattern.problem is not None:
            return []
        found = superset(
            request.pattern,
            fixed=request.fixed,
            ignore_case=request.ignore_case,
            multiline=True,
            foreign=False,
        )
        return [] if found is None else [found]

    def _placed(self, text: Text, hit: Hit, deadline: Deadline) -> Hit:
        """The hit with the place of its match in the line, which rg was not asked for."""
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
            # A match may lie across the border of two blocks.
            at = stop - GREP_LINE_BYTES // 2


def _is_start(text: Text, start: int, mark: int) -> bool:
    """Whether a line begins there: the file may have been rewritten since rg read it."""
    return start == mark or text.slice(start - 1, start) == b"\n"
