"""`readroom mcp --at ADDRESS`: the server is on another machine, its client here.

Messages pass as they are. It keeps which requests are open, so that one whose connection ends is answered
with the reason: a client waits for minutes for an answer that does not come, and shows no one what ssh says.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from readroom.cli.exits import ExitCode
from readroom.cli.remote import frames
from readroom.cli.remote.address import Address
from readroom.core.errors import NotReached, ReadroomError, StoreFailed
from readroom.core.limits import MCP_MESSAGE_BYTES

_UNREACHED: Final = -32000
"""The code of an answer that no server gives; as the SDKs have it for a closed connection."""

_KEPT_BYTES: Final = 8 * 1024
"""The end of standard error there, of which the last line says why the server has ended."""

_LONGEST_BYTES = 2 * MCP_MESSAGE_BYTES

_FIRST_S = 10.0
"""A client that has started us and sends nothing gets no reason in a message: only on standard error."""


class _Message(msgspec.Struct):
    """The parts that are looked at: whether it asks, answers or tells."""

    id: msgspec.Raw = msgspec.Raw(b"")
    method: str = ""


_DECODER = msgspec.json.Decoder(_Message)
_SEVERAL = msgspec.json.Decoder(list[_Message])


def _messages(line: bytes) -> Sequence[_Message]:
    """The messages in a line; none in one that is not JSON, which the server refuses itself."""
    try:
        return _SEVERAL.decode(line) if line.lstrip()[:1] == b"[" else [_DECODER.decode(line)]
    except msgspec.MsgspecError:
        return []


class _Open:
    """The requests of a client that have no answer yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids: dict[bytes, None] = {}
        self.any = threading.Event()

    def ask(self, line: bytes) -> None:
        """Note the requests in a line of the client."""
        with self._lock:
            for message in _messages(line):
                if message.method and bytes(message.id) not in (b"", b"null"):
                    self._ids[bytes(message.id)] = None
        if self._ids:
            self.any.set()

    def answer(self, line: bytes) -> None:
        """Note the answers in a line of the server."""
        with self._lock:
            for message in _messages(line):
                if not message.method:
                    self._ids.pop(bytes(message.id), None)

    def refused(self, error: ReadroomError) -> Iterator[bytes]:
        """A line for each open request, with the reason."""
        with self._lock:
            ids, self._ids = list(self._ids), {}
        data = {"code": error.code, **error.facts}
        failure: dict[str, Any] = {"code": _UNREACHED, "message": str(error), "data": data}
        for number in ids:
            answer = {"jsonrpc": "2.0", "id": msgspec.Raw(number), "error": failure}
            yield msgspec.json.encode(answer) + b"\n"


class _Lines:
    """Whole lines of a stream; what has no end yet waits, and passes once it is longer than any message."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The lines that `data` completes, with their ends."""
        begins = len(self._held)
        self._held += data
        while (end := self._held.find(b"\n", begins)) >= 0:
            yield bytes(self._held[: end + 1])
            del self._held[: end + 1]
            begins = 0
        if len(self._held) > _LONGEST_BYTES:
            yield bytes(self._held)
            self._held.clear()


def relay(address: Address, words: Sequence[str]) -> int:
    """Serve the client on standard input and output from there; the exit code. Never raises NotReached."""
    from readroom.cli.failures import unexpected

    opened = _Open()
    source = _Client(opened)
    try:
        code, said = _relayed(address, words, source, opened)
        if code:  # what it said on standard error, clients do not show
            problem = said.removeprefix("readroom: ") or "readroom there has ended"
            _refuse(
                source, opened, StoreFailed(str(address), problem, "Mend that, and start the server again.")
            )
        return code
    except NotReached as error:
        _refuse(source, opened, error)
        return unexpected(error)


def _refuse(source: _Client, opened: _Open, error: ReadroomError) -> None:
    """Answer every open request with the reason; the first may not have come yet."""
    source.leave()
    opened.any.wait(0 if source.spoke else _FIRST_S)
    for line in opened.refused(error):
        _write(line)


class _Client:
    """Standard input: its lines are noted, and passed on once there is somebody to take them."""

    def __init__(self, opened: _Open) -> None:
        self._opened = opened
        self._lines = _Lines()
        self._waiting: list[bytes] = []
        self._near: Any = None
        self._lock = threading.Lock()
        self._over = False
        self.spoke = False
        threading.Thread(target=self._listen, name="readroom-stdin", daemon=True).start()

    def to(self, near: Any) -> None:
        """Pass everything on to this one from now on, beginning with what has come."""
        with self._lock:
            for data in self._waiting:
                near.send(frames.INPUT, data)
            if self._over:
                near.send(frames.INPUT_END)
            self._waiting = []
            self._near = near

    def leave(self) -> None:
        """Pass nothing on any more."""
        with self._lock:
            self._near = None

    def _listen(self) -> None:
        while data := self._read():
            for line in self._lines.feed(data):
                self._opened.ask(line)
            with self._lock:
                self.spoke = True
                if self._near is None:
                    self._waiting.append(data)
                else:
                    self._near.send(frames.INPUT, data)
        with self._lock:
            self._over = True
            if self._near is not None:
                self._near.send(frames.INPUT_END)
        self._opened.any.set()

    def _read(self) -> bytes:
        try:
            return os.read(0, frames.PIECE_BYTES)
        except OSError:
            return b""


def _relayed(address: Address, words: Sequence[str], client: _Client, opened: _Open) -> tuple[int, str]:
    """The exit code, and the last line on standard error there."""
    from readroom.cli.remote.near import Near

    near = Near(address, asks=False)
    lines, complained = _Lines(), b""
    try:
        near.ask(words, ["", "", f"at={address}"])
        client.to(near)
        for kind, data in near.answer():
            if kind == frames.EXIT:
                code = int(data) if data.isdigit() else ExitCode.FAILED
                return code, complained.decode("utf-8", "replace").strip().rpartition("\n")[2]
            if kind == frames.ERRORS:
                complained = (complained + data)[-_KEPT_BYTES:]
                os.write(2, data)
                continue
            for line in lines.feed(data):
                opened.answer(line)
                _write(line)
        raise AssertionError("an answer ends with its exit code or an error")
    finally:
        client.leave()
        near.close()


def _write(line: bytes) -> None:
    left = memoryview(line)
    while left:
        left = left[os.write(1, left) :]
