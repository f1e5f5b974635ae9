"""MCP over HTTP: one message per POST, answered with JSON, or with a stream if there is more to send.

Before 2026-07-28 messages belong to a session; since then each stands alone. A stream begins with the first
progress or log message, or when an answer takes so long that a proxy would close the connection.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, final

from msgspec import Struct
from starlette.types import Receive, Scope, Send

from readroom.core.errors import BadRequest, Busy
from readroom.core.limits import MCP_MESSAGE_BYTES
from readroom.core.limits.session import LEDGER_NAME_CHARS
from readroom.mcp.calls import Calls, share
from readroom.mcp.pending import PendingCall
from readroom.mcp.protocol import eras, headers, messages
from readroom.mcp.protocol.connection import CallCancelled, Connection, Event, Notice, State, ToolCall
from readroom.mcp.protocol.params import meta
from readroom.mcp.server import WITHOUT_WORK, Sender, Server
from readroom.server.http.access_log import Exchange
from readroom.server.http.awaiting import noted, performed
from readroom.server.http.conversations import Conversations, Session
from readroom.server.http.event_streams import Reply
from readroom.server.http.gate import CLIENT_SCOPE, EXCHANGE, MCP_PATH, within
from readroom.server.http.listening import LISTENERS, Listeners, Look, Stream, stays
from readroom.server.http.routes import whole_body

_METHOD = re.compile(r"[A-Za-z0-9_/.-]{1,64}")
"""Names of methods, of the protocol and ours."""


class _Arrival(Struct, frozen=True):
    """One HTTP request."""

    scope: Scope
    receive: Receive
    reply: Reply
    headers: Mapping[str, str]
    """By lowercase names; of repeated ones the last value."""

    @property
    def exchange(self) -> Exchange:
        """The exchange of the request."""
        exchange = self.scope[EXCHANGE]
        assert isinstance(exchange, Exchange)
        return exchange

    @property
    def names(self) -> list[str]:
        """The names of its headers, with repetitions."""
        return [name.decode("latin-1") for name, _ in self.scope["headers"]]


@final
class Streamable:
    """The application at the address of MCP, inside the gate."""

    def __init__(
        self,
        calls: Calls,
        server: Server,
        contract_name: str,
        sessions: Conversations,
        nameless: str | None = None,
    ) -> None:
        """`nameless` is the conversation of clients without a session; None for the one of this process."""
        self._calls = calls
        self._nameless = nameless
        self._server = server
        self._contract = contract_name
        self._sessions = sessions
        self._listeners = Listeners(calls)
        self._is_watchable = eras.SUBSCRIBE in server.card.methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, as an ASGI application."""
        named = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        arrival = _Arrival(scope, receive, Reply(send), named)
        arrival.exchange.route = MCP_PATH
        if headers.is_stateless(named.get(headers.VERSION)):
            await self._stateless(arrival)
        else:
            await self._conversing(arrival)

    async def _stateless(self, arrival: _Arrival) -> None:
        """A request of 2026-07-28."""
        if arrival.scope["method"] != "POST":
            words = headers.unspoken(arrival.headers.get(headers.VERSION))
            if words is not None:
                await arrival.reply.refuse(400, words)
            else:
                await arrival.reply.refuse(405, "Only POST is accepted here", allow="POST")
            return
        message = await self._message(arrival)
        if message is None:
            return
        connection = Connection(self._server.card, state=State.STATELESS, both=False)
        _note(arrival.exchange, message, None)
        if isinstance(message, (messages.Request, messages.Notification)):
            wrong = headers.contradiction(message, arrival.headers, arrival.names)
            if wrong is not None:
                await arrival.reply.answer(wrong, headers.status(wrong))
                return
        if isinstance(message, messages.Unsolicited):
            message = messages.refusal(None, eras.INVALID_REQUEST, "No answer is expected: nothing was asked")
        if isinstance(message, messages.Notification):
            # Clients cancel a call by closing its stream: by id, any client could cancel it.
            await arrival.reply.empty(202)
            return
        event = connection.take(message)
        if isinstance(event, ToolCall) and event.method == eras.LISTEN:
            answer = await self._listened(arrival, connection, event)
        elif isinstance(event, ToolCall):
            answer = await self._performed(arrival, connection, event, None)
        else:
            assert isinstance(event, messages.Answer)
            answer = event
        if answer is not None:
            await arrival.reply.answer(answer, headers.status(answer))

    async def _conversing(self, arrival: _Arrival) -> None:
        """A request of a version with sessions."""
        session_id = arrival.headers.get(headers.SESSION)
        owner = (within(arrival.scope, self._contract).caller.token, arrival.exchange.workspace)
        session = None if session_id is None else await self._sessions.find(session_id, owner)
        if session is not None:
            arrival.exchange.agent = _printable(session.connection.client) or arrival.exchange.agent
        if session_id is not None and session is None:
            await arrival.reply.refuse(404, "Session not found: send initialize to open one")
        elif arrival.scope["method"] == "POST":
            await self._posted(arrival, session or self._sessions.made(owner), opened=session is not None)
        elif arrival.scope["method"] == "GET" and session is not None and self._is_watchable:
            await self._streamed(arrival, session)
        elif arrival.scope["method"] != "DELETE":
            # Clients try this, and no log needs to record it.
            arrival.exchange.reached = session is not None
            allowed = "GET, POST, DELETE" if self._is_watchable and session is not None else "POST, DELETE"
            words = f"Only {allowed.replace(', DELETE', ' and DELETE')} are accepted here"
            await arrival.reply.refuse(405, words, allow=allowed)
        elif session is None:
            await arrival.reply.refuse(
                400, "There is no session to end: the header Mcp-Session-Id is missing"
            )
        else:
            await self._sessions.close(session)
            await arrival.reply.empty(200)

    async def _posted(self, arrival: _Arrival, session: Session, *, opened: bool) -> None:
        body = await self._body(arrival)
        if body is None:
            return
        takes = opened and session.connection.takes_batches
        batch = messages.decode_batch(body, MCP_MESSAGE_BYTES) if takes else None
        if batch is not None:
            await self._posted_batch(arrival, session, batch)
            return
        message = messages.decode(body, MCP_MESSAGE_BYTES)
        if isinstance(message, messages.Answer):
            await arrival.reply.answer(message, 400)
            return
        opens = isinstance(message, messages.Request) and message.method == "initialize"
        if not opened and not opens:
            await arrival.reply.refuse(
                400, "Missing session ID: send initialize first, which opens a session"
            )
            return
        event = session.connection.take(message)
        _note(arrival.exchange, message, session.connection.client)
        if not opened:
            assert isinstance(event, messages.Answer)
            if event.failure is not None:
                await arrival.reply.answer(event, 400)
                return
            if not await self._sessions.open(session):
                await arrival.reply.refuse(
                    503, "Too many open sessions, all of them in use", eras.INTERNAL_ERROR
                )
                return
        elif event is None and isinstance(message, messages.Notification):
            await self._cancel_elsewhere(session, message)
        arrival.reply.session = session.id
        with self._sessions.using(session):
            await self._sessions.agreed(session)
            await self._answered(arrival, session, event)

    async def _cancel_elsewhere(self, session: Session, message: messages.Notification) -> None:
        request = (message.params or {}).get("requestId")
        if message.method == "notifications/cancelled" and isinstance(request, (int, str)):
            await self._sessions.cancel(session, request)

    async def _posted_batch(
        self, arrival: _Arrival, session: Session, batch: Sequence[messages.Message | messages.Answer]
    ) -> None:
        """Messages of 2025-03-26 at once: their answers come at once too."""
        events = session.connection.take_all(batch)
        for message in batch:
            _note(arrival.exchange, message, session.connection.client)
            if isinstance(message, messages.Notification):
                await self._cancel_elsewhere(session, message)
        arrival.reply.session = session.id
        with self._sessions.using(session):
            await self._sessions.agreed(session)
            work = (self._outcome(arrival, session, event) for event in events)
            answers = [answer for answer in await asyncio.gather(*work) if answer is not None]
            if answers:
                await arrival.reply.answer_all(answers)
            else:
                await arrival.reply.empty(202)

    async def _answered(self, arrival: _Arrival, session: Session, event: Event | None) -> None:
        answer = await self._outcome(arrival, session, event)
        if answer is not None:
            await arrival.reply.answer(answer, 200)
        elif not isinstance(event, ToolCall):
            await arrival.reply.empty(202)

    async def _outcome(
        self, arrival: _Arrival, session: Session, event: Event | None
    ) -> messages.Answer | None:
        """Perform a message; its answer, if it has one."""
        if isinstance(event, CallCancelled):
            session.tasks[event.call].cancel()
        elif isinstance(event, Notice):
            sender = self._sender(arrival, session)
            await noted(sender.access.workspace, partial(self._server.hear, event, sender))
        answer = event if isinstance(event, messages.Answer) else None
        if isinstance(event, ToolCall):
            answer = await self._performed(arrival, session.connection, event, session)
            if event.method in (eras.SUBSCRIBE, eras.UNSUBSCRIBE):
                await self._sessions.agreed(session)
            if answer is None and not arrival.reply.left:
                answer = messages.refusal(event.id, eras.CANCELLED, "Request cancelled")
        return answer

    async def _message(self, arrival: _Arrival) -> messages.Message | messages.Answer | None:
        """The message of a request, or the answer to a bad body; None if that was sent."""
        body = await self._body(arrival)
        return None if body is None else messages.decode(body, MCP_MESSAGE_BYTES)

    async def _body(self, arrival: _Arrival) -> bytes | None:
        """The body of a request; None if it cannot be used, and its client has the error or has left."""
        takes_json, takes_events = headers.accepted(arrival.headers.get("accept", ""))
        if not takes_json or not takes_events:
            words = f"Not Acceptable: the header Accept must name {headers.JSON} and {headers.EVENTS}"
            await arrival.reply.refuse(406, words)
            return None
        kind = arrival.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != headers.JSON:
            # A page of another origin cannot send this type without a preflight.
            await arrival.reply.refuse(400, f"Invalid Content-Type header: send {headers.JSON}")
            return None
        try:
            return await whole_body(arrival.receive)
        except BadRequest:
            return None

    async def _performed(
        self, arrival: _Arrival, connection: Connection, call: ToolCall, session: Session | None
    ) -> messages.Answer | None:
        """The answer to a call; None if the client no longer waits for it."""
        sender = self._sender(arrival, session)
        self._note_call(arrival.exchange, call, sender)
        pending = PendingCall(connection, call, arrival.reply.tell, sender.access.seconds)
        perform = partial(self._server.perform, pending, sender)
        if call.method in WITHOUT_WORK:
            return perform()
        token, scope = sender.access.caller.token, arrival.scope[CLIENT_SCOPE]
        work = performed(self._calls, token, pending.deadline, scope, perform, partial(perform, busy=True))
        with arrival.reply.still_here():
            answer = await (work if session is None else _cancellable(arrival, session, call, work))
        arrival.exchange.code = pending.failed or arrival.exchange.code
        return answer

    async def _listened(
        self, arrival: _Arrival, connection: Connection, call: ToolCall
    ) -> messages.Answer | None:
        """Serve a subscription; its answer, when it ends."""
        sender = self._sender(arrival, None)
        token, scope = sender.access.caller.token, arrival.scope[CLIENT_SCOPE]
        if not self._listeners.has_room(token):
            return connection.refuse(call, eras.INTERNAL_ERROR, _TOO_MANY, {"code": Busy.code})
        pending = PendingCall(connection, call, arrival.reply.tell, sender.access.seconds)
        open_ = partial(self._server.listen, pending, sender)
        opened = await performed(
            self._calls, token, pending.deadline, scope, open_, partial(open_, busy=True)
        )
        if opened is None or isinstance(opened, messages.Answer):
            return opened
        arrival.reply.tell(opened.first)
        if not await self._heard(arrival, token, opened.messages, stays):
            return None
        return connection.over(call)

    async def _streamed(self, arrival: _Arrival, session: Session) -> None:
        """Serve the stream of a session: what its client hears of by itself."""
        if not headers.accepted(arrival.headers.get("accept", ""))[1]:
            await arrival.reply.refuse(406, f"Not Acceptable: the header Accept must name {headers.EVENTS}")
            return
        sender = self._sender(arrival, session)
        token = sender.access.caller.token
        if session.listens or not self._listeners.has_room(token, share(LISTENERS)):
            words = _ONE_STREAM if session.listens else _TOO_MANY
            await arrival.reply.refuse(409 if session.listens else 503, words)
            return
        watch = self._server.watch(session.connection, sender)

        def look() -> list[bytes]:
            watch.follow(dict(session.connection.subscribed))
            return [session.connection.updated(uri) for uri in watch.changed()]

        async def again() -> bool:
            """Another process may have taken what the client has subscribed to since."""
            return await self._sessions.find(session.id, session.owner) is not None

        session.listens = True
        try:
            with self._sessions.using(session):
                arrival.reply.open()
                if await self._heard(arrival, token, look, again):
                    await arrival.reply.end()
        finally:
            session.listens = False

    async def _heard(
        self, arrival: _Arrival, token: str, look: Look, before: Callable[[], Awaitable[bool]]
    ) -> bool:
        """Keep a stream until it ends; False if its client has left."""
        over = asyncio.Event()

        def leave() -> None:
            arrival.reply.left = True
            over.set()

        arrival.scope[CLIENT_SCOPE].on_leave(leave)
        with arrival.reply.still_here():
            await self._listeners.hear(Stream(token, look, arrival.reply.tell, before, over))
        return not arrival.reply.left

    def _sender(self, arrival: _Arrival, session: Session | None) -> Sender:
        access = within(arrival.scope, self._contract)
        name = self._nameless if session is None else session.id
        return Sender(access, name, apart=session is None)

    def _note_call(self, exchange: Exchange, call: ToolCall, sender: Sender) -> None:
        """Record in the exchange which tool was called, as other addresses do."""
        if call.method != "tools/call":
            return
        # Names from clients are unbounded, and may contain anything.
        record, name = sender.access.workspace.contract(self._contract), call.params["name"]
        exchange.contract = self._contract
        exchange.tool = name if name in record.by_name else ""
        exchange.reached = True


