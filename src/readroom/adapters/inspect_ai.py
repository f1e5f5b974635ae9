"""The tools of inspect_agents for evaluations with Inspect (extra `inspect`).

    from readroom.adapters.inspect_ai import files, read_file
    Task(..., solver=[use_tools(read_file(), files()), generate()])

In store mode the files are in the sample's own store (`Files`), so that the log of an
evaluation has every state of them.  In sandbox mode they are those of the sample's
sandbox.  The variables are those of inspect_agents; the mode is "store" where
`INSPECT_AGENTS_FS_MODE` does not say.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any

from inspect_ai.log import transcript
from inspect_ai.tool import Tool, ToolDef, ToolError, ToolParams, tool
from inspect_ai.util import SandboxEnvironment, StoreModel, sandbox, store_as
from pydantic import Field

from readroom import config
from readroom.adapters.inspect_sandbox import Sandboxed
from readroom.contracts.inspect_keys import key_of_path, path_of_key
from readroom.contracts.registry import contract
from readroom.contracts.setup import Setup
from readroom.errors import ReadroomError
from readroom.model import Fact, Reply
from readroom.stores.memory import MemoryStore
from readroom.toolbox import Workspace

NAME = "inspect_agents"


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
        given: dict[str, Fact] = {"file_path": file_path, "offset": offset}
        given |= {} if limit is None else {"limit": limit}
        return await _answer(name, given | ({} if instance is None else {"instance": instance}))

    work = several if flat else one
    return ToolDef(work, name, record.description, parameters, parallel=False).as_tool()


async def _answer(name: str, arguments: dict[str, Fact]) -> str:
    given = config.environment()
    setup = given.inspect
    available = _sandbox() if setup.mode == "sandbox" and setup.preflight != "skip" else None
    if setup.mode == "sandbox" and setup.preflight == "force" and available is None:
        raise ToolError("There is no sandbox, and INSPECT_SANDBOX_PREFLIGHT=force rules the store out.")
    if available is None:
        reply = _in_store(name, arguments, replace(given, inspect=replace(setup, mode="store")))
    else:
        try:
            async with asyncio.timeout(setup.seconds):
                reply = await Sandboxed(available, given).answer(name, arguments)
        except TimeoutError:
            raise ToolError(f"Timeout: the sandbox took longer than {setup.seconds:g} seconds.") from None
    transcript().info({"answered_by": str(reply.facts["answered_by"])}, source="readroom")
    if reply.is_error:
        raise ToolError(reply.text)
    return reply.text


def _sandbox() -> SandboxEnvironment | None:
    try:
        return sandbox()
    except ProcessLookupError:  # what Inspect raises where a task has none
        return None


def _in_store(name: str, arguments: dict[str, Fact], setup: Setup) -> Reply:
    """One call in memory, without a pause: other calls of the sample see all of it or nothing."""
    instance = None
    with suppress(ReadroomError):  # the call itself says what is wrong with its arguments
        instance = contract(NAME, setup).store_of(name, arguments)
    held = store_as(Files, instance or None)
    memory = MemoryStore({path_of_key(key): text for key, text in held.files.items()})
    with Workspace(memory, settings=config.plain(setup)) as workspace:
        reply = workspace.call(name, _nameless(arguments), contract_name=NAME)
    after = {key_of_path(path): data.decode("utf-8", "surrogateescape") for path, data in memory.contents()}
    if list(after.items()) != list(held.files.items()):
        held.files = after
    return reply


def _nameless(arguments: dict[str, Fact]) -> dict[str, Fact]:
    """The arguments without the instance, which is found already."""
    inner = arguments.get("params")
    if isinstance(inner, dict):
        return {"params": {key: value for key, value in inner.items() if key != "instance"}}
    return {key: value for key, value in arguments.items() if key != "instance"}
