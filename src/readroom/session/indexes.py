"""Block indexes of large files, kept in memory while their files stay as they are."""

from __future__ import annotations

import threading
from collections import OrderedDict

from readroom.limits import INDEX_CACHE_BYTES
from readroom.model import Version
from readroom.text.lines import LineIndex


class IndexCache:
    """Least recently used indexes by the version of their file. Safe to share between threads.

    The version holds inode, size and both times, so an entry of a changed file is
    never found again and falls out by age.
    """

    def __init__(self, max_bytes: int = INDEX_CACHE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[tuple[Version, str], LineIndex] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, version: Version, encoding: str) -> LineIndex | None:
        """The index of that state of a file read in that encoding, if it is still kept."""
        with self._lock:
            index = self._kept.get((version, encoding))
            if index is not None:
                self._kept.move_to_end((version, encoding))
            return index

    def put(self, version: Version, encoding: str, index: LineIndex) -> None:
        """Keep an index; the least recently used leave when the bound is passed."""
        with self._lock:
            old = self._kept.pop((version, encoding), None)
            self._bytes += index.memory_bytes - (old.memory_bytes if old else 0)
            self._kept[version, encoding] = index
            while self._bytes > self._max_bytes and len(self._kept) > 1:
                self._bytes -= self._kept.popitem(last=False)[1].memory_bytes
