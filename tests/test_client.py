"""The client of an agent, against a real one: by address and by Unix socket, also in an event loop."""

from __future__ import annotations

import asyncio
import io
import subprocess
import sys
import uuid
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from readroom.client import (
    AgentConn,
    AsyncAgentConn,
    BadRequestError,
    ChatFile,
    ConflictError,
    FileDiff,
    FileEdit,
    FileEdits,
    FileEntry,
    MissingError,
    NotAllowedError,
    ProcessOutput,
    ReadFileLinesLimits,
    ReadFileLinesResponse,
    ToolCall,
    UnavailableError,
)
from tests.server.http.serving import Agent, agent

NAMES = ["a b.txt", "a&offset=2#x?.txt", "a%20+;=.txt", "é☃/ü.txt", "odd\udcff\udcfe.txt"]


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("client")


@pytest.fixture(scope="module")
def root(state: Path) -> Path:
    found = state / "root"
    found.mkdir()
    return found


@pytest.fixture(scope="module")
def served(state: Path, root: Path) -> Iterator[tuple[Agent, str, str]]:
    """An agent, its address, and a token."""
    with agent(state / "state", "--require-token", str(root)) as found:
        yield found, f"http://{found.host}:{found.port}", found.make_token("client")


@pytest.fixture
def conn(served: tuple[Agent, str, str]) -> Iterator[AgentConn]:
    with AgentConn(served[1], token=served[2]) as found:
        yield found


@pytest.mark.clause("coder.sdk.response", "coder.sdk.method")
def test_lines_are_a_typed_response(conn: AgentConn, root: Path) -> None:
    (root / "basic").write_text("line1\nline2\nline3", encoding="utf-8")
    (root / "empty").touch()
    assert conn.read_file_lines(f"{root}/basic", 2, 1) == ReadFileLinesResponse(True, 17, 3, 1, "2\tline2")
    assert conn.read_file_lines(f"{root}/empty") == ReadFileLinesResponse(True)
    few = ReadFileLinesLimits(max_response_lines=2)
    assert conn.read_file_lines(f"{root}/basic", limits=few).lines_read == 2
    missing = conn.read_file_lines(f"{root}/none")
    assert missing == ReadFileLinesResponse(False, error=f"file does not exist: {root}/none")


@pytest.mark.clause("coder.sdk.escaped")
@pytest.mark.parametrize("name", NAMES)
def test_any_name_is_written_read_edited_and_listed(conn: AgentConn, root: Path, name: str) -> None:
    path = f"{root}/names/{name}"
    conn.write_file(path, b"one\r\n\xfftwo")
    assert conn.read_file(path, 1, 6) == b"ne\r\n\xfft"
    conn.write_file(path, b"one\n")
    if "\udcff" not in name:  # a JSON body cannot carry such a name
        edits = [FileEdits(path, [FileEdit("one", "1")])]
        assert conn.edit_files(edits, include_diff=True) == [
            FileDiff(path, f"--- {path}\n+++ {path}\n@@ -1 +1 @@\n-one\n+1\n")
        ]
        assert conn.read_file_lines(path).content == "1\t1"
    listed = conn.list_directory(path.rpartition("/")[0])
    assert any(conn.read_file_lines(one.absolute_path).success for one in listed.entries)


def test_a_listing_has_folders_first(conn: AgentConn, root: Path) -> None:
    conn.write_file(f"{root}/list/b/c", b"")
    conn.write_file(f"{root}/list/a", b"")
    found = conn.list_directory(f"{root}/list")
    assert found.entries == [
        FileEntry("b", f"{root}/list/b", is_dir=True), FileEntry("a", f"{root}/list/a", is_dir=False),
    ]  # fmt: skip


def test_paths_are_resolved_and_files_packed_and_kept(conn: AgentConn, root: Path) -> None:
    conn.write_file(f"{root}/packed/a b.log", b"one")
    assert conn.resolve_path(f"{root}/packed/../packed/new") == f"{root}/packed/new"
    archive = zipfile.ZipFile(io.BytesIO(conn.zip_files([f"{root}/packed/*.log", "~/packed/none"])))
    assert archive.namelist() == [f"files{root}/packed/a b.log", "manifest.json"]
    chat = "6f1c0f0a-0000-4000-8000-000000000001"
    first, second = (conn.upload_chat_file(chat, "a&b.txt", data) for data in (b"1", b"22"))
    folder = f"{root}/.coder/chats/{chat}/files"
    assert (first, second.name, second.size) == (ChatFile(f"{folder}/a&b.txt", "a&b.txt", 1), "a&b_2.txt", 2)
    assert conn.read_file(second.path) == b"22"


