"""The near end: starts the program that reaches the other machine, and passes bytes to and fro."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct

from readroom.cli.remote import frames, transport, trouble
from readroom.cli.remote.address import Address

_HELLO_S: Final = 30.0
"""For the first line of the far end: a connection, a login, and a Python from a cold disk; the one file may
unpack itself."""

_PRINTED_BYTES = 64 * 1024
"""The longest text that a login shell may print before it."""

_KEPT_BYTES = 8 * 1024
"""Standard error of ssh that is kept, to say why it ended."""

_LEAVE_S = 5.0
"""For ssh and the far end to leave after the end of input; a command there gets three seconds of them."""


class Far(Struct, frozen=True):
    """The far end, as it describes itself: versions of readroom and Python, the system, the processor."""

    version: str
    python: str
    system: str
    processor: str


class Near:
    """A conversation with the far end of an address: open, pass on, close."""

    def __init__(self, address: Address, *, asks: bool) -> None:
        """Start the program. `asks`: a person is there whom ssh may ask. Raises NotReached."""
        self._address = address
        command = transport.started(address, asks=asks)
        found = shutil.which(command[0])
        if found is None:
            raise trouble.no_program(address)
        self._process = subprocess.Popen(
            [found, *command[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        self._complained = bytearray()
        self._listener = threading.Thread(target=self._listen, name="readroom-ssh-errors", daemon=True)
        self._listener.start()
        self._turn = threading.Lock()
        self._frames = frames.Frames()
        self._first = b""
        self.far = self._greeted(None if asks else _HELLO_S)

    def ask(self, words: Sequence[str], terminal: Sequence[str]) -> None:
        """Send the request."""
        self.send(frames.REQUEST, frames.request(words, terminal))

    def send(self, kind: bytes, data: bytes = b"") -> None:
        """Send a frame; from any thread. If the connection has ended, the answer says so."""
        assert self._process.stdin is not None
        with self._turn, suppress(OSError, ValueError):
            left = memoryview(frames.frame(kind, data))
            while left:
                left = left[self._process.stdin.write(left) or 0 :]

    def answer(self) -> Iterator[tuple[bytes, bytes]]:
        """Kind and bytes of the frames from there; the last is the exit code. Raises NotReached."""
        data = self._first
        try:
            while True:
                for kind, payload in self._frames.feed(data):
                    yield kind, payload
                    if kind == frames.EXIT:
                        return
                data = self._read()
                if not data:
                    self._settle()
                    raise trouble.lost(self._address, bytes(self._complained))
        except frames.BadFrame:
            raise trouble.not_ours(self._address) from None

    def close(self) -> None:
        """End the input, which ends the command there, and then the program."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError, ValueError):
            process.stdin.close()
        try:
            process.wait(_LEAVE_S)
        except subprocess.TimeoutExpired:
            process.terminate()
            try:
                process.wait(1)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        process.stdout.close()
        self._listener.join(1)

    def _greeted(self, seconds: float | None) -> Far:
        """Read up to the end of the first line of the far end. Raises NotReached."""
        assert self._process.stdout is not None
        stops = None if seconds is None else time.monotonic() + seconds
        printed = b""
        try:
            while True:
                before, mark, line = printed.partition(frames.MARK)
                facts, end, rest = line.partition(b"\n")
                words = facts.decode("utf-8", "replace").split(" ")
                if mark and end and len(words) == 4:
                    self._first = rest
                    return Far(*words)
                if len(before) > _PRINTED_BYTES:
                    raise trouble.not_ours(self._address)
                left = None if stops is None else max(0.0, stops - time.monotonic())
                if not select.select([self._process.stdout], [], [], left)[0]:
                    raise trouble.too_late(self._address, seconds or 0, printed)
                data = self._read()
                if not data:
                    self._settle()
                    code = self._process.returncode
                    raise trouble.not_answered(self._address, code or 0, printed, bytes(self._complained))
                printed += data
        except BaseException:
            self._process.kill()
            self.close()
            raise

    def _read(self) -> bytes:
        assert self._process.stdout is not None
        try:
            return self._process.stdout.read(frames.PIECE_BYTES) or b""
        except OSError:
            return b""

    def _settle(self) -> None:
        """Let it end by itself, so that its exit code and its last words are known."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_LEAVE_S)
        self._listener.join(1)

    def _listen(self) -> None:
        """Keep the end of standard error of the program that reaches the machine."""
        assert self._process.stderr is not None
        with suppress(OSError, ValueError), self._process.stderr as errors:
            while data := errors.read(4096):
                self._complained += data
                del self._complained[:-_KEPT_BYTES]


def converse(
    address: Address,
    words: Sequence[str],
    terminal: Sequence[str],
    source: int | None,
    take: Callable[[bytes, bytes], None],
    *,
    asks: bool,
) -> int:
    """Run a command there; the exit code is its own.

    Args:
        address: The machine and the folder.
        words: The command line, without the address.
        terminal: As `frames.request`.
        source: The descriptor that standard input is read from; None for an empty one.
        take: Called with the kind and the bytes of each piece of output.
        asks: A person is there whom ssh may ask.

    Raises:
        NotReached: There is no connection, or it ended before the exit code came.
    """
    near = Near(address, asks=asks)
    try:
        near.ask(words, terminal)
        if source is None:
            near.send(frames.INPUT_END)
        else:
            threading.Thread(target=_pump, args=(near, source), name="readroom-stdin", daemon=True).start()
        for kind, data in near.answer():
            if kind == frames.EXIT:
                return int(data) if data.isdigit() else 1
            take(kind, data)
        raise AssertionError("an answer ends with its exit code or an error")
    finally:
        near.close()


def _pump(near: Near, source: int) -> None:
    while data := os.read(source, frames.PIECE_BYTES):
        near.send(frames.INPUT, data)
    near.send(frames.INPUT_END)
