"""The state machine of one connection: messages go in, answers and calls come out.

Designed like h11: no sockets, no event loop, no threads.  A face passes one message at a time to
`receive`, performs the `ToolCall` that comes out, and passes the result to `answer` or the failure to
`refuse`; both return the answer to send.

A client may probe with `server/discover`, give up on the answer, and send `initialize`, or the other way
round.  Both are answered until a request uses one of the two forms, which then applies to the rest of the
connection.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final, TypeAlias

import msgspec

from readroom.mcp.protocol import eras, messages, params
from readroom.mcp.protocol.card import Card


class State(Enum):
    """The state of a connection."""

    OPEN = "nothing has been used yet"
    GREETED = "initialize was answered, and nothing has been used yet"
    HANDSHAKE = "it is used as after initialize"
    STATELESS = "it is used with a version in every request"


class MethodKind(Enum):
    """The kind of a request, as far as it matters for the state."""

    INITIALIZE = "opens a connection with a handshake"
    DISCOVER = "asks what is spoken, in the form of 2026-07-28"
    ENVELOPED = "any other request in that form"
    PLAIN = "a request in the form of the handshake"
    PING = "the same, and means nothing"


class Refused(Enum):
    """Why a request does not fit the state."""

    EARLY = "Nothing was agreed on yet: send initialize first, or name the version in _meta"
    ENVELOPE = "This connection began with initialize, and requests of 2026-07-28 are not taken on it"
    UNSUPPORTED = "This connection speaks 2026-07-28, and initialize is not taken on it"
    BARE = (
        f"params._meta must be an object with {eras.VERSION_META!r} and {eras.CAPABILITIES_META!r}: "
        "this connection speaks 2026-07-28"
    )


TABLE: Final[Mapping[State, Mapping[MethodKind, State | Refused]]] = {
    State.OPEN: {
        MethodKind.INITIALIZE: State.GREETED,
        MethodKind.DISCOVER: State.OPEN,
        MethodKind.ENVELOPED: State.STATELESS,
        MethodKind.PLAIN: Refused.EARLY,
        MethodKind.PING: State.OPEN,
    },
    State.GREETED: {
        MethodKind.INITIALIZE: State.GREETED,
        MethodKind.DISCOVER: State.GREETED,
        MethodKind.ENVELOPED: State.STATELESS,
        MethodKind.PLAIN: State.HANDSHAKE,
        MethodKind.PING: State.GREETED,
    },
    State.HANDSHAKE: {
        MethodKind.INITIALIZE: State.HANDSHAKE,
        MethodKind.DISCOVER: Refused.ENVELOPE,
        MethodKind.ENVELOPED: Refused.ENVELOPE,
        MethodKind.PLAIN: State.HANDSHAKE,
        MethodKind.PING: State.HANDSHAKE,
    },
    State.STATELESS: {
        MethodKind.INITIALIZE: Refused.UNSUPPORTED,
        MethodKind.DISCOVER: State.STATELESS,
        MethodKind.ENVELOPED: State.STATELESS,
        MethodKind.PLAIN: Refused.BARE,
        MethodKind.PING: Refused.BARE,
    },
}
"""The next state for each kind of request, or why it is refused; a refusal does not change the state."""

_CODES: Final = {
    Refused.EARLY: eras.INVALID_PARAMS,
    Refused.ENVELOPE: eras.INVALID_REQUEST,
    Refused.UNSUPPORTED: eras.UNSUPPORTED_VERSION,
    Refused.BARE: eras.INVALID_PARAMS,
}


class ToolCall(msgspec.Struct, eq=False):
    """A request that has to be performed.

    Attributes:
        id: The id that the client chose.
        method: A method of the server.
        params: The parameters of the method.
        version: The version of the protocol.
        client: The name that the client sent; None if it sent none.
        meta: The `_meta` of the request.
        token: The progress token; None if the client wants no progress.
        level: The lowest level of log messages that the client wants about it; None for none.
        cancelled: The client no longer waits for the result.
    """

    id: messages.Id
    method: str
    params: dict[str, Any]
    version: str
    client: str | None
    meta: Mapping[str, Any] | None
    token: messages.Id | None
    level: str | None
    cancelled: bool = False


class Notice(msgspec.Struct, frozen=True):
    """A notification that the server wants to hear of."""

    method: str
    client: str | None
    meta: Mapping[str, Any] | None


class CallCancelled(msgspec.Struct, frozen=True):
    """The client cancelled a call."""

    call: ToolCall


Event: TypeAlias = messages.Answer | ToolCall | CallCancelled | Notice
"""The effect of a message: an answer to send, a call to perform, a call to stop, or a notice."""


Numbers: TypeAlias = tuple[int, ...]
"""The state of a resource, for comparison only."""


class Agreement(msgspec.Struct, frozen=True):
    """The negotiated state of a connection; enough for another process to continue with it."""

    state: State
    version: str
    client: str | None
    level: str | None
    subscribed: dict[str, Numbers | None] = {}


class Connection:
    """The server's side of a connection: a pipe, a session over HTTP, or one request of 2026-07-28."""

    def __init__(self, card: Card, *, state: State = State.OPEN, both: bool = True) -> None:
        """Without `both`, `state` selects the form: over HTTP a header does."""
        self.state = state
        self.client: str | None = None
        """The client's name in the handshake."""
        self._card = card
        self._handshakes = both or state is not State.STATELESS
        self._envelopes = both or state is State.STATELESS
        self._version = eras.HANDSHAKE_VERSIONS[-1]
        self._level: str | None = None
        self.subscribed: dict[str, Numbers | None] = {}
        """The resources of whose changes the client wants to hear, each in the state that it had then."""
        self._running: dict[messages.Id, ToolCall] = {}
        # Calls may be answered from other threads than the receiving one.
        self._lock = threading.Lock()

    @property
    def agreement(self) -> Agreement:
        """The negotiated state; may be set to that of another process."""
        return Agreement(self.state, self._version, self.client, self._level, dict(self.subscribed))

    @agreement.setter
    def agreement(self, other: Agreement) -> None:
        self.state, self._version, self.client, self._level = (
            *(other.state, other.version),
            *(other.client, other.level),
        )
        self.subscribed = dict(other.subscribed)

    @property
    def running(self) -> list[ToolCall]:
        """The calls that are not answered yet."""
        return list(self._running.values())

    def receive(self, data: bytes) -> Event | None:
        """Process a message; the event it causes, None for none."""
        return self.take(messages.decode(data, self._card.most))

    @property
    def takes_batches(self) -> bool:
        """Whether a version with batches was agreed on."""
        return self._version == eras.BATCHES and self.state in (State.GREETED, State.HANDSHAKE)

    def receive_all(self, data: bytes) -> list[Event]:
        """Process a message or a batch; the events that they cause.

        If batches are not accepted, each request in one is still answered: a client would wait for minutes.
        """
        batch = messages.decode_batch(data, self._card.most)
        if batch is None:
            event = self.receive(data)
            return [] if event is None else [event]
        return [event for event in self.take_all(batch) if event is not None]

    def take_all(self, batch: Sequence[messages.Message | messages.Answer]) -> list[Event | None]:
        """Process a batch, each message of it as a single one, if the version has batches."""
        words = messages.NO_BATCH
        if self.takes_batches:
            if len(batch) <= eras.MOST_BATCH:
                return [self.take(message) for message in batch]
            words = f"A batch has at most {eras.MOST_BATCH} messages. Send fewer at once"
        ids: Sequence[messages.Id | None] = messages.ids_of(batch) or [None]
        return [messages.refusal(one, eras.INVALID_REQUEST, words) for one in ids]

    def take(self, message: messages.Message | messages.Answer) -> Event | None:
        """Process a message that `decode` has parsed."""
        if isinstance(message, messages.Answer):
            return message
        if isinstance(message, messages.Request):
            return self._requested(message)
        return None if isinstance(message, messages.Unsolicited) else self._notified(message)

    def answer(self, call: ToolCall, result: dict[str, Any]) -> messages.Answer | None:
        """The answer for a performed call; None if the client no longer waits."""
        if not self._settle(call):
            return None
        return messages.Answer(call.id, self._card.shaped(call.method, call.version, result))

    def refuse(self, call: ToolCall, code: int, message: str, data: object = None) -> messages.Answer | None:
        """The answer for a call that failed; None if the client no longer waits."""
        return messages.refusal(call.id, code, message, data) if self._settle(call) else None

    def progress(self, call: ToolCall, done: float, total: float | None, words: str) -> bytes | None:
        """A progress notification for a client that wants them."""
        if call.token is None or call.cancelled:
            return None
        parameters: dict[str, Any] = {"progressToken": call.token, "progress": done, "message": words}
        if total is not None:
            parameters["total"] = total
        return messages.notification("notifications/progress", parameters)

    def log(self, call: ToolCall, level: str, words: str) -> bytes | None:
        """A log message about a call, for a client that wants its level."""
        if call.level is None or call.cancelled or eras.LEVELS.index(level) < eras.LEVELS.index(call.level):
            return None
        return messages.notification(
            "notifications/message", {"level": level, "logger": self._card.name, "data": words}
        )

    def acknowledged(self, call: ToolCall, honored: dict[str, Any], more: dict[str, Any]) -> bytes:
        """The first message of a subscription: what its client will hear of; `more` is for `_meta`."""
        return messages.notification(
            "notifications/subscriptions/acknowledged",
            {"notifications": honored, "_meta": {**more, eras.SUBSCRIPTION_META: call.id}},
        )

    def updated(self, uri: str, call: ToolCall | None = None) -> bytes:
        """A notification that a resource has changed; `call` opened the subscription, if a call did."""
        parameters: dict[str, Any] = {"uri": uri}
        if call is not None:
            parameters["_meta"] = {eras.SUBSCRIPTION_META: call.id}
        return messages.notification("notifications/resources/updated", parameters)

    def over(self, call: ToolCall) -> messages.Answer | None:
        """The answer that ends a subscription; None if the client has ended it."""
        return self.answer(call, {"_meta": {eras.SUBSCRIPTION_META: call.id}})

    def _settle(self, call: ToolCall) -> bool:
        """Remove a call; whether its client still waits."""
        with self._lock:
            waited_for = self._running.get(_key(call.id)) is call
            if waited_for:
                del self._running[_key(call.id)]
        return waited_for

    def _requested(self, request: messages.Request) -> Event:
        kind, meta = self._kind(request), params.meta(request.params)
        target = TABLE[self.state][kind]
        # Discovery is answered regardless of the agreed version.
        if target is Refused.EARLY and not self._serves(request.method, eras.HANDSHAKE_METHODS):
            return _unknown(request)
        if isinstance(target, Refused):
            return _unfit(request, target)
        if kind in (MethodKind.DISCOVER, MethodKind.ENVELOPED):
            assert meta is not None
            return _enveloped(request, meta) or self._accepted(request, target, meta, stateless=True)
        return self._accepted(request, target, meta, stateless=False)

    def _kind(self, request: messages.Request) -> MethodKind:
        if self._handshakes and request.method == "initialize":
            return MethodKind.INITIALIZE
        if self._envelopes and eras.VERSION_META in (params.meta(request.params) or {}):
            return MethodKind.DISCOVER if request.method == "server/discover" else MethodKind.ENVELOPED
        return MethodKind.PING if request.method == "ping" else MethodKind.PLAIN

    def _accepted(
        self, request: messages.Request, target: State, meta: Mapping[str, Any] | None, *, stateless: bool
    ) -> Event:
        """Process a request that fits the state, and move to the next state."""
        parameters = request.params or {}
        if not self._serves(request.method, eras.STATELESS_METHODS if stateless else eras.HANDSHAKE_METHODS):
            self.state = target
            return _unknown(request)
        wrong = params.problem(request.method, parameters)
        if wrong is not None:
            return messages.refusal(request.id, eras.INVALID_PARAMS, f"Invalid request parameters: {wrong}")
        self.state = target
        own = self._own(request, parameters)
        if own is not None:
            return own
        if _key(request.id) in self._running:
            words = f"The id {request.id!r} is that of a request that has no answer yet"
            return messages.refusal(request.id, eras.INVALID_REQUEST, words)
        call = self._call(request, parameters, meta, stateless)
        self._running[_key(request.id)] = call
        return call

    def _call(
        self,
        request: messages.Request,
        parameters: dict[str, Any],
        meta: Mapping[str, Any] | None,
        stateless: bool,
    ) -> ToolCall:
        version, client, level = self._version, self.client, self._level
        if stateless:
            assert meta is not None
            version, client, level = meta[eras.VERSION_META], _named(meta), meta.get(eras.LEVEL_META)
        token = params.progress_token(meta)
        return ToolCall(request.id, request.method, parameters, version, client, meta, token, level)

    def _own(self, request: messages.Request, parameters: Mapping[str, Any]) -> messages.Answer | None:
        """The answer to a request about the connection itself; None for a call to be performed."""
        if request.method == "initialize":
            greeting = self._card.greeting(parameters["protocolVersion"])
            self._version, self.client = greeting["protocolVersion"], parameters["clientInfo"]["name"]
            return messages.Answer(request.id, greeting)
        if request.method == "logging/setLevel":
            self._level = parameters["level"]
            return messages.Answer(request.id, {})
        if request.method == "server/discover":
            version = parameters["_meta"][eras.VERSION_META]
            return messages.Answer(
                request.id, self._card.shaped(request.method, version, self._card.discovered())
            )
        return messages.Answer(request.id, {}) if request.method == "ping" else None

    def _serves(self, method: str, of_era: frozenset[str]) -> bool:
        own = method in ("initialize", "ping", "logging/setLevel", "server/discover")
        return method in of_era and (own or method in self._card.methods)

    def _notified(self, message: messages.Notification) -> Event | None:
        if message.method == "notifications/cancelled":
            return self._cancelled((message.params or {}).get("requestId"))
        if message.method not in self._card.notices or self.state is State.OPEN:
            return None
        return Notice(message.method, self.client, params.meta(message.params))

    def _cancelled(self, request_id: object) -> CallCancelled | None:
        if isinstance(request_id, bool) or not isinstance(request_id, (int, str)):
            return None
        with self._lock:
            call = self._running.pop(_key(request_id), None)
            if call is None:
                return None
            call.cancelled = True
        return CallCancelled(call)


