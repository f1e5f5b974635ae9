"""The database of the shared state, which is not asked again and again when it is gone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar, final

from readroom.database import Backend, Execute
from readroom.errors import StateFailed
from readroom.limits.session import STATE_REST_S

T = TypeVar("T")


@final
class Database:
    """A database that is left alone for a moment after it has failed: each try may wait for seconds."""

    def __init__(self, name: str, open_backend: Callable[[], Backend]) -> None:
        """Nothing is opened before it is used."""
        self.name = name
        self._open = open_backend
        self._backend: Backend | None = None
        self._lock = threading.Lock()
        self._failure: str | None = None
        self._rests_until = 0.0

    def look(self, work: Callable[[Execute], T]) -> T:
        """Perform what only reads. Raises StateFailed."""
        return self._run(work, write=False)

    def change(self, work: Callable[[Execute], T]) -> T:
        """Perform what may write; it may be performed twice. Raises StateFailed."""
        return self._run(work, write=True)

    def close(self) -> None:
        """Release it."""
        with self._lock:
            backend, self._backend = self._backend, None
        if backend is not None:
            backend.close()

    def _opened(self) -> Backend:
        backend = self._backend
        if backend is None:
            with self._lock:
                backend = self._backend = self._backend or self._open()
        return backend

    def _run(self, work: Callable[[Execute], T], *, write: bool) -> T:
        if self._failure is not None and time.monotonic() < self._rests_until:
            raise StateFailed(self.name, self._failure)
        try:
            done = self._opened().run(work, write=write)
        except StateFailed as failure:
            self._rests_until = time.monotonic() + STATE_REST_S
            self._failure = str(failure.facts["problem"])
            raise
        self._failure = None
        return done
