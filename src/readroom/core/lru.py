"""A thread-safe least-recently-used cache.

Written here because importing `cachetools` takes 6 ms, and every command would wait for it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar, final

K = TypeVar("K")
V = TypeVar("V")


@final
class LruCache(Generic[K, V]):
    """A least-recently-used cache. Safe to share between threads."""

    def __init__(self, bound: int, size: Callable[[V], int] | None = None, count: int | None = None) -> None:
        """`bound` limits the number of values, or the sum of their sizes as `size` returns them.

        With `count` it holds no more values than that either, and the last one however large it is.
        """
        self._bound = bound
        self._size = size
        self._count = count
        self._total = 0
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = threading.RLock()

    def get(self, key: K) -> V | None:
        """The value, which becomes the most recently used."""
        with self._lock:
            entry = self._kept.get(key)
            if entry is None:
                return None
            self._kept.move_to_end(key)
            return entry[0]

    def put(self, key: K, value: V) -> list[V]:
        """Store a value; returns the values that were evicted, the oldest first."""
        size = 1 if self._size is None else self._size(value)
        left = []
        with self._lock:
            self.pop(key)
            self._kept[key] = (value, size)
            self._total += size
            least, maximum = (0, len(self._kept)) if self._count is None else (1, self._count)
            while len(self._kept) > least and (self._total > self._bound or len(self._kept) > maximum):
                _, (old, freed) = self._kept.popitem(last=False)
                self._total -= freed
                left.append(old)
        return left

    def get_or_put(self, key: K, make: Callable[[], V]) -> V:
        """The value, made if there is none."""
        with self._lock:
            entry = self._kept.get(key)
            if entry is None:
                value = make()
                self.put(key, value)
                return value
            self._kept.move_to_end(key)
            return entry[0]

    def pop(self, key: K) -> V | None:
        """Remove a value and return it."""
        with self._lock:
            entry = self._kept.pop(key, None)
            if entry is None:
                return None
            self._total -= entry[1]
            return entry[0]

    def items(self) -> list[tuple[K, V]]:
        """All items, the most recently used first; none of them counts as used."""
        with self._lock:
            return [(key, value) for key, (value, _) in reversed(self._kept.items())]

    def clear(self) -> list[V]:
        """Remove all values and return them, the oldest first."""
        with self._lock:
            values = [value for value, _ in self._kept.values()]
            self._kept.clear()
            self._total = 0
            return values

    def __contains__(self, key: object) -> bool:
        with self._lock:
            return key in self._kept
