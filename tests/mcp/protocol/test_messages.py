"""Bytes that are and are not messages: each gets an answer that names its request where that is possible."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.mcp.protocol import eras
from readroom.mcp.protocol.messages import (
    Answer,
    Failure,
    Notification,
    Request,
    Unsolicited,
    decode,
    encode,
    notification,
    refusal,
)
from tests.each import each

MOST = 100_000
GOOD = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def _refused(data: bytes) -> tuple[object, int]:
    found = decode(data, MOST)
    assert isinstance(found, Answer), found
    assert found.failure is not None
    return found.id, found.failure.code


def test_a_request_is_a_request() -> None:
    assert decode(GOOD, MOST) == Request(1, "ping")
    assert decode(b'{"id":"a","params":{"b":[1]},"jsonrpc":"2.0","method":"m","more":1}', MOST) == Request(
        "a", "m", {"b": [1]}
    )


def test_a_notification_has_no_id() -> None:
    assert decode(b'{"jsonrpc":"2.0","method":"x"}', MOST) == Notification("x")


@pytest.mark.parametrize("more", ['"result":{}', '"result":null', '"error":{"code":1,"message":""}'])
def test_an_answer_of_the_client_is_not_asked_for(more: str) -> None:
    assert decode(b'{"jsonrpc":"2.0","id":1,' + more.encode() + b"}", MOST) == Unsolicited()


@each("data", [b"", b"hello", b"{", b"\xff\xfe\x00", b"[" * 90_000, b'{"id":1', b"\x00"])
def test_what_is_not_json_is_a_parse_error(data: bytes) -> None:
    assert _refused(data) == (None, eras.PARSE_ERROR)


@each(
    ("value", "request_id"),
    [
        ({"id": 7, "method": "ping"}, 7),
        ({"jsonrpc": "1.0", "id": "seven", "method": "ping"}, "seven"),
        ({"jsonrpc": "2.0", "id": 7, "method": 3}, 7),
        ({"jsonrpc": "2.0", "id": 7}, 7),
        ({"jsonrpc": "2.0", "id": 7, "method": "ping", "params": [1]}, 7),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": "\ud800", "method": 3}, None),
        ([json.loads(GOOD)], None),
        ([], None),
        ("ping", None),
        (None, None),
    ],
)
def test_what_is_not_a_message_is_refused_with_its_id(value: Any, request_id: object) -> None:
    assert _refused(json.dumps(value).encode()) == (request_id, eras.INVALID_REQUEST)


def test_every_beginning_of_a_message_and_what_follows_one_is_refused() -> None:
    """Bytes cut at every place, and a second message behind the first."""
    for cut in range(len(GOOD)):
        assert _refused(GOOD[:cut]) == (None, eras.PARSE_ERROR)
    assert _refused(GOOD + GOOD) == (None, eras.PARSE_ERROR)
    assert decode(b" \t" + GOOD + b" \r", MOST) == Request(1, "ping")


def test_a_message_over_the_limit_is_refused() -> None:
    longest = b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * (MOST - 36) + b'"}'
    assert isinstance(decode(longest, MOST), Request)
    found = decode(longest + b" ", MOST)
    assert isinstance(found, Answer)
    assert found.failure is not None
    assert f"{MOST:,}" in found.failure.message


def test_half_of_a_surrogate_pair_reaches_the_tool() -> None:
    data = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"path":"\\ud800"}}'
    assert decode(data, MOST) == Request(1, "tools/call", {"path": "\ud800"})


def test_bytes_that_are_not_utf8_reach_the_tool_as_replacement_characters() -> None:
    data = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"path":"a\xff"}}'
    assert decode(data, MOST) == Request(1, "tools/call", {"path": "a\ufffd"})


@given(st.binary())
def test_any_bytes_are_a_message_or_refused(data: bytes) -> None:
    found = decode(data, MOST)
    if isinstance(found, Answer):
        assert json.loads(encode(found))["error"]["code"] < 0


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
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
    found = decode(json.dumps(value).encode(), MOST)
    if isinstance(found, Answer):
        answer = json.loads(encode(found))
        assert answer["id"] is None or answer["id"] == value["id"]
    elif isinstance(found, Request):
        assert (found.id, found.method) == (value["id"], value["method"])


@pytest.mark.parametrize("text", ["", "é\u2028\x7f", "😀", "\x00\x1b\n"])
def test_an_answer_is_one_line(text: str) -> None:
    data = encode(Answer(1, {"text": text}))
    assert b"\n" not in data
    assert json.loads(data) == {"jsonrpc": "2.0", "id": 1, "result": {"text": text}}


def test_a_result_without_anything_is_a_result() -> None:
    assert json.loads(encode(Answer("a", {}))) == {"jsonrpc": "2.0", "id": "a", "result": {}}


def test_a_failure_says_no_more_than_there_is() -> None:
    answer = json.loads(encode(refusal(None, -1, "no")))
    assert answer == {"jsonrpc": "2.0", "id": None, "error": {"code": -1, "message": "no"}}
    assert json.loads(encode(Answer(1, failure=Failure(-1, "no", [2]))))["error"]["data"] == [2]


@pytest.mark.parametrize("odd", ["\ud800", object()])
def test_what_cannot_be_encoded_is_an_error_for_its_request(
    odd: object, caplog: pytest.LogCaptureFixture
) -> None:
    answer = json.loads(encode(Answer(9, {"text": odd})))
    assert (answer["id"], answer["error"]["code"]) == (9, eras.INTERNAL_ERROR)
    answer = json.loads(encode(Answer("\ud800", {})))
    assert (answer["id"], answer["error"]["code"]) == (None, eras.INTERNAL_ERROR)


def test_a_refusal_may_repeat_half_of_a_surrogate_pair(caplog: pytest.LogCaptureFixture) -> None:
    """Only its client can have sent it: that is nothing for the log, and says what was wrong."""
    answer = json.loads(encode(Answer(9, {"content": ["no tool \ud800"], "isError": True})))
    assert answer == {"jsonrpc": "2.0", "id": 9, "result": {"content": ["no tool ?"], "isError": True}}
    answer = json.loads(encode(refusal("a", -32601, "Method not found", "x\ud800")))
    assert answer["error"] == {"code": -32601, "message": "Method not found", "data": "x?"}
    assert caplog.records == []


def test_a_notification_is_one_line() -> None:
    data = notification("notifications/progress", {"progressToken": "a\n", "progress": 1})
    assert b"\n" not in data
    assert json.loads(data)["params"] == {"progressToken": "a\n", "progress": 1}
