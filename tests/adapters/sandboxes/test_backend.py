"""A workspace as a backend of Pydantic AI, and one in front of another: policy, hashes, ledger."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.workspaces import (
    LocalWorkspaceBackend,
    ReadOnlyWorkspace,
    WorkspaceError,
    WorkspaceReadOnlyError,
    WorkspaceUnavailableError,
)
from pydantic_ai.workspaces import Workspace as PydanticWorkspace

from readroom import Workspace
from readroom.adapters.sandboxes.backend import GuardedWorkspace, ReadroomBackend
from readroom.core.stores.memory import MemoryStore
from tests.adapters.agents.pydantic_ai import scripted
from tests.adapters.calls import make_folder

pytestmark = pytest.mark.filterwarnings("ignore")  # those of frameworks are not ours


def guarded(folder: Path) -> GuardedWorkspace:
    return GuardedWorkspace(PydanticWorkspace(LocalWorkspaceBackend(folder)))


def own(folder: Path) -> PydanticWorkspace:
    return PydanticWorkspace(ReadroomBackend(folder))


@pytest.fixture(params=[guarded, own])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> PydanticWorkspace:
    workspace: PydanticWorkspace = request.param(make_folder(tmp_path / "work"))
    return workspace


def run(steps: Coroutine[Any, Any, None]) -> None:
    asyncio.run(steps)


def test_what_policy_denies_is_not_there(made: PydanticWorkspace, tmp_path: Path) -> None:
    (tmp_path / "work" / "link").symlink_to(".env")
    (tmp_path / "work" / "out").symlink_to("/etc/passwd")

    async def steps() -> None:
        for path in (".env", "link", "out", "../other", "/etc/passwd"):
            with pytest.raises(PermissionError):
                await made.read_bytes(path)
            assert not await made.exists(path)
            with pytest.raises(PermissionError):
                await made.write_bytes(path, b"x")
        for path in (".env", "../other", "/etc/passwd"):
            with pytest.raises(PermissionError):
                await made.remove(path)
        names = [entry.name for entry in await made.list_dir(".")]
        assert ".env" not in names
        assert "odd.txt" in names

    run(steps())
    assert (tmp_path / "work" / ".env").read_text() == "SECRET=hunter2\n"


def test_a_write_of_what_has_changed_since_it_was_read_is_refused(
    made: PydanticWorkspace, tmp_path: Path
) -> None:
    file = tmp_path / "work" / "odd.txt"

    async def steps() -> None:
        await made.read_bytes("odd.txt")
        file.write_bytes(b"theirs")
        with pytest.raises(WorkspaceError, match="has changed"):
            await made.write_bytes("odd.txt", b"ours")
        assert file.read_bytes() == b"theirs"
        assert await made.read_bytes("odd.txt") == b"theirs"
        await made.write_bytes("odd.txt", b"ours")
        file.write_bytes(b"again theirs")
        await made.write_bytes("odd.txt", b"not read, so not compared")

    run(steps())
    assert file.read_bytes() == b"not read, so not compared"


def test_commands_are_off_and_say_so(made: PydanticWorkspace) -> None:
    async def steps() -> None:
        with pytest.raises(Exception, match="command"):
            await made.run(["cat", ".env"])

    run(steps())


def test_names_of_any_bytes_are_listed_and_read(made: PydanticWorkspace, tmp_path: Path) -> None:
    odd = ("new\nline", '"quoted"', " blank ", "-rf", "\udcff", "é")
    for name in odd:
        (tmp_path / "work" / "src" / name).write_bytes(os.fsencode(name))

    async def steps() -> None:
        entries = {entry.name: entry for entry in await made.list_dir("src")}
        for name in odd:
            assert await made.read_bytes(entries[name].path) == os.fsencode(name)

    run(steps())


def test_a_read_only_workspace_stays_so(tmp_path: Path) -> None:
    inner = ReadOnlyWorkspace(PydanticWorkspace(LocalWorkspaceBackend(make_folder(tmp_path / "work"))))

    async def steps() -> None:
        outer = GuardedWorkspace(inner)
        assert await outer.read_bytes("odd.txt")
        for act in (outer.write_bytes("odd.txt", b""), outer.remove("odd.txt"), outer.make_dir("d")):
            with pytest.raises(WorkspaceReadOnlyError):
                await act

    run(steps())


def test_a_store_without_a_folder_has_a_name_for_its_root() -> None:
    async def steps() -> None:
        backend = ReadroomBackend(MemoryStore({"a/f": b"x"}))
        assert backend.ref is None
        assert await backend.working_dir() == "/workspace"
        assert await backend.read_bytes("/workspace/a/f") == b"x"
        with pytest.raises(ValueError, match="root"):
            await backend.remove("/workspace")
        backend.close()

    run(steps())


def test_a_folder_that_is_gone_is_unavailable(tmp_path: Path) -> None:
    async def steps() -> None:
        with pytest.raises(WorkspaceUnavailableError):
            await ReadroomBackend(tmp_path / "missing").working_dir()

    run(steps())


def test_every_call_is_in_the_ledger(tmp_path: Path) -> None:
    from readroom.core import config
    from readroom.core.stores.local import LocalStore

    folder = make_folder(tmp_path / "work")
    file = tmp_path / "own.toml"
    file.write_text(f'[ledger]\nenabled = true\nfile = "{tmp_path}/ledger.sqlite3"\n')
    local = LocalStore(str(folder))
    with Workspace(local, settings=config.load(local, file)) as workspace:

        async def steps() -> None:
            backend = ReadroomBackend(workspace)
            root = await backend.working_dir()
            await backend.read_bytes(f"{root}/odd.txt")
            with pytest.raises(PermissionError):
                await backend.read_bytes(f"{root}/.env")

        run(steps())
    recorded = b"".join(one.read_bytes() for one in tmp_path.glob("ledger.sqlite3*"))
    assert b"read_bytes" in recorded
    assert b"pydantic-ai" in recorded


def test_the_tools_of_an_agent_find_it_as_their_workspace(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "work")

    async def main() -> str:
        agent = Agent(scripted([("look", {"path": "odd.txt"}), ("look", {"path": ".env"})]))

        @agent.tool
        async def look(ctx: RunContext[object], path: str) -> str:
            try:
                return str(len(await ctx.workspace.read_bytes(path)))
            except PermissionError as error:
                return f"refused: {error}"

        done = await agent.run("Follow the script.", workspace=ReadroomBackend(folder))
        return str(done.all_messages())

    said = asyncio.run(main())
    assert "refused: Access to .env is denied" in said
    assert "hunter2" not in said
