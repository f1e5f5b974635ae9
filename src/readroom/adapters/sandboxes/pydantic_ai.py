"""A workspace over a `WorkspaceBackend` of Pydantic AI (extra `pydantic-ai`).

    from readroom import Workspace
    from readroom.adapters.sandboxes.pydantic_ai import store

    workspace = Workspace(store(DockerWorkspaceBackend(...)))

Every backend of its harness fits: commands, files, or both.  A `Workspace` of Pydantic AI, such as a
read-only one, fits as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar, cast, final

from readroom.adapters.sandboxes.waiting import Loop, brief, late
from readroom.core.errors import ReadroomError
from readroom.core.extras import needs
from readroom.core.stores.environment import EnvironmentStore, Known, Ran
from readroom.core.stores.environment.base import ANSWER_S, failed

with needs("pydantic-ai"):
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.workspaces import (
        FileEntry,
        SupportsCommands,
        SupportsFilesystem,
        SupportsRealpath,
        Workspace,
        WorkspaceBackend,
        WorkspaceOutputLimitError,
        WorkspaceTimeoutError,
        WorkspaceUnavailableError,
    )

T = TypeVar("T")


def store(backend: WorkspaceBackend, *, loop: asyncio.AbstractEventLoop | None = None) -> EnvironmentStore:
    """The files of a backend; whoever made it ends its environment.

    Args:
        backend: A backend, or a `Workspace` around one.
        loop: The running event loop that its client belongs to, if others use it there as well.
    """
    return EnvironmentStore(BackendEnvironment(backend, loop))


@final
class BackendEnvironment:
    """A backend as an environment."""

    def __init__(self, backend: WorkspaceBackend, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """`loop` as of `store`."""
        self._backend = backend
        self._loop = Loop(loop)
        self._folder = ""

    @property
    def name(self) -> str:
        """Its provider and id, once it exists."""
        ref = self._backend.ref
        return type(self._backend).__name__ if ref is None else f"{ref.provider}:{ref.id}"

    @property
    def runs(self) -> bool:
        """Whether it runs commands: one that is read-only does not."""
        backend = self._backend
        if isinstance(backend, Workspace):
            return not backend.read_only and isinstance(backend.backend, SupportsCommands)
        return isinstance(backend, SupportsCommands)

    @property
    def has_files(self) -> bool:
        """Whether it has files of its own, not those that Pydantic AI makes of commands."""
        backend = self._backend
        if not isinstance(backend, Workspace):
            return isinstance(backend, SupportsFilesystem)
        return isinstance(backend.backend, SupportsFilesystem) or not self.runs

    def working_dir(self) -> str:
        """Its folder."""
        folder = self._call(lambda: self._backend.working_dir())
        if not isinstance(folder, str) or not folder.startswith("/") or "\0" in folder:
            raise failed(self.name, f"its folder is no absolute path: {folder!r:.80}")
        return folder

    def run(self, command: Sequence[str], seconds: float) -> Ran:
        """Run a program; output that is too long comes back cut."""
        backend = cast(SupportsCommands, self._backend)
        try:
            result = self._call(lambda: backend.run(list(command), timeout=seconds), seconds)
        except WorkspaceOutputLimitError as error:
            return Ran(0, error.stdout)
        if not isinstance(result.stdout, str) or not isinstance(result.exit_code, int):
            raise failed(self.name, "it answers a command with what is no text")
        return Ran(result.exit_code, result.stdout)

    def read(self, path: str) -> bytes:
        """All bytes of a file."""
        data = self._call(lambda: self._files.read_bytes(path))
        if not isinstance(data, bytes | bytearray):
            raise failed(self.name, f"it reads what is no bytes: {type(data).__name__}")
        return bytes(data)

    def write(self, path: str, data: bytes) -> None:
        """Write a whole file."""
        self._call(lambda: self._files.write_bytes(path, data))

    def look(self, path: str) -> Known:
        """The entry at a path."""
        return self._known(self._call(lambda: self._files.stat(path)))

    def list(self, path: str) -> Sequence[Known]:
        """The names in a folder."""
        return [self._known(entry) for entry in self._call(lambda: self._files.list_dir(path))]

    def make(self, path: str) -> None:
        """Make a folder and those above it."""
        self._call(lambda: self._files.make_dir(path))

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with everything in it."""
        self._call(lambda: self._files.remove(path))

    def real(self, path: str) -> str | None:
        """The path with links resolved, if it resolves them."""
        backend = self._backend
        if not isinstance(backend, SupportsRealpath):
            return None
        return self._call(lambda: backend.realpath(path))

    def close(self) -> None:
        self._loop.close()

    @property
    def _files(self) -> SupportsFilesystem:
        return cast(SupportsFilesystem, self._backend)

    def _known(self, entry: FileEntry) -> Known:
        if not isinstance(entry, FileEntry):
            raise failed(self.name, "it describes a file with what is none of its entries")
        return Known(entry.name, entry.is_dir, entry.size)

    def _call(self, call: Callable[[], Coroutine[Any, Any, T]], seconds: float | None = None) -> T:
        """The result of a call; errors of files and of ours pass, others are failures of the environment."""
        within = ANSWER_S if seconds is None else seconds
        try:
            return self._loop.run(call, self.name, within)
        except (ReadroomError, WorkspaceOutputLimitError):
            raise
        except WorkspaceTimeoutError:
            raise late(self.name, within) from None
        except WorkspaceUnavailableError as error:
            advice = "Ask the user to start the sandbox again."
            raise failed(self.name, f"it is gone ({brief(error)})", advice) from None
        except UserError as error:
            advice = "Ask the user for a backend that has both files and commands."
            raise failed(self.name, brief(error), advice) from None
        except (FileNotFoundError, FileExistsError, NotADirectoryError, IsADirectoryError, PermissionError):
            raise
        except Exception as error:
            raise failed(self.name, brief(error)) from None
