"""Run rg as a confined child process, stream its output, and stop it in time.

It gets no environment, no terminal, and no descriptors except its own.  Where the kernel can enforce it,
it can access only the searched root and its own program.
"""

from __future__ import annotations

import functools
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, final

import stringzilla

from readroom.closeable import Closeable
from readroom.deadline import Deadline
from readroom.errors import StoreFailed, store_failure
from readroom.kernel import landlock
from readroom.limits import BLOCK_BYTES, GREP_CHILD_BYTES, HEAD_BYTES
from readroom.limits.files import CLOCK_S, PIPE_BYTES
from readroom.search.pattern import Hit
from readroom.search.ripgrep import Reports, pattern_flags, program, refusal, type_table, unknown_type
from readroom.session.expansions import TempSpool
from readroom.stores.base import Source
from readroom.text.encodings import UTF8
from readroom.text.line_index import nth_newline
from readroom.values import GrepRequest

_MESSAGE_BYTES = 256 * 1024
"""The most bytes of messages that are kept; a tree of unreadable files has one for each."""

_NARROW_BYTES = 4096
"""Send buffer for a line and its overhead in Linux, 768 bytes or more; Linux doubles it, so ten lines fit."""

_PROCESS_CLOCK = 2
"""Of the clocks that Linux has for each process, that of its processor time (CPUCLOCK_SCHED)."""


@final
class Child(Closeable):
    """A running rg. Use as a context manager: on exit the process has ended."""

    def __init__(
        self,
        flags: Sequence[str],
        deadline: Deadline,
        *,
        folder: str | None = None,
        root: int | None = None,
        stdin: int | None = None,
        mapped: bool = False,
        reports: Reports | None = None,
        memory: int = GREP_CHILD_BYTES,
        held_back: bool = False,
    ) -> None:
        """Start rg.

        Args:
            flags: All arguments after the program name.
            deadline: Ends the process.
            folder: Its working directory.
            root: A descriptor of the folder that it is confined to; None for no confinement.
            stdin: Its standard input; empty if None.
            mapped: Map files into memory instead of reading them: for lines that would not fit.
            reports: Extracts the reports about binary files from its messages.
            memory: Its memory limit in bytes, unless files are mapped.
            held_back: Block it once a few lines are unread: for a caller that may stop soon.

        Raises:
            StoreFailed: rg cannot be started.
        """
        self._deadline = deadline
        self._reports = reports
        self.messages = b""
        mapping = "--mmap" if mapped else "--no-mmap"
        try:
            out, into = _narrow() if held_back else os.pipe()
        except OSError as error:
            raise _not_started(error) from None
        self._out = open(out, "rb", buffering=0)  # noqa: SIM115  # closed by `close`
        try:
            self._process = _start([program(), mapping, *flags], folder, root, stdin, into)
        except BaseException:
            self._out.close()
            raise
        finally:
            os.close(into)
        if not mapped:
            _limit_memory(self._process.pid, memory)
        self._forget = deadline.on_cancel(self._process.kill)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def status(self) -> int:
        """Waits for the exit status: 0 found, 1 not found, 2 error, negative for a signal."""
        return self._process.wait()

    @property
    def starved(self) -> bool:
        """Whether it aborted because a line did not fit into its memory."""
        return self.status == -signal.SIGABRT

    @property
    def worked_s(self) -> float:
        """The processor time it has used so far; 0 if the system does not report it."""
        try:
            return time.clock_gettime(~self.pid << 3 | _PROCESS_CLOCK)
        except (OSError, ValueError):
            return 0.0

    def output(self, given_up: Callable[[], bool] | None = None, pause_s: float = CLOCK_S) -> Iterator[bytes]:
        """Its output as it arrives, until the process ends, or until `given_up`, called in pauses, is true.

        `pause_s` is the longest pause.

        Raises:
            TimedOut, Cancelled: From the deadline.
        """
        messages = self._process.stderr
        assert messages is not None
        waiting = select.poll()
        out = self._out.fileno()
        waiting.register(out, select.POLLIN)
        waiting.register(messages, select.POLLIN)
        open_pipes = 2
        while open_pipes:
            self._deadline.check()
            left = self._deadline.remaining
            pause = pause_s if left is None else min(pause_s, left)
            ready = waiting.poll(pause * 1000)
            if not ready:
                self._deadline.tick()
                if given_up is not None and given_up():
                    return
            for fd, _ in ready:
                data = os.read(fd, PIPE_BYTES)
                if not data:
                    waiting.unregister(fd)
                    open_pipes -= 1
                elif fd == out:
                    yield data
                else:
                    self._hear(data)
        self._deadline.check()

    def _hear(self, data: bytes) -> None:
        others = data if self._reports is None else self._reports.add(data)
        if len(self.messages) < _MESSAGE_BYTES:
            self.messages += others

    def rest(self) -> bytes:
        """End the process; returns its unread output."""
        self._process.kill()
        return self._out.read()

    def close(self) -> None:
        """End the process and release its resources."""
        self._forget()
        self._process.kill()
        self._process.wait()
        self._out.close()
        if self._process.stderr is not None:
            self._process.stderr.close()


