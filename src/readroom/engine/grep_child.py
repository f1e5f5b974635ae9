"""One run of rg as a child of this process: started confined, read as it goes, ended in time.

It gets no environment, no terminal and no descriptor beside its own; it sees the
searched root and itself and nothing else where the kernel can see to that.
"""

from __future__ import annotations

import functools
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self, final

from readroom.deadline import Deadline
from readroom.errors import StoreFailed
from readroom.limits import GREP_CHILD_BYTES
from readroom.policy import landlock
from readroom.search.ripgrep import program

_PIPE_BYTES = 64 * 1024
_PATIENCE_S = 0.25
"""Longest wait for output before the clock is looked at again."""

_MESSAGE_BYTES = 256 * 1024
"""Messages that are kept; a tree of unreadable files has one for each."""


@final
class Child:
    """A running rg. Used as a context: when it is left the process is gone."""

    def __init__(
        self,
        flags: Sequence[str],
        deadline: Deadline,
        *,
        folder: str | None = None,
        root: int | None = None,
        stdin: int | None = None,
        mapped: bool = False,
    ) -> None:
        """Start it.

        Args:
            flags: Everything behind the name of the program.
            deadline: Ends it.
            folder: Where it starts.
            root: A descriptor of the folder that it is confined to; None for no confinement.
            stdin: What it reads as its standard input; nothing if None.
            mapped: Files are mapped into its memory instead of being read: for lines that would not fit.

        Raises:
            StoreFailed: It cannot be started.
        """
        self._deadline = deadline
        self.messages = b""
        mapping = "--mmap" if mapped else "--no-mmap"
        self._process = _start([program(), mapping, *flags], folder, root, stdin)
        if not mapped:
            _limit_memory(self._process.pid)
        self._forget = deadline.on_cancel(self._process.kill)

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    @property
    def status(self) -> int:
        """How it ended: 0 found, 1 not found, 2 trouble, negative for a signal."""
        return self._process.wait()

    @property
    def starved(self) -> bool:
        """Whether it ended because a line did not fit into its memory."""
        return self.status == -signal.SIGABRT

    def output(self, given_up: Callable[[], bool] | None = None) -> Iterator[bytes]:
        """What it writes, as it comes, until it ends, or until `given_up`, asked in pauses, is true.

        Raises:
            TimedOut, Cancelled: From the deadline.
        """
        out, messages = self._process.stdout, self._process.stderr
        assert out is not None
        assert messages is not None
        waiting = select.poll()
        for pipe in (out, messages):
            waiting.register(pipe, select.POLLIN)
        open_pipes = 2
        while open_pipes:
            self._deadline.check()
            left = self._deadline.remaining
            patience = _PATIENCE_S if left is None else min(_PATIENCE_S, left)
            ready = waiting.poll(patience * 1000)
            if not ready:
                self._deadline.tick()
                if given_up is not None and given_up():
                    return
            for fd, _ in ready:
                data = os.read(fd, _PIPE_BYTES)
                if not data:
                    waiting.unregister(fd)
                    open_pipes -= 1
                elif fd == out.fileno():
                    yield data
                elif len(self.messages) < _MESSAGE_BYTES:
                    self.messages += data
        self._deadline.check()

    def rest(self) -> bytes:
        """End it; what it had written by then and nobody has read."""
        self._process.kill()
        assert self._process.stdout is not None
        return self._process.stdout.read()

    def close(self) -> None:
        """End it and release what it holds."""
        self._forget()
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _start(
    arguments: Sequence[str], folder: str | None, root: int | None, stdin: int | None
) -> subprocess.Popen[bytes]:
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    options: dict[str, Any] = {
        "stdin": nothing if stdin is None else stdin,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "cwd": folder or "/",
        "env": {},
        "bufsize": 0,
    }
    try:
        if root is not None and confines():
            reach = landlock.Reach(read=[root], execute=[arguments[0]])
            return landlock.spawn(arguments, reach, **options)
        return subprocess.Popen(arguments, **options)
    except landlock.Unconfined:
        return subprocess.Popen(arguments, **options)
    except OSError as error:
        raise StoreFailed(".", f"the search program cannot be started: {error.strerror}") from None
    finally:
        os.close(nothing)


@functools.cache
def confines() -> bool:
    """Whether rg runs when it is confined: not where it needs libraries from anywhere."""
    try:
        reach = landlock.Reach(read=[], execute=[program()])
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            pipes = {"stdin": nothing, "stdout": nothing, "stderr": nothing}
            return landlock.spawn([program(), "--version"], reach, **pipes).wait() == 0
        finally:
            os.close(nothing)
    except OSError:
        return False


def _limit_memory(pid: int) -> None:
    """A line is held in memory whole; one that does not fit ends the process, and it is run otherwise."""
    if sys.platform == "linux":
        import resource

        try:
            resource.prlimit(pid, resource.RLIMIT_DATA, (GREP_CHILD_BYTES, GREP_CHILD_BYTES))
        except (OSError, ValueError):
            return  # it has ended already, or its own limit is lower


def failed(child: Child) -> StoreFailed:
    """What its failure means for the caller."""
    said = child.messages.partition(b"\n")[0].decode("utf-8", "replace").removeprefix("rg: ")
    return StoreFailed(".", said or f"the search program ended with {child.status}")
