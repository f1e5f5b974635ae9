"""Changes announced to whoever must know of them before they are made.

A caller that has to make a change exactly once writes down what it will be, so that after a crash the files
themselves tell whether it was made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

from msgspec import Struct

from readroom.core.values.changes import EditFilesResult, WriteResult
from readroom.core.values.files import Version


class Intent(Struct, frozen=True):
    """A change that is about to be made: its result, and the states of its files now, in the same order.

    None stands for a file that does not exist yet.
    """

    result: EditFilesResult | WriteResult
    versions: Sequence[Version | None]


Listener: TypeAlias = Callable[[Intent], None]
"""Notified before the first file changes; what it raises ends the call, and nothing has changed."""

_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def announced_to(listener: Listener) -> Iterator[None]:
    """Announce the changes that this thread makes within."""
    before = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(before)


def announce(
    result: Callable[[], EditFilesResult | WriteResult], versions: Callable[[], Sequence[Version | None]]
) -> None:
    """Announce a change whose files are all written and not yet named."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(Intent(result(), versions()))
