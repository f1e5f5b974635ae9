"""The record of a call: the seams `Journal` and `Observer`.

Knows: the facts of a call that may be recorded.
Does not know: where they are written or sent; a server does (`ledger`, `otel`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, Self, TypeAlias

from msgspec import Struct

from readroom.core.caller import Caller
from readroom.core.errors import ReadroomError
from readroom.core.session.conversation import ShownLines
from readroom.core.values import Fact, Request
from readroom.core.values.history import Author


class Entry(Struct, frozen=True):
    """The facts of a call, for its row.

    Attributes:
        caller: The caller.
        epoch: Epoch of the conversation.
        contract: The contract of the tool.
        tool: The tool as the caller names it.
        arguments: As sent; used only without a request.
        request: The parsed arguments, None if they are invalid.
        facts: Recorded unchanged in place of arguments.
        outcome: ok, begun, or an error code.
        decision: allowed, refused or none.
        rule: The rule that refused.
        kind: Kind of the file that was read.
        shown: The lines that were shown.
        tokens: Tokens of the reply.
        duration_us: Duration so far.
        level: What a low budget left of the reply, None if it took nothing.
    """

    caller: Caller
    epoch: int
    contract: str
    tool: str
    arguments: object
    request: Request | None = None
    facts: Mapping[str, Fact] | None = None
    outcome: str = "ok"
    decision: str = "allowed"
    rule: str | None = None
    kind: str | None = None
    shown: Sequence[ShownLines] = ()
    tokens: int = 0
    duration_us: int = 0
    level: str | None = None


Made: TypeAlias = tuple[Author, int]
"""Who made a change, and when, in nanoseconds since the epoch."""


class Journal(Protocol):
    """Where the calls of one workspace are recorded. Safe to share between threads."""

    @property
    def required(self) -> bool:
        """Whether calls that cannot be recorded are refused."""

    def begin(self, entry: Entry) -> None:
        """Record that a call begins. Raises LedgerFailed or MissingProgram."""

    def write(self, *entries: Entry) -> ReadroomError | None:
        """Record calls; returns the error if not all were recorded."""

    def made(self, digits: str, at_ns: int) -> Made | None:
        """Who made the change at about that time after which a file had that hash. Raises LedgerFailed."""

    def close(self) -> None:
        """Release it."""


class Journaling(Protocol):
    """The settings of a journal."""

    @property
    def file(self) -> str | None:
        """The file that it is in, which no call may see."""

    def served(self) -> Self:
        """These settings for a server, which records calls unless they say no."""

    def journal(self, workspace: str, counter: str) -> Journal | None:
        """The journal of a workspace; None if nothing is recorded. Raises LedgerFailed or MissingProgram."""


# -----------------------------------------------------------------------------
# Watching calls from outside, as spans and metrics.
# -----------------------------------------------------------------------------


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
