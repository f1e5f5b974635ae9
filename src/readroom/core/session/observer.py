"""Watching calls from outside: the seam `Observer`.

Knows: the facts of a call that may be recorded (`journal.Entry`).
Does not know: where they are sent; a server does (`otel`).
"""

from __future__ import annotations

from typing import Protocol

from readroom.core.session.journal import Entry


class Observer(Protocol):
    """Watches every call. Safe to share between threads and workspaces."""

    def told(self, entry: Entry) -> None:
        """A call is over. Never raises and never waits; a tool that does not exist is the empty text."""

    def flush(self) -> None:
        """Send what is waiting, for a bounded time."""


class Observing(Protocol):
    """The settings of an observer."""

    def observer(self) -> Observer | None:
        """The observer of calls; None if nothing is sent. Raises MissingProgram."""

    def tried(self) -> tuple[bool, str, str]:
        """Try it out: whether it works or is meant to be off, what was found, and what to do about it."""
