"""One writer at a time, and one transaction for all that waits: a group commit.

A transaction costs as much as ten rows, and only one can run.  So an event that
comes while others are written waits in a queue, and whoever writes next takes the
whole queue along:

1. `append` puts its events into the queue and waits for its turn.
2. Whose turn it is writes everything that waits, its own among it; when the turn of
   the others comes, they find theirs written.
3. `submit` does not wait: a thread takes turns for those, and calls back.

Nobody is told before the transaction with their row was committed.  When it fails,
nothing of it is written, and everybody in it hears so.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeAlias, final

from readroom.errors import Internal, ReadroomError
from readroom.limits.session import LEDGER_GROUP_ROWS
from readroom.log import log

if TYPE_CHECKING:
    from readroom.ledger.rows import Event, Row


Commit: TypeAlias = "Callable[[Sequence[Event]], Sequence[Row]]"
"""Writes events in one transaction and returns the row of each; none of them is written when it raises."""

Done: TypeAlias = Callable[[ReadroomError | None], None]
"""Told when a row is durable, or why it is not. Must neither wait nor raise."""


class _Waiting:
    """An event on its way into the ledger. `over` is set last."""

    __slots__ = ("done", "event", "failure", "over", "row")

    def __init__(self, event: Event, done: Done | None = None) -> None:
        self.event = event
        self.done = done
        self.row: Row | None = None
        self.failure: Exception | None = None
        self.over = False


@final
class Writer:
    """Writes the events of one ledger. Safe to share between threads."""

    def __init__(self, commit: Commit) -> None:
        """Starts no thread before `submit` needs it."""
        self._commit = commit
        self._queue: deque[_Waiting] = deque()
        self._turn = threading.Lock()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._wakes: SimpleQueue[bool] = SimpleQueue()
        self._woken = False
        self._closed = False

    def append(self, events: Sequence[Event]) -> list[Row]:
        """Write events, in order; when this returns, they are durable. Raises what `commit` raises."""
        mine = [_Waiting(event) for event in events]
        self._queue.extend(mine)
        for waiting in mine:
            while not waiting.over:
                self._take_turn(waiting)
        return [_row(waiting) for waiting in mine]

    def submit(self, event: Event, done: Done) -> None:
        """Write an event soon; `done` is called by another thread when that is over."""
        if self._thread is None:
            self._start()
        self._queue.append(_Waiting(event, done))
        if not self._woken:
            self._woken = True
            self._wakes.put(True)
        if self._closed:  # the thread may have looked for the last time
            self._take_turn()

    def close(self) -> None:
        """Write what waits, and end the thread."""
        with self._starting:
            self._closed = True
            thread, self._thread = self._thread, None
        if thread is not None:
            self._wakes.put(False)
            thread.join()
        while self._queue:
            self._take_turn()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._work, name="readroom-ledger", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        """Write whatever waits, whenever something came."""
        while self._wakes.get():
            self._woken = False  # first: what comes after the last look wakes this thread again
            while self._queue:
                self._take_turn()

    def _take_turn(self, mine: _Waiting | None = None) -> None:
        """Write what waits, unless `mine` was written while its owner waited for this turn."""
        with self._turn:
            group = [] if mine is not None and mine.over else self._write()
        for waiting in group:
            if waiting.done is not None:
                waiting.done(_told(waiting.failure))

    def _write(self) -> list[_Waiting]:
        """One transaction for the first of the queue. Its owners are told by the caller, after the turn."""
        group: list[_Waiting] = []
        while self._queue and len(group) < LEDGER_GROUP_ROWS:
            group.append(self._queue.popleft())
        try:
            self._written(group)
        except ReadroomError as error:
            _failed(group, error)
        except Exception as error:
            if len(group) == 1:
                _failed(group, error)
            for waiting in group:
                # One event cannot be written, by a defect; that is not a reason to lose those of others.
                self._alone(waiting)
        except BaseException:
            # The thread whose turn it is was interrupted. What was written after all is found by its id.
            self._queue.extendleft(reversed(group))
            raise
        return group

    def _written(self, group: Sequence[_Waiting]) -> None:
        if group:
            rows = self._commit([waiting.event for waiting in group])
            for waiting, row in zip(group, rows, strict=True):
                waiting.row = row
                waiting.over = True

    def _alone(self, waiting: _Waiting) -> None:
        if not waiting.over:
            try:
                self._written([waiting])
            except Exception as error:
                _failed([waiting], error)


def _failed(group: Sequence[_Waiting], error: Exception) -> None:
    for waiting in group:
        waiting.failure = error
        waiting.over = True


def _row(waiting: _Waiting) -> Row:
    if waiting.failure is not None:
        raise waiting.failure
    assert waiting.row is not None
    return waiting.row


def _told(failure: Exception | None) -> ReadroomError | None:
    if failure is None or isinstance(failure, ReadroomError):
        return failure
    log().error("a row of the ledger could not be made", exc_info=failure)
    return Internal(type(failure).__name__)
