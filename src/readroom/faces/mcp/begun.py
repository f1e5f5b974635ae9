"""The first phase of an MCP connection over stdio, before anything heavy is imported.

Clients ask for the server's name and its tools as soon as the process runs, and some wait less than a
second for them.  Both are known before any file is read, so they are answered from a prepared copy, by a
loop that needs no event loop.  Meanwhile a thread imports and opens what a first call needs.  Then the
full server takes over the same connection.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from readroom.faces.mcp.listing import page
from readroom.limits import MCP_CHUNK_BYTES, MCP_MESSAGE_BYTES
from readroom.protocol.card import Card
from readroom.protocol.connection import Connection, Event, ToolCall
from readroom.protocol.messages import Answer, Refusal, encode

T = TypeVar("T")


class Begun:
    """The state of a conversation over two descriptors."""

    def __init__(self, card: Card, incoming: int, outgoing: int) -> None:
        self.connection = Connection(card)
        self.incoming = incoming
        self.outgoing = outgoing
        self.lines = Lines(MCP_MESSAGE_BYTES)
        self.waiting: list[Event] = []
        """Events of received lines that are not handled yet."""


class _Ended(BaseException):
    """A signal arrived, or the client stopped reading."""


class Early(Generic[T]):
    """Answers what needs no workspace, until one is ready."""

    def __init__(self, begun: Begun, tools: Sequence[Mapping[str, Any]], prepare: Callable[[], T]) -> None:
        """`tools` are as in `tools/list`; `prepare` runs in a thread once they were listed."""
        self._begun = begun
        self._tools = tools
        self._prepare = prepare
        self._found: T | None = None
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="readroom-start", daemon=True)
        self._done, self._tell = os.pipe()
        self._over = False

    def run(self) -> T | None:
        """The result of `prepare`; None if the conversation ended before.

        Raises:
            Exception: The exception that `prepare` raised.
        """
        try:
            with on_signals(_end):
                while not self._begun.waiting and self._hear():
                    pass
                if self._over and not self._begun.waiting and self._thread.ident is None:
                    return None
                self._start()
                self._thread.join()
        except _Ended:
            return None
        finally:
            if not self._thread.is_alive():
                os.close(self._done)
                os.close(self._tell)
        if self._failure is not None:
            raise self._failure
        return self._found

    def _work(self) -> None:
        try:
            self._found = self._prepare()
        except BaseException as error:
            self._failure = error
        finally:
            os.write(self._tell, b".")

    def _start(self) -> None:
        if self._thread.ident is None:
            self._thread.start()

    def _hear(self) -> bool:
        """Wait for lines and answer them. False when the full server should take over."""
        wait = select.poll()
        wait.register(self._begun.incoming, select.POLLIN)
        wait.register(self._done, select.POLLIN)
        ready = {fd for fd, _ in wait.poll()}
        if self._begun.incoming in ready:
            self._read()
        return self._done not in ready and not self._over

    def _read(self) -> None:
        data = chunk(self._begun.incoming)
        for line in self._begun.lines.feed(data) if data else self._begun.lines.rest():
            if line and not line.isspace():
                for event in self._begun.connection.receive_all(line):
                    self._take(event)
        self._over = not data

    def _take(self, event: Event) -> None:
        listed = isinstance(event, ToolCall) and event.method == "tools/list"
        answer = event if isinstance(event, Answer) else None
        if isinstance(event, ToolCall) and listed:
            answer = self._listed(event)
        if answer is not None:
            self._write(encode(answer) + b"\n")
        elif not listed:
            self._begun.waiting.append(event)
        if listed:
            self._start()  # after the answer, which would otherwise wait for its imports

    def _listed(self, call: ToolCall) -> Answer | None:
        connection = self._begun.connection
        try:
            return connection.answer(call, page("tools", self._tools, call.params.get("cursor")))
        except Refusal as refused:
            return connection.refuse(call, refused.code, refused.message)

    def _write(self, line: bytes) -> None:
        left = memoryview(line)
        try:
            while left:
                left = left[os.write(self._begun.outgoing, left) :]
        except OSError:
            raise _Ended from None


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


def _end() -> None:
    raise _Ended


# -----------------------------------------------------------------------------
# Standard input and output reserved for the protocol, and splitting input into lines.
# -----------------------------------------------------------------------------


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
