"""Lines that are and are not messages: each gets an answer that names its request where that is possible."""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.faces.mcp import wire
from readroom.limits import MCP_MESSAGE_BYTES

GOOD = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def _refusal(line: bytes) -> types.JSONRPCError:
    found = wire.decode(line)
    assert isinstance(found, wire.Refusal), found
    return found.answer


def test_a_request_is_a_request() -> None:
    assert wire.decode(GOOD) == types.JSONRPCRequest(jsonrpc="2.0", id=1, method="ping")


def test_a_notification_has_no_id() -> None:
    assert isinstance(wire.decode(b'{"jsonrpc":"2.0","method":"x"}'), types.JSONRPCNotification)


@pytest.mark.parametrize("line", [b"hello", b"{", b"\xff\xfe\x00", b"[" * 100_000, b'{"id":1', b"\x00"])
def test_what_is_not_json_is_a_parse_error(line: bytes) -> None:
    answer = _refusal(line)
    assert (answer.id, answer.error.code) == (None, types.PARSE_ERROR)


@pytest.mark.parametrize(
    ("value", "request_id"),
    [
        ({"id": 7, "method": "ping"}, 7),
        ({"jsonrpc": "1.0", "id": "seven", "method": "ping"}, "seven"),
        ({"jsonrpc": "2.0", "id": 7, "method": 3}, 7),
        ({"jsonrpc": "2.0", "id": 7, "method": "ping", "params": [1]}, 7),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, None),
        ([json.loads(GOOD)], None),
        ("ping", None),
        (None, None),
    ],
)
def test_what_is_no_message_is_refused_with_its_id(value: Any, request_id: object) -> None:
    answer = _refusal(json.dumps(value).encode())
    assert (answer.id, answer.error.code) == (request_id, types.INVALID_REQUEST)


def test_a_line_over_the_limit_is_refused() -> None:
    line = b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * MCP_MESSAGE_BYTES + b'"}'
    assert str(f"{MCP_MESSAGE_BYTES:,}") in _refusal(line).error.message


def test_half_of_a_surrogate_pair_reaches_the_tool() -> None:
    found = wire.decode(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"path":"\\ud800"}}')
    assert isinstance(found, types.JSONRPCRequest)
    assert found.params == {"path": "\ud800"}


def test_bytes_that_are_not_utf8_reach_the_tool_as_replacement_characters() -> None:
    found = wire.decode(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"path":"a\xff"}}')
    assert isinstance(found, types.JSONRPCRequest)
    assert found.params == {"path": "a\ufffd"}


@given(st.binary())
def test_any_line_is_a_message_or_refused(line: bytes) -> None:
    found = wire.decode(line)
    if isinstance(found, wire.Refusal):
        assert json.loads(wire.encode(found.answer))["error"]["code"] < 0


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_messages = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | _values,
        "id": st.integers() | st.text(st.characters(), max_size=5) | _values,
        "method": st.just("tools/call") | _values,
        "params": _values,
        "result": _values,
        "error": _values,
    },
)


@given(_messages)
def test_whatever_looks_like_a_message_gets_an_answer_that_can_be_sent(value: dict[str, Any]) -> None:
    found = wire.decode(json.dumps(value).encode())
    if isinstance(found, wire.Refusal):
        answer = json.loads(wire.encode(found.answer))
        assert answer["id"] is None or answer["id"] == value["id"]


@pytest.mark.parametrize("text", ["", "é\u2028\x7f", "😀", "\x00\x1b"])
def test_an_answer_is_one_line(text: str) -> None:
    line = wire.encode(types.JSONRPCResponse(jsonrpc="2.0", id=1, result={"text": text}))
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert json.loads(line) == {"jsonrpc": "2.0", "id": 1, "result": {"text": text}}


def test_what_cannot_be_encoded_is_an_error_for_its_request(caplog: pytest.LogCaptureFixture) -> None:
    line = wire.encode(types.JSONRPCResponse(jsonrpc="2.0", id=9, result={"text": "\ud800"}))
    answer = json.loads(line)
    assert (answer["id"], answer["error"]["code"]) == (9, types.INTERNAL_ERROR)
