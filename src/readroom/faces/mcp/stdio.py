"""MCP over standard input and output, for one client that started this process.

The event loop reads and writes pipes itself; threads do it only where a loop cannot
(regular files) or would have to wait (a client that does not read).
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from readroom.caller import Caller
from readroom.faces.calls import Access, Calls
from readroom.faces.mcp import logs
from readroom.faces.mcp.pipes import Reader, Writer
from readroom.faces.mcp.server import Asked, Sender, Server
from readroom.limits import MCP_EXIT_S
from readroom.protocol.connection import Call, Cancelled, Connection, Notice
from readroom.protocol.messages import Answer, encode
from readroom.toolbox import Workspace

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
    logs.to_stderr()
    with _own_streams() as (incoming, outgoing):
        asyncio.run(_serve(workspace, contract_name, reply_chars, incoming, outgoing))


async def _serve(
    workspace: Workspace, contract_name: str, reply_chars: int | None, incoming: int, outgoing: int
) -> None:
    calls, ended = Calls(), asyncio.Event()
    access = Access(workspace, contract_name, caller=Caller(face="mcp"))
    server = Server(
        calls, workspace.contract(contract_name), reply_chars=reply_chars, outputs=workspace.runs_commands
    )
    writer = Writer(outgoing, on_broken=ended.set)
    talk = _Talk(Connection(server.card), server, Sender(access), writer)
    reader = Reader(incoming, on_line=talk.hear, on_end=ended.set)
    _on_signals(ended.set)
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
        self._tasks: dict[Call, asyncio.Task[None]] = {}

    def hear(self, line: bytes) -> None:
        """Take a line."""
        if line.isspace() or not line:
            return
        event = self._connection.receive(line)
        if isinstance(event, Answer):
            self._writer.write(encode(event) + b"\n")
        elif isinstance(event, Call):
            task = self._tasks[event] = asyncio.create_task(self._perform(event))
            task.add_done_callback(lambda _: self._tasks.pop(event))
        elif isinstance(event, Cancelled):
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

    async def _perform(self, call: Call) -> None:
        try:
            answer = await self._server.perform(Asked(self._connection, call, self._sender, self._tell))
        except asyncio.CancelledError:
            answer = self._connection.refuse(call, _CLOSED, "The server has ended")
        if answer is not None:
            self._writer.write(encode(answer) + b"\n")

    async def _tell(self, message: bytes) -> None:
        self._writer.write(message + b"\n")


@contextmanager
def _own_streams() -> Iterator[tuple[int, int]]:
    """Private descriptors for input and output; whoever uses 0 and 1 meets nothing and standard error."""
    sys.stdout.flush()
    # `dup` makes descriptors that no child inherits.
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        os.dup2(nothing, 0)
        try:
            os.dup2(2, 1)
        except OSError:  # started without standard error
            os.dup2(nothing, 1)
        # Some parents pass on ends that do not block; ours wait in threads, or ask before they write.
        for private in (incoming, outgoing):
            os.set_blocking(private, True)
        yield incoming, outgoing
    finally:
        os.close(nothing)
        # The private ones stay open: a thread may be blocked on one, and would meet whoever got its number.
        os.dup2(incoming, 0)
        os.dup2(outgoing, 1)
