"""A flood of connections that never ask for anything keeps nobody out who has a token."""

from __future__ import annotations

import json
import resource
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.mcp.calls import share
from readroom.server.http.connections import SERVE_ADDRESS_STRANGERS, SERVE_STRANGERS, Crowd
from tests.each import each
from tests.server.http.serving import Agent, agent

MANY = 1100
HALF = b"POST /v1/native/read_file HTTP/1.1\r\nHost: loc"
LINGERS = b"POST /v1/native/read_file HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"
"""Refused at once; what it says of a body is waited for."""


@pytest.fixture(scope="module", autouse=True)
def many_descriptors() -> Iterator[None]:
    """Room for the sockets of a flood, whatever the account is given to begin with."""
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most if most < 8192 else max(before, 8192), most))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Agent, str]]:
    root, state = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("state")
    (root / "a.txt").write_text("hello\n", encoding="utf-8")
    with agent(state, str(root)) as found:
        yield found, found.make_token("bot")


def flood(found: Agent, stack: ExitStack, sources: list[str], sent: bytes, many: int = MANY) -> None:
    """Connections that stay, each with a beginning of a request."""
    for number in range(many):
        source = (sources[number % len(sources)], 0)
        line = stack.enter_context(closing(socket.create_connection((found.host, found.port), 60, source)))
        with suppress(BrokenPipeError, ConnectionResetError):  # it has made way already
            line.sendall(sent)


@each(
    "sources",
    [["127.0.0.2"], ["127.0.0.1"], [f"127.0.1.{number}" for number in range(1, 200)]],
    ids=["another address", "the same address", "many addresses"],
)
@each("sent", [b"", HALF, LINGERS], ids=["silent", "half", "lingering"])
def test_who_has_a_token_is_served_meanwhile(
    served: tuple[Agent, str], sources: list[str], sent: bytes
) -> None:
    found, token = served
    with ExitStack() as stack:
        kept = stack.enter_context(closing(found.connect()))
        _read(kept, token)
        flood(found, stack, sources, sent, 300 if sent is LINGERS else MANY)
        _read(kept, token)  # that of a client that came before
        for _ in range(20):
            answer = found.call("read_file", {"path": "a.txt"}, token=token)
            assert answer.status == 200, answer.body
        assert found.call("read_file", {"path": "a.txt"}).status in (401, 429)  # who has none is told so


def _read(connection: HTTPConnection, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", "/v1/native/read_file", json.dumps({"path": "a.txt"}), headers)
    response = connection.getresponse()
    assert (response.status, b"hello" in response.read()) == (200, True)


def test_a_flood_does_not_end_what_others_have_begun(served: tuple[Agent, str], tmp_path: Path) -> None:
    """An address that uses up its own share only ends its own connections."""
    found, token = served
    with ExitStack() as stack:
        other = stack.enter_context(closing(socket.create_connection((found.host, found.port), 60)))
        other.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        flood(found, stack, ["127.0.0.2"], HALF, 2 * SERVE_ADDRESS_STRANGERS)
        other.sendall(f"Authorization: Bearer {token}\r\nConnection: close\r\n\r\n".encode())
        assert b"".join(iter(lambda: other.recv(4096), b"")).startswith(b"HTTP/1.1 200 ")


def test_a_pool_that_connects_before_it_sends_anything_is_served_whole(served: tuple[Agent, str]) -> None:
    """Load tests do so, and the pools of programs that have just started."""
    found, token = served
    body = b'{"path": "a.txt"}'
    head = f"Host: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
    asked = f"POST /v1/native/read_file HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    with ExitStack() as stack:
        place = (found.host, found.port)
        pool = [stack.enter_context(closing(socket.create_connection(place, 60))) for _ in range(256)]
        for line in pool:
            line.sendall(asked)
        assert {line.recv(12) for line in pool} == {b"HTTP/1.1 200"}


class Guest:
    """A connection as the crowd sees it."""

    def __init__(self, address: str, *, idle: bool = True) -> None:
        self.address = address
        self.idle = idle


def test_the_oldest_idle_one_of_the_address_goes_first() -> None:
    crowd = Crowd(share=3, strangers=100, guests=100)
    answered, first, second, third = Guest("a", idle=False), Guest("a"), Guest("a"), Guest("a")
    assert [crowd.came(one) for one in (answered, first, second)] == [None] * 3
    assert crowd.came(Guest("b")) is None
    assert crowd.came(third) is first
    assert crowd.let_in(second, "t")
    assert crowd.came(Guest("a")) is None  # who was let in counts no longer


def test_where_all_are_busy_the_oldest_goes() -> None:
    crowd = Crowd(share=2, strangers=100, guests=100)
    busy = [Guest("a", idle=False) for _ in range(3)]
    assert [crowd.came(one) for one in busy] == [None, None, busy[0]]


def test_of_many_addresses_the_one_with_most_gives_way() -> None:
    crowd = Crowd(share=10, strangers=4, guests=100)
    few, many = Guest("a"), [Guest("b") for _ in range(3)]
    assert [crowd.came(one) for one in (few, *many)] == [None] * 4
    assert crowd.came(Guest("c")) is many[0]


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["came", "let in", "went"])), max_size=200))
def test_no_number_is_ever_passed_and_nobody_gives_way_for_another_address_with_less(
    steps: list[tuple[int, str]],
) -> None:
    crowd = Crowd(share=3, strangers=7, guests=4)
    strangers: list[Guest] = []
    guests: list[Guest] = []
    for number, what in steps:
        if what == "came":
            one = Guest(str(number))
            gone = crowd.came(one)
            if gone is not None:
                assert isinstance(gone, Guest)
                counts = [other.address for other in strangers]
                assert (
                    counts.count(gone.address) == max(map(counts.count, counts))
                    or gone.address == one.address
                )
                strangers.remove(gone)
            strangers.append(one)
        elif what == "let in" and strangers:
            one = strangers[number % len(strangers)]
            assert crowd.let_in(one, "") is (len(guests) < 4)
            if len(guests) < 4:
                strangers.remove(one)
                guests.append(one)
        elif what == "went" and strangers + guests:
            one = (strangers + guests)[number % len(strangers + guests)]
            crowd.went(one)
            (strangers if one in strangers else guests).remove(one)
        addresses = [other.address for other in strangers]
        assert len(strangers) <= 7
        assert all(addresses.count(address) <= 3 for address in addresses)


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["a", "b", "c", "gone"])), max_size=80))
def test_no_token_has_all_places_whoever_uses_a_connection_next(steps: list[tuple[int, str]]) -> None:
    crowd = Crowd(share=100, strangers=100, guests=8)
    lines = [Guest(str(number)) for number in range(10)]
    for line in lines:
        crowd.came(line)
    held: dict[int, str] = {}
    for number, token in steps:
        if token == "gone":
            crowd.went(lines[number])
            held.pop(number, None)
            continue
        others = list(held.values())
        fits = held.get(number) == token or (
            (number in held or len(held) < 8) and others.count(token) < share(8)
        )
        assert crowd.let_in(lines[number], token) is fits
        if fits:
            held[number] = token
    assert max([0, *Counter(held.values()).values()]) <= share(8)


def test_the_share_leaves_room_for_other_addresses() -> None:
    assert 2 <= SERVE_ADDRESS_STRANGERS < SERVE_STRANGERS
