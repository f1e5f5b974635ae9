"""MCP over standard input and output, for the one client that started this process.

One thread reads what the client sends, and the thread of each call writes its answer.  There is no event
loop, which would cost each call as much as reading a small file.
"""

from __future__ import annotations

import fcntl
import logging
import os
import select
import socket
import stat
import sys
import termios
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from types import TracebackType
from typing import TypeAlias

from readroom.caller import Caller
from readroom.faces.calls import Access, ClientScope
from readroom.faces.mcp.begun import Begun, Lines, chunk, on_signals, own_streams
from readroom.faces.mcp.direct import DirectCalls, driven
from readroom.faces.mcp.listing import card, methods
from readroom.faces.mcp.server import WITHOUT_WORK, PendingCall, Sender, Server
from readroom.limits import MCP_EXIT_S, MCP_MESSAGE_BYTES, MCP_SETTLE_S
from readroom.limits.session import MCP_UNREAD_BYTES, MCP_UNREAD_LEAST_BYTES
from readroom.protocol.connection import CallCancelled, Connection, Event, Notice, ToolCall
from readroom.protocol.messages import Answer, encode
from readroom.workspace import Workspace

# -----------------------------------------------------------------------------
# The server's log: standard error, without content of files.
#
# The message of an exception may quote a file, and Python 3.13 shows the source of a program
# given on the command line; so a traceback contains only the locations of its frames and the
# type of the exception.
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


_ENDED = "The server has ended: keep its input open until the answer has come"


