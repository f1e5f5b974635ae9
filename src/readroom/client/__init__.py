"""A client for `readroom serve`, and for other agents that speak coder's `/api/v0/`.

    with AgentConn("http://127.0.0.1:7323", token="...") as agent:
        print(agent.read_file_lines("/home/me/p/a.py", offset=1, limit=50).content)

`AsyncAgentConn` has the same methods for event loops.  `httpx2` is imported when a
connection is made.

Knows: the addresses and answers of a workspace agent.
Does not know: everything behind them.
May be touched: freely; its names are for users.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, final
from urllib.parse import unquote

from readroom.client.protocol import (
    AgentError,
    BadRequestError,
    FileDiff,
    FileEdit,
    FileEdits,
    FileEntry,
    Listing,
    MissingError,
    NotAllowedError,
    ReadFileLinesLimits,
    ReadFileLinesResponse,
    UnavailableError,
    WireCall,
    bytes_of,
    diffs_of,
    edit_call,
    escaped,
    lines_of,
    list_call,
    listing_of,
    read_call,
    read_lines_call,
    unreached,
    value_of,
    write_call,
)
from readroom.closeable import Closeable
from readroom.limits.contracts import CLIENT_TIMEOUT_S

if TYPE_CHECKING:
    import httpx2

__all__ = [
    "AgentConn",
    "AgentError",
    "AsyncAgentConn",
    "BadRequestError",
    "FileDiff",
    "FileEdit",
    "FileEdits",
    "FileEntry",
    "Listing",
    "MissingError",
    "NotAllowedError",
    "ReadFileLinesLimits",
    "ReadFileLinesResponse",
    "UnavailableError",
]


def _options(
    url: str, token: str | None, workspace: str | None, socket: str | None, timeout_s: float
) -> tuple[dict[str, Any], str | None]:
    """Options for a client of httpx2, and the path of a Unix socket."""
    if url.startswith("http+unix://"):
        socket, url = unquote(url.removeprefix("http+unix://").partition("/")[0]), "http://localhost"
    base = url.rstrip("/") + "/"
    if workspace is not None:
        base += f"w/{escaped(workspace)}/"
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    # No proxy of the environment: a token is for the agent alone.
    return {"base_url": base, "headers": headers, "timeout": timeout_s, "trust_env": False}, socket


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
        timeout_s: float = CLIENT_TIMEOUT_S,
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

        options, path = _options(url, token, workspace, socket, timeout_s)
        self._failed = (httpx2.HTTPError, httpx2.InvalidURL)
        transport = None if path is None else httpx2.HTTPTransport(uds=path)
        self._client = httpx2.Client(transport=transport, **options)

    def read_file_lines(
        self, path: str, offset: int = 0, limit: int = 0, limits: ReadFileLinesLimits | None = None
    ) -> ReadFileLinesResponse:
        """Numbered lines of a file; the response says why one cannot be read.

        Args:
            path: Absolute.
            offset: The first line, from 1; 0 for the first.
            limit: Lines; 0 for as many as a response has.
            limits: Other limits than the agent's own.
        """
        return lines_of(value_of(self._send(read_lines_call(path, offset, limit, limits))))

    def read_file(self, path: str, offset: int = 0, limit: int = 0) -> bytes:
        """Bytes of a file from byte `offset`, which counts from 0; a limit of 0 is none."""
        return bytes_of(self._send(read_call(path, offset, limit)))

    def write_file(self, path: str, data: bytes) -> None:
        """Create or replace a file, with the folders above it."""
        value_of(self._send(write_call(path, data)))

    def edit_files(self, files: Sequence[FileEdits], *, include_diff: bool = False) -> list[FileDiff]:
        """Edit files, all of them or none; their diffs, when they are asked for."""
        return diffs_of(value_of(self._send(edit_call(files, include_diff=include_diff))))

    def list_directory(self, path: str) -> Listing:
        """The names in a folder: folders first, then files."""
        return listing_of(value_of(self._send(list_call(path))))

    def close(self) -> None:
        """End the connection."""
        self._client.close()

    def _send(self, call: WireCall) -> httpx2.Response:
        try:
            return self._client.request(call.method, call.url, content=call.body, headers=call.headers)
        except self._failed as error:
            raise unreached(error) from None


@final
class AsyncAgentConn:
    """`AgentConn` for event loops: the same methods, awaited. Close it, or use it with `async with`."""

    def __init__(
        self,
        url: str = "http://localhost",
        *,
        token: str | None = None,
        workspace: str | None = None,
        socket: str | None = None,
        timeout_s: float = CLIENT_TIMEOUT_S,
    ) -> None:
        """Prepare a connection as `AgentConn` does; nothing is sent yet."""
        import httpx2

        options, path = _options(url, token, workspace, socket, timeout_s)
        self._failed = (httpx2.HTTPError, httpx2.InvalidURL)
        transport = None if path is None else httpx2.AsyncHTTPTransport(uds=path)
        self._client = httpx2.AsyncClient(transport=transport, **options)

    async def read_file_lines(
        self, path: str, offset: int = 0, limit: int = 0, limits: ReadFileLinesLimits | None = None
    ) -> ReadFileLinesResponse:
        """As `AgentConn.read_file_lines`."""
        return lines_of(value_of(await self._send(read_lines_call(path, offset, limit, limits))))

    async def read_file(self, path: str, offset: int = 0, limit: int = 0) -> bytes:
        """As `AgentConn.read_file`."""
        return bytes_of(await self._send(read_call(path, offset, limit)))

    async def write_file(self, path: str, data: bytes) -> None:
        """As `AgentConn.write_file`."""
        value_of(await self._send(write_call(path, data)))

    async def edit_files(self, files: Sequence[FileEdits], *, include_diff: bool = False) -> list[FileDiff]:
        """As `AgentConn.edit_files`."""
        return diffs_of(value_of(await self._send(edit_call(files, include_diff=include_diff))))

    async def list_directory(self, path: str) -> Listing:
        """As `AgentConn.list_directory`."""
        return listing_of(value_of(await self._send(list_call(path))))

    async def aclose(self) -> None:
        """End the connection."""
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _send(self, call: WireCall) -> httpx2.Response:
        try:
            return await self._client.request(call.method, call.url, content=call.body, headers=call.headers)
        except self._failed as error:
            raise unreached(error) from None
