"""Caches of small files that were read, with the replies for them, and of outlines.

A read remembers what it found out about the bytes of a file.  The next read reads the file again and
compares the bytes, which costs a twentieth of hashing and splitting them into lines.  If they are the
same, the same request has the same result, and the same result the same reply.

Former states are kept as well: when an edit is refused because its file has changed, the refusal says
what changed since the state that the caller knows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.lru import LruCache
from readroom.core.text.encodings import Encoding
from readroom.core.text.select import WholeText
from readroom.core.values import Cap, Fact, Kind, ReadRequest, ReadResult, Reply, Result
from readroom.core.values.files import Outline, rows

_LINE_BYTES = 64
"""Estimated size of a line besides its characters."""


Render: TypeAlias = Callable[[Result, Cap], Reply]


class Shown(Struct, frozen=True):
    """What a request showed of a text, when that was everything it asked for; and the last reply for it."""

    request: ReadRequest
    cap: Cap
    result: ReadResult
    render: Render | None = None
    reply: Reply | None = None


class ReadText(Struct):
    """What a read found out about the bytes of a small file.

    Attributes:
        data: The bytes.
        text: The decoded bytes.
        digits: The hash of the bytes.
        encoding: The encoding of the file.
        kind: The kind of text, by name and bytes.
        clean: It has no hidden characters.
        shown: The last reply, if it showed all of the text; set as a single reference.
    """

    data: bytes
    text: WholeText
    digits: str
    encoding: Encoding
    kind: Kind
    clean: bool
    shown: Shown | None = None

    def result(self, request: ReadRequest, cap: Cap) -> ReadResult | None:
        """The result of the same request; None if it has to be computed."""
        shown = self.shown
        if shown is None or shown.request != request or shown.cap != cap:
            return None
        return shown.result

    def show(self, request: ReadRequest, cap: Cap, result: ReadResult) -> None:
        """Remember the result of a request, if it left nothing out."""
        if not result.omitted and result.lines:
            self.shown = Shown(request, cap, result)


def _weight(known: ReadText) -> int:
    """Its approximate size in memory, with a reply."""
    text = known.text
    return 2 * len(known.data) + 2 * sys.getsizeof(text.whole) + _LINE_BYTES * text.total_lines


KEPT_TEXT_BYTES = 256 * 1024
"""Largest file whose shown states are cached for refused edits: nearly all source files."""

KEPT_TEXTS_BYTES = 8 * 1024 * 1024
"""All cached states of a workspace together."""

READ_TEXTS_BYTES = 12 * 1024 * 1024
"""Small texts cached after a read with the last reply, so that an unchanged one need not be split into lines
again: about 150 files of 500 lines."""


class TextCache:
    """An LRU cache of file states, by path and hash. Safe to share between threads."""

    def __init__(self, max_bytes: int = KEPT_TEXTS_BYTES, max_text_bytes: int = KEPT_TEXT_BYTES) -> None:
        self._max_text_bytes = max_text_bytes
        self._kept: LruCache[tuple[str, str], bytes] = LruCache(max_bytes, len)
        self._read: LruCache[str, ReadText] = LruCache(READ_TEXTS_BYTES, _weight)

    def known(self, path: str, data: bytes) -> ReadText | None:
        """What is known of a file, if its bytes are the same."""
        text = self._read.get(path)
        return text if text is not None and text.data == data else None

    def learn(self, path: str, text: ReadText) -> None:
        """Cache what was found out about a file, keeping its previous state."""
        if not self.wants(len(text.data)):
            return
        before = self._read.get(path)
        if before is not None and before.digits != text.digits:
            self.put(path, before.digits, before.data)
        self._read.put(path, text)

    def wants(self, size: int) -> bool:
        """Whether a file of that many bytes would be kept."""
        return size <= self._max_text_bytes

    def put(self, path: str, digits: str, data: bytes) -> None:
        """Cache a state of a file."""
        if self.wants(len(data)):
            self._kept.put((path, digits), data)

    def find(self, path: str, start: str) -> bytes | None:
        """A state of a file by the start of its hash, the latest first."""
        read = self._read.get(path)
        if read is not None and read.digits.startswith(start):
            return read.data
        keys = (key for key, _ in self._kept.items() if key[0] == path and key[1].startswith(start))
        key = next(keys, None)
        return None if key is None else self._kept.get(key)

    def worded(self, result: ReadResult, cap: Cap, render: Render) -> Reply:
        """The reply for a result; the last one if it is the very same result as last time."""
        text = self._read.get(result.path)
        shown = None if text is None else text.shown
        if text is None or shown is None or shown.result is not result or shown.cap != cap:
            return render(result, cap)
        if shown.reply is not None and shown.render is render:
            # For another call: with facts of its own, and the same token counts.
            again = replace(shown.reply)
            again.counted.update(shown.reply.counted)
            return again
        reply = render(result, cap)
        if len(reply.text) <= KEPT_TEXT_BYTES:
            first = cache(reply.build_facts)
            reply = replace(reply, build_facts=lambda: _copied_facts(first()), build_sent=first)
            text.shown = replace(shown, render=render, reply=reply)
        return reply


def _copied_facts(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Copies of the facts, because callers may change those of their reply."""
    return {name: _copied(fact) for name, fact in facts.items()}


def _copied(fact: Fact) -> Fact:
    if fact is None or isinstance(fact, (str, int, float)):
        return fact
    return _copied_facts(fact) if isinstance(fact, Mapping) else [_copied(inner) for inner in fact]


# -----------------------------------------------------------------------------
# Outlines of unchanged files, kept in memory.
# -----------------------------------------------------------------------------

_ITEM_BYTES = 500
"""Estimated size of an item besides its texts."""


OUTLINE_CACHE_BYTES = 8 * 1024 * 1024
"""Outlines cached in memory by a session, estimated: those of some 1,000 source files."""


class OutlineCache:
    """An LRU cache of outlines, by language and hash of the text. Safe to share between threads."""

    def __init__(self) -> None:
        self._kept: LruCache[tuple[str, str, str], Outline] = LruCache(OUTLINE_CACHE_BYTES, _outline_bytes)

    def get(self, language: str, encoding: str, digits: str) -> Outline | None:
        """The outline of a file with that hash, read in that encoding."""
        return self._kept.get((language, encoding, digits))

    def put(self, outline: Outline, encoding: str, digits: str) -> None:
        """Cache an outline."""
        self._kept.put((outline.language, encoding, digits), outline)


def _outline_bytes(outline: Outline) -> int:
    items = (row.item for row in rows(outline.items))
    return sum(_ITEM_BYTES + 4 * (len(item.signature) + len(item.name)) for item in items)
