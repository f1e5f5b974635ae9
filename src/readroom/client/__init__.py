"""A client for `readroom serve`, and for other agents that speak coder's `/api/v0/`.

    with AgentConn("http://127.0.0.1:7323", token="...") as agent:
        print(agent.read_file_lines("/home/me/p/a.py", offset=1, limit=50).content)

`AsyncAgentConn` has the same methods for event loops.  `httpx2` is imported when a
connection is made.

Knows: the addresses and answers of a workspace agent.
Does not know: how an agent answers.
May be touched: freely; its names are for users.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Self, TypeVar, final
from urllib.parse import quote_from_bytes, unquote

from msgspec import convert, to_builtins

from readroom.client.protocol import (
    AgentError,
    BadRequestError,
    CancelledCall,
    CancelledProcess,
    ChatFile,
    ConflictError,
    FileDiff,
    FileEdit,
    FileEdits,
    FileEntry,
    Listing,
    MissingError,
    NotAllowedError,
    Process,
    ProcessOutput,
    ProcessTruncation,
    ReadFileLinesLimits,
    ReadFileLinesResponse,
    ToolCall,
    UnavailableError,
    failure_of,
    object_of,
)
from readroom.core.closeable import Closeable

if TYPE_CHECKING:
    import httpx2

__all__ = [
    "AgentConn",
    "AgentError",
    "AsyncAgentConn",
    "BadRequestError",
    "CancelledCall",
    "CancelledProcess",
    "ChatFile",
    "ConflictError",
    "FileDiff",
    "FileEdit",
    "FileEdits",
    "FileEntry",
    "Listing",
    "MissingError",
    "NotAllowedError",
    "Process",
    "ProcessOutput",
    "ProcessTruncation",
    "ReadFileLinesLimits",
    "ReadFileLinesResponse",
    "ToolCall",
    "UnavailableError",
]

P = ParamSpec("P")
T = TypeVar("T")

TIMEOUT_S = 130.0
"""A little longer than the server's own limit for a call, so that a client receives its answer."""


WAIT_S = 330.0
"""The same for a wait for the end of a process."""


def _part(text: str) -> str:
    """A text as one part of an address."""
    return quote_from_bytes(text.encode("utf-8", "surrogateescape"), safe="")


def _escaped(text: str) -> str:
    """A text in an address: whatever could mean something else is escaped."""
    # Names with bytes that are not characters come from os.fsdecode.
    return quote_from_bytes(text.encode("utf-8", "surrogateescape"), safe="/")


