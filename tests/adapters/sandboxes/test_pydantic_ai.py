"""A workspace behind a backend of Pydantic AI: the real local one, its wrappers, and ones that misbehave."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import WorkspaceRef
from pydantic_ai.workspaces import (
    CommandResult,
    FileEntry,
    LocalWorkspaceBackend,
    ReadOnlyWorkspace,
    WorkspaceBackend,
    WorkspaceUnavailableError,
)
from pydantic_ai.workspaces import Workspace as PydanticWorkspace

from readroom import Denied, Workspace
from readroom.adapters.pydantic_ai import WorkspaceToolset
from readroom.adapters.sandboxes import waiting
from readroom.adapters.sandboxes.pydantic_ai import store
from readroom.core.errors import ReadroomError, StoreFailed
from readroom.core.paths import WorkPath
from tests.adapters.agents.pydantic_ai import scripted
from tests.adapters.calls import make_folder

pytestmark = pytest.mark.filterwarnings("ignore")  # those of frameworks are not ours


class CommandsAlone(WorkspaceBackend):
    """What Docker, SSH and others have: commands, no files."""

    def __init__(self, folder: Path) -> None:
        self.inner = LocalWorkspaceBackend(folder)

    @property
    def ref(self) -> WorkspaceRef | None:
        return self.inner.ref

    async def working_dir(self) -> str:
        return await self.inner.working_dir()

    async def run(
        self,
        command: str | Sequence[str],
        *,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> CommandResult:
        return await self.inner.run(command, shell=shell, env=env, timeout=timeout)


class FilesAlone(WorkspaceBackend):
    """Files and real names, no commands."""

    def __init__(self, folder: Path) -> None:
        inner = self.inner = LocalWorkspaceBackend(folder)
        self.read_bytes, self.write_bytes, self.stat = inner.read_bytes, inner.write_bytes, inner.stat
        self.list_dir, self.make_dir, self.remove = inner.list_dir, inner.make_dir, inner.remove
        self.exists, self.realpath = inner.exists, inner.realpath

    @property
    def ref(self) -> WorkspaceRef | None:
        return self.inner.ref

    async def working_dir(self) -> str:
        return await self.inner.working_dir()


KINDS: dict[str, Callable[[Path], WorkspaceBackend]] = {
    "both": LocalWorkspaceBackend,
    "commands": CommandsAlone,
    "files": FilesAlone,
    "facade": lambda folder: PydanticWorkspace(LocalWorkspaceBackend(folder)),
}


@pytest.fixture(params=KINDS)
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workspace]:
    with Workspace(store(KINDS[request.param](make_folder(tmp_path / "work")))) as made:
        yield made


def test_the_tools_show_what_they_show_of_a_folder(workspace: Workspace, tmp_path: Path) -> None:
    with Workspace(make_folder(tmp_path / "other")) as local:
        for tool, arguments in (
            ("read_file", {"path": "src/orders.py"}),
            ("read_file", {"path": "long.txt", "offset": 2990}),
            ("read_file", {"path": "odd.txt"}),
            ("read_file", {"path": "src/orders.py", "symbol": "total"}),
            ("grep_files", {"pattern": "weight", "timeout_s": 60}),
            ("grep_files", {"pattern": r"weight|items", "context": 1, "timeout_s": 60}),
            ("read_file", {"path": ".env"}),
            ("read_file", {"path": "src/order.py"}),
            ("read_file", {"path": "../x"}),
        ):
            assert workspace.call(tool, arguments).text == local.call(tool, arguments).text


def test_what_policy_denies_is_in_no_answer(workspace: Workspace) -> None:
    with pytest.raises(Denied):
        workspace.read(".env")
    assert ".env" not in workspace.list(".").text
    assert "hunter2" not in workspace.grep("SECRET", timeout_s=60).text


def test_an_edit_needs_the_state_that_was_seen(workspace: Workspace, tmp_path: Path) -> None:
    seen = workspace.read("odd.txt").facts["content_hash"]
    (tmp_path / "work" / "odd.txt").write_bytes(b"changed\n")
    with pytest.raises(ReadroomError) as caught:
        workspace.edit("odd.txt", str(seen), [{"old_text": "three", "new_text": "3"}])
    assert caught.value.code == "stale"
    workspace.write("new/er/file.txt", "x\n", "absent")
    assert (tmp_path / "work" / "new" / "er" / "file.txt").read_bytes() == b"x\n"
    assert not [name for name in os.listdir(tmp_path / "work") if name.startswith(".readroom")]


def test_an_agent_reads_and_changes_a_sandbox_in_its_own_event_loop(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "work")

    async def main() -> str:
        inner = store(LocalWorkspaceBackend(folder), loop=asyncio.get_running_loop())
        workspace = await asyncio.to_thread(Workspace, inner)
        calls = [
            ("read_file", {"path": "odd.txt"}),
            ("write_file", {"path": "new.txt", "content": "x", "expected_hash": "absent"}),
        ]
        agent = Agent(scripted(calls), toolsets=[WorkspaceToolset[None](workspace)])
        return str((await agent.run("Follow the script.")).output)

    assert asyncio.run(main()) == "done"
    assert (folder / "new.txt").read_text() == "x"


def test_a_call_from_the_loop_that_it_needs_is_an_error_and_no_deadlock(tmp_path: Path) -> None:
    async def main() -> None:
        with pytest.raises(StoreFailed) as caught:
            Workspace(store(LocalWorkspaceBackend(tmp_path), loop=asyncio.get_running_loop()))
        assert "AsyncWorkspace" in caught.value.advice

    asyncio.run(main())


def test_a_read_only_workspace_is_read_and_not_changed(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "work")
    with Workspace(store(ReadOnlyWorkspace(PydanticWorkspace(LocalWorkspaceBackend(folder))))) as workspace:
        assert "def total" in workspace.read("src/orders.py").text
        with pytest.raises(ReadroomError):
            workspace.write("new.txt", "x", "absent")
    assert not (folder / "new.txt").exists()


class _Bad(FilesAlone):
    """Files that are there, with answers that are not as agreed."""


def _answers(name: str, value: object) -> Callable[[Path], WorkspaceBackend]:
    async def answer(*given: object) -> object:
        if isinstance(value, BaseException):
            raise value
        return value

    def build(folder: Path) -> WorkspaceBackend:
        made = _Bad(folder)
        setattr(made, name, answer)
        return made

    return build


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("working_dir", "relative/path"),
        ("working_dir", None),
        ("working_dir", WorkspaceUnavailableError("terminated")),
        ("stat", {"is_dir": False}),
        ("stat", WorkspaceUnavailableError("terminated")),
        ("stat", RuntimeError("503 Service Unavailable")),
        ("stat", ConnectionResetError("reset")),
        ("read_bytes", "text instead of bytes"),
        ("read_bytes", RuntimeError("HTTP 500 " + "x" * 10_000)),
        ("list_dir", [1, 2, 3]),
    ],
)
def test_answers_that_are_not_as_agreed_are_errors_with_a_next_step(
    tmp_path: Path, name: str, value: object
) -> None:
    (tmp_path / "f").write_text("text")
    made = store(_answers(name, value)(tmp_path))

    def use() -> None:
        made.open(WorkPath("f")).close()
        with made.open_folder(WorkPath(".")) as folder:
            list(folder.entries())

    with pytest.raises(StoreFailed) as caught:
        use()
    assert caught.value.advice
    assert len(caught.value.message) < 500


def test_a_backend_that_never_answers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_GRACE_S", 0.05)
    monkeypatch.setattr("readroom.adapters.sandboxes.pydantic_ai.ANSWER_S", 0.05)

    class Hanging(FilesAlone):
        async def working_dir(self) -> str:
            await asyncio.Event().wait()
            return ""

    hanging = store(Hanging(tmp_path))
    with pytest.raises(StoreFailed) as caught:
        hanging.stat(WorkPath("."))
    assert "did not answer" in caught.value.problem


def test_entries_with_impossible_names_are_not_shown(tmp_path: Path) -> None:
    entries = [
        FileEntry(name=name, path=f"{tmp_path}/{name}", is_dir=False, size=1) for name in ("..", "a/b", "ok")
    ]
    (tmp_path / "ok").write_text("x")
    with store(_answers("list_dir", entries)(tmp_path)).open_folder(WorkPath(".")) as folder:
        assert [entry.name for entry in folder.entries()] == ["ok"]
