"""A workspace as a `WorkspaceBackend` of Pydantic AI, and one in front of any other (extra `pydantic-ai`).

    from pydantic_ai import Agent
    from readroom.adapters.sandboxes.backend import GuardedWorkspace, ReadroomBackend

    await Agent(model, ...).run("...", workspace=ReadroomBackend("."))
    await Agent(model, ...).run("...", workspace=GuardedWorkspace(workspace))

A name that policy denies is not there; a write of what was read and has changed since is refused; every
call is in the ledger, if there is one.  Commands know no policy, so the backend runs none.
"""

from __future__ import annotations

import asyncio
import hashlib
import posixpath
import threading
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeVar, final

from readroom.adapters.sandboxes.contract import NAME
from readroom.core.caller import Caller
from readroom.core.config import Settings
from readroom.core.config.roots import RootLike
from readroom.core.deadline import Deadline
from readroom.core.errors import BadPath, NotAFile, ReadroomError, RefusedError, TooManyLinks, of_code
from readroom.core.extras import needs
from readroom.core.lru import LruCache
from readroom.core.paths import quote
from readroom.core.tasks import in_thread
from readroom.core.values import EntryKind, Reply
from readroom.core.workspace import Workspace

with needs("pydantic-ai"):
    from pydantic_ai.workspaces import (
        CommandResult,
        FileEntry,
        SupportsFilesystem,
        SupportsRealpath,
        WorkspaceBackend,
        WorkspaceCommand,
        WorkspaceError,
        WorkspaceReadOnlyError,
        WorkspaceRef,
        WorkspaceUnavailableError,
        WrapperWorkspace,
    )
    from pydantic_ai.workspaces import Workspace as PydanticWorkspace

    from readroom.adapters.sandboxes.pydantic_ai import store

T = TypeVar("T")

CALLER: Final = Caller(agent="pydantic-ai")

_LARGEST: Final = 64 * 1024 * 1024
"""The largest file that is handed out; it is held in memory as a whole."""

_READ: Final = 4096
"""Files whose states are remembered between a read and a write."""

_VIRTUAL: Final = "/workspace"
"""The folder of a workspace that has no absolute path."""

_GONE: Final = "Open another workspace: its folder is not there any more."


