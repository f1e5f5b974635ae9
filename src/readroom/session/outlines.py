"""Outlines of files that stay as they are, kept in memory."""

from __future__ import annotations

import threading
from collections import OrderedDict

from readroom.limits_outline import OUTLINE_CACHE_BYTES
from readroom.outlines import Outline, rows

_ITEM_BYTES = 500
"""About what an item occupies beside its texts."""


class OutlineCache:
    """Least recently used outlines, by language and hash of the text. Safe to share between threads."""

    def __init__(self, max_bytes: int = OUTLINE_CACHE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[tuple[str, str, str], tuple[Outline, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, language: str, encoding: str, digits: str) -> Outline | None:
        """The outline of a file with that hash, read in that encoding."""
        key = (language, encoding, digits)
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def put(self, outline: Outline, encoding: str, digits: str) -> None:
        """Keep an outline; the least recently used leave when the bound is passed."""
        listed = [row.item for row in rows(outline.items)]
        size = sum(_ITEM_BYTES + 4 * (len(item.signature) + len(item.name)) for item in listed)
        key = (outline.language, encoding, digits)
        with self._lock:
            self._bytes += size - self._kept.pop(key, (outline, 0))[1]
            self._kept[key] = (outline, size)
            while self._bytes > self._max_bytes and self._kept:
                self._bytes -= self._kept.popitem(last=False)[1][1]
