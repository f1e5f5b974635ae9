"""The roots of the tree: what every failure has, and the four sorts of them."""

from __future__ import annotations

from typing import ClassVar

from readroom.limits import SHOWN_PATH_CHARS
from readroom.values import Fact, Request


class ReadroomError(Exception):
    """A refusal or failure with a code, facts and a next step.

    Attributes:
        message: What happened, one sentence without the final full stop.
        advice: What to do about it, one or two sentences.
        facts: Values a program can act on, JSON-ready.
        next: The request that works instead, when there is one.
        detail: Lines to show below the sentences, such as a diff; empty without.
    """

    code: ClassVar[str] = "error"

    def __init__(
        self,
        message: str,
        advice: str,
        *,
        facts: dict[str, Fact] | None = None,
        next_request: Request | None = None,
        detail: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice
        self.facts: dict[str, Fact] = facts or {}
        self.next = next_request
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.message}. {self.advice}"


class UsageError(ReadroomError, ValueError):
    """The call itself is wrong; the same call can never succeed."""

    code = "usage"


class RefusedError(ReadroomError, PermissionError):
    """Policy or confinement refuses; nothing about the content is said."""

    code = "refused"


class AbsentError(ReadroomError, FileNotFoundError):
    """Nothing is at that name."""

    code = "absent"


class FailedError(ReadroomError):
    """The thing is there and allowed, and cannot be served as asked."""

    code = "failed"


def _brief(name: str) -> str:
    """A name that a caller sent; it may be a whole document by mistake, and is not sent back whole."""
    return name if len(name) <= SHOWN_PATH_CHARS else f"{name[:SHOWN_PATH_CHARS]}..."
