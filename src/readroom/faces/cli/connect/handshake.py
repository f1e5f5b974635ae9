"""Try a server as a client would: start or reach it, initialize, and list its tools."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from readroom.quoting import quote

_VERSION: Final = "2025-11-25"
"""Of the protocol, as most clients begin today."""

_PATIENCE_S: Final = 20.0
"""A first start may have to read a cold disk; clients wait between 1 and 60 seconds."""

_MOST_BYTES: Final = 8 * 1024 * 1024


class NoAnswer(Exception):
    """Why a server is of no use to a client, in a sentence."""


class Greeting(Struct, frozen=True):
    """A server's answer: its name and version, the names of its tools, and how long it took."""

    server: str
    tools: Sequence[str]
    seconds: float


def start(command: Sequence[str], client_name: str, cwd: str) -> Greeting:
    """Start a server in the folder `cwd` and greet it over its standard input and output.

    Raises:
        NoAnswer: It did not start, or did not answer as a server does.
    """
    began = time.monotonic()
    try:
        process = subprocess.Popen(
            list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd
        )
    except OSError as error:
        raise _failed(command, error.strerror or type(error).__name__) from None
    with process:
        try:
            server = _greeted(_Pipes(process, command, began + _PATIENCE_S), client_name)
        finally:
            process.kill()
    return Greeting(*server, time.monotonic() - began)


def reach(url: str, token: str, client_name: str) -> Greeting:
    """Greet a server that runs already.

    Raises:
        NoAnswer: There is no answer at the address, or none that a server gives.
    """
    import httpx2

    began = time.monotonic()
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": _VERSION}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    try:
        with httpx2.Client(timeout=_PATIENCE_S, headers=headers, trust_env=False) as http:
            server = _greeted(_Http(http, url), client_name)
    except httpx2.HTTPError as error:
        raise _failed([url], str(error) or type(error).__name__) from None
    return Greeting(*server, time.monotonic() - began)


def _greeted(server: Any, client_name: str) -> tuple[str, list[str]]:
    hello = {
        "protocolVersion": _VERSION,
        "capabilities": {},
        "clientInfo": {"name": client_name, "version": "0"},
    }
    answer = server.ask("initialize", hello)
    server.tell("notifications/initialized")
    listed = server.ask("tools/list", {})
    try:
        info = answer["serverInfo"]
        return f"{info['name']} {info['version']}", [str(tool["name"]) for tool in listed["tools"]]
    except (KeyError, TypeError):
        raise _failed(server.what, "it does not answer as a server does") from None


class _Pipes:
    """A server that was started here: one message a line."""

    def __init__(self, process: subprocess.Popen[bytes], command: Sequence[str], until: float) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._in, self._out = process, process.stdin, process.stdout
        self.what = command
        self._until = until
        self._read = b""
        self._asked = 0

    def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        self._asked += 1
        self._send({"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params})
        while True:
            message = self._line()
            if message.get("id") == self._asked:
                return _result(message, self.what)

    def tell(self, method: str) -> None:
        self._send({"jsonrpc": "2.0", "method": method})

    def _send(self, message: Mapping[str, Any]) -> None:
        try:
            self._in.write(json.dumps(message).encode() + b"\n")
            self._in.flush()
        except OSError:
            raise self._ended() from None

    def _line(self) -> Mapping[str, Any]:
        with selectors.DefaultSelector() as ready:
            ready.register(self._out, selectors.EVENT_READ)
            while b"\n" not in self._read:
                if not ready.select(max(0.0, self._until - time.monotonic())):
                    raise _failed(self.what, f"it did not answer within {_PATIENCE_S:g} s")
                piece = os.read(self._out.fileno(), 65536)
                self._read += piece
                if not piece or len(self._read) > _MOST_BYTES:
                    raise self._ended()
        line, _, self._read = self._read.partition(b"\n")
        try:
            message = json.loads(line)
        except ValueError:
            raise _failed(
                self.what, f"it wrote what is not a message: {quote(line[:80].decode('utf-8', 'replace'))}"
            ) from None
        return message if isinstance(message, dict) else {}

    def _ended(self) -> NoAnswer:
        """It ended before it answered: the last line that it complained with says why."""
        self._process.kill()
        errors = self._process.stderr.read(65536).decode("utf-8", "replace") if self._process.stderr else ""
        lines = [line for line in errors.split("\n") if line.strip()]
        return _failed(self.what, quote(lines[-1][:300]) if lines else "it ended without a word")


class _Http:
    """A server that runs already: one message a request."""

    def __init__(self, http: Any, url: str) -> None:
        self._http, self._url = http, url
        self.what = [url]
        self._asked = 0

    def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        self._asked += 1
        response = self._post({"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params})
        if "mcp-session-id" in response.headers:
            self._http.headers["Mcp-Session-Id"] = response.headers["mcp-session-id"]
        text = response.text
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            data = [line[5:].strip() for line in text.split("\n") if line.startswith("data:")]
            text = next((piece for piece in reversed(data) if piece), "")
        try:
            message = json.loads(text)
        except ValueError:
            raise _failed(self.what, "it does not answer as a server does") from None
        return _result(message, self.what)

    def tell(self, method: str) -> None:
        self._post({"jsonrpc": "2.0", "method": method})

    def _post(self, message: Mapping[str, Any]) -> Any:
        response = self._http.post(self._url, json=message)
        if response.status_code == 401:
            raise _failed(self.what, "it asks for another token (401)")
        if response.status_code >= 400:
            raise _failed(self.what, f"it answers {response.status_code}")
        return response


def _result(message: Any, what: Sequence[str]) -> Any:
    if not isinstance(message, dict) or "result" not in message:
        raise _failed(what, "it refuses to be asked")
    return message["result"]


def _failed(what: Sequence[str], problem: str) -> NoAnswer:
    return NoAnswer(f"{quote(what[0])}: {problem}")
