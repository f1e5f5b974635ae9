"""A running command: started by its supervisor, read as it writes, stopped at its time limit."""

from __future__ import annotations

import contextlib
import json
import marshal
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, final

from msgspec import Struct

from readroom.core.closeable import Closeable
from readroom.core.deadline import Deadline
from readroom.core.errors import NotStarted
from readroom.core.kernel import seccomp
from readroom.core.limits.files import CLOCK_S, PIPE_BYTES
from readroom.core.sandbox import Start, supervisor

if TYPE_CHECKING:
    from readroom.core.sandbox.supervisor.watch import Order

_SUPERVISOR = os.path.join(os.path.dirname(supervisor.__file__), "__main__.py")

_INPUT_FROM_INSIDE = ("/bin/sh", "-c", 'exec "$@" </dev/null', "sh")
"""The device as seen from inside: user 0 could change the mode of one that was opened outside."""

_ASK = b"t"

_COMPLAINT_BYTES = 400
"""How much of an error message of bubblewrap is read."""


class End(Struct, frozen=True):
    """How a command ended: its exit status, negative for a signal, and the processes that it left behind.

    `many`: it was ended because it had too many.
    """

    status: int
    ended: int | None
    alive: int
    many: bool


RUN_GRACE_S = 2.0
"""Time between SIGTERM and SIGKILL. docker: 10 s, where no call waits."""

RUN_DRAIN_S = 5.0
"""How long the system may take to remove killed processes; disk work is not interrupted."""


