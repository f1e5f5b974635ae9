"""The connection as a table of states: every row, and sequences of messages that nobody should send."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from readroom.mcp.protocol import eras
from readroom.mcp.protocol.card import Card, Fresh
from readroom.mcp.protocol.connection import (
    TABLE,
    CallCancelled,
    Connection,
    Event,
    MethodKind,
    Notice,
    Refused,
    State,
    ToolCall,
)
from readroom.mcp.protocol.messages import Answer, encode
from tests.each import each

STATELESS = eras.STATELESS_VERSIONS[0]
META = {eras.VERSION_META: STATELESS, eras.CAPABILITIES_META: {}}
CLIENT = {"name": "somebody", "version": "1"}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}
CARD = Card(
    name="shelf",
    version="7",
    title="Shelf",
    instructions="Read.",
    methods=frozenset(("tools/list", "tools/call", "resources/list", "resources/read")),
    notices=frozenset(("notifications/shelf/moved",)),
    fresh={"tools/list": Fresh(1000, "public")},
    most=10_000,
)


def said(method: str, params: Any = None, request_id: object = 1) -> bytes:
    message = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return json.dumps(message if params is None else {**message, "params": params}).encode()


def told(method: str, params: Any = None) -> bytes:
    message = {"jsonrpc": "2.0", "method": method}
    return json.dumps(message if params is None else {**message, "params": params}).encode()


OF_KIND = {
    MethodKind.INITIALIZE: said("initialize", HELLO),
    MethodKind.DISCOVER: said("server/discover", {"_meta": META}),
    MethodKind.ENVELOPED: said("tools/list", {"_meta": META}),
    MethodKind.PLAIN: said("tools/list"),
    MethodKind.PING: said("ping"),
}
TO_STATE = {
    State.OPEN: [],
    State.GREETED: [MethodKind.INITIALIZE],
    State.HANDSHAKE: [MethodKind.INITIALIZE, MethodKind.PLAIN],
    State.STATELESS: [MethodKind.ENVELOPED],
}


def connected(state: State = State.OPEN) -> Connection:
    connection = Connection(CARD)
    for kind in TO_STATE[state]:
        event = connection.receive(OF_KIND[kind])
        if isinstance(event, ToolCall):
            connection.answer(event, {})
    assert connection.state is state
    return connection


def failure(event: Event | None) -> int:
    assert isinstance(event, Answer), event
    assert event.failure is not None
    return event.failure.code


def result(event: Event | None) -> dict[str, Any]:
    assert isinstance(event, Answer), event
    assert event.result is not None, event
    return event.result


@each("kind", MethodKind)
@each("state", State)
def test_every_row_of_the_table(state: State, kind: MethodKind) -> None:
    connection = connected(state)
    event = connection.receive(OF_KIND[kind])
    target = TABLE[state][kind]
    if isinstance(target, Refused):
        assert failure(event) < 0
        assert connection.state is state
    else:
        assert connection.state is target
        answered = kind in (MethodKind.INITIALIZE, MethodKind.DISCOVER, MethodKind.PING)
        assert isinstance(event, Answer if answered else ToolCall)


def test_the_table_is_whole() -> None:
    assert {(state, kind) for state, row in TABLE.items() for kind in row} == {
        (state, kind) for state in State for kind in MethodKind
    }


def test_initialize_after_a_late_discover_and_the_other_way_round() -> None:
    """Vercel's client gives up discovery after a second, and sends initialize on the same connection."""
    for first, second in (
        (MethodKind.DISCOVER, MethodKind.INITIALIZE),
        (MethodKind.INITIALIZE, MethodKind.DISCOVER),
    ):
        for used in (MethodKind.PLAIN, MethodKind.ENVELOPED):
            connection = Connection(CARD)
            result(connection.receive(OF_KIND[first]))
            result(connection.receive(OF_KIND[second]))
            assert isinstance(connection.receive(OF_KIND[used]), ToolCall)


