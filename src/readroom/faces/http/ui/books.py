"""The ledgers of the served workspaces, opened for looking: never the connection that records calls."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from typing import final

from msgspec import Struct

from readroom.errors import LedgerFailed, ReadroomError
from readroom.ledger import LedgerPolicy, open_book
from readroom.ledger.ledger import Ledger
from readroom.ledger.verify import Verdict, verify
from readroom.workspace import Workspace


class Verified(Struct, frozen=True):
    """What a verification came to, and when."""

    verdict: Verdict
    at_us: int
    seconds: float


@final
class Books:
    """Ledgers by where they are. Safe to share between threads."""

    def __init__(self, executor: Executor) -> None:
        """`executor` runs verifications, which take their time."""
        self._executor = executor
        self._lock = threading.Lock()
        self._open: dict[tuple[str | None, str | None], Ledger] = {}
        self._verifying: dict[str, Future[Verified]] = {}

    def of(self, workspace: Workspace) -> Ledger:
        """The ledger of a workspace. Raises LedgerFailed or MissingProgram."""
        policy: LedgerPolicy = workspace.settings.ledger
        if workspace.gatekeeper.recorder is None:
            raise LedgerFailed("of this server", "none is kept", "Set `enabled = true` in [ledger].")
        key = (policy.file, policy.url)
        with self._lock:
            if key not in self._open:
                workspace.gatekeeper.recorder.open()  # it makes a new one
                self._open[key] = open_book(policy, make=False)
            return self._open[key]

    def verify(self, workspace: Workspace) -> None:
        """Begin to verify, unless somebody has begun already."""
        book = self.of(workspace)
        with self._lock:
            running = self._verifying.get(book.name)
            if running is None or running.done():
                self._verifying[book.name] = self._executor.submit(_verified(book))

    def verified(self, workspace: Workspace) -> Verified | bool | None:
        """What the last verification came to; True while one runs, None before the first."""
        running = self._verifying.get(self.of(workspace).name)
        if running is None:
            return None
        return running.result() if running.done() else True

    def close(self) -> None:
        """Release them."""
        with self._lock:
            books, self._open = list(self._open.values()), {}
        for book in books:
            with suppress(ReadroomError):
                book.close()


def _verified(book: Ledger) -> Callable[[], Verified]:
    def work() -> Verified:
        began = time.monotonic()
        verdict = verify(book)
        return Verified(verdict, time.time_ns() // 1000, time.monotonic() - began)

    return work
