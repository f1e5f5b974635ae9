"""The tools of inspect_agents for evaluations with Inspect (extra `inspect`).

    from readroom.adapters.inspect_ai import files, read_file
    Task(..., solver=[use_tools(read_file(), files()), generate()])

In store mode the files are in the sample's own store (`Files`), so that the log of an evaluation has every
state of them.  In sandbox mode they are those of the sample's sandbox.  Variables are those of
inspect_agents; the mode is "store" unless `INSPECT_AGENTS_FS_MODE` says otherwise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, final

from msgspec.structs import replace

from readroom.contracts.inspect_agents.calls import key_of_path, path_of_key
from readroom.contracts.inspect_agents.settings import InspectSettings, settings_of
from readroom.core import config
from readroom.core.contracts import Setup, contract
from readroom.core.errors import NoPermission, NotFound, ReadroomError, SymbolicLink
from readroom.core.extras import needs
from readroom.core.paths import ROOT, WorkPath, ancestors
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Cap, Fact, ListRequest, Reply, Request
from readroom.core.values.changes import DeleteRequest, MakeFolderRequest, MoveRequest, TrashRequest
from readroom.core.workspace import Workspace

with needs("inspect"):
    from inspect_ai.log import transcript
    from inspect_ai.tool import Tool, ToolDef, ToolError, ToolParams, tool
    from inspect_ai.util import OutputLimitExceededError, SandboxEnvironment, StoreModel, sandbox, store_as
    from pydantic import Field

# -----------------------------------------------------------------------------
# One call of inspect_agents on the files of an Inspect sandbox.
#
# The files of a call are fetched into a store in memory, the engine works there, and what
# it changed is put back: the same laws for every kind of sandbox.  What is outside the
# root, denied or a link is refused before it is fetched.  A sandbox that fails is a
# failure: nothing answers in its place.
# -----------------------------------------------------------------------------

NAME = "inspect_agents"


@final
class Sandboxed:
    """A sandbox under the contract."""

    def __init__(self, environment: SandboxEnvironment, own: InspectSettings) -> None:
        self._environment = environment
        # The store in memory is a means here: to the contract this is a sandbox.
        self._own = replace(own, mode="sandbox", preflight="force")
        self._record = contract(NAME, Setup(own=self._own))

    async def answer(self, name: str, arguments: dict[str, Fact]) -> Reply:
        """The reply to one call.

        Raises:
            ToolError: The sandbox failed.
        """
        memory = MemoryStore()
        with Workspace(memory, settings=config.plain({NAME: self._own})) as workspace:
            try:
                request = self._record.bind(name, arguments).request
                root = await self._root()
                for path in self._paths(workspace, request):
                    await self._fetch(memory, root, path)
                if isinstance(request, ListRequest):
                    for name_ in await self._names(root):
                        memory.put(name_, b"")
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
        paths = [request.path]
        if isinstance(request, MoveRequest):
            paths.append(request.destination)
        guard = workspace.guard.narrowed(self._record.terms.layers)
        parsed = [guard.parse(path) for path in paths]
        for path in parsed:
            try:
                guard.stat(path)
            except NotFound:
                continue  # the store is empty; denied names were recorded apart
        return parsed

    async def _root(self) -> str:
        """The folder of the sandbox for the root: itself, or the working directory of programs."""
        root = self._own.root
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
        """Apply to the sandbox the changes made in memory."""
        after = dict(memory.contents())
        gone = [path for path in before if path not in after]
        written = [path for path, data in after.items() if before.get(path) != data]
        match request:
            case MakeFolderRequest():
                await self._run(["mkdir", "-p", "--", f"{root}/{request.path}"])
            case MoveRequest() | TrashRequest():
                for source, target in zip(gone, written, strict=True):
                    await self._run(["mkdir", "-p", "--", f"{root}/{target}".rpartition("/")[0]])
                    await self._run(["mv", "-n", "--", f"{root}/{source}", f"{root}/{target}"])
            case DeleteRequest():
                raise AssertionError(request)  # the contract refuses it in a sandbox
            case _:
                for path in written:
                    await self._environment.write_file(f"{root}/{path}", after[path])

    async def _run(self, command: list[str]) -> str:
        done = await self._environment.exec(command)
        if not done.success:
            raise ToolError(f"The sandbox failed: {command[0]}: {done.stderr.strip()[:200]}")
        return done.stdout


class Files(StoreModel):
    """The files of one instance in a sample's store: contents by key, in the order they were made."""

    files: dict[str, str] = Field(default_factory=dict)


