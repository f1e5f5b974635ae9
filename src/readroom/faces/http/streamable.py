"""MCP over HTTP: one message in a POST, its answer as JSON, or as a stream when there is more to say.

Before 2026-07-28 messages belong to a session; since then each stands for itself.
A stream begins with the first progress or log message, or when an answer takes so
long that something between would give the connection up.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from starlette.types import Receive, Scope, Send

from readroom.faces.http.conversations import Session, Sessions
from readroom.faces.http.exchange import Exchange
from readroom.faces.http.gate import EXCHANGE, MCP_PATH, WAITER, within
from readroom.faces.http.routes import leaving
from readroom.faces.http.streaming import Reply
from readroom.faces.mcp.server import Asked, Sender, Server
from readroom.limits import MCP_MESSAGE_BYTES
from readroom.limits_keeping import LEDGER_NAME_CHARS
from readroom.protocol import eras, headers
from readroom.protocol.connection import Call, Cancelled, Connection, Event, Notice, State
from readroom.protocol.messages import Answer, Message, Notification, Request, Unasked, decode, refusal
from readroom.protocol.params import meta

_METHOD = re.compile(r"[A-Za-z0-9_/.-]{1,64}")
"""Names of methods, of the protocol and ours."""


@dataclass(frozen=True, slots=True)
class _Arrival:
    """One HTTP request."""

    scope: Scope
    receive: Receive
    reply: Reply
    headers: Mapping[str, str]
    """By names in lower case; one that came twice with its last value."""

    @property
    def exchange(self) -> Exchange:
        """What is known of it."""
        exchange = self.scope[EXCHANGE]
        assert isinstance(exchange, Exchange)
        return exchange

    @property
    def names(self) -> list[str]:
        """The names of its headers, as often as they came."""
        return [name.decode("latin-1") for name, _ in self.scope["headers"]]

    async def body(self) -> bytes | None:
        """The whole of it; None when the client leaves before its end."""
        parts = []
        while True:
            message = await self.receive()
            if message["type"] != "http.request":
                return None
            parts.append(message.get("body", b""))
            if not message.get("more_body", False):
                return b"".join(parts)


@final
class Streamable:
    """The application at the address of MCP, behind the gate."""

    def __init__(self, server: Server, contract_name: str) -> None:
        self._server = server
        self._contract = contract_name
        self._sessions = Sessions(server.card)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI application."""
        found = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        arrival = _Arrival(scope, receive, Reply(send), found)
        arrival.exchange.route = MCP_PATH
        if headers.is_stateless(found.get(headers.VERSION)):
            await self._stateless(arrival)
        else:
            await self._conversing(arrival)

    async def _stateless(self, arrival: _Arrival) -> None:
        """A request of 2026-07-28."""
        if arrival.scope["method"] != "POST":
            await arrival.reply.refuse(405, "Only POST is taken here", allow="POST")
            return
        message = await self._message(arrival)
        if message is None:
            return
        connection = Connection(self._server.card, state=State.STATELESS, both=False)
        _note(arrival.exchange, message, None)
        if isinstance(message, (Request, Notification)):
            wrong = headers.contradiction(message, arrival.headers, arrival.names)
            if wrong is not None:
                await arrival.reply.answer(wrong, headers.status(wrong))
                return
        if isinstance(message, Unasked):
            message = refusal(None, eras.INVALID_REQUEST, "An answer is not taken: nothing was asked")
        if isinstance(message, Notification):
            # Whoever wants to cancel a call closes its stream: an id alone would let anybody do so.
            await arrival.reply.empty(202)
            return
        event = connection.take(message)
        if isinstance(event, Call):
            answer = await self._performed(arrival, connection, event, None)
        else:
            assert isinstance(event, Answer)
            answer = event
        if answer is not None:
            await arrival.reply.answer(answer, headers.status(answer))

    async def _conversing(self, arrival: _Arrival) -> None:
        """A request of a version with sessions."""
        given = arrival.headers.get(headers.SESSION)
        owner = (within(arrival.scope, self._contract).caller.token, arrival.exchange.workspace)
        session = None if given is None else self._sessions.find(given, owner)
        if session is not None:
            arrival.exchange.agent = _printable(session.connection.client) or arrival.exchange.agent
        if given is not None and session is None:
            await arrival.reply.refuse(404, "Session not found: send initialize to open one")
        elif arrival.scope["method"] == "POST":
            await self._posted(arrival, session or self._sessions.made(owner), opened=session is not None)
        elif arrival.scope["method"] != "DELETE":
            # Nothing is ever said to a client that has not asked. Clients try, and nobody has to hear of it.
            arrival.exchange.reached = session is not None
            await arrival.reply.refuse(405, "Only POST and DELETE are taken here", allow="POST, DELETE")
        elif session is None:
            await arrival.reply.refuse(
                400, "There is no session to end: the header Mcp-Session-Id is missing"
            )
        else:
            self._sessions.close(session)
            await arrival.reply.empty(200)

    async def _posted(self, arrival: _Arrival, session: Session, *, opened: bool) -> None:
        message = await self._message(arrival)
        if message is None:
            return
        if isinstance(message, Answer):
            await arrival.reply.answer(message, 400)
            return
        opens = isinstance(message, Request) and message.method == "initialize"
        if not opened and not opens:
            await arrival.reply.refuse(
                400, "Missing session ID: send initialize first, which opens a session"
            )
            return
        event = session.connection.take(message)
        _note(arrival.exchange, message, session.connection.client)
        if not opened:
            assert isinstance(event, Answer)
            if event.failure is not None:
                await arrival.reply.answer(event, 400)
                return
            if not self._sessions.open(session):
                await arrival.reply.refuse(503, "Too many open sessions", eras.INTERNAL_ERROR)
                return
        arrival.reply.session = session.id
        with self._sessions.using(session):
            await self._answered(arrival, session, event)

    async def _answered(self, arrival: _Arrival, session: Session, event: Event | None) -> None:
        if isinstance(event, Cancelled):
            session.tasks[event.call].cancel()
        elif isinstance(event, Notice):
            self._server.hear(event, self._sender(arrival, session))
        answer = event if isinstance(event, Answer) else None
        if isinstance(event, Call):
            answer = await self._performed(arrival, session.connection, event, session)
            if answer is None and not arrival.reply.left:
                answer = refusal(event.id, eras.CANCELLED, "Request cancelled")
        if answer is not None:
            await arrival.reply.answer(answer, 200)
        elif not isinstance(event, Call):
            await arrival.reply.empty(202)

    async def _message(self, arrival: _Arrival) -> Message | Answer | None:
        """The message of a request, or what is answered to its body; None when that has been done."""
        takes_json, takes_events = headers.accepted(arrival.headers.get("accept", ""))
        if not takes_json or not takes_events:
            words = f"Not Acceptable: the header Accept must name {headers.JSON} and {headers.EVENTS}"
            await arrival.reply.refuse(406, words)
            return None
        kind = arrival.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != headers.JSON:
            # A page of another origin cannot send this type without asking.
            await arrival.reply.refuse(400, f"Invalid Content-Type header: send {headers.JSON}")
            return None
        body = await arrival.body()
        return None if body is None else decode(body, MCP_MESSAGE_BYTES)

    async def _performed(
        self, arrival: _Arrival, connection: Connection, call: Call, session: Session | None
    ) -> Answer | None:
        """The answer to a call; None when nobody waits for it."""
        sender = self._sender(arrival, session)
        self._note_call(arrival.exchange, call, sender)
        asked = Asked(connection, call, sender, arrival.reply.tell)
        task = asyncio.create_task(self._server.perform(asked))
        watch = asyncio.create_task(_watch(arrival, task))
        if session is not None:
            session.tasks[call] = task
        try:
            await arrival.reply.wait_for(task)
            if task.cancelled():
                return None
            answer = task.result()
        finally:
            watch.cancel()
            task.cancel()
            if session is not None:
                del session.tasks[call]
        arrival.exchange.code = asked.failed or arrival.exchange.code
        return answer

    def _sender(self, arrival: _Arrival, session: Session | None) -> Sender:
        access = within(arrival.scope, self._contract)
        return Sender(access, arrival.scope[WAITER], None if session is None else session.id)

    def _note_call(self, exchange: Exchange, call: Call, sender: Sender) -> None:
        """Say in the exchange which tool was called, as the other addresses do."""
        if call.method != "tools/call":
            return
        # Names that clients make up have no bound, and may hold anything.
        known = [one.name for one in sender.access.workspace.contract(self._contract).callable]
        exchange.contract = self._contract
        exchange.tool = call.params["name"] if call.params["name"] in known else ""
        exchange.reached = True


async def _watch(arrival: _Arrival, task: asyncio.Task[Any]) -> None:
    """End the work for a client that goes away before its answer."""
    await leaving(arrival.receive, arrival.scope[WAITER])
    arrival.reply.left = True
    task.cancel()


def _note(exchange: Exchange, message: Message | Answer, client: str | None) -> None:
    """Say in the exchange what a message asked for, and who sent it."""
    if not isinstance(message, (Request, Notification)):
        return
    exchange.rpc = message.method if _METHOD.fullmatch(message.method) else ""
    named = (meta(message.params) or {}).get(eras.CLIENT_META)
    name = named.get("name") if client is None and isinstance(named, dict) else client
    exchange.agent = _printable(name) or exchange.agent


def _printable(name: object) -> str:
    """A name that a client gives itself, for a line that may be looked at in a terminal."""
    given = name[:LEDGER_NAME_CHARS] if isinstance(name, str) else ""
    return "".join(letter for letter in given if letter.isprintable())
