"""Errors of the history of changes."""

from __future__ import annotations

from collections.abc import Sequence

from readroom.core.errors import base
from readroom.core.quoting import quote
from readroom.core.values.history import Conflict


class HistoryOff(base.FailedError):
    """No history is kept here."""

    message = "No history is kept: {reason}"
    advice = "The operator turns it on with [history] enabled = true."
    reason: str


class HistoryFailed(base.FailedError):
    """The history cannot be read or written."""

    message = "The history {where} cannot be used: {reason}"
    advice = "Ask the user to mend it, or to move it away."
    where: base.Name
    reason: str
    busy: base.Aside[bool] = False

    def _fill(self) -> None:
        if self.busy:
            self.advice = "Try again in a minute; a program that was stopped in the middle may hold it."


class HistoryRequired(base.RefusedError):
    """A change whose past cannot be kept, where the operator demands that."""

    message = "Nothing was changed, because its past could not be kept: {reason}"
    advice = "Ask the user; [history] required = false allows it."
    reason: str


class NoSuchChange(base.AbsentError):
    """A change that the history does not have, or that may not be seen."""

    message = "The history has no change {change}{where}"
    advice = "List the changes for their numbers."
    change: int
    path: base.Name = ""

    def _fill(self) -> None:
        self.where = f" at {quote(self.path)}" if self.path else ""


class NothingToUndo(base.AbsentError):
    """A selection in which no change is left that could be taken back."""

    message = "There is nothing to undo{where}"
    advice = "List the changes; those that were undone say so."
    where: base.Aside[str] = ""


class NotKept(base.FailedError):
    """A state whose bytes are not in the history."""

    message = "The earlier content of {path} was not kept"
    advice = "It was too large, or is older than what is kept; look for a backup."
    path: base.Name


class ChangedSince(base.ConflictError):
    """Names that were changed since the change that is to be undone."""

    message = "{names} changed since, and undoing would lose that"
    advice = "Send parts=true to take back the lines that still fit, or edit it."
    conflicts: base.Aside[Sequence[Conflict]]

    def _fill(self) -> None:
        first = quote(self.conflicts[0].path)
        more = len(self.conflicts) - 1
        self.names = f"{first} and {more} more were" if more else f"{first} was"
        self.facts["conflicts"] = [
            {"path": one.path, "reason": one.reason, "fits": one.fits, "left": one.left}
            for one in self.conflicts
        ]
        if not any(one.fits for one in self.conflicts):
            self.advice = "Nothing of it still fits; edit it instead."
        self.detail = self.facts["sides"] = "\n".join(_sides(one) for one in self.conflicts[:_SHOWN])


_SHOWN = 3
"""Files whose both sides a refusal shows."""


def _sides(conflict: Conflict) -> str:
    lines = [f"{quote(conflict.path)}: {conflict.reason}"]
    for title, diff in (("the change", conflict.ours), ("since then", conflict.theirs)):
        if diff is not None and diff.hunks:
            lines += [f"--- {title}", diff.text.rstrip("\n")]
    return "\n".join(lines)
