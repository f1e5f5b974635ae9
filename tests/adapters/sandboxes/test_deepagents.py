"""A workspace behind a sandbox of deepagents: the real local one, and an agent whose tools go through it."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from deepagents import create_deep_agent
from deepagents.backends.local_shell import LocalShellBackend
from deepagents.backends.protocol import ExecuteResponse, FileDownloadResponse, FileUploadResponse
from deepagents.backends.sandbox import BaseSandbox

from readroom import Denied, Workspace
from readroom.adapters.deepagents import backend
from readroom.adapters.sandboxes import waiting
from readroom.adapters.sandboxes.deepagents import store
from readroom.core.errors import StoreFailed
from readroom.core.paths import WorkPath
from tests.adapters.agents.langchain import scripted, seen
from tests.adapters.calls import make_folder

pytestmark = pytest.mark.filterwarnings("ignore")  # those of frameworks are not ours


class Remote(BaseSandbox):
    """A sandbox as providers make them: commands and transfers, everything else derived."""

    def __init__(self, folder: Path) -> None:
        self._shell = LocalShellBackend(folder, inherit_env=True)
        self.uploads: list[str] = []

    @property
    def id(self) -> str:
        return "remote"

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        return self._shell.execute(command, timeout=timeout)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        for path, data in files:
            self.uploads.append(path)
            Path(path).write_bytes(data)
        return [FileUploadResponse(path) for path, _ in files]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        return [FileDownloadResponse(path, Path(path).read_bytes()) for path in paths]


@pytest.fixture(params=[Remote, lambda folder: LocalShellBackend(folder, inherit_env=True)])
def sandbox(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return request.param(make_folder(tmp_path / "work"))


def test_the_tools_show_what_they_show_of_a_folder(sandbox: Any, tmp_path: Path) -> None:
    with Workspace(store(sandbox)) as workspace, Workspace(make_folder(tmp_path / "other")) as local:
        for tool, arguments in (
            ("read_file", {"path": "long.txt", "offset": 2990}),
            ("read_file", {"path": "odd.txt"}),
            ("grep_files", {"pattern": "weight", "timeout_s": 60}),
            ("read_file", {"path": ".env"}),
            ("read_file", {"path": "src/order.py"}),
        ):
            assert workspace.call(tool, arguments).text == local.call(tool, arguments).text
        with pytest.raises(Denied):
            workspace.read(".env")


def test_large_contents_arrive_whole_in_both_directions(sandbox: Any, tmp_path: Path) -> None:
    data = os.urandom(1_500_000).hex()
    with Workspace(store(sandbox)) as workspace:
        workspace.write("large.txt", data, "absent")
        assert (tmp_path / "work" / "large.txt").read_text() == data
        assert not [name for name in os.listdir(tmp_path / "work") if name.startswith(".readroom")]
    with store(sandbox).open(WorkPath("large.txt")) as source:
        assert source.read_at(0, source.size) == data.encode()


def test_a_deep_agent_keeps_its_tools_and_gets_the_guard(sandbox: Any, tmp_path: Path) -> None:
    calls = [
        ("read_file", {"file_path": "/src/orders.py"}),
        ("read_file", {"file_path": "/.env"}),
        ("edit_file", {"file_path": "/odd.txt", "old_string": "three", "new_string": "3"}),
        ("write_file", {"file_path": "/new.txt", "content": "x"}),
        ("grep", {"pattern": "hunter2"}),
    ]
    with Workspace(store(sandbox)) as workspace:
        agent: Any = create_deep_agent(scripted(calls), backend=backend(workspace))
        given: Any = {"messages": [("user", "Follow the script.")]}
        done = asyncio.run(agent.ainvoke(given, {"recursion_limit": 80}))
    shown = [one.text for one in seen(done["messages"])]
    assert "def total" in shown[0]
    assert "permission_denied" in shown[1]
    assert not any("SECRET" in text for text in shown)
    assert (tmp_path / "work" / "new.txt").read_text() == "x"
    assert (tmp_path / "work" / "odd.txt").read_bytes().endswith(b"\r\n3\r\n")


def test_a_folder_of_the_sandbox_is_the_root(sandbox: Any, tmp_path: Path) -> None:
    with Workspace(store(sandbox, root=str(tmp_path / "work" / "src"))) as workspace:
        assert "orders.py" in workspace.list(".").text
        assert "weight" in workspace.read(str(tmp_path / "work" / "src" / "orders.py")).text
    with pytest.raises(StoreFailed) as caught:
        Workspace(store(sandbox, root="/not/there/at all"))
    assert "folder that is there" in caught.value.advice


def test_a_sandbox_that_hangs_or_raises_is_an_error_with_a_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "_GRACE_S", 0.05)
    monkeypatch.setattr("readroom.adapters.sandboxes.deepagents.ANSWER_S", 0.05)

    released = threading.Event()

    class Hanging(Remote):
        def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
            released.wait()
            return ExecuteResponse("", 0)

    class Raising(Remote):
        def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
            raise RuntimeError("502 Bad Gateway")

    class Silent(Remote):
        def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
            return ExecuteResponse("", None)

    for kind in (Hanging, Raising, Silent):
        with pytest.raises(StoreFailed) as caught:
            store(kind(tmp_path)).stat(WorkPath("."))
        assert caught.value.advice
    released.set()