def _narrow() -> tuple[int, int]:
    """Both ends of a channel with room for few lines: a pipe holds thousands, with many files per line."""
    import socket  # a single search has rarely imported it already

    ours, theirs = socket.socketpair()
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _NARROW_BYTES)
    return ours.detach(), theirs.detach()


def _start(
    arguments: Sequence[str], folder: str | None, root: int | None, stdin: int | None, into: int
) -> subprocess.Popen[bytes]:
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    options: dict[str, Any] = {
        "stdin": nothing if stdin is None else stdin,
        "stdout": into,
        "stderr": subprocess.PIPE,
        "cwd": folder or "/",
        "env": {},
        "bufsize": 0,
    }
    try:
        if root is not None and confines():
            reach = landlock.LandlockRules(read=[root], execute=[arguments[0]])
            return landlock.spawn(arguments, reach, **options)
        return subprocess.Popen(arguments, **options)
    except landlock.Unconfined:
        return subprocess.Popen(arguments, **options)
    except OSError as error:
        raise _not_started(error) from None
    finally:
        os.close(nothing)


def _not_started(error: OSError) -> StoreFailed:
    return StoreFailed(".", f"the search program cannot be started: {error.strerror}")


@functools.cache
def confines() -> bool:
    """Whether rg runs when confined: it does not if it needs shared libraries."""
    try:
        reach = landlock.LandlockRules(read=[], execute=[program()])
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            pipes = {"stdin": nothing, "stdout": nothing, "stderr": nothing}
            return landlock.spawn([program(), "--version"], reach, **pipes).wait() == 0
        finally:
            os.close(nothing)
    except OSError:
        return False


def _limit_memory(pid: int, size: int) -> None:
    """Limit its memory: rg holds whole lines, and aborts if one does not fit, to be run in another way."""
    if sys.platform == "linux":
        import resource

        try:
            resource.prlimit(pid, resource.RLIMIT_DATA, (size, size))
        except (OSError, ValueError):
            return  # it has ended already, or its own limit is lower


def failed(child: Child) -> StoreFailed:
    """The error to raise for an rg that failed."""
    message = child.messages.partition(b"\n")[0].decode("utf-8", "replace").removeprefix("rg: ")
    return StoreFailed(".", message or f"the search program ended with {child.status}")


# -----------------------------------------------------------------------------
# Queries to rg before a search: the globs of a file type, and whether a pattern is valid.
# -----------------------------------------------------------------------------


@functools.cache
def _types() -> dict[str, list[str]]:
    with Child(["--no-config", "--type-list"], Deadline()) as child:
        return type_table(b"".join(child.output()).decode("utf-8", "replace"))


def globs_of_type(request: GrepRequest) -> Sequence[str] | None:
    """The globs of the file type of a request; None without one.

    Raises:
        BadPattern: The type does not exist; similar names are listed.
    """
    if request.type is None:
        return None
    table = _types()
    if request.type == "all":
        return sorted({glob for globs in table.values() for glob in globs})
    if request.type not in table:
        raise unknown_type(request, table)
    return table[request.type]


def require_valid(request: GrepRequest, deadline: Deadline) -> None:
    """Raise BadPattern, with the position, if rg does not accept the pattern."""
    with Child([*pattern_flags(request), "-"], deadline) as child:
        for _ in child.output():
            pass
        if child.status == 2:
            raise refusal(child.messages, request) or failed(child)


# -----------------------------------------------------------------------------
# Searching one opened file with rg, through the descriptor that the guard opened.
#
# The path of the file no longer matters: rg gets no name.
# -----------------------------------------------------------------------------

_HIT = re.compile(rb"(\d+):(\d+):")


def lines_of_bytes(data: bytes, request: GrepRequest, deadline: Deadline) -> Iterator[Hit]:
    """The matching lines of a text in memory."""
    fd = _file_of(data)
    try:
        yield from _lines(fd, request, deadline)
    finally:
        os.close(fd)


def _file_of(data: bytes) -> int:
    """A descriptor of an unnamed file, in memory if the system supports that."""
    if sys.platform == "linux":
        fd = os.memfd_create("readroom")
        with os.fdopen(fd, "wb", closefd=False) as file:
            file.write(data)
        return fd
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        return os.dup(file.fileno())