@tool
def read_file() -> Tool:
    """The tool `read_file`: numbered lines of a file."""
    return _tool("read_file", flat=True)


@tool
def files() -> Tool:
    """The tool `files`: everything else that can be done with files, by `command`."""
    return _tool("files", flat=False)


def _tool(name: str, *, flat: bool) -> Tool:
    record = contract(NAME).tool(name)
    schema = record.input_schema
    # Inspect wants words for each; the schema has them only where the name does not say it.
    described = {
        key: {"description": key.replace("_", " "), **value} for key, value in schema["properties"].items()
    }
    parameters = ToolParams(**{**schema, "properties": described})

    async def one(params: dict[str, Any]) -> str:
        return await _answer(name, {"params": params})

    async def several(
        file_path: str, offset: int = 0, limit: int | None = None, instance: str | None = None
    ) -> str:
        arguments: dict[str, Fact] = {"file_path": file_path, "offset": offset}
        arguments |= {} if limit is None else {"limit": limit}
        return await _answer(name, arguments | ({} if instance is None else {"instance": instance}))

    work = several if flat else one
    return ToolDef(work, name, record.description, parameters, parallel=False).as_tool()


async def _answer(name: str, arguments: dict[str, Fact]) -> str:
    setup = settings_of(config.environment())
    available = _sandbox() if setup.mode == "sandbox" and setup.preflight != "skip" else None
    if setup.mode == "sandbox" and setup.preflight == "force" and available is None:
        raise ToolError("There is no sandbox, and INSPECT_SANDBOX_PREFLIGHT=force rules the store out.")
    if available is None:
        reply = _in_store(name, arguments, replace(setup, mode="store"))
    else:
        try:
            async with asyncio.timeout(setup.seconds):
                reply = await Sandboxed(available, setup).answer(name, arguments)
        except TimeoutError:
            raise ToolError(f"Timeout: the sandbox took longer than {setup.seconds:g} seconds.") from None
    transcript().info({"answered_by": str(reply.facts["answered_by"])}, source="readroom")
    if reply.is_error:
        raise ToolError(reply.text)
    return reply.text


def _sandbox() -> SandboxEnvironment | None:
    try:
        return sandbox()
    except ProcessLookupError:  # raised by Inspect outside of a task
        return None


def _in_store(name: str, arguments: dict[str, Fact], own: InspectSettings) -> Reply:
    """One call in memory, without a pause: other calls of the sample see all of it or nothing."""
    instance = None
    with suppress(ReadroomError):  # the call itself reports invalid arguments
        instance = contract(NAME, Setup(own=own)).bind(name, arguments).store
    sample_files = store_as(Files, instance or None)
    memory = MemoryStore({path_of_key(key): text for key, text in sample_files.files.items()})
    with Workspace(memory, settings=config.plain({NAME: own})) as workspace:
        reply = workspace.call(name, _nameless(arguments), contract_name=NAME)
    after = {key_of_path(path): data.decode("utf-8", "surrogateescape") for path, data in memory.contents()}
    if list(after.items()) != list(sample_files.files.items()):
        sample_files.files = after
    return reply


def _nameless(arguments: dict[str, Fact]) -> dict[str, Fact]:
    """The arguments without the instance, which is found already."""
    inner = arguments.get("params")
    if isinstance(inner, dict):
        return {"params": {key: value for key, value in inner.items() if key != "instance"}}
    return {key: value for key, value in arguments.items() if key != "instance"}
