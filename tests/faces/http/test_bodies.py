"""Bodies of requests are bounded in what all of them hold together, and nobody takes the room of others."""

from __future__ import annotations

import asyncio
import select
import socket
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message, Scope

from readroom.errors import BodyTooLarge, ReadroomError
from readroom.faces.http.bodies import Bodies
from readroom.limits import MCP_MESSAGE_BYTES
from readroom.limits.session import SERVE_CALLER_BODIES_BYTES
from tests.faces.http.serving import END_S, agent

SMALL, OWN, ALL = 4, 10, 25
SCOPE: Scope = {"headers": []}


class Coming:
    """A body in pieces, and what is said of it."""

    def __init__(self, bodies: Bodies, pieces: Sequence[int], caller: str) -> None:
        self.codes: list[str] = []
        self._pieces = list(pieces)
        self.body = bodies.begun(SCOPE, self._receive, self._refuse, caller)

    async def _receive(self) -> Message:
        size = self._pieces.pop(0)
        return {"type": "http.request", "body": b"x" * size, "more_body": bool(self._pieces)}

    async def _refuse(self, error: ReadroomError) -> None:
        self.codes.append(error.code)


def test_what_does_not_fit_is_refused_and_what_ends_makes_room() -> None:
    async def run() -> None:
        bodies = Bodies(small=SMALL, own=OWN, total=ALL)
        with Coming(bodies, [SMALL + OWN, 1], "a").body as first:
            assert (await first.receive())["type"] == "http.request"
            second = Coming(bodies, [SMALL, 1], "a")
            with second.body:
                assert (await second.body.receive())["type"] == "http.request"
                assert (await second.body.receive())["type"] == "http.disconnect"
                assert second.codes == ["busy"]
            with Coming(bodies, [SMALL + OWN], "b").body as other:
                assert (await other.receive())["type"] == "http.request"
        with Coming(bodies, [SMALL + OWN], "a").body as again:
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
    scope: Scope = {"headers": [(b"content-length", str(MCP_MESSAGE_BYTES + 1).encode())]}
    with pytest.raises(BodyTooLarge):
        Bodies().begun(scope, lambda: None, lambda _: None, "a")  # type: ignore[arg-type, return-value]


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