@contextmanager
def _descriptor(source: Source, deadline: Deadline) -> Iterator[int]:
    """A descriptor for rg to read an opened file: of a copy if it is part of another, as in a tar."""
    fd = source.fileno()
    if fd is not None:
        yield fd  # of the source, which closes it
        return
    try:
        copy = TempSpool()
        for at in range(0, source.size, BLOCK_BYTES):
            deadline.check()
            copy.append(source.read_at(at, BLOCK_BYTES))
        fd = copy.descriptor()
    except OSError as error:
        raise store_failure(error, source.real) from None
    try:
        yield fd
    finally:
        os.close(fd)


class _Begin(NamedTuple):
    """Where rg starts to read a file: the byte, the lines before it, and what to add to its offsets."""

    byte: int = 0
    lines: int = 0
    offset: int = 0


_WHOLE = _Begin()


def lines_of_source(
    source: Source, request: GrepRequest, deadline: Deadline, patterns: Sequence[str], after: int = 0
) -> Iterator[Hit]:
    """The matching lines of an opened file after line `after`; offsets do not count a byte order mark.

    The file is read through its descriptor.  `patterns`, if there are any, replace that of the request.
    """
    begin = _WHOLE
    if after > 1 and not request.multiline:
        # After a million matches the next page would repeat all of them.  The line `after` itself is read
        # again and dropped: for rg it is the first line of the text, and a pattern may match only there.
        byte = _start_of(source, after, deadline)
        mark = len(BOM_UTF8) if source.read_at(0, len(BOM_UTF8)) == BOM_UTF8 else 0
        begin = _Begin(byte, after - 1, byte - mark)
    with _descriptor(source, deadline) as fd:
        yield from _lines(fd, request, deadline, _ways(source), patterns, after, begin)


def _start_of(source: Source, line: int, deadline: Deadline) -> int:
    """The byte where a line begins; the size of a file that has fewer lines."""
    at, left = 0, line - 1
    while left and at < source.size:
        deadline.check()
        block = source.read_at(at, BLOCK_BYTES)
        feeds = stringzilla.count(block, "\n")
        if feeds >= left:
            return at + nth_newline(block, left, UTF8) + 1
        left -= feeds
        at += BLOCK_BYTES
    return min(at, source.size)


def _ways(source: Source) -> tuple[bool, ...]:
    """Whether to map the file, for each attempt: mapped at once if its beginning has no line feed."""
    return (False, True) if b"\n" in source.read_at(0, HEAD_BYTES) else (True,)


def _lines(
    fd: int,
    request: GrepRequest,
    deadline: Deadline,
    ways: Sequence[bool] = (False,),
    patterns: Sequence[str] = (),
    last: int = 0,
    begin: _Begin = _WHOLE,
) -> Iterator[Hit]:
    # One column: only the position of the line is needed, and a line may have a gigabyte.
    flags = ["--byte-offset", "--max-columns=1", "--no-filename", "--line-buffered"]
    for mapped in ways:
        byte, before, offset = _WHOLE if mapped else begin
        with _on_descriptor(fd, flags, request, deadline, mapped, patterns, byte) as child:
            left = b""
            for data in child.output():
                *whole, left = (left + data).split(b"\n")
                for line in whole:
                    match = _HIT.match(line)
                    if match is not None and (number := int(match[1]) + before) > last:
                        last = number
                        yield Hit(number, int(match[2]) + offset)
            if child.status in (0, 1):
                return
            if not child.starved:
                raise refusal(child.messages, request) or failed(child)
    raise StoreFailed(".", "a line of it is too long to be searched")


def count_of_source(source: Source, request: GrepRequest, deadline: Deadline) -> int:
    """How many lines of an opened file match."""
    flags = ["--count", "--no-filename"]
    with _descriptor(source, deadline) as fd:
        for mapped in _ways(source):
            with _on_descriptor(fd, flags, request, deadline, mapped) as child:
                output = b"".join(child.output())
                if child.status in (0, 1):
                    return int(output or 0)
                if not child.starved:
                    raise refusal(child.messages, request) or failed(child)
    raise StoreFailed(source.real, "a line of it is too long to be searched")


def _on_descriptor(
    fd: int,
    flags: Sequence[str],
    request: GrepRequest,
    deadline: Deadline,
    mapped: bool,
    patterns: Sequence[str] = (),
    begin: int = 0,
) -> Child:
    # The child shares the offset; reads by position do not use it.
    os.lseek(fd, begin, os.SEEK_SET)
    if begin:
        flags = [*flags, "--encoding=none"]  # bytes there are not a byte order mark
    text = [] if "binary" in request.include else ["--text"]
    where = "/dev/fd/0" if mapped else "-"
    flags = [*pattern_flags(request, patterns), *text, *flags, "--", where]
    return Child(flags, deadline, stdin=fd, mapped=mapped)
