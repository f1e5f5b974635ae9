"""Exit codes, distinct for scripts. It imports nothing, so that help is fast."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum


class ExitCode(IntEnum):
    """The result of a command."""

    OK = 0
    NOTHING_FOUND = 1
    USAGE = 2
    REFUSED = 3
    NOT_FOUND = 4
    FAILED = 5
    FOUND = 6
    UNCHECKED = 7
    NOT_REACHED = 8


MEANING: Mapping[ExitCode, str] = {
    ExitCode.OK: "done",
    ExitCode.NOTHING_FOUND: "nothing found: grep without a match, ls without a name that matches the globs, "
    "history without a change",
    ExitCode.USAGE: "bad usage: a wrong option, argument, pattern, cursor or configuration",
    ExitCode.REFUSED: "refused by policy, or outside the workspace",
    ExitCode.NOT_FOUND: "no such file or folder",
    ExitCode.FAILED: "anything else: binary, unreadable, out of time, a defect",
    ExitCode.FOUND: "audit found something that --fail-on names",
    ExitCode.UNCHECKED: "part could not be checked: records, or a ledger row that was noted and then removed",
    ExitCode.NOT_REACHED: "the other machine was not reached, or the connection to it ended",
}
"""For --help and the documentation."""

NOT_RUN = 125
"""Exit code of `run` if there is no command whose code could be passed on, like docker and env."""

OF_RUN = f"`run` ends with the exit code of the command, and with {NOT_RUN} if none was run"
"""The exception, shown after the others."""
