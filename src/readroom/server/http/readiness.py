"""Whether a server can answer calls, which is more than that its process lives.

A probe asks what calls need: the shared state, and a ledger without which nothing is answered.  Probes come
from anywhere and need no token, so that one look answers all of a moment, and waits no longer than a probe.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import final

from readroom.core.errors import ReadroomError, StateFailed
from readroom.core.limits.session import STATE_WAIT_S
from readroom.core.workspace import Workspace
from readroom.server.http.asking import Ask
from readroom.server.ledger.recorder import Recorder, recorder_of
from readroom.server.shared.state import SharedState

Look = Callable[[], object]


def needs(state: SharedState | None, workspaces: Mapping[str, Workspace]) -> Sequence[Look]:
    """The services that calls need, each as a check that raises the error that calls would get."""
    recorders = [recorder_of(workspace.gatekeeper.journal) for workspace in workspaces.values()]
    ledgers = [one for one in recorders if one is not None and one.required]
    looks: list[Look] = [partial(_answers, one) for one in ledgers]
    return looks if state is None else [state.answers, *looks]


def _answers(recorder: Recorder) -> None:
    recorder.open().head()


READY_KEPT_S = 1.0
"""How long one look at the database answers the probes for readiness, which anyone can send."""


@final
class Readiness:
    """The readiness of one server. Used from its event loop only."""

    def __init__(self, looks: Sequence[Look], ask: Ask) -> None:
        """`ask` runs a look, which may block."""
        self._looks = looks
        self._ask = ask
        self._known: str | None = None
        self._until = 0.0
        self._looking: asyncio.Task[None] | None = None

    async def problem(self) -> str | None:
        """The code of the error that calls would be refused with; None if they can be answered."""
        if not self._looks:
            return None
        if time.monotonic() >= self._until:
            if self._looking is None:
                self._looking = asyncio.create_task(self._look())
            try:
                async with asyncio.timeout(STATE_WAIT_S):
                    # A probe that leaves must not cancel the look of the others.
                    await asyncio.shield(self._looking)
            except TimeoutError:
                return StateFailed.code
        return self._known

    async def _look(self) -> None:
        self._known = None
        try:
            for look in self._looks:
                await self._ask(look)
        except ReadroomError as error:
            self._known = error.code
        finally:
            self._until = time.monotonic() + READY_KEPT_S
            self._looking = None