def test_the_greeting_says_who_serves_and_what() -> None:
    for version in eras.HANDSHAKE_VERSIONS:
        greeting = result(Connection(CARD).receive(said("initialize", {**HELLO, "protocolVersion": version})))
        assert greeting["protocolVersion"] == version
    assert greeting["serverInfo"] == {"name": "shelf", "title": "Shelf", "version": "7"}
    assert set(greeting["capabilities"]) == {"tools", "resources", "logging"}
    assert greeting["instructions"] == "Read."
    assert "resultType" not in greeting
    newer = result(Connection(CARD).receive(said("initialize", {**HELLO, "protocolVersion": "2099-01-01"})))
    assert newer["protocolVersion"] == "2025-11-25"


def test_discovery_says_what_is_spoken() -> None:
    found = result(Connection(CARD).receive(OF_KIND[MethodKind.DISCOVER]))
    assert found["supportedVersions"] == [STATELESS]
    assert (found["resultType"], found["ttlMs"], found["cacheScope"]) == ("complete", 0, "private")
    assert found["_meta"] == {eras.SERVER_META: {"name": "shelf", "title": "Shelf", "version": "7"}}


def test_a_result_has_what_its_version_adds() -> None:
    for state, params in ((State.GREETED, {}), (State.OPEN, {"_meta": META})):
        connection = connected(state)
        call = connection.receive(said("tools/list", params))
        assert isinstance(call, ToolCall)
        answer = result(connection.answer(call, {"tools": [], "_meta": {"mine": 1}}))
        if state is State.GREETED:
            assert answer == {"tools": [], "_meta": {"mine": 1}}
        else:
            assert (answer["ttlMs"], answer["cacheScope"], answer["resultType"]) == (
                1000,
                "public",
                "complete",
            )
            assert answer["_meta"]["mine"] == 1
            assert eras.SERVER_META in answer["_meta"]


def test_the_client_is_known_by_the_handshake_or_by_the_request() -> None:
    call = connected(State.GREETED).receive(said("tools/list"))
    assert isinstance(call, ToolCall)
    assert (call.client, call.version) == ("somebody", "2025-11-25")
    for client, name in (({eras.CLIENT_META: CLIENT}, "somebody"), ({}, None)):
        call = Connection(CARD).receive(said("tools/list", {"_meta": {**META, **client}}))
        assert isinstance(call, ToolCall)
        assert (call.client, call.version) == (name, STATELESS)


BAD = [
    ("tools/call", {}),
    ("tools/call", {"name": 3}),
    ("tools/call", {"name": "a", "arguments": []}),
    ("tools/call", {"name": "a", "arguments": "b"}),
    ("tools/list", {"cursor": 1}),
    ("resources/read", {}),
    ("resources/read", {"uri": None}),
    ("logging/setLevel", {"level": "loud"}),
    ("logging/setLevel", {}),
    ("tools/list", {"_meta": 3}),
    ("initialize", {}),
    ("initialize", {**HELLO, "clientInfo": {"name": "a"}}),
    ("initialize", {**HELLO, "protocolVersion": 3}),
]


@each(("method", "params"), BAD)
def test_wrong_parameters_are_named(method: str, params: dict[str, Any]) -> None:
    connection = connected(State.GREETED)
    event = connection.receive(said(method, params))
    assert failure(event) == eras.INVALID_PARAMS
    assert connection.state is State.GREETED


@each(
    ("meta", "code"),
    [
        ({eras.VERSION_META: STATELESS}, eras.INVALID_PARAMS),
        ({eras.VERSION_META: 3, eras.CAPABILITIES_META: {}}, eras.INVALID_PARAMS),
        ({**META, eras.CAPABILITIES_META: 3}, eras.INVALID_PARAMS),
        ({**META, eras.CLIENT_META: {"name": "a"}}, eras.INVALID_PARAMS),
        ({**META, eras.CLIENT_META: "a"}, eras.INVALID_PARAMS),
        ({**META, eras.LEVEL_META: "loud"}, eras.INVALID_PARAMS),
        ({**META, eras.VERSION_META: "2099-01-01"}, eras.UNSUPPORTED_VERSION),
        ({**META, eras.VERSION_META: "2025-11-25"}, eras.UNSUPPORTED_VERSION),
    ],
)
@each("method", ["tools/list", "server/discover"])
def test_a_request_that_says_wrong_things_of_itself_decides_nothing(
    method: str, meta: dict[str, Any], code: int
) -> None:
    connection = Connection(CARD)
    assert failure(connection.receive(said(method, {"_meta": meta}))) == code
    assert connection.state is State.OPEN
    result(connection.receive(OF_KIND[MethodKind.INITIALIZE]))


