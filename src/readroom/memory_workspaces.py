"""The stores in memory of one workspace: one for each name that a conversation gives."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar, final

from readroom.closeable import Closeable
from readroom.errors import TooLarge
from readroom.limits.session import STORE_IDLE_S, STORES

W = TypeVar("W", bound=Closeable)


@final
class Instances(Generic[W]):
    """Workspaces by key, made when first used. Safe to share between threads."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, ...], tuple[W, float]] = {}

    def of(self, key: tuple[str, ...], make: Callable[[], W]) -> W:
        """The one of that key, made if there is none.

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
        """Release all of them."""
        with self._lock:
            for instance, _ in self._kept.values():
                instance.close()
            self._kept.clear()

    def _drop_idle(self) -> None:
        """The one that has been unused for longest makes room, if that is long enough."""
        key, (instance, used) = next(iter(self._kept.items()))
        if self._clock() - used < STORE_IDLE_S:
            advice = "Go on in one of them, or work without `instance`."
            raise TooLarge("Stores in memory", STORES + 1, STORES, "stores", advice)
        del self._kept[key]
        instance.close()
