"""Errors of changes that wait for review."""

from __future__ import annotations

from readroom.core.errors import base
from readroom.core.errors.commands import CommandsOff
from readroom.core.errors.reading import StoreFailed


class ReviewFull(base.FailedError):
    """As much waits for review as may."""

    message = "Nothing was changed: {problem}"
    advice = "Ask the user to review what waits (readroom review), then send the call again."
    problem: str


class ReviewUnusable(StoreFailed):
    """The set of changes that wait cannot be read; `path` is the root."""

    message = "The changes that wait for review cannot be used: {problem}"
    advice: str = "Ask the user to drop them (readroom review reject)."


class CommandsWait(CommandsOff):
    """Commands do not run where changes wait."""

    message = "Commands cannot be run here: changes wait for review, and a command would make them at once"
    advice = "Continue with the other tools; the user can run it once the changes are accepted."
    why: base.Aside[str] = "changes wait for review"


class NoReview(base.FailedError):
    """Changes do not wait here."""

    message = "Changes do not wait for review here"
    advice = "The operator turns it on: review = true under [history] of the file given with --config."


class NoSuchReview(base.AbsentError):
    """Nothing waits under that name."""

    message = "No changes wait under {asked}"
    advice = "List what waits: readroom review."
    asked: base.Name


class NotWaiting(base.AbsentError):
    """A name of a set has no change that waits."""

    message = "No change waits for {path}"
    advice = "Show what waits: readroom review show."
    path: base.Name


class ReviewConflict(base.ConflictError):
    """Some changes no longer fit the files; none was made. `detail` shows them."""

    message = "{count} of these changes no longer fit the files, and none was made"
    advice = "Accept the others by name, or reject these."
    count: int
    paths: base.Aside[tuple[str, ...]] = ()
    detail: base.Aside[str] = ""

    def _fill(self) -> None:
        from readroom.core.quoting import as_value

        self.facts["paths"] = [as_value(path) for path in self.paths]


class BelongsTogether(base.FailedError):
    """A change can only be decided together with another."""

    message = "The changes of {path} and {other} belong together"
    advice = "Name both, or neither."
    path: base.Name
    other: base.Name