@pytest.mark.parametrize("state", State)
def test_an_unknown_method_is_not_found_in_any_state(state: State) -> None:
    meta = {"_meta": META} if state is State.STATELESS else {}
    of_the_other_era = "ping" if state is State.STATELESS else "server/discover"
    for method in ("no/such", "prompts/list", "resources/templates/list", of_the_other_era):
        assert failure(connected(state).receive(said(method, meta))) == eras.METHOD_NOT_FOUND


def test_initialize_on_a_stateless_connection_is_told_what_is_spoken() -> None:
    event = connected(State.STATELESS).receive(OF_KIND[MethodKind.INITIALIZE])
    assert isinstance(event, Answer)
    assert event.failure is not None
    assert event.failure.code == eras.UNSUPPORTED_VERSION
    assert event.failure.data == {"supported": [STATELESS], "requested": "2025-11-25"}


def test_a_session_over_http_never_becomes_stateless() -> None:
    connection = Connection(CARD, both=False)
    result(connection.receive(OF_KIND[MethodKind.INITIALIZE]))
    call = connection.receive(OF_KIND[MethodKind.ENVELOPED])
    assert isinstance(call, ToolCall)
    assert (call.version, connection.state) == ("2025-11-25", State.HANDSHAKE)


def test_a_request_of_2026_over_http_knows_no_initialize() -> None:
    for params, code in (({**HELLO, "_meta": META}, eras.METHOD_NOT_FOUND), (HELLO, eras.INVALID_PARAMS)):
        connection = Connection(CARD, state=State.STATELESS, both=False)
        assert failure(connection.receive(said("initialize", params))) == code


# --- calls ---------------------------------------------------------------------------------------


def begun(connection: Connection, request_id: object = 1, **meta: object) -> ToolCall:
    call = connection.receive(said("tools/call", {"name": "a", "_meta": meta}, request_id))
    assert isinstance(call, ToolCall), call
    return call


@pytest.mark.parametrize("named", [7, "7"])
def test_a_cancelled_call_is_not_answered(named: object) -> None:
    connection = connected(State.HANDSHAKE)
    call = begun(connection, 7, progressToken="t")
    assert connection.receive(told("notifications/cancelled", {"requestId": named})) == CallCancelled(call)
    assert call.cancelled
    assert connection.answer(call, {}) is None
    assert connection.progress(call, 1, None, "") is None
    assert connection.running == []
    assert connection.receive(told("notifications/cancelled", {"requestId": named})) is None


@pytest.mark.parametrize("params", [None, {}, {"requestId": None}, {"requestId": [7]}, {"requestId": True}])
def test_a_cancellation_of_nothing_is_nothing(params: Any) -> None:
    connection = connected(State.HANDSHAKE)
    call = begun(connection)
    assert connection.receive(told("notifications/cancelled", params)) is None
    assert connection.running == [call]


def test_an_id_that_is_in_use_is_refused_and_the_first_call_goes_on() -> None:
    connection = connected(State.HANDSHAKE)
    call = begun(connection, "a")
    assert failure(connection.receive(said("tools/call", {"name": "b"}, "a"))) == eras.INVALID_REQUEST
    assert result(connection.answer(call, {"content": []})) == {"content": []}
    begun(connection, "a")


def test_progress_is_for_whoever_wants_it() -> None:
    connection = connected(State.HANDSHAKE)
    assert connection.progress(begun(connection, 1), 1, 2, "") is None
    for number, odd in enumerate((None, True, [1], "\ud800"), 100):
        assert connection.progress(begun(connection, number, progressToken=odd), 1, 2, "") is None
    for token in (0, "", "t"):
        sent = connection.progress(begun(connection, f"id {token}", progressToken=token), 1, 2, "bytes")
        assert sent is not None
        assert json.loads(sent)["params"] == {
            "progressToken": token,
            "progress": 1,
            "total": 2,
            "message": "bytes",
        }