def test_failures_are_typed(conn: AgentConn, served: tuple[Agent, str, str], root: Path) -> None:
    with pytest.raises(MissingError, match="no such file") as missing:
        conn.read_file(f"{root}/none")
    assert missing.value.status == 404
    with pytest.raises(BadRequestError, match="value is negative") as bad:
        conn.read_file(f"{root}/basic", -1)
    assert set(bad.value.validations) == {"offset"}
    with pytest.raises(NotAllowedError, match="outside"):
        conn.read_file("/etc/passwd")
    with AgentConn(served[1], token="wrong") as other, pytest.raises(NotAllowedError) as refused:
        other.read_file_lines(f"{root}/basic")
    assert refused.value.code == "unauthorized"
    with AgentConn(served[1], token=served[2], workspace="none") as other, pytest.raises(MissingError):
        other.list_directory(str(root))
    with (
        AgentConn("http://127.0.0.1:1") as nobody,
        pytest.raises(UnavailableError, match="cannot be reached"),
    ):
        nobody.read_file(f"{root}/basic")


def test_an_event_loop_has_the_same(served: tuple[Agent, str, str], root: Path) -> None:
    async def work() -> None:
        async with AsyncAgentConn(served[1], token=served[2]) as conn:
            path = f"{root}/async & more.txt"
            await conn.write_file(path, b"one\n")
            await conn.edit_files([FileEdits(path, [FileEdit("one", "two")])])
            lines, data, folder = await asyncio.gather(
                conn.read_file_lines(path), conn.read_file(path), conn.list_directory(str(root))
            )
            assert (lines.content, data) == ("1\ttwo", b"two\n")
            assert path in [one.absolute_path for one in folder.entries]
            assert await conn.resolve_path(path) == path
            assert (await conn.zip_files([path])).startswith(b"PK")
            with pytest.raises(MissingError):
                await conn.read_file(f"{root}/none")

    asyncio.run(work())


def test_a_unix_socket_is_an_address_too(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x", encoding="utf-8")
    place = tmp_path / "s"
    with serving(tmp_path, place):
        with AgentConn(socket=str(place)) as conn:
            assert conn.read_file(f"{tmp_path}/a") == b"x"
        with AgentConn(f"http+unix://{str(place).replace('/', '%2F')}") as conn:
            assert conn.read_file_lines(f"{tmp_path}/a").content == "1\tx"


class serving:
    """`readroom serve` on a Unix socket."""

    def __init__(self, root: Path, place: Path) -> None:
        line = [sys.executable, "-m", "readroom", "serve", "--socket", str(place), str(root)]
        self._process = subprocess.Popen(
            line,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"XDG_STATE_HOME": str(root / "state")},
        )

    def __enter__(self) -> None:
        assert self._process.stdout is not None
        assert any(line.startswith(b"URL") or b"http" in line for line in self._process.stdout)

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate(timeout=60)


def test_importing_the_client_imports_no_engine_and_no_transport() -> None:
    code = (
        "import sys; import readroom.client; "
        "print([m for m in ('httpx2', 'starlette', 'mcp', 'readroom.core.engine.grep') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)
    assert done.stdout.decode().strip() == "[]"


def test_processes_and_tool_calls(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    file, chat = root / "a", str(uuid.uuid4())
    with agent(tmp_path / "state", "--open", "--allow-commands", str(root)) as found:
        with AgentConn(f"http://{found.host}:{found.port}") as client:
            name = client.start_process(
                "echo $A; pwd; exit 3", workdir=str(root), env={"A": "b"}, timeout_ms=600_000
            )
            done = client.process_output(name, wait=True)
            assert done == ProcessOutput(f"b\n{root}\n", False, 3, None, "echo $A; pwd; exit 3")
            assert [one.id for one in client.list_processes()] == [name]
            with pytest.raises(ConflictError):
                client.signal_process(name, "kill")
            with pytest.raises(MissingError):
                client.process_output("a/b?c")
            call = ToolCall(chat, 1, "toolu/\u2603 1")
            client.write_file(str(file), b"x\n", call=call)
            file.write_text("y\n")
            client.write_file(str(file), b"x\n", call=call)
            assert file.read_text() == "y\n"
            edits = [FileEdits(str(file), [FileEdit("y", "z")])]
            with pytest.raises(ConflictError) as caught:
                client.edit_files(edits, call=call)
            assert (caught.value.status, caught.value.code) == (409, "input_mismatch")
            assert client.cancel_tool_call(call).started
            assert not client.cancel_tool_call(ToolCall(chat, 2, "never")).started
            started = ToolCall(chat, 3, "start")
            name = client.start_process("sleep 31344", background=True, call=started)
            assert name == started.uuid == client.start_process("sleep 31344", background=True, call=started)
            cancelled = client.cancel_tool_call(started, stop_if_run_age_below_ms=10**9)
            assert cancelled.process is not None
            assert (cancelled.process.canceled, cancelled.process.running) == (True, False)
            assert b"started" in cancelled.body
