"""MCP over standard input and output, for one client that started this process.

The event loop reads and writes pipes itself; threads do it only where a loop cannot
(regular files) or would have to wait (a client that does not read).
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import TypeAlias

from readroom.caller import Caller
from readroom.faces.calls import Access, Calls
from readroom.faces.mcp.begun import Begun
from readroom.faces.mcp.listing import card, methods
from readroom.faces.mcp.pipes import Reader, Writer
from readroom.faces.mcp.server import Asked, Sender, Server
from readroom.faces.mcp.streams import own_streams
from readroom.limits import MCP_EXIT_S
from readroom.protocol.connection import CallCancelled, Connection, Event, Notice, ToolCall
from readroom.protocol.messages import Answer, encode
from readroom.workspace import Workspace

# -----------------------------------------------------------------------------
# The server's log: standard error, and nothing of any file in it.
#
# An exception's message may quote what was being read, and so may the source of a program
# given on a command line, which Python 3.13 shows; so a traceback is written with the
# places of its frames and its type only.
# -----------------------------------------------------------------------------

_Raised: TypeAlias = (
    "tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]"
)


class Formatter(logging.Formatter):
    """One line per record, with the frames below it."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatException(self, ei: _Raised) -> str:
        """Frames and type, without the message."""
        kind, _, trace = ei
        name = "" if kind is None else f"{kind.__module__}.{kind.__qualname__}"
        frames = (
            f'  File "{frame.f_code.co_filename}", line {line}, in {frame.f_code.co_name}\n'
            for frame, line in traceback.walk_tb(trace)
        )
        return "".join(frames) + name


def to_stderr(access: logging.Logger | None = None) -> None:
    """Log warnings and errors of this process to standard error, unless somebody set up logging before.

    `access` is a logger whose lines are JSON already: they are written as they are.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Formatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    if access is not None and not access.handlers:
        lines = logging.StreamHandler(sys.stderr)
        lines.setFormatter(logging.Formatter("%(message)s"))
        access.addHandler(lines)
        access.setLevel(logging.INFO)
        access.propagate = False


_CLOSED = -32000
"""The code of an answer to a call that the end of the server has ended; as the SDKs have it."""


def serve_stdio(workspace: Workspace, *, contract_name: str, reply_chars: int | None) -> None:
    """Serve one client until it closes standard input, or SIGINT or SIGTERM comes.

    While it runs, file descriptors 0 and 1 of this process lead to the null device
    and to standard error: nothing else can read or write the protocol's stream.

    Args:
        workspace: What is served; closing it stays with the caller.
        contract_name: Whose tools.
        reply_chars: Cap on a reply's text, None for what the client is known to pass on.

    Raises:
        BadValue: There is no such contract.
    """
    record = workspace.contract(contract_name)
    with own_streams() as (incoming, outgoing):
        served = methods(contract_name, outputs=workspace.runs_commands)
        server_card = card(record.title, record.instructions, served, shared=True)
        go_on(
            workspace,
            Begun(server_card, incoming, outgoing),
            contract_name=contract_name,
            reply_chars=reply_chars,
        )


def go_on(workspace: Workspace, begun: Begun, *, contract_name: str, reply_chars: int | None) -> None:
    """Serve a client with whom somebody may have spoken already; otherwise as `serve_stdio`."""
    to_stderr()
    asyncio.run(_serve(workspace, contract_name, reply_chars, begun))


async def _serve(workspace: Workspace, contract_name: str, reply_chars: int | None, begun: Begun) -> None:
    calls, ended = Calls(), asyncio.Event()
    access = Access(workspace, contract_name, caller=Caller(face="mcp"))
    server = Server(
        calls, workspace.contract(contract_name), reply_chars=reply_chars, outputs=workspace.runs_commands
    )
    writer = Writer(begun.outgoing, on_broken=ended.set)
    talk = _Talk(begun.connection, server, Sender(access), writer)
    reader = Reader(begun.incoming, on_line=talk.hear, on_end=ended.set, lines=begun.lines)
    _on_signals(ended.set)
    for event in begun.waiting:
        talk.take(event)
    reader.start()
    try:
        await ended.wait()
        await talk.end()
    finally:
        reader.stop()
        calls.close()
        writer.finish(MCP_EXIT_S)


def _on_signals(end: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end)


class _Talk:
    """The conversation with the client: lines in, calls as tasks, lines out."""

    def __init__(self, connection: Connection, server: Server, sender: Sender, writer: Writer) -> None:
        self._connection = connection
        self._server = server
        self._sender = sender
        self._writer = writer
        self._tasks: dict[ToolCall, asyncio.Task[None]] = {}

    def hear(self, line: bytes) -> None:
        """Take a line."""
        if line.isspace() or not line:
            return
        self.take(self._connection.receive(line))

    def take(self, event: Event | None) -> None:
        """Do what comes of a line."""
        if isinstance(event, Answer):
            self._writer.write(encode(event) + b"\n")
        elif isinstance(event, ToolCall):
            task = self._tasks[event] = asyncio.create_task(self._perform(event))
            task.add_done_callback(lambda _: self._tasks.pop(event))
        elif isinstance(event, CallCancelled):
            self._tasks[event.call].cancel()
        elif isinstance(event, Notice):
            self._server.hear(event, self._sender)

    async def end(self) -> None:
        """End the calls that still run; what needs no work is answered first."""
        await asyncio.sleep(0)
        running = list(self._tasks.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _perform(self, call: ToolCall) -> None:
        try:
            answer = await self._server.perform(Asked(self._connection, call, self._sender, self._tell))
        except asyncio.CancelledError:
            answer = self._connection.refuse(call, _CLOSED, "The server has ended")
        if answer is not None:
            self._writer.write(encode(answer) + b"\n")

    async def _tell(self, message: bytes) -> None:
        self._writer.write(message + b"\n")
