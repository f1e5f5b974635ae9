"""MCP over standard input and output, for the one client that started this process.

One thread reads what the client sends, and the thread of each call writes its answer. There is no event
loop, which would cost each call as much as reading a small file.

Clients ask for the server's name and its tools as soon as the process runs, and some wait less than a second
for them. Both are known before any file is read, so the thread that reads answers them. What calls need is
imported and opened by another thread, once the tools were listed or a call was made.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from readroom.core.limits import MCP_EXIT_S
from readroom.mcp.calls import Calls
from readroom.mcp.listing import capped, card, methods, page
from readroom.mcp.protocol import eras
from readroom.mcp.protocol.card import Card
from readroom.mcp.protocol.connection import CallCancelled, Connection, Event, ToolCall
from readroom.mcp.protocol.messages import Answer, Refusal, encode
from readroom.mcp.streams import Reader, Writer, on_signals, own_streams

if TYPE_CHECKING:  # imported by `open`, after the tools were listed
    from readroom.core.deadline import Deadline
    from readroom.core.workspace import Workspace
    from readroom.mcp.pending import PendingCall
    from readroom.mcp.place import Place
    from readroom.mcp.polling import Poller
    from readroom.mcp.server import Sender, Server

_CLOSED = -32000
"""The code of an answer to a call that the end of the server has ended; as the SDKs have it."""

_ENDED = "The server has ended: keep its input open until the answer has come"


class Offer(msgspec.Struct, frozen=True):
    """The served offer.

    Attributes:
        card: The answer to `initialize`.
        tools: As `tools/list` shows them.
        open: Makes the server and its sender; called at most once, in another thread.
    """

    card: Card
    tools: Sequence[Mapping[str, Any]]
    open: Callable[[], tuple[Server, Sender]]


def serve_stdio(
    workspace: Workspace, *, contract_name: str, reply_chars: int | None, place: Place | None = None
) -> None:
    """Serve one client of a workspace that is open.

    `reply_chars` caps a reply's text; `place` is said if the client is on another machine. Raises BadValue.
    """
    serve(offered(workspace, contract_name, reply_chars, place))


def serve(offer: Offer) -> None:
    """Serve one client until it closes standard input, or SIGINT or SIGTERM comes.

    While it runs, file descriptors 0 and 1 of this process lead to the null device and to standard error:
    nothing else can read or write the protocol's stream. Raises Exception.
    """
    with own_streams() as (incoming, outgoing):
        converse(offer, incoming, outgoing)


MCP_SETTLE_S = 2
"""Seconds for running calls after the end of input. The SDK's clients wait as long, then send SIGTERM."""


def converse(offer: Offer, incoming: int, outgoing: int, *, settle_s: float = MCP_SETTLE_S) -> None:
    """Serve a client at the other ends of two descriptors.

    Calls that run when the input ends have `settle_s` to be answered.
    """
    reader = Reader(incoming)
    writer = Writer(outgoing, on_broken=reader.end, on_full=reader.pause)
    calls = Calls()
    talk = _Talk(offer, calls, writer, reader.end)
    try:
        with on_signals(reader.end):
            reader.run(talk.hear)
            talk.settle(reader, settle_s)
            talk.end()
    finally:
        calls.close()
        writer.finish(MCP_EXIT_S)
    if talk.failure is not None:
        raise talk.failure


