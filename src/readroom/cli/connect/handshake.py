"""Try a server as a client would: start or reach it, initialize, and list its tools."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from readroom.core.quoting import quote

_VERSION: Final = "2025-11-25"
"""Version of the protocol that most clients send."""

_PATIENCE_S: Final = 20.0
"""A first start may have to read a cold disk; clients wait between 1 and 60 seconds."""


class NoAnswer(Exception):
    """Why a server is of no use to a client, in a sentence."""


class Greeting(Struct, frozen=True):
    """A server's answer: its name and version, the names of its tools, and how long it took."""

    server: str
    tools: Sequence[str]
    seconds: float


def start(command: Sequence[str], client_name: str, cwd: str) -> Greeting:
    """Start a server in the folder `cwd` and greet it over its standard input and output. Raises NoAnswer."""
    began = time.monotonic()
    sent = b"".join(json.dumps(message).encode() + b"\n" for message in _messages(client_name))
    try:
        done = subprocess.run(
            list(command), input=sent, capture_output=True, timeout=_PATIENCE_S, cwd=cwd, check=False
        )
    except subprocess.TimeoutExpired:
        raise _failed(command, f"it did not answer within {_PATIENCE_S:g} s") from None
    except OSError as error:
        raise _failed(command, error.strerror or type(error).__name__) from None
    lines = [line for line in done.stdout.split(b"\n") if line.strip()]
    if not lines:  # the last line of its errors gives the reason
        errors = [line for line in done.stderr.decode("utf-8", "replace").split("\n") if line.strip()]
        raise _failed(command, quote(errors[-1][:300]) if errors else "it ended without a message")
    return _greeting([_decoded(line, command) for line in lines], command, began)


def reach(url: str, token: str, client_name: str) -> Greeting:
    """Greet a server that runs already. Raises NoAnswer."""
    import httpx2

    began = time.monotonic()
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": _VERSION}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    answers = []
    try:
        with httpx2.Client(timeout=_PATIENCE_S, headers=headers, trust_env=False) as http:
            for message in _messages(client_name):
                response = http.post(url, json=message)
                if response.status_code >= 400:
                    another = response.status_code == 401
                    problem = "requires another token (401)" if another else f"answers {response.status_code}"
                    raise _failed([url], f"it {problem}")
                http.headers.update(
                    {name: value for name, value in response.headers.items() if name == "mcp-session-id"}
                )
                answers += [_answer(response)] if "id" in message else []
    except httpx2.HTTPError as error:
        raise _failed([url], str(error) or type(error).__name__) from None
    return _greeting([_decoded(answer, [url]) for answer in answers], [url], began)


def _answer(response: Any) -> bytes:
    """The message in a response, which may be the last one of a stream."""
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        return bytes(response.content)
    data = [line[5:].strip() for line in response.text.split("\n") if line.startswith("data:")]
    return next((piece for piece in reversed(data) if piece), "").encode()


def _messages(client_name: str) -> list[dict[str, Any]]:
    """The first messages of a client."""
    client = {"name": client_name, "version": "0"}
    hello = {"protocolVersion": _VERSION, "capabilities": {}, "clientInfo": client}
    return [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}},
    ]


def _decoded(line: bytes, what: Sequence[str]) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        text = quote(line[:80].decode("utf-8", "replace"))
        raise _failed(what, f"it wrote something that is not a message: {text}") from None


def _greeting(answers: Sequence[Any], what: Sequence[str], began: float) -> Greeting:
    results: dict[Any, Any] = {
        answer.get("id"): answer.get("result") for answer in answers if isinstance(answer, dict)
    }
    try:
        info, tools = results[1]["serverInfo"], [str(tool["name"]) for tool in results[2]["tools"]]
        return Greeting(f"{info['name']} {info['version']}", tools, time.monotonic() - began)
    except (KeyError, TypeError):
        raise _failed(what, "it does not answer like an MCP server") from None


def _failed(what: Sequence[str], problem: str) -> NoAnswer:
    return NoAnswer(f"{quote(what[0])}: {problem}")
