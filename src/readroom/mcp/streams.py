"""Standard input and output, reserved for the protocol, and their lines: reads block, writes never do.

Descriptors stay in blocking mode, because the mode belongs to the open file, which others may share. A
writable pipe takes PIPE_BUF bytes without blocking, an empty one its full capacity, and a socket reports when
it is full.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import stat
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import TypeAlias

from readroom.core.limits import MCP_MESSAGE_BYTES


@contextmanager
def on_signals(end: Callable[[], None]) -> Iterator[None]:
    """Call `end` when the process is asked to end, in the main thread, which reads."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda _, __: end()) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def own_streams() -> Iterator[tuple[int, int]]:
    """Private descriptors for input and output; 0 and 1 are redirected to nothing and standard error."""
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
        # Some parents pass on non-blocking descriptors; ours block in threads, or are polled before a write.
        for private in (incoming, outgoing):
            os.set_blocking(private, True)
        yield incoming, outgoing
    finally:
        os.close(nothing)
        # Keep the private descriptors open: a thread may block on one, and the number could be reused.
        os.dup2(incoming, 0)
        os.dup2(outgoing, 1)


MCP_CHUNK_BYTES = 64 * 1024
"""Bytes read at once from a client's pipe: the capacity of a pipe."""


def chunk(incoming: int) -> bytes:
    """The next bytes; empty at the end of input, and after a hang-up or reset."""
    try:
        return os.read(incoming, MCP_CHUNK_BYTES)
    except OSError:
        return b""


class Lines:
    """Splits chunks into lines. A line over the limit is cut one byte after it; its rest is dropped."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = bytearray()
        self._dropping = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The lines that `data` ends."""
        *ended, rest = data.split(b"\n")
        for piece in ended:
            yield from self._add(piece)
            if not self._dropping:
                yield bytes(self._held)
            self._held.clear()
            self._dropping = False
        yield from self._add(rest)

    def rest(self) -> Iterator[bytes]:
        """The unfinished last line, once."""
        if self._held and not self._dropping:
            yield bytes(self._held)
        self._held.clear()

    def _add(self, piece: bytes) -> Iterator[bytes]:
        if self._dropping:
            return
        self._held += piece
        if len(self._held) > self._limit:
            yield bytes(self._held[: self._limit + 1])
            self._held.clear()
            self._dropping = True


class Reader:
    """Reads the lines of a descriptor."""

    def __init__(self, fd: int) -> None:
        """Read nothing yet."""
        self._fd = fd
        self._lines = Lines(MCP_MESSAGE_BYTES)
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


MCP_UNREAD_BYTES = 32 * 1024 * 1024
"""Answers that a client over a pipe has not read before its further requests wait. More than most clients
that send all requests before they read an answer leave unread."""


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
        self._try: _Try = _write_nothing
        self._close: Callable[[], object] = lambda: None
        if stat.S_ISSOCK(mode):
            self._try, self._close = _trying_socket(fd)
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
        self._close()

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


MCP_UNREAD_LEAST_BYTES = 512
"""Minimum size that is counted for each: more than its objects occupy."""


def _weight(left: memoryview) -> int:
    return max(len(left), MCP_UNREAD_LEAST_BYTES)


_Try: TypeAlias = Callable[[memoryview], int]
"""Writes as much as possible without blocking; returns the number. Raises OSError if the reader is gone."""


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


def _trying_socket(fd: int) -> tuple[_Try, Callable[[], object]]:
    """Node connects its children by sockets."""
    import socket  # takes longer than writing to a pipe

    end = socket.socket(fileno=os.dup(fd))

    def write(left: memoryview) -> int:
        try:
            return end.send(left, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0

    return write, end.close
