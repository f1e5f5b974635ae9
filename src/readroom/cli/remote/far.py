"""The far end: runs one command for the near end, in a process of its own.

It says what is here, takes the request, and passes bytes on. The command is a fork that gets pipes, or a
pseudo-terminal in place of each stream that is a terminal there. Input that ends without its last frame is a
connection that broke: the command is interrupted and, if that does not end it, killed, before it can take a
part of its input for the whole.
"""

from __future__ import annotations

import os
import platform
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TypeAlias

from readroom.cli.remote import frames, place
from readroom.core.release import VERSION

_UNREAD_BYTES = 4 * 1024 * 1024
"""Input that the command has not taken before the connection is not read further."""

_GRACE_S = 3.0
"""For a command to end after an interrupt."""

_LOOK_S = 0.5
"""How often it is looked whether the command has ended and left a stream to a process of its own."""

_END_S = 0.002
"""The same once both streams have ended, and the command with them."""

LOST = 130
"""Exit code after a connection that broke, which nobody sees; as after an interrupt."""


Command: TypeAlias = Callable[[Sequence[str]], int]
"""Runs a command line; the result is its exit code."""


def run(command: Command) -> int:
    """Serve one request on standard input and output with `command`, whose exit code is the result."""
    if os.isatty(0):
        print("readroom: `readroom remote` is started by --at on another machine.", file=sys.stderr)
        return 2
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(nothing, number)
    os.close(nothing)
    try:
        _write(outgoing, frames.MARK + _facts().encode() + b"\n")
        held = frames.Frames()
        for kind, data in _frames(incoming, held):
            if kind == frames.REQUEST:
                words, terminal = frames.requested(data)
                return _serve(partial(command, words), terminal, _Ends(incoming, outgoing, held))
    except (OSError, frames.BadFrame):
        return LOST
    return 0


def _facts() -> str:
    return f"{VERSION} {platform.python_version()} {os.uname().sysname} {os.uname().machine}"


def _frames(incoming: int, held: frames.Frames) -> Iterator[tuple[bytes, bytes]]:
    while data := os.read(incoming, frames.PIECE_BYTES):
        yield from held.feed(data)


class _Ends:
    """Both directions of the connection, and what was read beyond the request."""

    def __init__(self, incoming: int, outgoing: int, held: frames.Frames) -> None:
        self.incoming = incoming
        self.outgoing = outgoing
        self.held = held


class _Child:
    """The process of the command, and our ends of its streams."""

    def __init__(self, number: int, into: int, out: int, errors: int) -> None:
        self.number = number
        self.into = into
        self.streams = {out: frames.OUTPUT, errors: frames.ERRORS}
        self.code: int | None = None

    def ended(self, *, wait: bool = False) -> bool:
        """Whether it has ended; with `wait` when it has."""
        if self.code is None:
            number, status = os.waitpid(self.number, 0 if wait else os.WNOHANG)
            if number:
                code = os.waitstatus_to_exitcode(status)
                self.code = code if code >= 0 else 128 - code
        return self.code is not None

    def end(self) -> None:
        """Interrupt it and what it has started, and kill them where that is not enough."""
        for stream in list(self.streams):
            self.close(stream)
        stops = time.monotonic() + _GRACE_S
        self._signal(signal.SIGINT)
        while not self.ended() and time.monotonic() < stops:
            time.sleep(0.02)
        self._signal(signal.SIGKILL)
        self.ended(wait=True)

    def close(self, stream: int) -> None:
        """Close one of its output streams."""
        if self.streams.pop(stream, None):
            os.close(stream)

    def close_input(self) -> None:
        """The end of its standard input."""
        if self.into >= 0:
            os.close(self.into)
            self.into = -1

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.number, number)


def _serve(work: Callable[[], int], terminal: Sequence[str], ends: _Ends) -> int:
    child = _started(work, terminal, ends)
    with _until_asked_to_end(child.end):
        try:
            if not _passed_on(child, ends):
                child.end()
                return LOST
            assert child.code is not None
            _write(ends.outgoing, frames.frame(frames.EXIT, str(child.code).encode()))
            return child.code
        except (OSError, frames.BadFrame):
            child.end()
            return LOST


