"""Stores in memory of conversations, each made when it is first used.

Knows: the key of each, and how long it was not used.
Does not know: what is in them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar, final

from readroom.core import errors
from readroom.core.closeable import Closeable

W = TypeVar("W", bound=Closeable)

STORES = 256
"""Such stores in one workspace: as many conversations as a small server has at once."""

STORE_IDLE_S = 3600.0
"""Idle time after which a store makes room for another; conversations are rarely resumed later."""


@final
class Instances(Generic[W]):
    """Workspaces by key, created on first use. Safe to share between threads."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, ...], tuple[W, float]] = {}

    def of(self, key: tuple[str, ...], make: Callable[[], W]) -> W:
        """The workspace of that key, created if there is none.

        Raises:
            TooLarge: There are as many as may be, and all of them are in use.
        """
        with self._lock:
            entry = self._kept.pop(key, None)
            if entry is None and len(self._kept) >= STORES:
                self._drop_idle()
            instance = make() if entry is None else entry[0]
            self._kept[key] = (instance, self._clock())
        return instance

    def close(self) -> None:
        """Close all of them."""
        with self._lock:
            for instance, _ in self._kept.values():
                instance.close()
            self._kept.clear()

    def _drop_idle(self) -> None:
        """Close the longest unused workspace, if it is idle for long enough."""
        key, (instance, used) = next(iter(self._kept.items()))
        if self._clock() - used < STORE_IDLE_S:
            advice = "Continue in one of them, or work without `instance`."
            raise errors.TooLarge("Stores in memory", STORES + 1, STORES, "stores", advice)
        del self._kept[key]
        instance.close()