@each("asked", eras.LEVELS)
def test_log_messages_have_the_level_that_was_asked_for(asked: str) -> None:
    handshake = connected(State.GREETED)
    assert result(handshake.receive(said("logging/setLevel", {"level": asked}))) == {}
    stateless = Connection(CARD)
    for connection, meta in ((handshake, {}), (stateless, {**META, eras.LEVEL_META: asked})):
        call = begun(connection, 2, **meta)
        for level in eras.LEVELS:
            sent = connection.log(call, level, "it failed")
            assert (sent is not None) == (eras.LEVELS.index(level) >= eras.LEVELS.index(asked))
            if sent is not None:
                assert json.loads(sent)["params"] == {"level": level, "logger": "shelf", "data": "it failed"}


def test_without_a_level_there_are_no_log_messages() -> None:
    for connection, meta in ((connected(State.GREETED), {}), (Connection(CARD), META)):
        assert connection.log(begun(connection, 1, **meta), "emergency", "it failed") is None


def test_a_notification_of_ours_is_heard_once_something_was_agreed_on() -> None:
    moved = told("notifications/shelf/moved", {"_meta": {"a": 1}})
    assert Connection(CARD).receive(moved) is None
    assert connected(State.GREETED).receive(moved) == Notice(
        "notifications/shelf/moved", "somebody", {"a": 1}
    )
    assert isinstance(connected(State.STATELESS).receive(moved), Notice)
    for other in ("notifications/initialized", "notifications/roots/list_changed", "no/such"):
        assert connected(State.GREETED).receive(told(other)) is None


# --- sequences that nobody thought of ------------------------------------------------------------

_ids = st.sampled_from([1, 2, "1", "a"])
_params = st.sampled_from(
    [None, {}, HELLO, {"_meta": META}, {"name": "a"}, {"name": "a", "_meta": META}, {"level": "info"}]
)
_methods = st.sampled_from(
    ["initialize", "server/discover", "ping", "tools/list", "tools/call", "logging/setLevel", "no/such"]
)


class Sequences(RuleBasedStateMachine):
    """Any messages in any order: each request has one answer or none after a cancellation."""

    def __init__(self) -> None:
        super().__init__()
        self.connection = Connection(CARD)
        self.open: list[ToolCall] = []

    @rule(method=_methods, params=_params, request_id=_ids)
    def asks(self, method: str, params: Any, request_id: object) -> None:
        before = self.connection.state
        event = self.connection.receive(said(method, params, request_id))
        if isinstance(event, ToolCall):
            assert event.id == request_id
            self.open.append(event)
        else:
            assert isinstance(event, Answer)
            assert event.id == request_id
            json.loads(encode(event))
        decided = (State.HANDSHAKE, State.STATELESS)
        assert before not in decided or self.connection.state is before

    @rule(method=_methods, params=_params)
    def tells(self, method: str, params: Any) -> None:
        assert self.connection.receive(told(method, params)) is None

    @rule(request_id=_ids)
    def cancels(self, request_id: object) -> None:
        event = self.connection.receive(told("notifications/cancelled", {"requestId": request_id}))
        if event is not None:
            assert isinstance(event, CallCancelled)
            self.open.remove(event.call)

    @rule(at=st.integers(0, 3), fails=st.booleans())
    def is_done(self, at: int, fails: bool) -> None:
        if at < len(self.open):
            call = self.open.pop(at)
            done = self.connection.refuse(call, -1, "no") if fails else self.connection.answer(call, {})
            assert done is not None
            assert done.id == call.id

    @rule(data=st.binary(max_size=40))
    def garbles(self, data: bytes) -> None:
        assert not isinstance(self.connection.receive(data), ToolCall)

    @invariant()
    def knows_what_runs(self) -> None:
        assert {id(call) for call in self.connection.running} == {id(call) for call in self.open}


TestSequences = Sequences.TestCase


@given(st.lists(st.tuples(_methods, _params, _ids), max_size=8))
def test_the_same_bytes_say_the_same_twice(asked: list[tuple[str, Any, object]]) -> None:
    first, second = Connection(CARD), Connection(CARD)
    for method, params, request_id in asked:
        data = said(method, params, request_id)
        one, other = first.receive(data), second.receive(data)
        assert type(one) is type(other)
        assert first.state is second.state
