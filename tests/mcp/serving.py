"""The real servers as processes, and clients that speak JSON-RPC by hand.

Nothing here knows what a good answer is; tests look at what comes back, byte for byte.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias
from urllib.parse import urlsplit

Message: TypeAlias = dict[str, Any]

HANDSHAKE = "2025-11-25"
STATELESS = "2026-07-28"
ERAS = (HANDSHAKE, STATELESS)

END_S = 60
"""How long a process may take to end. A read that nobody stops takes twice as long."""

_HTTP = """
import sys
from readroom import Workspace
from readroom.core import config
from readroom.core.config.opening import open_store
from readroom.server.settings import Serving
from readroom.server.admission import Admission
from readroom.server.http.server import Served, listening, serve_http

store = open_store(sys.argv[1])
settings = config.load(store, *sys.argv[2:])
with Workspace(store, settings=settings) as workspace, listening("127.0.0.1", 0, None) as (bound, url):
    served = Served({"default": workspace}, Serving(), Admission(None, auth="open"), "native", None)
    serve_http(served, bound, on_ready=lambda: print(url + "/mcp", flush=True))
"""


def stdio_command(root: str | os.PathLike[str], *options: str) -> list[str]:
    """The command line of the stdio server."""
    return [sys.executable, "-m", "readroom", "mcp", os.fspath(root), *options]


@contextmanager
def http_server(
    root: str | os.PathLike[str], *own: str | os.PathLike[str]
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A server on a free port, by the file of its operator if one is given: its URL and its process."""
    command = [sys.executable, "-c", _HTTP, os.fspath(root), *(os.fspath(one) for one in own)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().decode().strip(), process
        finally:
            process.terminate()
            process.communicate(timeout=END_S)


def client_meta(name: str | None, **more: object) -> Message:
    """What every request of 2026-07-28 carries."""
    meta: Message = {
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
        **more,
    }
    if name is not None:
        meta["io.modelcontextprotocol/clientInfo"] = {"name": name, "version": "1"}
    return meta


def initialize(name: str, version: str = HANDSHAKE) -> Message:
    """The request that opens a session before 2026-07-28."""
    params = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": name, "version": "1"},
    }
    return {"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params}


def request(request_id: object, method: str, params: Mapping[str, object] | None = None) -> Message:
    """A JSON-RPC request."""
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": dict(params or {})}


def call(request_id: object, tool: str, arguments: object, **meta: object) -> Message:
    """A tools/call, with `_meta` when there is any."""
    params: Message = {"name": tool, "arguments": arguments}
    if meta:
        params["_meta"] = meta
    return request(request_id, "tools/call", params)


def strict(data: bytes) -> Any:
    """A value from JSON as the standard has it: without NaN and infinities."""

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    return json.loads(data, parse_constant=refuse)


class Stdio:
    """The stdio server as a process, and one client of one protocol version."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        *options: str,
        client: str = "somebody",
        version: str = HANDSHAKE,
        command: list[str] | None = None,
    ) -> None:
        self._client, self._version = client, version
        self.process = subprocess.Popen(
            command or stdio_command(root, *options),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.greeting: Message = {}

    def __enter__(self) -> Self:
        if self._version != STATELESS:
            self.send(initialize(self._client, self._version))
            self.greeting = self.receive()
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> tuple[int, str]:
        """Close the client's end: the exit code, and what the server logged."""
        try:
            _, log = self.process.communicate(timeout=END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise
        return self.process.returncode, log.decode()

    def send_line(self, line: bytes) -> None:
        """Bytes as they are, and a line feed."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, message: Message) -> None:
        """A message of this client's protocol version."""
        if self._version == STATELESS and "id" in message:
            params = message.get("params", {})
            meta = client_meta(self._client, **params.get("_meta", {}))
            message = {**message, "params": {**params, "_meta": meta}}
        self.send_line(json.dumps(message).encode())

    def receive(self) -> Message:
        """The next message, whatever it is. EOFError at the end."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise EOFError
        found = strict(line)
        assert isinstance(found, dict)
        return found

    def ask(self, message: Message) -> Message:
        """The answer to a request; anything that comes before it is dropped."""
        self.send(message)
        while True:
            answer = self.receive()
            if answer.get("id") == message["id"] and "method" not in answer:
                return answer

    def call(self, tool: str, arguments: object) -> Message:
        """The result of one tool call."""
        found = self.ask(call("call", tool, arguments))["result"]
        assert isinstance(found, dict)
        return found


class Http:
    """One client of one protocol version over HTTP."""

    def __init__(self, url: str, *, client: str = "somebody", version: str = HANDSHAKE) -> None:
        parts = urlsplit(url)
        self._host, self._port, self._path = parts.hostname or "", parts.port or 0, parts.path
        self._client, self._version = client, version
        self._kept = HTTPConnection(self._host, self._port, timeout=END_S)
        self.session_headers: dict[str, str] = {}

    def __enter__(self) -> Self:
        if self._version != STATELESS:
            with self.post(initialize(self._client, self._version)) as response:
                self.session_headers["Mcp-Session-Id"] = response.headers["Mcp-Session-Id"]
                assert "result" in _last(response)
            self.session_headers["Mcp-Protocol-Version"] = self._version
            self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}).read()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kept.close()

    def connect(self) -> HTTPConnection:
        """A connection of its own."""
        return HTTPConnection(self._host, self._port, timeout=END_S)

    def post(
        self, message: Message, *, connection: HTTPConnection | None = None, **headers: str
    ) -> HTTPResponse:
        """Send one message of this client's protocol version, and wait for the answer to begin."""
        if connection is None:
            # The server ends a connection that was idle for seconds, as on a busy machine: open another.
            connection = self._kept
            connection.close()
        self.begin(message, connection, **headers)
        return connection.getresponse()

    def begin(self, message: Message, connection: HTTPConnection, **headers: str) -> None:
        """Send one message and wait for nothing."""
        if self._version == STATELESS:
            params = message.get("params", {})
            meta = client_meta(self._client, **params.get("_meta", {}))
            message = {**message, "params": {**params, "_meta": meta}}
            self.session_headers = {"Mcp-Protocol-Version": STATELESS, "Mcp-Method": message["method"]}
            if "name" in params:
                self.session_headers["Mcp-Name"] = params["name"]
        sent = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **self.session_headers,
            **headers,
        }
        connection.request("POST", self._path, json.dumps(message).encode(), sent)

    def ask(self, message: Message) -> Message:
        """The answer to a request."""
        with self.post(message) as response:
            return _last(response)

    def call(self, tool: str, arguments: object) -> Message:
        """The result of one tool call."""
        found = self.ask(call("call", tool, arguments))["result"]
        assert isinstance(found, dict)
        return found


def events(response: HTTPResponse) -> Iterator[Message]:
    """The messages of a response, as they come."""
    if not response.headers["Content-Type"].startswith("text/event-stream"):
        yield strict(response.read())
        return
    for line in response:
        if line.startswith(b"data: "):
            yield strict(line[len(b"data: ") :])


def _last(response: HTTPResponse) -> Message:
    *_, last = events(response)
    return last


def plain(result: Message) -> Message:
    """A result of any protocol version without what 2026-07-28 adds to every one."""
    found = {name: value for name, value in result.items() if name != "resultType"}
    found["_meta"] = {
        name: value
        for name, value in result["_meta"].items()
        if not name.startswith("io.modelcontextprotocol/")
    }
    return found


def endless_log(folder: Path, name: str = "endless.txt", *, size: int = 2**40) -> Path:
    """A file that looks like text and takes minutes to read through, though it has few bytes on disk."""
    path = folder / name
    with open(path, "wb") as file:
        file.write(b"a line of text\n" * 100_000)
        file.truncate(size)
    return path
