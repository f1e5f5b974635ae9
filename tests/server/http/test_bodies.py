"""Bodies of requests are bounded in what all of them hold together, and nobody takes the room of others."""

from __future__ import annotations

import asyncio
import json
import select
import socket
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message

from readroom.core.errors import BodyTooLarge, ReadroomError
from readroom.core.limits import MCP_MESSAGE_BYTES, MCP_WORKERS
from readroom.mcp.calls import share
from readroom.server.http.bodies import SERVE_CALLER_BODIES_BYTES, Bodies
from tests.server.http.serving import END_S, Agent, agent

SMALL, OWN, ALL = 4, 10, 25


class Coming:
    """A body in pieces, and what is said of it."""

    def __init__(self, bodies: Bodies, pieces: Sequence[int], caller: str) -> None:
        self.codes: list[str] = []
        self._pieces = list(pieces)
        self.body = bodies.begun(b"0", self._receive, self._refuse, caller)

    async def _receive(self) -> Message:
        size = self._pieces.pop(0)
        return {"type": "http.request", "body": b"x" * size, "more_body": bool(self._pieces)}

    async def _refuse(self, error: ReadroomError) -> None:
        self.codes.append(error.code)


def test_what_does_not_fit_is_refused_and_what_ends_makes_room() -> None:
    async def run() -> None:
        bodies = Bodies(small=SMALL, own=OWN, total=ALL)
        first = Coming(bodies, [SMALL + OWN, 1], "a").body
        assert (await first.receive())["type"] == "http.request"
        second = Coming(bodies, [SMALL, 1], "a")
        assert (await second.body.receive())["type"] == "http.request"
        assert (await second.body.receive())["type"] == "http.disconnect"
        assert second.codes == ["busy"]
        second.body.free()
        other = Coming(bodies, [SMALL + OWN], "b").body
        assert (await other.receive())["type"] == "http.request"
        other.free()
        first.free()
        again = Coming(bodies, [SMALL + OWN], "a").body
        assert (await again.receive())["type"] == "http.request"

    asyncio.run(run())


_bodies = st.lists(st.tuples(st.sampled_from("abc"), st.lists(st.integers(0, 9), max_size=6)), max_size=12)


@given(_bodies, st.lists(st.integers(0, 11), max_size=60))
def test_no_bound_is_ever_passed_and_a_small_body_always_fits(
    coming: list[tuple[str, list[int]]], order: list[int]
) -> None:
    bodies = Bodies(small=SMALL, own=OWN, total=ALL)
    sizes = [0] * len(coming)
    left = [list(pieces) for _, pieces in coming]
    for number in order:
        if number >= len(coming) or not left[number]:
            continue
        caller, more = coming[number][0], left[number].pop(0)
        taken = bodies.take(caller, sizes[number], sizes[number] + more)
        assert taken or sizes[number] + more > SMALL
        if taken:
            sizes[number] += more
        else:
            bodies.free(caller, sizes[number])
            sizes[number], left[number] = 0, []
        held = dict.fromkeys("abc", 0)
        for (name, _), size in zip(coming, sizes, strict=True):
            held[name] += max(0, size - SMALL)
        assert max(held.values()) <= OWN
        assert sum(held.values()) <= ALL
    for (name, _), size in zip(coming, sizes, strict=True):
        bodies.free(name, size)
    assert all(bodies.take(name, 0, SMALL + OWN // 2) for name in "abc")


def test_a_body_of_a_length_that_is_too_large_is_refused_before_it_comes() -> None:
    with pytest.raises(BodyTooLarge):
        Bodies().begun(b"%d" % (MCP_MESSAGE_BYTES + 1), lambda: None, lambda _: None, "a")  # type: ignore[arg-type, return-value]


def test_a_token_that_sends_bodies_without_end_takes_no_room_from_others(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root/a.txt").write_text("hello\n", encoding="utf-8")
    with agent(tmp_path / "state", str(tmp_path / "root")) as found, ExitStack() as stack:
        rogue, other = found.make_token("rogue"), found.make_token("other")
        head = f"Host: localhost\r\nAuthorization: Bearer {rogue}\r\nContent-Type: application/json\r\n"
        begun = f"POST /v1/native/read_file HTTP/1.1\r\n{head}Content-Length: {MCP_MESSAGE_BYTES}\r\n\r\n"
        lines = []
        for _ in range(SERVE_CALLER_BODIES_BYTES // MCP_MESSAGE_BYTES + 1):
            line = stack.enter_context(closing(socket.create_connection((found.host, found.port), END_S)))
            lines.append(line)
            with suppress(OSError):  # it was refused, and what it still sent was not waited for
                line.sendall(begun.encode() + b" " * (MCP_MESSAGE_BYTES - 1))
        ended, _, _ = select.select(lines, [], [], END_S)
        for line in ended:
            with suppress(ConnectionResetError):
                assert line.recv(12) == b"HTTP/1.1 503"
        assert ended
        for token in (rogue, other):
            assert found.call("read_file", {"path": "a.txt"}, token=token).status == 200
        written = {"path": "b.txt", "content": "x" * 10**6, "expected_hash": "absent"}
        assert found.call("write_file", written, token=other).status == 200


def test_bodies_of_calls_that_were_cancelled_while_they_waited_are_counted(tmp_path: Path) -> None:
    """Who calls and cancels, again and again, fills no memory with what its calls brought."""
    root = tmp_path / "root"
    root.mkdir()
    with agent(tmp_path / "state", str(root), "--allow-commands") as found, ExitStack() as stack:
        rogue, other = found.make_token("rogue"), found.make_token("other")
        session = _session(found, rogue)
        slow = {"name": "run_command", "arguments": {"command": "sleep 5000"}}
        for number in range(share(MCP_WORKERS)):
            line = stack.enter_context(closing(found.connect()))
            line.request("POST", "/mcp", _message(slow, f"slow {number}"), session)
        content = "x" * (SERVE_CALLER_BODIES_BYTES // 4 - 4096)
        write = {
            "name": "write_file",
            "arguments": {"path": "a", "content": content, "expected_hash": "absent"},
        }
        for number in range(4):
            line = stack.enter_context(closing(found.connect()))
            line.request("POST", "/mcp", _message(write, number), session)
            while not select.select([line.sock], [], [], 0.05)[0]:
                cancels = {"method": "notifications/cancelled", "params": {"requestId": number}}
                told = json.dumps({"jsonrpc": "2.0", **cancels}).encode()
                assert found.request("POST", "/mcp", told, headers=session).status == 202
            assert line.getresponse().status == 200
        line = stack.enter_context(closing(found.connect()))
        with suppress(OSError):  # it is refused, and what it still sends is not waited for
            line.request("POST", "/mcp", _message(write, 4), session)
        assert line.getresponse().status == 503
        assert found.call("list_directory", {}, token=other).status == 200


def _session(found: Agent, token: str) -> dict[str, str]:
    """The headers of a session that is open."""
    named = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    opens = {"jsonrpc": "2.0", "id": "first", "method": "initialize", "params": about}
    opened = found.request("POST", "/mcp", json.dumps(opens).encode(), headers=named)
    assert opened.status == 200
    return {**named, "Mcp-Session-Id": opened.headers["mcp-session-id"]}


def _message(call: object, number: int | str) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}).encode()
