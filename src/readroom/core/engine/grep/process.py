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
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, final

from readroom.core.closeable import Closeable
from readroom.core.deadline import Deadline
from readroom.core.errors import BadPattern, MissingProgram, StoreFailed
from readroom.core.kernel import landlock
from readroom.core.limits import GREP_CHILD_BYTES
from readroom.core.limits.files import CLOCK_S, PIPE_BYTES
from readroom.core.policy.ignore_files import MARKS
from readroom.core.search.pattern import Pattern
from readroom.core.search.refusals import refusal, unknown_type
from readroom.core.search.ripgrep import Reports, pattern_flags, program, type_table
from readroom.core.stores.base import Folder
from readroom.core.values import GrepRequest

_MESSAGE_BYTES = 256 * 1024
"""Maximum bytes of messages that are kept; a tree of unreadable files has one for each."""

_NARROW_BYTES = 4096
"""Send buffer for a line and its overhead in Linux, 768 bytes or more; Linux doubles it, so ten lines fit."""

_PROCESS_CLOCK = 2
"""The processor-time clock among the clocks of a process (CPUCLOCK_SCHED)."""


@final
class Child(Closeable):
    """A running rg. Use as a context manager: on exit the process has ended.

    Attributes:
        messages: What it wrote to its standard error, without the log.
        gave_up: Whether its output was not read to the end because the caller gave up.
    """

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
        """Start rg. Raises StoreFailed.

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
        """
        self._deadline = deadline
        self._reports = reports
        self.messages = b""
        self.gave_up = False
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

        `pause_s` is the longest pause. Raises TimedOut, Cancelled.
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
                    self.gave_up = True
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
# Before a search: the globs of a file type, and whether a pattern can be searched for.
# -----------------------------------------------------------------------------


@functools.cache
def globs_by_type() -> dict[str, list[str]]:
    """The globs of each file type. Raises StoreFailed or MissingProgram."""
    with Child(["--no-config", "--type-list"], Deadline()) as child:
        return type_table(b"".join(child.output()).decode("utf-8", "replace"))


def globs_of_type(request: GrepRequest) -> Sequence[str] | None:
    """The globs of the file type of a request; None without one. Raises BadPattern."""
    if request.type is None:
        return None
    table = globs_by_type()
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


GREP_PATTERN_BYTES = 64 * 1024
"""Longest pattern. Linux takes 128 KiB for one argument of a program."""


def require_usable(request: GrepRequest) -> None:
    """Raise BadPattern if the pattern or a glob cannot be searched for."""
    for argument, values in (("pattern", [request.pattern]), ("glob", request.glob)):
        for value in values:
            problem = _problem(value)
            if problem:
                raise BadPattern(argument, value[:GREP_PATTERN_BYTES], problem, "Send it as plain text.")


def _problem(value: str) -> str | None:
    if "\0" in value:
        return "it contains a NUL character; \\x00 with include binary finds one"
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        return "it contains half of a surrogate pair"
    return f"it is longer than {GREP_PATTERN_BYTES:,} bytes" if size > GREP_PATTERN_BYTES else None


def pattern_of(request: GrepRequest, deadline: Deadline, *, local: bool) -> Pattern:
    """The pattern, which at least one of the two engines accepts. Raises BadPattern."""
    pattern = Pattern(
        request.pattern, fixed=request.fixed, ignore_case=request.ignore_case, multiline=request.multiline
    )
    if pattern.problem is not None:
        try:
            require_valid(request, deadline)
        except MissingProgram:
            if local:
                raise
        if not local:
            advice = "Write it with plain sets and repetitions, or set fixed for literal text."
            problem = f"RE2, which searches documents and what is not on disk, {pattern.problem}"
            raise BadPattern("pattern", request.pattern, problem, advice, at=pattern.problem_at)
    return pattern


# -----------------------------------------------------------------------------
# Which file a running rg has open, and for how long, from /proc.
#
# On systems without it, that is other than Linux, a file that takes forever holds up the files
# after it; the search then ends at its deadline and says so.
# -----------------------------------------------------------------------------


class OpenFile(NamedTuple):
    """A file that a process has open: its name, how far it was read, and its size, if they are known."""

    path: str
    read: int | None
    size: int | None


@final
class Watch:
    """Watches the file that rg has open. `stuck` is the one that took more than its share of the time."""

    def __init__(self, child: Child, top: Folder, share: float, deadline: Deadline) -> None:
        self._child = child
        self._top = top
        self._share = share
        self._deadline = deadline
        self._path: str | None = None
        self._since: float | None = None
        self.stuck: OpenFile | None = None

    def begin(self) -> None:
        """Start timing anew: rg has found something, so it has just begun with its current file."""
        self._path = None

    def now(self) -> OpenFile | None:
        """The file that rg has open; None if there is none, or if it cannot be seen."""
        return _opened_file(self._child.pid, self._top)

    def reached(self) -> str | None:
        """The file before which all are searched; None if there is none, or if it cannot be seen.

        An ignore file does not count: rg reads it before all other files of its folder.
        """
        file = self.now()
        return None if file is None or file.path.rpartition("/")[2] in MARKS else file.path

    def is_stuck(self) -> bool:
        """Whether rg has been in the same file for all of its share. Call it repeatedly."""
        left, file = self._deadline.remaining, self.now()
        if left is None or file is None:
            self._path = None
            return False
        if file.path != self._path or self._since is None:
            self._path, self._since = file.path, left
            return False
        if self._since - left < self._share:
            return False
        self.stuck = file
        return True


def _opened_file(pid: int, top: Folder) -> OpenFile | None:
    """The file below `top` that a process has open; None if there is none, or if it cannot be seen.

    In path order rg has one file open at a time: all before it are searched.
    """
    try:
        names = os.listdir(f"/proc/{pid}/fd")
        above = os.readlink(f"/proc/self/fd/{top.fileno()}")
    except OSError:
        return None
    prefix = above if above.endswith("/") else above + "/"
    for name in names:
        try:
            target = os.readlink(f"/proc/{pid}/fd/{name}")
        except OSError:
            continue
        if target.startswith(prefix) and os.path.isfile(target):
            return OpenFile(target[len(prefix) :], _position(pid, name), _size(target))
    return None


def _position(pid: int, descriptor: str) -> int | None:
    """How far a process has read an open file; None if unknown, or if the file is mapped."""
    try:
        with open(f"/proc/{pid}/fdinfo/{descriptor}", encoding="ascii") as file:
            match = re.match(r"pos:\s*(\d+)", file.read())
    except OSError:
        return None
    return int(match[1]) or None if match else None


def _size(path: str) -> int | None:
    try:
        return os.stat(path, follow_symlinks=False).st_size
    except OSError:
        return None
