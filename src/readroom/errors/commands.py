"""Errors of commands. A command that ran and failed is not one of them: it has a result."""

from __future__ import annotations

from readroom.errors.usage import AbsentError, FailedError, RefusedError
from readroom.quoting import as_value, quote
from readroom.values import ListRequest


class CommandsOff(RefusedError):
    """Policy does not let commands be run."""

    code = "commands_off"

    def __init__(self, why: str) -> None:
        super().__init__(
            f"Commands cannot be run here: {why}",
            "Go on with the other tools. The user can allow commands with --allow-commands, or with "
            "`enabled = true` under [commands] in the file that readroom is started with (--config).",
            facts={"why": why},
        )


class NotConfined(RefusedError):
    """The confinement that policy demands for commands cannot be had; nothing was started."""

    code = "not_confined"

    def __init__(self, wanted: str, why: str, advice: str) -> None:
        """`wanted` is what policy demands, `why` says for each candidate what is missing."""
        super().__init__(
            f"The command was not started, for it cannot be confined to the workspace: {why}",
            advice,
            facts={"wanted": wanted, "why": why},
        )


class OutputGone(AbsentError):
    """No output of that name is kept: it had to leave, or is not of this conversation."""

    code = "output_gone"

    def __init__(self, path: str, why: str, listed: str) -> None:
        """`listed` is the folder of the outputs that are kept."""
        super().__init__(
            f"{quote(path)} is not kept: {why}",
            "Run the command again if its output is still needed; a narrower command writes less, and "
            'output="full" shows more of it at once.',
            facts={"path": as_value(path), "why": why},
            next_request=ListRequest(listed),
        )


class NoFolder(FailedError):
    """The workspace is not a folder of this machine, and no program can work in it."""

    code = "no_folder"

    def __init__(self, store: str) -> None:
        super().__init__(
            f"This workspace ({store}) is not a folder in which a command could be run",
            "Go on with the other tools.",
            facts={"store": store},
        )


class NotStarted(FailedError, OSError):
    """The shell, or what was to confine or watch it, could not be started."""

    code = "not_started"

    def __init__(self, what: str, problem: str) -> None:
        super().__init__(
            f"The command was not started: {what}: {problem}",
            "Try again; if it stays, tell the user what the system said.",
            facts={"what": what, "problem": problem},
        )