_TOO_MANY = "There are too many subscriptions: end one first, or try again later"
_ONE_STREAM = "This session has a stream already"


async def _cancellable(
    arrival: _Arrival, session: Session, call: ToolCall, work: Coroutine[Any, Any, messages.Answer | None]
) -> messages.Answer | None:
    """The answer, unless another message of the session cancels it, or its client leaves."""
    task = session.tasks[call] = asyncio.create_task(work)
    arrival.scope[CLIENT_SCOPE].on_leave(partial(_leave, arrival, task))
    try:
        await asyncio.wait({task})
        return None if task.cancelled() else task.result()
    finally:
        task.cancel()
        del session.tasks[call]


def _leave(arrival: _Arrival, task: asyncio.Task[Any]) -> None:
    arrival.reply.left = True
    task.cancel()


def _note(exchange: Exchange, message: messages.Message | messages.Answer, client: str | None) -> None:
    """Record in the exchange the method of a message and its sender."""
    if not isinstance(message, (messages.Request, messages.Notification)):
        return
    exchange.rpc = message.method if _METHOD.fullmatch(message.method) else ""
    named = (meta(message.params) or {}).get(eras.CLIENT_META)
    name = named.get("name") if client is None and isinstance(named, dict) else client
    exchange.agent = _printable(name) or exchange.agent


def _printable(name: object) -> str:
    """A name from a client, for a line that may be shown in a terminal."""
    text = name[:LEDGER_NAME_CHARS] if isinstance(name, str) else ""
    return "".join(letter for letter in text if letter.isprintable())
