"""The one place that every call passes: whose conversation it belongs to, and what became of it.

A call enters as a `Visit` before its arguments are looked at, and leaves with a
reply or a failure.  Engines and contracts know nothing of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeAlias, final

from readroom.caller import Caller
from readroom.contracts.base import Contract
from readroom.model import Cap, Reply, Request, Result
from readroom.session.session import Session, Sessions
from readroom.session.showing import shown_by

Work: TypeAlias = Callable[[Request, Cap], tuple[Result, Reply]]
"""Performs a request under a cap."""


@final
class Keeper:
    """Keeps the conversations of one workspace. Safe to share between threads."""

    def __init__(self) -> None:
        self._sessions = Sessions()

    def session(self, session_id: str) -> Session:
        """The conversation of that id."""
        return self._sessions.of(session_id)

    def visit(self, caller: Caller, record: Contract, tool: str, arguments: object, cap: Cap) -> Visit:
        """A call that begins now; use it as a context manager.

        Args:
            caller: Who calls.
            record: Whose tools are meant.
            tool: As the caller names it; it may not exist.
            arguments: As the caller sent them; they may be anything.
            cap: The size of the reply.
        """
        return Visit(self.session(caller.session), record, cap)

    def close(self) -> None:
        """Release what is held."""


@final
class Visit:
    """One call on its way through. Used by one thread."""

    def __init__(self, session: Session, record: Contract, cap: Cap) -> None:
        self._session = session
        self._record = record
        self._cap = cap
        self._began = time.monotonic()

    def answer(self, request: Request, work: Work) -> Reply:
        """The reply to a request, performed by `work`. Raises ReadroomError."""
        request = self._session.believed(request)
        result, reply = work(request, self._cap)
        for shown in shown_by(result):
            self._session.show(shown)
        return reply

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass
