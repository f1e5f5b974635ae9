"""Lines from one file descriptor and to another, without ever blocking the event loop.

Descriptors stay in blocking mode, because the mode belongs to the open file and
others may share it.  A pipe or socket that is readable can be read without
waiting; a pipe that is writable takes PIPE_BUF bytes without waiting.
"""

from __future__ import annotations

import asyncio
import os
import select
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue

from readroom.faces.mcp.streams import Lines
from readroom.limits import MCP_CHUNK_BYTES, MCP_MESSAGE_BYTES

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
        """`lines` hold the beginning of one when somebody has read from the descriptor before."""
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