@contextmanager
def _until_asked_to_end(end: Callable[[], None]) -> Iterator[None]:
    """The command ends with this process, also when that is asked to end."""

    def stop(number: int, _: object) -> None:
        end()
        os._exit(128 + number)

    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _started(work: Callable[[], int], terminal: Sequence[str], ends: _Ends) -> _Child:
    """Fork the command."""
    columns, lines, *settings = terminal or ("", "")
    size = (int(lines), int(columns)) if columns.isdecimal() and lines.isdecimal() else None
    shown = {part.partition("=")[0]: part.partition("=")[2] for part in settings}
    into, takes = _stream(size) if "in" in shown else reversed(os.pipe())
    out, writes = _stream(size if "out" in shown else None)
    errors, complains = _stream(size if "err" in shown else None)
    number = os.fork()
    if number == 0:
        for ours in (ends.incoming, ends.outgoing, into, out, errors):
            os.close(ours)
        _become(work, shown, (takes, writes, complains))
    for theirs in (takes, writes, complains):
        os.close(theirs)
    os.set_blocking(into, False)
    return _Child(number, into, out, errors)


def _stream(size: tuple[int, int] | None) -> tuple[int, int]:
    """Our end and that of the command: a pipe, or a terminal of this size if the system has one."""
    if size is None:
        return os.pipe()
    import termios
    import tty

    try:
        ours, theirs = os.openpty()
    except OSError:  # a container without /dev/pts
        return os.pipe()
    tty.setraw(theirs)  # every byte arrives as it was written
    termios.tcsetwinsize(theirs, size)
    return ours, theirs


def _become(work: Callable[[], int], shown: dict[str, str], streams: tuple[int, int, int]) -> None:
    """In the fork: run the command, and end. Never returns."""
    code = 70
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us without
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        _prepare(shown)
        code = work()
        sys.stdout.flush()
        sys.stderr.flush()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except KeyboardInterrupt:
        code = LOST
    finally:
        os._exit(code)


def _prepare(shown: dict[str, str]) -> None:
    """Let the command know the address, and the terminal on the other side."""
    place.address = shown.pop("at", "")
    if shown:
        from readroom.core import config

        for name in ("TERM", "COLORTERM", "NO_COLOR"):
            if name in shown:
                config.give_variable(name, shown[name])


def _passed_on(child: _Child, ends: _Ends) -> bool:
    """Pass bytes on until the command has ended; False if the connection broke before. Raises OSError."""
    waiting, over = bytearray(), False
    for kind, data in ends.held.feed(b""):
        over = _taken(kind, data, waiting) or over
    while child.streams or not child.ended():
        poll = select.poll()
        if len(waiting) < _UNREAD_BYTES:
            poll.register(ends.incoming, select.POLLIN)
        for stream in child.streams:
            poll.register(stream, select.POLLIN)
        if waiting and child.into >= 0:
            poll.register(child.into, select.POLLOUT)
        seconds = _LOOK_S if child.streams else _END_S
        ready = {number for number, _ in poll.poll(seconds * 1000)}
        if ends.incoming in ready:
            data = os.read(ends.incoming, frames.PIECE_BYTES)
            if not data:
                return False
            for kind, payload in ends.held.feed(data):
                over = _taken(kind, payload, waiting) or over
        _fed(child, waiting, over=over)
        for stream in ready & child.streams.keys():
            _said(child, stream, ends.outgoing)
        if not ready and child.ended():
            return True
    return True


def _taken(kind: bytes, data: bytes, waiting: bytearray) -> bool:
    """Take a frame; True for the one that ends the input."""
    if kind == frames.INPUT:
        waiting += data
    return kind == frames.INPUT_END


def _fed(child: _Child, waiting: bytearray, *, over: bool) -> None:
    """Write as much input as the command takes now."""
    if child.into < 0:
        waiting.clear()
        return
    try:
        while waiting:
            del waiting[: os.write(child.into, waiting[: frames.PIECE_BYTES])]
    except BlockingIOError:
        return
    except OSError:  # it reads no more
        waiting.clear()
        over = True
    if over:
        child.close_input()


def _said(child: _Child, stream: int, outgoing: int) -> None:
    """Pass on what is in one of its streams."""
    try:
        data = os.read(stream, frames.PIECE_BYTES)
    except OSError:  # how a terminal ends
        data = b""
    if data:
        _write(outgoing, frames.frame(child.streams[stream], data))
    else:
        child.close(stream)


def _write(outgoing: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(outgoing, left) :]
