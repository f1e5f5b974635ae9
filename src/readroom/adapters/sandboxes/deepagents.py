"""A workspace in a sandbox of deepagents (extra `deepagents`).

    from deepagents import create_deep_agent
    from readroom import Workspace
    from readroom.adapters.deepagents import backend
    from readroom.adapters.sandboxes.deepagents import store

    agent = create_deep_agent(model, backend=backend(Workspace(store(sandbox))))

Every `SandboxBackendProtocol` fits: those of Modal, Daytona, Runloop, LangSmith and others, and
`LocalShellBackend`.  Files are reached by its `execute`; large new contents by `upload_files` where both are
sure to mean the same names.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from math import ceil
from typing import TypeVar, final

from readroom.adapters.sandboxes.waiting import brief, in_time
from readroom.core.errors import ReadroomError
from readroom.core.extras import needs
from readroom.core.stores.environment import EnvironmentStore, Ran
from readroom.core.stores.environment.base import ANSWER_S, failed

with needs("deepagents"):
    from deepagents.backends.protocol import (
        FILE_NOT_FOUND,
        IS_DIRECTORY,
        PERMISSION_DENIED,
        SandboxBackendProtocol,
        execute_accepts_timeout,
    )
    from deepagents.backends.sandbox import BaseSandbox

T = TypeVar("T")

_ERRORS: dict[str, type[OSError]] = {
    FILE_NOT_FOUND: FileNotFoundError,
    IS_DIRECTORY: IsADirectoryError,
    PERMISSION_DENIED: PermissionError,
}


def store(sandbox: SandboxBackendProtocol, *, root: str = "") -> EnvironmentStore:
    """The files of a sandbox; whoever made it ends it.

    `root` is the absolute path of a folder in it; without one, the folder in which its commands begin.
    """
    return EnvironmentStore(SandboxEnvironment(sandbox, root))


@final
class SandboxEnvironment:
    """A sandbox as an environment."""

    runs = True

    def __init__(self, sandbox: SandboxBackendProtocol, root: str = "") -> None:
        """`root` as of `store`."""
        self._sandbox = sandbox
        self._root = root

    @property
    def name(self) -> str:
        """Its id."""
        return str(self._sandbox.id)

    @property
    def has_files(self) -> bool:
        """Whether paths of transfers are those of commands."""
        return isinstance(self._sandbox, BaseSandbox)

    def working_dir(self) -> str:
        """The folder, links resolved."""
        where = f"cd -P -- {shlex.quote(self._root)} && " if self._root else ""
        ran = self._execute(f"{where}pwd -P", ANSWER_S)
        folder = ran.text.removesuffix("\n").rpartition("\n")[2]
        if ran.code or not folder.startswith("/"):
            problem = f"its folder {self._root or '.'} cannot be entered: {ran.text.strip()[:120]!r}"
            raise failed(self.name, problem, "Ask the user for a folder that is there.")
        return folder

    def run(self, command: Sequence[str], seconds: float) -> Ran:
        """Run a program; both of its streams come back in one text."""
        return self._execute(shlex.join(command), seconds)

    def _execute(self, command: str, seconds: float) -> Ran:
        sandbox = self._sandbox
        if execute_accepts_timeout(type(sandbox)):
            done = self._call(lambda: sandbox.execute(command, timeout=max(1, ceil(seconds))), seconds)
        else:
            done = self._call(lambda: sandbox.execute(command), seconds)
        if not isinstance(done.output, str):
            raise failed(self.name, "it answers a command with what is no text")
        return Ran(done.exit_code or 0, done.output)

    def write(self, path: str, data: bytes) -> None:
        """Write a whole file."""
        done = self._call(lambda: self._sandbox.upload_files([(path, data)]))
        if not done or done[0].error is not None:
            token = done[0].error or "" if done else "no answer"
            raise _ERRORS.get(token, OSError)(f"{path}: {token}")

    def close(self) -> None:
        """Nothing to release."""

    def _call(self, call: Callable[[], T], seconds: float | None = None) -> T:
        try:
            return in_time(call, self.name, ANSWER_S if seconds is None else seconds)
        except ReadroomError:
            raise
        except Exception as error:
            raise failed(self.name, brief(error)) from None
