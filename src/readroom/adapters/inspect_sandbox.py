"""One call of inspect_agents on the files of an Inspect sandbox.

What a call needs is fetched into a store in memory, the engine works there, and what
it changed is put back: the same laws for every kind of sandbox.  What is outside the
root, denied or a link is refused before it is fetched.  A sandbox that fails is a
failure: nothing answers in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import final

from inspect_ai.tool import ToolError
from inspect_ai.util import OutputLimitExceededError, SandboxEnvironment

from readroom import config
from readroom.contracts.registry import contract
from readroom.contracts.setup import Setup
from readroom.errors import NoPermission, NotFound, ReadroomError, SymbolicLink
from readroom.model import Cap, Fact, ListRequest, Reply, Request
from readroom.moves import DeleteRequest, MakeFolderRequest, MoveRequest, TrashRequest
from readroom.paths import ROOT, WorkPath, ancestors
from readroom.stores.memory import MemoryStore
from readroom.toolbox import Workspace

NAME = "inspect_agents"


@final
class Sandboxed:
    """A sandbox under the contract."""

    def __init__(self, environment: SandboxEnvironment, setup: Setup) -> None:
        self._environment = environment
        # The store in memory is a means here: to the contract this is a sandbox.
        inspect = replace(setup.inspect, mode="sandbox", preflight="force")
        self._setup = replace(setup, inspect=inspect)
        self._record = contract(NAME, self._setup)

    async def answer(self, name: str, arguments: dict[str, Fact]) -> Reply:
        """The reply to one call.

        Raises:
            ToolError: The sandbox failed.
        """
        memory = MemoryStore()
        with Workspace(memory, settings=config.plain(self._setup)) as workspace:
            try:
                request = self._record.parse(name, arguments)
                root = await self._root()
                for path in self._paths(workspace, request):
                    await self._fetch(memory, root, path)
                if isinstance(request, ListRequest):
                    for one in await self._names(root):
                        memory.put(one, b"")
            except ReadroomError as error:
                cap = Cap(self._record.reply_bytes, self._record.measure)
                return self._record.worded(name, arguments).render_error(error, cap)
            before = dict(memory.contents())
            reply = workspace.call(name, arguments, contract_name=NAME)
            if not reply.is_error:
                await self._put_back(memory, root, before, request)
            return reply

    def _paths(self, workspace: Workspace, request: Request) -> list[WorkPath]:
        """The names that a request is about. Raises OutsideRoot, Denied, BadPath."""
        if isinstance(request, ListRequest):
            return []
        given = [request.path]
        if isinstance(request, MoveRequest):
            given.append(request.destination)
        guard = workspace.guard.narrowed(self._record.layers)
        found = [guard.parse(path) for path in given]
        for path in found:
            try:
                guard.stat(path)
            except NotFound:
                continue  # nothing is here yet; what is denied was told from it
        return found

    async def _root(self) -> str:
        """The folder of the sandbox that the root stands for: it, or where programs start."""
        root = self._setup.inspect.root
        there = await self._environment.exec(["test", "-d", root])
        return root if there.success else (await self._run(["pwd"])).rstrip("\n")

    async def _fetch(self, memory: MemoryStore, root: str, path: WorkPath) -> None:
        if path == ROOT:
            return
        for name in (*ancestors(path), path):
            link = await self._environment.exec(["test", "-L", f"{root}/{name}"])
            if link.success:
                raise SymbolicLink(path, None)
        try:
            data = await self._environment.read_file(f"{root}/{path}", text=False)
        except FileNotFoundError:
            return
        except IsADirectoryError:
            memory.make_folder(path)
            return
        except PermissionError:
            raise NoPermission(path) from None
        except OutputLimitExceededError as error:
            raise ToolError(f"The sandbox does not hand out files of this size: {error}") from None
        memory.put(path, data)

    async def _names(self, root: str) -> Sequence[str]:
        return [name for name in (await self._run(["ls", "-1A", "--", root])).split("\n") if name]

    async def _put_back(
        self, memory: MemoryStore, root: str, before: dict[WorkPath, bytes], request: Request
    ) -> None:
        """Do in the sandbox what was done in memory."""
        after = dict(memory.contents())
        gone = [path for path in before if path not in after]
        made = [path for path, data in after.items() if before.get(path) != data]
        match request:
            case MakeFolderRequest():
                await self._run(["mkdir", "-p", "--", f"{root}/{request.path}"])
            case MoveRequest() | TrashRequest():
                for source, target in zip(gone, made, strict=True):
                    await self._run(["mkdir", "-p", "--", f"{root}/{target}".rpartition("/")[0]])
                    await self._run(["mv", "-n", "--", f"{root}/{source}", f"{root}/{target}"])
            case DeleteRequest():
                raise AssertionError(request)  # the contract refuses it in a sandbox
            case _:
                for path in made:
                    await self._environment.write_file(f"{root}/{path}", after[path])

    async def _run(self, command: list[str]) -> str:
        done = await self._environment.exec(command)
        if not done.success:
            raise ToolError(f"The sandbox failed: {command[0]}: {done.stderr.strip()[:200]}")
        return done.stdout
