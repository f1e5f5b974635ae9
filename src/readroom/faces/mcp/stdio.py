"""MCP over standard input and output, for one client that started this process.

Not the SDK's transport: that one takes four hops between threads per call, which
is half of the time of a small read, cannot be ended by a signal while no line
comes, and leaves what is not JSON unanswered.  Here the event loop reads and
writes pipes itself; threads do it only where a loop cannot (regular files) or
would have to wait (a client that does not read).
"""

from __future__ import annotations

import asyncio
import math
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from readroom.caller import Caller
from readroom.faces.calls import Access, Calls
from readroom.faces.mcp import logs, wire
from readroom.faces.mcp.pipes import Reader, Writer
from readroom.faces.mcp.server import build
from readroom.limits import MCP_EXIT_S
from readroom.toolbox import Workspace


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
    calls = Calls()
    access = Access(workspace, contract_name, caller=Caller(face="mcp"))
    server = build(
        calls,
        lambda context: (access, None),
        record=workspace.contract(contract_name),
        reply_chars=reply_chars,
        outputs=workspace.runs_commands,
    )
    with anyio.CancelScope() as scope:
        _on_signals(scope.cancel)
        sending, receiving = anyio.create_memory_object_stream[SessionMessage | Exception](math.inf)
        writer = Writer(outgoing, on_broken=scope.cancel)
        reader = Reader(incoming, on_line=_Inbox(sending, writer), on_end=sending.close)
        reader.start()
        try:
            with sending, receiving:
                await server.run(receiving, wire.Outbox(writer.write), server.create_initialization_options())
        finally:
            reader.stop()
            calls.close()
            writer.finish(MCP_EXIT_S)


def _on_signals(end: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end)


class _Inbox:
    """Takes lines: messages go to the server, what is none is answered here."""

    def __init__(self, messages: MemoryObjectSendStream[SessionMessage | Exception], writer: Writer) -> None:
        self._messages = messages
        self._writer = writer

    def __call__(self, line: bytes) -> None:
        if line.isspace():
            return
        message = wire.decode(line)
        if isinstance(message, wire.Refusal):
            self._writer.write(wire.encode(message.answer))
            return
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the server has just ended
            self._messages.send_nowait(SessionMessage(message))


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
