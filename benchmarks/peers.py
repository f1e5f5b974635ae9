"""MCP servers to compare with, driven by the official client over stdio.

Peers are installed by `python -m benchmarks.peers` below `.corpora/peers`;
a run takes those that are there and says which are missing.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from benchmarks.corpora import HOME
from benchmarks.measure import peak_mb

PEERS = HOME / "peers"
_NPM = ("@modelcontextprotocol/server-filesystem", "fast-filesystem-mcp", "mcp-ripgrep")
_PYPI = ("mcp-text-editor", "mcp<2")  # it does not start with mcp 2
_LIBRARIES = {
    "venv-deepagents": "deepagents",
    "venv-harness": "pydantic-ai-harness",
    "venv-aci": "openhands-aci",  # needs Python 3.12
    "venv-aider": "aider-chat",
    "venv-agents": "openai-agents",
}


@dataclass(frozen=True, slots=True)
class Server:
    """How one server is started for a folder."""

    name: str
    command: str
    arguments: tuple[str, ...] = ()


def readroom(folder: Path) -> Server:
    """Ours, over stdio; the cap of a reply as for a client that passes on much."""
    return Server(
        "readroom",
        sys.executable,
        ("-m", "readroom", "mcp", str(folder), "--max-chars", "32768"),
    )


def memory_server(file: Path) -> Server:
    """A bare SDK server that returns the same text from memory: what the protocol alone costs."""
    return Server("SDK, from memory", sys.executable, ("-m", "benchmarks.memory_server", str(file)))


def installed(folder: Path) -> list[Server]:
    """The peers that are there."""
    bin_folder = PEERS / "node_modules" / ".bin"
    found = [
        Server("server-filesystem", str(bin_folder / "mcp-server-filesystem"), (str(folder),)),
        Server("fast-filesystem", str(bin_folder / "fast-filesystem-mcp"), ("--allow", str(folder))),
        Server("mcp-text-editor", str(PEERS / "venv" / "bin" / "mcp-text-editor")),
    ]
    return [server for server in found if Path(server.command).exists()]


def install() -> None:
    """Install the peers from npm and PyPI."""
    PEERS.mkdir(parents=True, exist_ok=True)
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(PEERS), *_NPM], check=True)
    subprocess.run([sys.executable, "-m", "venv", str(PEERS / "venv")], check=True)
    subprocess.run([str(PEERS / "venv" / "bin" / "pip"), "install", "-q", *_PYPI], check=True)
    for folder, package in _LIBRARIES.items():  # each of its own: they agree on few versions
        subprocess.run([sys.executable, "-m", "venv", str(PEERS / folder)], check=True)
        done = subprocess.run([str(PEERS / folder / "bin" / "pip"), "install", "-q", package], check=False)
        if done.returncode:
            print(f"{package}: not installed")


@dataclass(frozen=True, slots=True)
class Served:
    """What a server did: seconds to be ready, seconds of each call, its peak memory, the last text."""

    ready_s: float
    calls_s: Sequence[float]
    idle_mb: float
    peak_mb: float
    text: str
    failed: bool

    @property
    def median_s(self) -> float:
        """The median call."""
        return statistics.median(self.calls_s)


def ask(server: Server, tool: str, arguments: dict[str, object], calls: int, limit_s: float = 60) -> Served:
    """Start a server, make one call `calls` times, end it."""
    return asyncio.run(_ask(server, tool, arguments, calls, limit_s))


async def _ask(server: Server, tool: str, arguments: dict[str, object], calls: int, limit_s: float) -> Served:
    start = time.perf_counter()
    parameters = StdioServerParameters(command=server.command, args=list(server.arguments))
    with open("/dev/null", "w", encoding="utf-8") as quiet:
        async with stdio_client(parameters, errlog=quiet) as streams, ClientSession(*streams) as session:
            await session.initialize()
            ready = time.perf_counter() - start
            pid = _child()
            idle = peak_mb(pid)
            found: list[float] = []
            text, failed = "", False
            for _ in range(calls):
                start = time.perf_counter()
                try:
                    reply = await asyncio.wait_for(session.call_tool(tool, arguments), limit_s)
                except TimeoutError:
                    return Served(ready, [limit_s], idle, peak_mb(pid), "", True)
                found.append(time.perf_counter() - start)
                text = "".join(getattr(part, "text", "") for part in reply.content)
                failed = bool(reply.is_error)
            return Served(ready, found, idle, peak_mb(pid), text, failed)


class BareClient:
    """Sends lines and waits for lines: what is left is the time of the server, and a pipe each way."""

    def __init__(self, server: Server) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [server.command, *server.arguments], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, bufsize=0
        )
        self._number = 0
        info = {"name": "bare", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, arguments: dict[str, object]) -> float:
        """Seconds until the answer to a call is there."""
        start = time.perf_counter()
        answer = self._ask("tools/call", {"name": tool, "arguments": arguments})
        taken = time.perf_counter() - start
        if b'"isError":true' in answer or b'"error":' in answer[:80]:
            raise RuntimeError(answer[:200].decode())
        return taken

    def close(self) -> None:
        """End the server."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()

    def _ask(self, method: str, params: dict[str, object]) -> bytes:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        assert self.process.stdout is not None
        parts: list[bytes] = []
        while not parts or not parts[-1].endswith(b"\n"):
            parts.append(os.read(self.process.stdout.fileno(), 1 << 20))
            if not parts[-1]:
                raise RuntimeError("the server has ended")
        return b"".join(parts)

    def _send(self, message: dict[str, object]) -> None:
        assert self.process.stdin is not None
        os.write(self.process.stdin.fileno(), json.dumps(message).encode() + b"\n")


def _child() -> int:
    """The one child process of this one."""
    children = Path("/proc/self/task").glob("*/children")
    return int(" ".join(path.read_text(encoding="ascii") for path in children).split()[-1])


if __name__ == "__main__":
    install()