def serve_stdio(workspace: Workspace, *, contract_name: str, reply_chars: int | None) -> None:
    """Serve one client until it closes standard input, or SIGINT or SIGTERM comes.

    While it runs, file descriptors 0 and 1 of this process lead to the null device
    and to standard error: nothing else can read or write the protocol's stream.

    Args:
        workspace: The workspace to serve; the caller closes it.
        contract_name: The contract whose tools are served.
        reply_chars: Cap on a reply's text, None for what the client is known to pass on.

    Raises:
        BadValue: No contract has this name.
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


def go_on(
    workspace: Workspace,
    begun: Begun,
    *,
    contract_name: str,
    reply_chars: int | None,
    settle_s: float = MCP_SETTLE_S,
) -> None:
    """Serve a client that may have had answers already; otherwise as `serve_stdio`.

    Calls that run when the input ends have `settle_s` to be answered.
    """
    to_stderr()
    calls, access = DirectCalls(), Access(workspace, contract_name, caller=Caller(face="mcp"))
    server = Server(
        calls, workspace.contract(contract_name), reply_chars=reply_chars, outputs=workspace.runs_commands
    )
    reader = Reader(begun.incoming, begun.lines)
    writer = Writer(begun.outgoing, on_broken=reader.end, on_full=reader.pause)
    talk = _Talk(begun.connection, server, calls, access, writer)
    try:
        with on_signals(reader.end):
            for event in begun.waiting:
                talk.take(event)
            reader.run(talk.hear)
            talk.settle(reader, settle_s)
            talk.end()
    finally:
        calls.close()
        writer.finish(MCP_EXIT_S)


class _Talk:
    """The conversation with the client: lines in, calls in threads, lines out."""

    def __init__(
        self, connection: Connection, server: Server, calls: DirectCalls, access: Access, writer: Writer
    ) -> None:
        self._connection = connection
        self._server = server
        self._calls = calls
        self._access = access
        self._writer = writer
        self._waiting: dict[ToolCall, ClientScope] = {}
        self._on_settled: Callable[[], None] | None = None
        """Called when no call runs any more; None while more may come."""

    def hear(self, line: bytes) -> None:
        """Take a line."""
        if line.isspace() or not line:
            return
        for event in self._connection.receive_all(line):
            self.take(event)

    def take(self, event: Event) -> None:
        """Do what comes of a line."""
        if isinstance(event, Answer):
            self._write(event)
        elif isinstance(event, ToolCall):
            self._begin(event)
        elif isinstance(event, CallCancelled):
            scope = self._waiting.get(event.call)
            if scope is not None:
                scope.leave()
        elif isinstance(event, Notice):
            self._server.hear(event, Sender(self._access))

    def settle(self, reader: Reader, seconds: float) -> None:
        """Give running calls a moment to finish: a script that sends them from a file has ended by then."""
        self._on_settled = reader.end
        if self._waiting:
            reader.wait(seconds)

    def end(self) -> None:
        """End the calls that still run."""
        for call, scope in list(self._waiting.items()):
            answer = self._connection.refuse(call, _CLOSED, _ENDED)
            if answer is not None:
                self._write(answer)
            scope.leave()

    def _begin(self, call: ToolCall) -> None:
        scope = ClientScope()
        work = partial(self._perform, call, Sender(self._access, scope))
        if call.method in WITHOUT_WORK:
            work()
            return
        self._waiting[call] = scope
        self._calls.start(work)

    def _perform(self, call: ToolCall, sender: Sender) -> None:
        try:
            answer = driven(self._server.perform(PendingCall(self._connection, call, sender, self._tell)))
            if answer is not None:
                self._write(answer)
        finally:
            self._waiting.pop(call, None)
            if self._on_settled is not None and not self._waiting:
                self._on_settled()

    def _write(self, answer: Answer) -> None:
        self._writer.write(encode(answer) + b"\n")

    async def _tell(self, message: bytes) -> None:
        self._writer.write(message + b"\n")


# -----------------------------------------------------------------------------
# Lines from one file descriptor and to another; reads block, writes never do.
#
# Descriptors stay in blocking mode, because the mode belongs to the open file, which others
# may share.  A writable pipe takes PIPE_BUF bytes without blocking, an empty one its full
# capacity, and a socket reports when it is full.
# -----------------------------------------------------------------------------


class Reader:
    """Reads the lines of a descriptor."""

    def __init__(self, fd: int, lines: Lines | None = None) -> None:
        """`lines` hold the beginning of one when somebody has read from the descriptor before."""
        self._fd = fd
        self._lines = lines or Lines(MCP_MESSAGE_BYTES)
        self._over = self._paused = False
        self._told, self._tell = os.pipe()
        os.set_blocking(self._told, False)
        os.set_blocking(self._tell, False)

    def run(self, on_line: Callable[[bytes], None]) -> None:
        """Call `on_line` with each line, without its end, until the input ends or `end` is called."""
        wait = select.poll()
        wait.register(self._told, select.POLLIN)
        data = b" "
        while data:
            # A client that waits for no more replies is still read to its end.
            wait.register(self._fd, _CLOSED_THERE if self._paused else select.POLLIN)
            ready = [fd for fd, _ in wait.poll()]
            if self._told in ready:
                self._hear()
            if self._over:
                return
            if self._fd in ready:
                data = chunk(self._fd)
                for line in self._lines.feed(data) if data else self._lines.rest():
                    on_line(line)

    def wait(self, seconds: float) -> None:
        """Wait until `end` is called, at once if it was, but no longer than that."""
        wait, ends = select.poll(), time.monotonic() + seconds
        wait.register(self._told, select.POLLIN)
        while not self._over and wait.poll(max(0.0, ends - time.monotonic()) * 1000):
            self._hear()

    def pause(self, paused: bool) -> None:
        """Read nothing until it is called with False; from any thread."""
        self._paused = paused
        self._say()

    def end(self) -> None:
        """Read no more; from any thread, and from a handler of a signal."""
        self._over = True
        self._say()

    def _say(self) -> None:
        with suppress(BlockingIOError):  # it was reported often enough
            os.write(self._tell, b".")

    def _hear(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._told, 4096)


_CLOSED_THERE = getattr(select, "POLLRDHUP", 0)
"""The other end of a socket will send no more; of a pipe that is always said."""


class Writer:
    """Writes lines in order, from any thread. What a pipe takes at once is written at once, the rest by a
    thread of its own."""

    def __init__(
        self, fd: int, on_broken: Callable[[], None], on_full: Callable[[bool], None] = lambda full: None
    ) -> None:
        """Both are called from any thread: `on_broken` when the reader is gone, `on_full` with True
        when more is waiting to be read than should be held, and with False when it is read."""
        self._fd = fd
        self._on_broken = on_broken
        self._on_full = on_full
        mode = os.fstat(fd).st_mode
        self._socket = socket.socket(fileno=os.dup(fd)) if stat.S_ISSOCK(mode) else None
        self._try: _Try = _write_nothing
        if self._socket is not None:
            self._try = _trying_socket(self._socket)
        elif stat.S_ISFIFO(mode):
            self._try = _trying_pipe(fd)
        self._waiting: SimpleQueue[memoryview | None] = SimpleQueue()
        self._unwritten = 0
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._thread: threading.Thread | None = None

    def write(self, line: bytes) -> None:
        """Write a line; never waits."""
        left = memoryview(line)
        with self._turn:  # nothing here blocks; lines stay whole and in order
            if self._unwritten == 0:
                left = self._write_now(left)
            if left:
                self._count(_weight(left))
                self._waiting.put(left)
                self._start()

    def finish(self, seconds: float) -> None:
        """Wait until all is written, but no longer than that."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join(seconds)
        if self._socket is not None:
            self._socket.close()

    def _write_now(self, left: memoryview) -> memoryview:
        try:
            while left and (written := self._try(left)):
                left = left[written:]
        except OSError:
            self._on_broken()
            return left[:0]
        return left

    def _count(self, more: int) -> None:
        with self._lock:
            was_full = self._unwritten > MCP_UNREAD_BYTES
            self._unwritten += more
            full = self._unwritten > MCP_UNREAD_BYTES
            if full != was_full:
                self._on_full(full)

    def _start(self) -> None:
        if self._thread is None:
            # A daemon thread: a client that never reads again must not keep the process alive.
            self._thread = threading.Thread(target=self._write_on, name="readroom-stdout", daemon=True)
            self._thread.start()

    def _write_on(self) -> None:
        try:
            while (left := self._waiting.get()) is not None:
                weight = _weight(left)
                while left:
                    left = left[os.write(self._fd, left) :]
                self._count(-weight)
        except OSError:
            self._on_broken()


def _weight(left: memoryview) -> int:
    return max(len(left), MCP_UNREAD_LEAST_BYTES)


_Try: TypeAlias = Callable[[memoryview], int]
"""Writes what it can without blocking, and returns how much. Raises OSError when the reader is gone."""


def _write_nothing(left: memoryview) -> int:
    """To a regular file or a terminal, which may take long at any time."""
    return 0


def _trying_pipe(fd: int) -> _Try:
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    # A client that waits for an answer has read all others: one write, and one wake-up, is enough.
    holds = fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ) if hasattr(fcntl, "F_GETPIPE_SZ") else 0

    def write(left: memoryview) -> int:
        if not poll.poll(0):  # an error counts as writable: the write then reports it
            return 0
        empty = holds > select.PIPE_BUF and fcntl.ioctl(fd, termios.FIONREAD, b"\0\0\0\0") == b"\0\0\0\0"
        return os.write(fd, left[: holds if empty else select.PIPE_BUF])

    return write


def _trying_socket(end: socket.socket) -> _Try:
    """Node connects its children by sockets."""

    def write(left: memoryview) -> int:
        try:
            return end.send(left, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0

    return write