@final
class ReadroomBackend(WorkspaceBackend, SupportsFilesystem, SupportsRealpath):
    """A workspace as a backend: its files under its policy. Safe to share between tasks."""

    def __init__(
        self,
        root: RootLike | Workspace,
        *,
        settings: Settings | None = None,
        caller: Caller = CALLER,
        checks_changes: bool = True,
    ) -> None:
        """Serve a workspace; a folder is opened on first use.

        Args:
            root: A folder or a store, which `close` closes, or a workspace, which its opener closes.
            settings: Policy and limits, as `Workspace` takes them.
            caller: The caller in the ledger.
            checks_changes: Refuse to write a file that has changed since it was read here.
        """
        self._root = root
        self._settings = settings
        self._caller = caller
        self._checks = checks_changes
        self._workspace = root if isinstance(root, Workspace) else None
        self._folder = ""
        self._ref: WorkspaceRef | None = None
        self._lock = threading.Lock()
        self._read: LruCache[str, str] = LruCache(_READ)

    @property
    def ref(self) -> WorkspaceRef | None:
        """Its folder, once it was used."""
        return self._ref

    async def working_dir(self) -> str:
        """The folder of the workspace."""
        return await self._do(lambda deadline: self._folder)

    async def read_bytes(self, path: str) -> bytes:
        """All bytes of a file."""
        return await self._do(lambda deadline: self._bytes(path, deadline))

    async def write_bytes(self, path: str, data: bytes) -> None:
        """Write a file in one step; folders above it are made."""
        await self._do(lambda deadline: self._write(path, data, deadline))

    async def stat(self, path: str) -> FileEntry:
        """The entry at a path, links followed."""
        return await self._do(lambda deadline: self._stat(path, deadline))

    async def list_dir(self, path: str) -> Sequence[FileEntry]:
        """The names in a folder that policy shows."""
        return await self._do(lambda deadline: self._names(path, deadline))

    async def make_dir(self, path: str) -> None:
        """Make a folder with those above it."""
        await self._do(lambda deadline: self._call("make_dir", path, deadline))

    async def remove(self, path: str) -> None:
        """Remove a file, a link, or a folder with everything in it, which must hold nothing denied."""
        await self._do(lambda deadline: self._remove(path, deadline))

    async def exists(self, path: str) -> bool:
        """Whether something is at a path; what policy denies, and what is outside, is not."""
        try:
            await self.stat(path)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return False
        return True

    async def realpath(self, path: str) -> str:
        """The path with links resolved; paths outside stay as they are."""
        return await self._do(lambda deadline: self._real(path, deadline))

    def close(self) -> None:
        """Close the workspace that was opened here."""
        with self._lock:
            own = None if isinstance(self._root, Workspace) else self._workspace
            self._workspace = None if own is not None else self._workspace
        if own is not None:
            own.close()

    async def _do(self, work: Callable[[Deadline], T]) -> T:
        deadline = Deadline()

        def run() -> T:
            self._alive()
            return work(deadline)

        return await in_thread(run, deadline)

    # --- the workspace -------------------------------------------------------------------------------

    def _alive(self) -> str:
        """The absolute path of the root. Raises WorkspaceUnavailableError if it is gone."""
        try:
            with self._lock:
                if self._workspace is None:
                    assert not isinstance(self._root, Workspace)
                    self._workspace = Workspace(self._root, settings=self._settings)
                workspace = self._workspace
            workspace.guard.store.require_root()
        except ReadroomError as error:
            raise WorkspaceUnavailableError(f"{error.message}. {_GONE}") from None
        if not self._folder:
            self._folder = posixpath.normpath(next(iter(workspace.guard.roots), _VIRTUAL))
            self._ref = WorkspaceRef(provider="readroom", id=self._folder)
        return self._folder

    def _call(self, tool: str, path: str, deadline: Deadline, **arguments: object) -> Reply:
        """The reply to a call. Raises the error of files, or of workspaces, that it means."""
        reply = self._asked(tool, path, deadline, **arguments)
        if reply.is_error:
            _raise(reply)
        return reply

    def _asked(self, tool: str, path: str, deadline: Deadline, **arguments: object) -> Reply:
        asked = {"path": self._within(path), **arguments}
        assert self._workspace is not None
        return self._workspace.call(tool, asked, contract_name=NAME, caller=self._caller, deadline=deadline)

    def _within(self, path: str) -> str:
        """The path for a tool. Raises ValueError, PermissionError."""
        inside = self._inside(path)
        if inside is None:
            raise PermissionError(f"{path} is outside of the workspace, {self._folder}")
        return quote(inside)

    def _inside(self, path: str) -> str | None:
        """The path relative to the root; None outside."""
        if not path.startswith("/") or "\0" in path:
            raise ValueError(f"path must be absolute and without NUL, got {path!r}")
        normal = posixpath.normpath(path)
        assert self._workspace is not None
        for top in (self._folder, *self._workspace.guard.roots):
            if normal == top:
                return "."
            if normal.startswith(f"{top.rstrip('/')}/"):
                return normal[len(top.rstrip("/")) + 1 :]
        return None

    # --- operations ----------------------------------------------------------------------------------

    def _bytes(self, path: str, deadline: Deadline) -> bytes:
        stream = self._call("read_bytes", path, deadline).stream
        assert stream is not None  # the tool opens a file
        try:
            if stream.left > _LARGEST:
                raise WorkspaceError(
                    f"{path} has {stream.left:,} bytes, and at most {_LARGEST:,} are handed out as a whole; "
                    "use the tools of readroom, which read parts of it"
                )
            size = stream.left
            data = stream.read(size)
        finally:
            stream.close()
        if len(data) < size:
            raise WorkspaceError(f"{path} became shorter while it was read; read it again")
        self._read.put(path, f"sha256:{hashlib.sha256(data).hexdigest()}")
        return data

    def _write(self, path: str, data: bytes, deadline: Deadline) -> None:
        arguments: dict[str, object] = {"data": b64encode(data).decode("ascii")}
        known = self._read.get(path) if self._checks else None
        if known is not None:
            arguments["expected_hash"] = known
        reply = self._asked("write_bytes", path, deadline, **arguments)
        if not reply.is_error:
            self._read.pop(path)
            return
        _raise(reply)

    def _stat(self, path: str, deadline: Deadline) -> FileEntry:
        facts: Any = self._call("stat", path, deadline).build_facts()
        if not facts["exists"] or facts["kind"] == EntryKind.LINK.value:
            raise FileNotFoundError(path)  # or it leads to nothing that may be seen
        is_file = facts["kind"] == EntryKind.FILE.value
        name = posixpath.basename(posixpath.normpath(path))
        is_dir = facts["kind"] == EntryKind.FOLDER.value
        return FileEntry(name=name, path=path, is_dir=is_dir, size=facts["size"] if is_file else None)

    def _names(self, path: str, deadline: Deadline) -> list[FileEntry]:
        found: list[FileEntry] = []
        cursor = None
        while True:
            reply = self._call("list_dir", path, deadline, cursor=cursor)
            facts: Any = reply.build_facts()
            found += (self._entry(path, entry) for entry in facts["entries"])
            cursor = facts["cursor"]
            if cursor is None:
                return found

    def _entry(self, folder: str, entry: Mapping[str, Any]) -> FileEntry:
        """A name, a link as what it leads to, if that may be seen."""
        kind, size = EntryKind(entry["kind"]), entry["size"]
        full = posixpath.join(folder, entry["path"])
        if kind is EntryKind.LINK:
            kind, size = self._led_to(full)
        is_file = kind is EntryKind.FILE
        return FileEntry(
            name=entry["path"], path=full, is_dir=kind is EntryKind.FOLDER, size=size if is_file else None
        )

    def _led_to(self, path: str) -> tuple[EntryKind, int | None]:
        assert self._workspace is not None
        guard = self._workspace.guard
        try:
            _, stat = guard.stat(guard.parse(self._within(path)))
        except (ReadroomError, OSError):
            return EntryKind.LINK, None
        return stat.kind, stat.size

    def _remove(self, path: str, deadline: Deadline) -> None:
        target = posixpath.normpath(path)
        if target == "/" or self._inside(path) == "." or self._folder.startswith(f"{target}/"):
            raise ValueError("cannot remove the root of the workspace, or what is above it")
        self._call("remove", path, deadline)

    def _real(self, path: str, deadline: Deadline) -> str:
        if ".." not in path.split("/"):
            return self._led(path, deadline)
        at = "/"
        for part in path.split("/"):
            # From where a link leads, ".." climbs from its target.
            at = posixpath.dirname(at) if part == ".." else self._led(posixpath.join(at, part), deadline)
        return at

    def _led(self, path: str, deadline: Deadline) -> str:
        if self._inside(path) is None:
            return posixpath.normpath(path)
        facts: Any = self._call("realpath", path, deadline).build_facts()
        return self._folder if facts["real"] == "." else posixpath.join(self._folder, facts["real"])


