"""MCP over standard input and output, for one client that started this process.

The event loop reads and writes pipes itself; threads do it only where a loop cannot
(regular files) or would have to wait (a client that does not read).
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import signal
import stat
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from types import TracebackType
from typing import TypeAlias

from readroom.caller import Caller
from readroom.faces.calls import Access, Calls
from readroom.faces.mcp.begun import Begun
from readroom.faces.mcp.listing import card, methods
from readroom.faces.mcp.server import PendingCall, Sender, Server
from readroom.faces.mcp.streams import Lines, own_streams
from readroom.limits import MCP_CHUNK_BYTES, MCP_EXIT_S, MCP_MESSAGE_BYTES
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
    """Log warnings and errors of this process to standard error, unless logging was set up before.

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
    """Serve a client that may have had answers already; otherwise as `serve_stdio`."""
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
            answer = await self._server.perform(PendingCall(self._connection, call, self._sender, self._tell))
        except asyncio.CancelledError:
            answer = self._connection.refuse(call, _CLOSED, "The server has ended")
        if answer is not None:
            self._writer.write(encode(answer) + b"\n")

    async def _tell(self, message: bytes) -> None:
        self._writer.write(message + b"\n")


# -----------------------------------------------------------------------------
# Lines from one file descriptor and to another, without ever blocking the event loop.
#
# Descriptors stay in blocking mode, because the mode belongs to the open file and
# others may share it.  A pipe or socket that is readable can be read without
# waiting; a pipe that is writable takes PIPE_BUF bytes without waiting.
# -----------------------------------------------------------------------------

_CHUNKS_AHEAD = 16
"""Pieces that a reading thread may be ahead of the event loop."""


class Reader:
    """Calls `on_line` with every line of a descriptor, without its end, then `on_end`; both on the loop."""

    def __init__(
        self,
        fd: int,
        on_line: Callable[[bytes], None],
        on_end: Callable[[], None],
        lines: Lines | None = None,
    ) -> None:
        """`lines` hold the beginning of a line where the descriptor was read before."""
        self._fd = fd
        self._on_line = on_line
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._lines = lines or Lines(MCP_MESSAGE_BYTES)
        self._ahead = threading.Semaphore(_CHUNKS_AHEAD)

    def start(self) -> None:
        """Read until the end of the input, or `stop`."""
        try:
            self._loop.add_reader(self._fd, self._readable)
        except OSError:  # a regular file or the null device: no loop can wait for them
            threading.Thread(target=self._read_on, name="readroom-stdin", daemon=True).start()

    def stop(self) -> None:
        """Read no more."""
        self._loop.remove_reader(self._fd)

    def _readable(self) -> None:
        data = _read(self._fd)
        if not data:
            self.stop()
        self._take(data)

    def _read_on(self) -> None:
        with suppress(RuntimeError):  # the loop has ended
            data = b" "
            while data:
                self._ahead.acquire()
                data = _read(self._fd)
                self._loop.call_soon_threadsafe(self._take_from_thread, data)

    def _take_from_thread(self, data: bytes) -> None:
        self._ahead.release()
        self._take(data)

    def _take(self, data: bytes) -> None:
        for line in self._lines.feed(data) if data else self._lines.rest():
            self._on_line(line)
        if not data:
            self._on_end()


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, MCP_CHUNK_BYTES)
    except OSError:  # a terminal that hung up, a connection that was reset
        return b""


class Writer:
    """Writes lines in order. What a pipe takes at once is written at once, the rest by a thread."""

    def __init__(self, fd: int, on_broken: Callable[[], None]) -> None:
        self._fd = fd
        self._on_broken = on_broken
        self._loop = asyncio.get_running_loop()
        self._poll = select.poll() if stat.S_ISFIFO(os.fstat(fd).st_mode) else None
        if self._poll is not None:
            self._poll.register(fd, select.POLLOUT)
        self._waiting: SimpleQueue[memoryview | None] = SimpleQueue()
        self._unwritten = 0
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def write(self, line: bytes) -> None:
        """Write a line; never waits."""
        left = memoryview(line)
        if self._unwritten == 0:
            left = self._write_now(left)
        if left:
            with self._lock:
                self._unwritten += 1
            self._waiting.put(left)
            self._start()

    def finish(self, seconds: float) -> None:
        """Wait until all is written, but no longer than that."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join(seconds)

    def _write_now(self, left: memoryview) -> memoryview:
        try:
            while left and self._poll is not None and self._takes_more(self._poll):
                left = left[os.write(self._fd, left[: select.PIPE_BUF]) :]
        except OSError:
            self._on_broken()
            return left[:0]
        return left

    @staticmethod
    def _takes_more(poll: select.poll) -> bool:
        # An error counts: the write then says what it is.
        return bool(poll.poll(0))

    def _start(self) -> None:
        if self._thread is None:
            # A daemon: a client that never reads again must not keep the process.
            self._thread = threading.Thread(target=self._write_on, name="readroom-stdout", daemon=True)
            self._thread.start()

    def _write_on(self) -> None:
        try:
            while (left := self._waiting.get()) is not None:
                while left:
                    left = left[os.write(self._fd, left) :]
                with self._lock:
                    self._unwritten -= 1
        except OSError:
            with suppress(RuntimeError):  # the loop has ended already
                self._loop.call_soon_threadsafe(self._on_broken)