@final
class AgentConn(Closeable):
    """A connection to an agent. Safe to share between threads; close it, or use it with `with`.

    Every method raises an `AgentError` when the agent refuses, fails or cannot be reached.
    """

    def __init__(
        self,
        url: str = "http://localhost",
        *,
        token: str | None = None,
        workspace: str | None = None,
        socket: str | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Prepare a connection; nothing is sent yet.

        Args:
            url: Of the agent, also as `http+unix://` and the escaped path of a socket.
            token: Sent as a bearer token.
            workspace: Name of one of several workspaces; None for the default one.
            socket: Path of a Unix socket to connect to instead.
            timeout_s: Longest time for each step of a call, in seconds.
        """
        import httpx2

        if url.startswith("http+unix://"):
            socket, url = unquote(url.removeprefix("http+unix://").partition("/")[0]), "http://localhost"
        self._failed = (httpx2.HTTPError, httpx2.InvalidURL)
        self._client = httpx2.Client(
            transport=None if socket is None else httpx2.HTTPTransport(uds=socket),
            base_url=url.rstrip("/") + ("/" if workspace is None else f"/w/{_escaped(workspace)}/"),
            headers={} if token is None else {"Authorization": f"Bearer {token}"},
            timeout=timeout_s,
            trust_env=False,  # no proxy of the environment: a token is for the agent alone
        )

    def read_file_lines(
        self, path: str, offset: int = 0, limit: int = 0, limits: ReadFileLinesLimits | None = None
    ) -> ReadFileLinesResponse:
        """Numbered lines of a file; if it cannot be read, the response has the reason.

        Args:
            path: Absolute.
            offset: The first line, from 1; 0 for the first.
            limit: Lines; 0 for as many as a response has.
            limits: Other limits than the agent's own.
        """
        query = {"path": path, "offset": offset, "limit": limit, **to_builtins(limits or {})}
        answer = self._call("GET", "read-file-lines", **query)
        return convert({"success": False, **answer}, ReadFileLinesResponse)

    def read_file(self, path: str, offset: int = 0, limit: int = 0) -> bytes:
        """Bytes of a file from byte `offset`, which counts from 0; a limit of 0 is none."""
        return self._send("GET", "read-file", None, path=path, offset=offset, limit=limit).content

    def write_file(self, path: str, data: bytes, *, call: ToolCall | None = None) -> None:
        """Create or replace a file, with the folders above it; as a tool call, once."""
        self._call("POST", "write-file", data, path=path, call=call)

    def edit_files(
        self, files: Sequence[FileEdits], *, include_diff: bool = False, call: ToolCall | None = None
    ) -> list[FileDiff]:
        """Edit files, all of them or none, and as a tool call once; returns their diffs on request."""
        named = [{"path": file.path, "edits": [edit.sent() for edit in file.edits]} for file in files]
        body = {"files": named, "include_diff": include_diff}
        answer = self._call("POST", "edit-files", body, call=call)
        return convert(answer.get("files") or [], list[FileDiff])

    def list_directory(self, path: str) -> Listing:
        """The names in a folder: folders first, then files."""
        return convert(self._call("POST", "list-directory", {}, path=path), Listing)

    def resolve_path(self, path: str) -> str:
        """The path without links; what does not exist yet of it is kept."""
        return str(self._call("GET", "resolve-path", path=path)["resolved_path"])

    def zip_files(self, paths: Sequence[str]) -> bytes:
        """A zip archive with files, and with `manifest.json`, which says what it holds and lacks.

        Args:
            paths: Absolute paths and globs; `~/` means the agent's home folder.
        """
        return self._send("POST", "zip-files", {"paths": [*paths]}).content

    def upload_chat_file(self, chat_id: str, name: str, data: bytes) -> ChatFile:
        """Keep a file for a chat, whose id is a UUID; a name that is taken gets a number."""
        return convert(self._call("POST", "upload-chat-file", data, chat_id=chat_id, name=name), ChatFile)

    def start_process(
        self,
        command: str,
        *,
        workdir: str = "",
        env: Mapping[str, str] | None = None,
        background: bool = False,
        timeout_ms: int = 0,
        call: ToolCall | None = None,
    ) -> str:
        """Start a process, as a tool call once; returns its id.

        Args:
            command: For the shell.
            workdir: Absolute; the workspace without it.
            env: Variables for it.
            background: What lists say of it.
            timeout_ms: Longest time that it runs; 0 for the agent's own limit.
            call: The tool call; processes of a chat belong to it.
        """
        body: dict[str, Any] = {"command": command, "background": background}
        body |= {"workdir": workdir} if workdir else {}
        body |= {"env": dict(env)} if env else {}
        body |= {"timeout_ms": timeout_ms} if timeout_ms else {}
        return str(self._call("POST", "processes/start", body, call=call)["id"])

    def list_processes(self) -> list[Process]:
        """At most ten processes, running ones first."""
        return convert(self._call("GET", "processes/list")["processes"], list[Process])

    def process_output(self, process_id: str, *, wait: bool = False) -> ProcessOutput:
        """Both ends of an output; with `wait` once the process has ended, or after five minutes."""
        name = f"processes/{_part(process_id)}/output"
        if not wait:
            return convert(self._call("GET", name), ProcessOutput)
        return convert(self._call("GET", name, timeout_s=WAIT_S, wait="true"), ProcessOutput)

    def signal_process(self, process_id: str, signal: Literal["kill", "terminate"]) -> None:
        """End a process: at once, or by asking it first."""
        self._call("POST", f"processes/{_part(process_id)}/signal", {"signal": signal})

    def cancel_tool_call(self, call: ToolCall, *, stop_if_run_age_below_ms: int = 0) -> CancelledCall:
        """Cancel a tool call: one that was not applied yet never is; a younger process of it is stopped."""
        body = {"stop_if_run_age_below_ms": stop_if_run_age_below_ms}
        answer = self._call("POST", f"tool-calls/{call.uuid}/cancel", body, call=call)
        return convert(answer, CancelledCall)

    def close(self) -> None:
        """End the connection."""
        self._client.close()

    def _call(
        self,
        method: str,
        name: str,
        body: bytes | dict[str, Any] | None = None,
        /,
        *,
        call: ToolCall | None = None,
        timeout_s: float | None = None,
        **query: str | int | None,
    ) -> dict[str, Any]:
        """The object that a call is answered with."""
        response = self._send(method, name, body, call=call, timeout_s=timeout_s, **query)
        value = object_of(response)
        if value is None:
            raise failure_of(response)
        return value

    def _send(
        self,
        method: str,
        name: str,
        body: bytes | dict[str, Any] | None = None,
        /,
        *,
        call: ToolCall | None = None,
        timeout_s: float | None = None,
        **query: str | int | None,
    ) -> httpx2.Response:
        """The answer to a call."""
        pairs = [f"{key}={_escaped(str(value))}" for key, value in query.items() if value is not None]
        headers = {} if call is None else call.headers
        if body is not None:
            kind = "json" if isinstance(body, dict) else "octet-stream"
            headers["Content-Type"] = f"application/{kind}"
        content = json.dumps(body).encode() if isinstance(body, dict) else body
        url = f"api/v0/{name}" + ("?" + "&".join(pairs) if pairs else "")
        try:
            request = self._client.build_request(method, url, content=content, headers=headers)
            if timeout_s is not None:
                request.extensions["timeout"] = dict.fromkeys(request.extensions["timeout"], timeout_s)
            response = self._client.send(request)
        except self._failed as error:
            problem = f"The agent cannot be reached: {error or type(error).__name__}"
            raise UnavailableError(0, problem) from None
        if response.status_code != 200:
            raise failure_of(response)
        return response


def _awaited(
    method: Callable[Concatenate[AgentConn, P], T],
) -> Callable[Concatenate[AsyncAgentConn, P], Coroutine[Any, Any, T]]:
    """The awaitable counterpart of a method of `AgentConn`."""

    async def call(self: AsyncAgentConn, /, *arguments: P.args, **options: P.kwargs) -> T:
        return await asyncio.to_thread(method, self.connection, *arguments, **options)

    call.__doc__ = method.__doc__
    return call


@final
class AsyncAgentConn:
    """`AgentConn` for event loops: the same methods, awaited. Close it, or use it with `async with`.

    A cancelled task waits no longer for its answer; the agent finishes what it has begun.
    """

    def __init__(self, url: str = "http://localhost", **options: Any) -> None:
        """Prepare a connection as `AgentConn` does, with the same options; nothing is sent yet."""
        self.connection = AgentConn(url, **options)

    read_file_lines = _awaited(AgentConn.read_file_lines)
    read_file = _awaited(AgentConn.read_file)
    write_file = _awaited(AgentConn.write_file)
    edit_files = _awaited(AgentConn.edit_files)
    list_directory = _awaited(AgentConn.list_directory)
    resolve_path = _awaited(AgentConn.resolve_path)
    zip_files = _awaited(AgentConn.zip_files)
    upload_chat_file = _awaited(AgentConn.upload_chat_file)
    start_process = _awaited(AgentConn.start_process)
    list_processes = _awaited(AgentConn.list_processes)
    process_output = _awaited(AgentConn.process_output)
    signal_process = _awaited(AgentConn.signal_process)
    cancel_tool_call = _awaited(AgentConn.cancel_tool_call)
    aclose = _awaited(AgentConn.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
