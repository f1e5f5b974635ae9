"""The ledgers of the served workspaces, opened for reading, apart from the connection that records calls."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from typing import final

from msgspec import Struct

from readroom.core.errors import LedgerFailed, ReadroomError
from readroom.core.workspace import Workspace
from readroom.server.ledger import open_book
from readroom.server.ledger.ledger import Ledger
from readroom.server.ledger.recorder import recorder_of
from readroom.server.ledger.verify import Verdict, verify


class Verified(Struct, frozen=True):
    """The result of a verification, and its time."""

    verdict: Verdict
    at_us: int
    seconds: float


@final
class Books:
    """Ledgers by location. Safe to share between threads."""

    def __init__(self, executor: Executor) -> None:
        """`executor` runs verifications, which take long."""
        self._executor = executor
        self._lock = threading.Lock()
        self._open: dict[tuple[str | None, str | None], Ledger] = {}
        self._verifying: dict[str, Future[Verified]] = {}

    def of(self, workspace: Workspace) -> Ledger:
        """The ledger of a workspace. Raises LedgerFailed or MissingProgram."""
        recorder = recorder_of(workspace.gatekeeper.journal)
        if recorder is None:
            raise LedgerFailed("of this server", "none is kept", "Set `enabled = true` in [ledger].")
        policy = recorder.policy
        key = (policy.file, policy.url)
        with self._lock:
            if key not in self._open:
                recorder.open()  # this creates a new one
                self._open[key] = open_book(policy, make=False)
            return self._open[key]

    def verify(self, workspace: Workspace) -> None:
        """Start to verify, unless a verification is running."""
        book = self.of(workspace)
        with self._lock:
            running = self._verifying.get(book.name)
            if running is None or running.done():
                self._verifying[book.name] = self._executor.submit(_verified(book))

    def verified(self, workspace: Workspace) -> Verified | bool | None:
        """The result of the last verification; True while one runs, None before the first."""
        running = self._verifying.get(self.of(workspace).name)
        if running is None:
            return None
        return running.result() if running.done() else True

    def close(self) -> None:
        """Close the ledgers."""
        with self._lock:
            books, self._open = list(self._open.values()), {}
        for book in books:
            with suppress(ReadroomError):
                book.close()


def _verified(book: Ledger) -> Callable[[], Verified]:
    def work() -> Verified:
        began = time.monotonic()
        return Verified(verify(book), time.time_ns() // 1000, time.monotonic() - began)

    return work
