"""The states of small files that were shown, kept in memory for one purpose.

When an edit is refused because its file has changed, the refusal says what
changed since the state that the caller knows.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from readroom.limits import KEPT_TEXT_BYTES, KEPT_TEXTS_BYTES


class TextCache:
    """Least recently used states by file and hash. Safe to share between threads."""

    def __init__(self, max_bytes: int = KEPT_TEXTS_BYTES, max_text_bytes: int = KEPT_TEXT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._max_text_bytes = max_text_bytes
        self._bytes = 0
        self._kept: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._lock = threading.Lock()

    def wants(self, size: int) -> bool:
        """Whether a file of that many bytes would be kept."""
        return size <= self._max_text_bytes

    def put(self, path: str, digits: str, data: bytes) -> None:
        """Keep a state; the least recently used leave when the bound is passed."""
        if not self.wants(len(data)):
            return
        with self._lock:
            old = self._kept.pop((path, digits), b"")
            self._bytes += len(data) - len(old)
            self._kept[path, digits] = data
            while self._bytes > self._max_bytes:
                self._bytes -= len(self._kept.popitem(last=False)[1])

    def find(self, path: str, start: str) -> bytes | None:
        """The state of a file whose hash begins so, the latest one first."""
        with self._lock:
            for (kept, digits), data in reversed(self._kept.items()):
                if kept == path and digits.startswith(start):
                    self._kept.move_to_end((kept, digits))
                    return data
        return None
