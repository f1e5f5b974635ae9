"""A module that opens documents as a parser would that a hostile file has taken over.

The first line of the document says what it does, the second with what.
"""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import BinaryIO

from readroom.documents.formats import Area, Document, Heading, Part, Unit


class _Said:
    """A document of one part that says how the attempt ended."""

    unit = Unit.SECTION
    contents: Sequence[Heading] = ()

    def __init__(self, act: Callable[[], object], total: int = 1) -> None:
        self.titles = [""] * total
        self._act = act

    def part(self, number: int, area: Area | None = None) -> Part:
        try:
            return Part(number, "", [f"done: {self._act()}"])
        except OSError as error:
            return Part(number, "", [f"refused: {error.strerror}"])


def open_document(file: BinaryIO) -> Document:
    what, target, *_ = file.read(100).decode().split("\n")
    return _Said(lambda: _ACTS[what](target))


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _write(path: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write("x")


def _connect(port: str) -> None:
    socket.create_connection(("127.0.0.1", int(port)), 1)


def _eat(size: str) -> int:
    return len(bytearray(int(size)))


def _spin(seconds: str) -> None:
    until = time.monotonic() + float(seconds)
    while time.monotonic() < until:
        pass


def _babble(count: str) -> None:
    """Write what is no answer where answers are expected; descriptor 1 itself is gone."""
    for fd in range(3, 64):
        try:
            os.write(fd, b"\xff" * int(count))
        except OSError:
            continue


def _want(what: str) -> None:
    """Ask for bytes of the document again and again, and never take them."""
    offset, size = what.split()
    answer = b'{"type":"Wanted","offset":%s,"size":%s}' % (offset.encode(), size.encode())
    while True:
        for fd in range(3, 64):
            try:
                os.write(fd, struct.pack("!II", len(answer), 0) + answer)
            except OSError:
                continue


_ACTS: dict[str, Callable[[str], object]] = {
    "read": _read,
    "write": _write,
    "list": os.listdir,
    "run": lambda program: subprocess.run([program], check=False).returncode,
    "connect": _connect,
    "kill": lambda pid: os.kill(int(pid), 0),
    "chmod": lambda path: os.chmod(path, 0o777),
    "eat": _eat,
    "spin": _spin,
    "crash": lambda signal: os.kill(os.getpid(), int(signal)),
    "babble": _babble,
    "want": _want,
    "exit": lambda code: os._exit(int(code)),
}
