"""The matching lines of one opened file: what a search shows comes from here, in every store.

small      read whole and searched by RE2, where RE2 means what rg means; otherwise rg is given
           the very bytes that were read
large      rg reads the descriptor that the guard opened; its lines are looked up again
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
from readroom.limits import BLOCK_BYTES, GREP_LINE_BYTES, GREP_WIDE_BYTES, SMALL_FILE_BYTES
from readroom.model import GrepRequest
from readroom.search.pattern import BINARY_HEAD, Hit, Pattern, held, is_binary, is_wide
from readroom.stores.base import Source


@dataclass(frozen=True, slots=True)
class Searched:
    """A file's text and its matching lines, found as they are asked for."""

    text: Text
    hits: Iterator[Hit]


@final
class Searcher:
    """Searches opened files for one call.

    Attributes:
        binary: Whether a file was passed over because it is binary.
        too_wide: How many files were passed over because they are large and UTF-16.
    """

    def __init__(self, request: GrepRequest, pattern: Pattern, deadline: Deadline, *, local: bool) -> None:
        self._request = request
        self._pattern = pattern
        self._deadline = deadline
        self._local = local
        self.binary = False
        self.too_wide = 0

    def search(self, source: Source) -> Searched | None:
        """The matching lines of a file; None when it is not searched."""
        head = source.read_at(0, BINARY_HEAD)
        if is_wide(head) and source.size > GREP_WIDE_BYTES:
            self.too_wide += 1
            return None
        if source.size > SMALL_FILE_BYTES and self._local and not is_wide(head):
            return self._large(source, head)
        return self._small(head if source.size <= len(head) else source.read_at(0, source.size))

    def count(self, source: Source) -> int:
        """How many lines of a file match."""
        large = self._local and source.size > SMALL_FILE_BYTES
        if large and not self._request.multiline:
            head = source.read_at(0, BINARY_HEAD)
            if not is_wide(head):
                return 0 if self._is_binary(head) else count_of_source(source, self._request, self._deadline)
        found = self.search(source)
        return 0 if found is None else sum(1 for _ in found.hits)

    def _is_binary(self, text: bytes) -> bool:
        found = "binary" not in self._request.include and is_binary(text)
        self.binary = self.binary or found
        return found

    def _small(self, data: bytes) -> Searched | None:
        text = held(data, multiline=self._request.multiline)
        if self._is_binary(text):
            return None
        if self._pattern.decides(text) or not self._local:
            return Searched(HeldText(text), self._pattern.hits(text, self._deadline.check))
        text = held(data, multiline=True)
        kept = HeldText(text)
        found = lines_of_bytes(text, self._request, self._deadline)
        return Searched(kept, (self._placed(kept, hit) for hit in found))

    def _large(self, source: Source, head: bytes) -> Searched | None:
        if self._is_binary(head):
            return None
        text = FileText(source, self._deadline)
        mark = len(codecs.BOM_UTF8) if head.startswith(codecs.BOM_UTF8) else 0
        found = lines_of_source(source, self._request, self._deadline)
        moved = (replace(hit, start=hit.start + mark) for hit in found)
        return Searched(text, (self._placed(text, hit) for hit in moved if _is_start(text, hit.start, mark)))

    def _placed(self, text: Text, hit: Hit) -> Hit:
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
            self._deadline.check()
            # A match may lie across the border of two blocks.
            at = stop - GREP_LINE_BYTES // 2


def _is_start(text: Text, start: int, mark: int) -> bool:
    """Whether a line begins there: the file may have been rewritten since rg read it."""
    return start == mark or text.slice(start - 1, start) == b"\n"