@final
class Command(Closeable):
    """A command in a shell. Leaving its context ends the command."""

    def __init__(
        self,
        line: Sequence[str],
        start: Start,
        environment: Mapping[str, str],
        folder: int | None,
        maximum: int,
        deadline: Deadline,
        *,
        merged: bool = False,
    ) -> None:
        """Start it. Raises NotStarted.

        Args:
            line: The shell, by its path, and its arguments.
            start: How it is confined.
            environment: The complete environment.
            folder: A descriptor of the folder where it starts; None if the confinement sets it.
            maximum: The maximum number of its processes at once.
            deadline: When it must end.
            merged: Both streams come as the first, in the order in which they are written.
        """
        self._deadline = deadline
        self._merged = merged
        self._shell = line[0]
        self.timed_out = False
        self._said = b""
        self._complaint = b""
        self._asked = False
        self._lock = threading.Lock()
        self._held: list[int] = []
        try:
            self._start(line, start, environment, folder, maximum)
        except OSError as error:
            self._release()
            raise NotStarted("the process that watches it", error.strerror or str(error)) from None
        self._forget = deadline.on_cancel(self.ask)

    def ask(self) -> None:
        """Ask it to end, and force it a moment later. May be called from any thread."""
        with self._lock, contextlib.suppress(OSError, ValueError):
            if not self._asked and self._process.stdin is not None:
                self._asked = True
                self._process.stdin.write(_ASK)

    def kill(self) -> None:
        """End it at once. May be called from any thread."""
        with self._lock, contextlib.suppress(OSError, ValueError):
            if self._process.stdin is not None:
                self._process.stdin.close()  # the supervisor takes this for the end of this process

    def output(self) -> Iterator[tuple[int, bytes]]:
        """Its output as it arrives: the stream (0 or 1) and the data, which is empty from time to time.

        Ends when the command has ended, or was asked to.
        """
        waiting = select.poll()
        streams = {self._out: 0} if self._merged else {self._out: 0, self._err: 1}
        left = {*streams, self._report}
        for fd in left:
            waiting.register(fd, select.POLLIN)
        until: float | None = None
        while left:
            if self._deadline.expired and not self._deadline.cancelled:
                self.timed_out = self.timed_out or self._report in left
                self.ask()
            if self._report not in left:
                # All its processes have ended; whatever still holds the pipes cannot be ended.
                until = until or time.monotonic() + RUN_DRAIN_S
                if time.monotonic() >= until:
                    return
            ready = waiting.poll(CLOCK_S * 1000)
            if not ready:
                yield 0, b""
            for fd, _ in ready:
                data = os.read(fd, PIPE_BYTES)
                if not data:
                    waiting.unregister(fd)
                    left.discard(fd)
                elif fd == self._report:
                    self._said += data
                else:
                    if fd == self._err and len(self._complaint) < _COMPLAINT_BYTES:
                        self._complaint += data[:_COMPLAINT_BYTES]
                    yield streams[fd], data

    def end(self) -> End:
        """How it ended; call it after `output`. Raises NotStarted."""
        try:
            report = json.loads(self._said)
        except ValueError:
            raise NotStarted("the process that watches it", "was ended from outside") from None
        if "error" in report:
            raise NotStarted(self._shell, report["error"])
        if not report["started"]:
            complaint = self._complaint.decode("utf-8", "replace").strip().partition("\n")[0]
            raise NotStarted("its confinement", complaint or "it ended at once")
        return End(report["code"], report["ended"], report["alive"], report["many"])

    def close(self) -> None:
        """End it at once and release what it holds."""
        self._forget()
        self.kill()
        try:
            self._process.wait(RUN_GRACE_S + 2 * RUN_DRAIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._release()

    def _start(
        self,
        line: Sequence[str],
        start: Start,
        environment: Mapping[str, str],
        folder: int | None,
        maximum: int,
    ) -> None:
        self._out, out = self._pipe()
        if self._merged:
            self._err, err = self._out, os.dup(out)
            self._held.append(err)
        else:
            self._err, err = self._pipe()
        self._report, report = self._pipe()
        arguments, keep = self._arguments(line, start)
        started = None
        if start.program is not None:
            started, tells = self._pipe()
            keep.append(tells)
            arguments[1:1] = ["--json-status-fd", str(tells)]
        order: Order = {
            "arguments": arguments,
            "environment": dict(environment),
            "output": out,
            "messages": err,
            "folder": folder,
            "rules": start.rules,
            "filter": b"" if start.program else start.filter,
            "keep": keep,
            "started": started,
            "spare": start.program is not None,
            "unprivileged": start.confinement == "landlock",
            "calls": dict(start.changes),
            "places": list(start.places),
            "watched": list(start.watched),
            "seccomp": seccomp.call_number() if start.changes else 0,
            "maximum": maximum,
            "grace_s": RUN_GRACE_S,
            "drain_s": RUN_DRAIN_S,
        }
        passed = [fd for fd in (out, err, report, folder, start.rules, started, *keep) if fd is not None]
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", _SUPERVISOR, str(report)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            pass_fds=passed,
            start_new_session=True,
            bufsize=0,
        )
        for fd in (out, err, report, *keep):
            self._held.remove(fd)
            os.close(fd)
        data = marshal.dumps(dict(order))
        assert self._process.stdin is not None
        view = memoryview(b"%012d" % len(data) + data)
        while view:
            view = view[self._process.stdin.write(view) or 0 :]

    def _arguments(self, line: Sequence[str], start: Start) -> tuple[list[str], list[int]]:
        """The command line of the shell with its confinement, and the descriptors that it needs."""
        if start.program is None:
            return [*line], []
        keep = [self._file("\0".join(start.options))]
        words = [start.program, "--args", str(keep[0])]
        if start.filter:
            keep.append(self._file(start.filter))
            words += ["--seccomp", str(keep[1])]
        return [*words, "--", *_INPUT_FROM_INSIDE, *line], keep

    def _pipe(self) -> tuple[int, int]:
        ends = os.pipe()
        self._held += ends
        return ends

    def _file(self, content: str | bytes) -> int:
        """A descriptor from which a child reads data."""
        fd = os.memfd_create("readroom")
        self._held.append(fd)
        os.write(fd, os.fsencode(content))
        os.lseek(fd, 0, os.SEEK_SET)
        return fd

    def _release(self) -> None:
        descriptors, self._held = self._held, []
        for fd in descriptors:
            os.close(fd)


def environment(
    folder: str, home: str, temporary: str, path: str, more: Sequence[tuple[str, str]]
) -> dict[str, str]:
    """The complete environment of a command; nothing of this process's own is in it.

    Git does not look for the system's settings: a file that it cannot open is an error to it.
    Python does not buffer its output, which a time limit would lose.
    """
    return {
        "PATH": path,
        "HOME": home,
        "TMPDIR": temporary,
        "PWD": folder,
        "LANG": "C.UTF-8" if sys.platform == "linux" else "en_US.UTF-8",
        "TERM": "dumb",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "PYTHONUNBUFFERED": "1",
        **dict(more),
    }