_FILE_ERRORS = (FileNotFoundError, FileExistsError, NotADirectoryError, IsADirectoryError, PermissionError)


def _raise(reply: Reply) -> NoReturn:
    """The error that a failed call means, with our sentence."""
    facts: Any = reply.build_facts()
    code, told = str(facts["error"]["code"]), facts["error"]["facts"]
    kind = of_code(code)
    if issubclass(kind, NotAFile | BadPath | TooManyLinks):
        raise (IsADirectoryError if told.get("what") == "folder" else OSError)(reply.text)
    if issubclass(kind, RefusedError):
        raise PermissionError(reply.text)
    for builtin in _FILE_ERRORS:
        if issubclass(kind, builtin):
            raise builtin(reply.text)
    raise WorkspaceError(reply.text)


class GuardedWorkspace(WrapperWorkspace):
    """A workspace of Pydantic AI, of any backend, with a guard in front: readroom's policy and ledger.

    Its files are those of the wrapped one, by their own paths.  Commands are refused unless they are allowed:
    they see every file, whatever policy says.
    """

    def __init__(
        self,
        wrapped: PydanticWorkspace,
        *,
        settings: Settings | None = None,
        caller: Caller = CALLER,
        allow_commands: bool = False,
    ) -> None:
        """Guard a workspace; nothing is asked of it before it is used. Arguments as of `ReadroomBackend`."""
        super().__init__(wrapped)
        self._own_settings = settings
        self._caller = caller
        self._allow_commands = allow_commands
        self._guarded: tuple[asyncio.AbstractEventLoop, ReadroomBackend] | None = None

    def durable_policy(self) -> tuple[object, ...]:
        """The configuration that a durable unit must rebuild with it."""
        return (self._allow_commands, repr(self._own_settings))

    @property
    def guarded(self) -> ReadroomBackend:
        """The files under the guard, for the event loop that runs here."""
        loop = asyncio.get_running_loop()
        if self._guarded is None or self._guarded[0] is not loop:
            self.close()
            inner = store(self.wrapped, loop=loop)
            self._guarded = loop, ReadroomBackend(inner, settings=self._own_settings, caller=self._caller)
        return self._guarded[1]

    async def read_bytes(self, path: str) -> bytes:
        return await self.guarded.read_bytes(await self.resolve(path))

    async def write_bytes(self, path: str, data: bytes) -> None:
        if self.read_only:
            raise WorkspaceReadOnlyError("this workspace is read-only")
        await self.guarded.write_bytes(await self.resolve(path), data)

    async def stat(self, path: str) -> FileEntry:
        return await self.guarded.stat(await self.resolve(path))

    async def list_dir(self, path: str) -> Sequence[FileEntry]:
        return await self.guarded.list_dir(await self.resolve(path))

    async def make_dir(self, path: str) -> None:
        if self.read_only:
            raise WorkspaceReadOnlyError("this workspace is read-only")
        await self.guarded.make_dir(await self.resolve(path))

    async def remove(self, path: str) -> None:
        if self.read_only:
            raise WorkspaceReadOnlyError("this workspace is read-only")
        await self.guarded.remove(await self.resolve(path))

    async def exists(self, path: str) -> bool:
        return await self.guarded.exists(await self.resolve(path))

    async def realpath(self, path: str) -> str:
        if not posixpath.isabs(path):
            path = posixpath.join(await self.working_dir(), path)
        return await self.guarded.realpath(path)

    async def run(
        self,
        command: WorkspaceCommand,
        *,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        cwd: str | None = None,
    ) -> CommandResult:
        """Run a command in the wrapped workspace, if that is allowed. Raises WorkspaceError."""
        if not self._allow_commands:
            raise WorkspaceError(
                "commands are off: they would see every file of the sandbox, whatever policy denies; "
                "GuardedWorkspace(..., allow_commands=True) passes them on"
            )
        return await self.wrapped.run(command, shell=shell, env=env, timeout=timeout, cwd=cwd)

    def close(self) -> None:
        """Release what the guard holds; the environment stays."""
        guarded, self._guarded = self._guarded, None
        if guarded is not None:
            guarded[1].close()
