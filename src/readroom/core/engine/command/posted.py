"""Background commands of other processes of the same server, as those post them in what all processes share.

A process posts the state of each of its commands about twice a second, with what was written meanwhile, and
takes what was asked of it.  A command whose process posts nothing any more has ended with it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from readroom.core.caller import Owner
from readroom.core.engine.command.running import Runner
from readroom.core.stores.base import Shelf
from readroom.core.values.commands import Background, Signal

POST_S = 0.5
"""Interval in which a running command is posted, and at which others look."""

_GONE_S = 30.0
"""A command that was not posted for that long has ended: a process that lives posts it sooner."""


class Asked(Struct, frozen=True):
    """A signal for a command of another process."""

    signal: Signal
    cancels: bool


class _Posted(Struct, frozen=True):
    """A state, and whose it is."""

    owner: Owner
    state: Background


def encoded(owner: Owner, state: Background) -> bytes:
    """The form in which a state is posted: JSON, with names as ASCII."""
    return json.dumps(msgspec.to_builtins(_Posted(owner, state))).encode("ascii")


def posted(shelf: Shelf) -> Iterator[tuple[Owner, Background]]:
    """The commands of all processes. Raises StateFailed."""
    for one in shelf.posted():
        found = msgspec.convert(json.loads(one.state), _Posted)
        state = found.state
        if state.running and one.age_s > _GONE_S:
            problem = "The process that ran it has ended, and it with that"
            state = replace(state, ended=time.time() - one.age_s, problem=problem)
        yield found.owner, state


def asked(text: str) -> Asked | None:
    """The signal that another process sent."""
    return msgspec.json.decode(text, type=Asked) if text else None


@final
class Elsewhere:
    """A command of another process."""

    def __init__(self, shelf: Shelf, owner: Owner, state: Background, runner: Runner) -> None:
        """`runner` is that of its owner."""
        self._shelf = shelf
        self._owner = owner
        self._state = state
        self.runner = runner

    def now(self) -> Background:
        """It as it was posted last."""
        for owner, state in posted(self._shelf):
            if (owner, state.id) == (self._owner, self._state.id):
                self._state = state
                return state
        if self._state.running:
            self._state = replace(self._state, ended=time.time(), problem="It is no longer known")
        return self._state

    def wait(self, seconds: float, seen: Background) -> None:
        """Wait for a moment."""
        time.sleep(min(seconds, POST_S / 2))

    def ask(self, signal: Signal, *, below_s: float | None, cancels: bool) -> bool:
        """End it, unless it has ended or has run for `below_s`; whether it was asked."""
        state = self.now()
        if not state.running or (below_s is not None and time.time() - state.began >= below_s):
            return False
        text = msgspec.json.encode(Asked(signal, cancels)).decode()
        self._shelf.ask(self._owner, state.id, text)
        return True