def _key(request_id: messages.Id) -> messages.Id:
    """The key of a request id: some clients cancel 7 as "7"."""
    if isinstance(request_id, str) and len(request_id) < 20 and request_id.isdecimal():
        return int(request_id)
    return request_id


def _named(meta: Mapping[str, Any]) -> str | None:
    info = meta.get(eras.CLIENT_META)
    return info["name"] if isinstance(info, dict) else None


def _unknown(request: messages.Request) -> messages.Answer:
    return messages.refusal(request.id, eras.METHOD_NOT_FOUND, "Method not found", request.method)


def _unfit(request: messages.Request, why: Refused) -> messages.Answer:
    data = None
    if why is Refused.UNSUPPORTED:
        data = supported((request.params or {}).get("protocolVersion"))
    return messages.refusal(request.id, _CODES[why], why.value, data)


def supported(requested: object) -> dict[str, Any]:
    """The data of an error about versions: those without a handshake."""
    data: dict[str, Any] = {"supported": list(eras.STATELESS_VERSIONS)}
    return {**data, "requested": requested} if isinstance(requested, str) else data


def _enveloped(request: messages.Request, meta: Mapping[str, Any]) -> messages.Answer | None:
    """The error about the metadata of a request of 2026-07-28; None if it is valid."""
    missing = [key for key in (eras.VERSION_META, eras.CAPABILITIES_META) if key not in meta]
    if missing:
        return messages.refusal(request.id, eras.INVALID_PARAMS, f"params._meta lacks {', '.join(missing)}")
    version = meta[eras.VERSION_META]
    if not isinstance(version, str):
        return messages.refusal(request.id, eras.INVALID_PARAMS, f"{eras.VERSION_META!r} must be a string")
    if not eras.is_stateless(version):
        words = "Unsupported protocol version"
        return messages.refusal(request.id, eras.UNSUPPORTED_VERSION, words, supported(version))
    wrong = params.envelope_problem(meta)
    return None if wrong is None else messages.refusal(request.id, eras.INVALID_PARAMS, wrong)