class _Talk:
    """The conversation with the client: lines in, calls in threads, lines out."""

    def __init__(self, offer: Offer, calls: Calls, writer: Writer, on_end: Callable[[], None]) -> None:
        self._offer = offer
        self._connection = Connection(offer.card)
        self._calls = calls
        self._writer = writer
        self._on_end = on_end
        self._waiting: dict[ToolCall, Deadline] = {}
        self._listed = self._settling = False
        """Whether the tools were listed, and whether no more calls come."""
        self._opening = threading.Lock()
        self._opened: tuple[Server, Sender] | None = None
        self._poller: Poller | None = None
        self.failure: BaseException | None = None
        """The error that prevented opening the workspace."""

    def hear(self, line: bytes) -> None:
        """Take a line."""
        if line.isspace() or not line:
            return
        for event in self._connection.receive_all(line):
            self._take(event)

    def settle(self, reader: Reader, seconds: float) -> None:
        """Give running calls a moment to finish: a script that sends them from a file has ended by then."""
        self._settling = True
        if self._listed:
            self._open()  # a client that has left still finds the reason in the log
        if self._waiting:
            reader.wait(seconds)

    def end(self) -> None:
        """End the subscriptions, and the calls that still run."""
        for answer in () if self._poller is None else self._poller.close():
            self._write(answer)
        for call, deadline in list(self._waiting.items()):
            self._write(self._connection.refuse(call, _CLOSED, _ENDED))
            deadline.cancel()

    def _take(self, event: Event) -> None:
        if isinstance(event, Answer):
            self._write(event)
        elif isinstance(event, ToolCall) and event.method == "tools/list":
            self._write(self._list(event))
            self._listed = True
            # After the answer, which would otherwise wait for the imports.
            self._calls.start("", self._open, lambda _: None)
        elif isinstance(event, ToolCall):
            self._begin(event)
        elif isinstance(event, CallCancelled):
            if self._poller is not None and self._poller.end(event.call):
                return
            deadline = self._waiting.get(event.call)
            if deadline is not None:
                deadline.cancel()
        elif (opened := self._open()) is not None:
            server, sender = opened
            server.hear(event, sender)

    def _list(self, call: ToolCall) -> Answer | None:
        try:
            found = page("tools", self._offer.tools, call.params.get("cursor"))
            return self._connection.answer(call, found)
        except Refusal as refused:
            return self._connection.refuse(call, refused.code, refused.message)

    def _open(self) -> tuple[Server, Sender] | None:
        with self._opening:
            if self._opened is None and self.failure is None:
                try:
                    self._opened = self._offer.open()
                except BaseException as error:
                    self.failure = error
                    self._on_end()
            return self._opened

    def _begin(self, call: ToolCall) -> None:
        from readroom.mcp.pending import PendingCall

        pending = PendingCall(self._connection, call, self._tell)
        self._waiting[call] = pending.deadline
        work = partial(self._perform, pending)
        if not self._calls.start("", work, lambda _: None, pending.deadline):
            work(busy=True)

    def _perform(self, pending: PendingCall, *, busy: bool = False) -> None:
        try:
            opened = self._open()
            if opened is not None:
                server, sender = opened
                if pending.call.method == eras.LISTEN:
                    self._listen(server, sender, pending, busy=busy)
                    return
                self._write(server.perform(pending, sender, busy=busy))
                if pending.call.method == eras.SUBSCRIBE and self._connection.subscribed:
                    self._polled().follow(server.watch(self._connection, sender))
        finally:
            self._waiting.pop(pending.call, None)
            if self._settling and not self._waiting:
                self._on_end()

    def _listen(self, server: Server, sender: Sender, pending: PendingCall, *, busy: bool) -> None:
        """Open a subscription; its call is answered when it ends."""
        opened = server.listen(pending, sender, busy=busy)
        if opened is None or isinstance(opened, Answer):
            self._write(opened)
        elif not self._polled().listen(opened):
            words = "There are too many subscriptions: end one first"
            self._write(self._connection.refuse(pending.call, eras.INVALID_REQUEST, words))

    def _polled(self) -> Poller:
        from readroom.mcp.polling import Poller

        with self._opening:
            if self._poller is None:
                self._poller = Poller(self._connection, self._tell)
            return self._poller

    def _write(self, answer: Answer | None) -> None:
        if answer is not None:
            self._tell(encode(answer))

    def _tell(self, message: bytes) -> None:
        self._writer.write(message + b"\n")


def offered(
    workspace: Workspace, contract_name: str, reply_chars: int | None, place: Place | None = None
) -> Offer:
    """The offer of a workspace. Raises BadValue for an unknown contract."""
    from readroom.mcp.server import listed

    record = workspace.contract(contract_name)
    tools = [capped(listed(tool), reply_chars) for tool in workspace.offered(contract_name)]
    return Offer(
        card(
            record.title,
            instructions(record.instructions, place),
            methods(record.name),
            shared=True,
        ),
        tools,
        lambda: opened(workspace, contract_name, reply_chars, place),
    )


def instructions(text: str, place: Place | None) -> str:
    """The instructions for models, with the place of a workspace on another machine."""
    return text if place is None else f"{text} {place.sentence}".lstrip()


def opened(
    workspace: Workspace, contract_name: str, reply_chars: int | None, place: Place | None = None
) -> tuple[Server, Sender]:
    """The server of a workspace, and its only client."""
    from readroom.core.caller import Caller
    from readroom.mcp.access import Access
    from readroom.mcp.log_lines import to_stderr
    from readroom.mcp.server import Sender, Server

    to_stderr()
    record = workspace.contract(contract_name)
    server = Server(record, reply_chars=reply_chars, place=place)
    return server, Sender(Access(workspace, contract_name, caller=Caller(face="mcp")))
