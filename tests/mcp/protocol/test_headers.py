"""What Streamable HTTP adds: headers that repeat the body, statuses, and frames of a stream."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.mcp.protocol import eras, headers
from readroom.mcp.protocol.messages import Answer, Notification, Request, refusal
from tests.each import each

STATELESS = eras.STATELESS_VERSIONS[0]
META = {eras.VERSION_META: STATELESS, eras.CAPABILITIES_META: {}}
CALL = Request(1, "tools/call", {"name": "read_file", "_meta": META})
AGREEING = {"mcp-protocol-version": STATELESS, "mcp-method": "tools/call", "mcp-name": "read_file"}


def found(message: Request | Notification, given: dict[str, str], *more: str) -> int | None:
    answer = headers.contradiction(message, given, [*given, *more])
    if answer is None:
        return None
    assert answer.failure is not None
    return answer.failure.code


def test_headers_that_agree_are_fine() -> None:
    assert found(CALL, AGREEING) is None
    assert found(Request(1, "tools/list", {"_meta": META}), {**AGREEING, "mcp-method": "tools/list"}) is None


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("mcp-protocol-version", "2099-01-01"),
        ("mcp-method", "tools/list"),
        ("mcp-name", "write_file"),
        ("mcp-name", "=?base64?!!?="),
    ],
)
def test_a_header_that_says_something_else_is_refused(header: str, value: str) -> None:
    assert found(CALL, {**AGREEING, header: value}) == eras.HEADER_MISMATCH
    assert found(CALL, {name: kept for name, kept in AGREEING.items() if name != header}) == (
        eras.HEADER_MISMATCH
    )


@pytest.mark.parametrize("header", AGREEING)
def test_a_header_that_stands_there_twice_is_refused(header: str) -> None:
    assert found(CALL, AGREEING, header) == eras.HEADER_MISMATCH


def test_a_body_without_its_version_is_told_that_first() -> None:
    assert found(Request(1, "tools/list", {}), {}) is None


@given(st.text(st.characters(codec="utf-8"), max_size=300))
def test_a_version_that_no_era_has_is_what_is_refused_and_not_the_body(version: str) -> None:
    spoken = {*eras.HANDSHAKE_VERSIONS, *eras.STATELESS_VERSIONS}
    said = headers.unspoken(version)
    assert (said is None) == (version in spoken)
    if said is not None:
        answer = headers.contradiction(Request(1, "tools/list", {}), {"mcp-protocol-version": version}, [])
        assert answer is not None
        assert answer.failure is not None
        assert answer.failure.message == said
        assert all(one in said for one in spoken)
        assert len(said) < 1000


def test_a_notification_needs_a_version_that_is_spoken() -> None:
    assert found(Notification("notifications/cancelled"), AGREEING) is None
    odd = {"mcp-protocol-version": "2099-01-01"}
    assert found(Notification("notifications/cancelled"), odd) == eras.UNSUPPORTED_VERSION


@given(st.text(st.characters(codec="utf-8"), max_size=30))
def test_a_name_that_no_header_carries_travels_in_base64(name: str) -> None:
    coded = f"=?base64?{base64.b64encode(name.encode()).decode()}?="
    call = Request(1, "tools/call", {"name": name, "_meta": META})
    assert found(call, {**AGREEING, "mcp-name": coded}) is None


def test_there_is_one_spelling_of_a_name_in_base64() -> None:
    call = Request(1, "tools/call", {"name": "a", "_meta": META})
    assert found(call, {**AGREEING, "mcp-name": "=?base64?YQ==?="}) is None
    assert found(call, {**AGREEING, "mcp-name": "=?base64?YR==?="}) == eras.HEADER_MISMATCH


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (eras.PARSE_ERROR, 400),
        (eras.INVALID_PARAMS, 400),
        (eras.METHOD_NOT_FOUND, 404),
        (eras.UNSUPPORTED_VERSION, 400),
        (eras.INTERNAL_ERROR, 200),
    ],
)
def test_the_status_of_a_failure(code: int, status: int) -> None:
    assert headers.status(refusal(1, code, "no")) == status
    assert headers.status(Answer(1, {})) == 200


@each(
    ("accept", "takes"),
    [
        ("application/json, text/event-stream", (True, True)),
        ("Application/JSON;q=1 ,TEXT/event-stream;q=0.5", (True, True)),
        ("*/*", (True, True)),
        ("application/*", (True, False)),
        ("text/*", (False, True)),
        ("text/html", (False, False)),
        ("", (False, False)),
    ],
)
def test_what_a_client_takes(accept: str, takes: tuple[bool, bool]) -> None:
    assert headers.accepted(accept) == takes


def test_a_version_that_nobody_knows_is_not_one_with_a_handshake() -> None:
    assert [headers.is_stateless(one) for one in (None, "2025-11-25", STATELESS, "2099-01-01")] == [
        False,
        False,
        True,
        True,
    ]


def test_an_event_is_a_message_and_its_end() -> None:
    assert headers.event(b'{"a":1}') == b'event: message\r\ndata: {"a":1}\r\n\r\n'
