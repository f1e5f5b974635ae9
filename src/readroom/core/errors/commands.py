"""Errors of commands. A command that ran and failed is not one of them: it has a result."""

from __future__ import annotations

from collections.abc import Sequence

from readroom.core.errors.base import AbsentError, Aside, Brief, FailedError, Name, RefusedError
from readroom.core.values import ListRequest
from readroom.core.values.commands import StartedRequest


class CommandsOff(RefusedError):
    """Policy does not allow commands."""

    message = "Commands cannot be run here: {why}"
    advice = (
        "Continue with the other tools. The user can allow commands with --allow-commands, or with "
        "`enabled = true` under [commands] in the file that readroom is started with (--config)."
    )
    why: str


class NotConfined(RefusedError):
    """The confinement that policy requires for commands is not available; nothing was started."""

    message = "The command was not started, because it cannot be confined to the workspace: {why}"
    wanted: str  # what policy demands
    why: str  # what is missing, for each candidate
    advice: str


class OutputGone(AbsentError):
    """No output of that name is kept: it was removed, or belongs to another conversation."""

    message = "{path} is not kept: {why}"
    advice = (
        "Run the command again if its output is still needed; a narrower command writes less, and "
        'output="full" shows more of it at once.'
    )
    path: Name
    why: str
    listed: Aside[str]  # the folder of the outputs that are kept

    def _fill(self) -> None:
        self.next = ListRequest(self.listed)


class NoFolder(FailedError):
    """The workspace is not a folder of this machine, and no program can work in it."""

    message = "This workspace ({store}) is not a folder in which a command could be run"
    advice = "Continue with the other tools."
    store: str


class NotStarted(FailedError, OSError):
    """The shell, or the program that confines or watches it, could not be started."""

    message = "The command was not started: {what}: {problem}"
    advice = "Try again; if it persists, tell the user what the system said."
    what: str
    problem: str


class NoSuchCommand(AbsentError):
    """No command of that name runs on or ran on; it may belong to another conversation."""

    message = "There is no background command {id}{near}"
    advice = "check_command without id lists those of this conversation; they end with the server."
    id: Brief
    known: Sequence[str]
    near: Aside[str] = ""

    def _fill(self) -> None:
        self.near = f"; there are {', '.join(self.known)}" if self.known else ""
        self.next = StartedRequest()


class TooManyCommands(FailedError):
    """As many commands run on as may."""

    message = "{count} background commands run already{whose}"
    advice = "End one that is not needed (check_command with its id and signal), or wait for its end."
    count: int
    whose: Aside[str]

    def _fill(self) -> None:
        self.next = StartedRequest()
