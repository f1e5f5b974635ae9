"""Commands as deepagents runs them, where policy allows them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends.protocol import BackendProtocol, SandboxBackendProtocol
from msgspec.structs import replace

from readroom import Workspace
from readroom.adapters.deepagents import OWN, WorkspaceBackend, WorkspaceSandbox
from readroom.adapters.deepagents import backend as made
from readroom.core.errors import CommandsOff
from readroom.core.limits import Limits
from tests.adapters.agents.deepagents import run
from tests.core.engine.command.running import room

pytestmark = pytest.mark.filterwarnings("ignore")  # those of frameworks are not ours


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[WorkspaceSandbox]:
    with room(tmp_path) as workspace:
        yield WorkspaceSandbox(workspace, virtual_mode=False)


@pytest.mark.parametrize(
    ("command", "output", "code"),
    [
        ("echo 'Hello World'", "Hello World\n", 0),
        ("true", "<no output>", 0),
        ("echo oops >&2", "[stderr] oops", 0),
        ("echo out; echo err >&2", "out\n\n[stderr] err", 0),
        ("printf 'no end'", "no end\n", 0),
        ("echo out; exit 3", "out\n\nExit code: 3", 3),
        ("cat nowhere.txt", None, 1),
        ("kill -9 $$", "<no output>\n\nExit code: 137", 137),
        ("", "Error: Command must be a non-empty string.", 1),
    ],
)
def test_a_command_is_answered_as_the_local_shell_answers(
    sandbox: WorkspaceSandbox, command: str, output: str | None, code: int
) -> None:
    ran = sandbox.execute(command)
    assert (ran.exit_code, ran.truncated) == (code, False)
    assert ran.output == output or output is None
    assert output is not None or ("[stderr]" in ran.output and "Exit code: 1" in ran.output)


def test_a_command_that_cannot_be_run_says_why(sandbox: WorkspaceSandbox) -> None:
    ran = sandbox.execute("echo \0")
    assert ran.exit_code == 1
    assert ran.output.startswith("Error executing command: ")


def test_files_and_commands_see_the_same(sandbox: WorkspaceSandbox, tmp_path: Path) -> None:
    path = f"{tmp_path}/run.sh"
    assert sandbox.write(path, "echo 'from the script'\n").error is None
    assert sandbox.execute(f"sh {path}").output == "from the script\n"
    assert sandbox.execute(f"cd {tmp_path} && echo made > made.txt").exit_code == 0
    read = sandbox.read(f"{tmp_path}/made.txt")
    assert read.file_data is not None
    assert read.file_data["content"] == "made"


def test_pages_end_as_those_of_a_sandbox(sandbox: WorkspaceSandbox, tmp_path: Path) -> None:
    lines = [f"line {number}" for number in range(250)]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    pages = [sandbox.read(f"{tmp_path}/a.txt", at, 100) for at in range(0, 250, 100)]
    texts = [page.file_data["content"] for page in pages if page.file_data is not None]
    assert "\n".join(texts) == "\n".join(lines)
    assert [page.next_offset for page in pages] == [100, 200, None]


@pytest.mark.clause("deepagents.output")
def test_long_output_is_shown_in_part_and_kept_whole(sandbox: WorkspaceSandbox) -> None:
    whole = sandbox.execute("seq 20000")
    assert not whole.truncated
    assert whole.output == "".join(f"{number}\n" for number in range(1, 20001))
    ran = sandbox.execute("seq 400000")
    assert (ran.exit_code, ran.truncated) == (0, True)
    assert " lines omitted ...]" in ran.output
    assert ran.output.startswith("1\n")
    kept = ran.output.rsplit("[all of stdout is in ", 1)[1].rstrip("]")
    page = sandbox.read(kept, 199_999, 1)
    assert page.file_data is not None
    assert page.file_data["content"] == "200000"


def test_a_command_that_takes_too_long_is_ended_and_what_it_wrote_is_shown(tmp_path: Path) -> None:
    with room(tmp_path, limits=Limits(run_timeout_s=2.0)) as workspace:
        sandbox = WorkspaceSandbox(workspace)
        ended = sandbox.execute("echo begun; sleep 600")
        other = sandbox.execute("sleep 600", timeout=1)
        for seconds in (0, -5):
            with pytest.raises(ValueError, match="timeout must be positive"):
                sandbox.execute("true", timeout=seconds)
    assert (ended.exit_code, other.exit_code) == (124, 124)
    assert ended.output.startswith("begun\n\n\nError: Command timed out after 2 seconds. ")
    assert "timed out after 1 seconds (custom timeout)" in other.output


@pytest.mark.clause("deepagents.commands")
def test_a_command_is_confined_as_policy_says(sandbox: WorkspaceSandbox, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("SECRET=hunter2\n")
    assert "hunter2" not in sandbox.execute("cat .env").output


def test_a_sandbox_has_a_name_of_its_own(sandbox: WorkspaceSandbox, tmp_path: Path) -> None:
    with room(tmp_path) as workspace:
        assert WorkspaceSandbox(workspace).id != sandbox.id
    assert sandbox.id.startswith("readroom-")


def test_commands_can_be_awaited_side_by_side(sandbox: WorkspaceSandbox) -> None:
    async def session() -> list[Any]:
        echoes = (sandbox.aexecute(f"echo {number}", timeout=60) for number in range(3))
        return list(await asyncio.gather(*echoes))

    assert [ran.output for ran in asyncio.run(session())] == ["0\n", "1\n", "2\n"]


def test_without_commands_there_is_no_sandbox(tmp_path: Path) -> None:
    with Workspace(tmp_path) as workspace:
        with pytest.raises(CommandsOff):
            WorkspaceSandbox(workspace)
        composite: Any = made(workspace)
        assert isinstance(composite.default, WorkspaceBackend)
        assert not isinstance(composite.default, SandboxBackendProtocol)


def test_where_policy_allows_commands_an_agent_has_them(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("needle\n")
    with room(tmp_path) as workspace:
        composite: Any = made(workspace)
        assert isinstance(composite.default, WorkspaceSandbox)
        assert isinstance(composite.routes[f"{OWN}/"], BackendProtocol)
        listed, ran, failed = run(
            workspace,
            [
                ("ls", {"path": "/"}),
                ("execute", {"command": f"cat {tmp_path}/a.txt"}),
                ("execute", {"command": "exit 4"}),
            ],
        )
    assert listed.text == f"['{OWN}/', '{tmp_path}/a.txt']"
    assert ran.text == "needle\n\n[Command succeeded with exit code 0]"
    assert "[Command failed with exit code 4]" in failed.text


def test_a_budget_for_output_is_kept(tmp_path: Path) -> None:
    with room(tmp_path, limits=replace(Limits(), reply_bytes=2048)) as workspace:
        ran = WorkspaceSandbox(workspace).execute("seq 10000")
    assert ran.truncated
    assert len(ran.output) < 4096
