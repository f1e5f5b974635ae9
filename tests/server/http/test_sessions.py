"""Sessions of MCP clients: whose they are, how many, and how long."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack

from readroom.core.limits import HTTP_SESSION_IDLE_S, HTTP_SESSIONS
from readroom.mcp.listing import card, methods
from readroom.mcp.protocol.connection import ToolCall
from readroom.server.http.conversations import Session, Sessions
from tests.mcp.protocol.test_connection import HELLO

CARD = card("t", "i", methods("native"), shared=False)
OWNER = ("token", "workspace")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def opened(sessions: Sessions) -> Session:
    session = sessions.made(OWNER)
    assert sessions.open(session)
    return session


def test_a_session_is_found_by_its_owner_alone() -> None:
    sessions = Sessions(CARD)
    session = opened(sessions)
    assert sessions.find(session.id, OWNER) is session
    for other in (("token", "other"), ("other", "workspace"), ("", "")):
        assert sessions.find(session.id, other) is None
    assert sessions.find("made up", OWNER) is None


def test_ids_cannot_be_guessed() -> None:
    sessions = Sessions(CARD)
    assert len({sessions.made(OWNER).id for _ in range(100)}) == 100
    assert all(len(sessions.made(OWNER).id) >= 32 for _ in range(10))


def test_an_idle_session_is_forgotten_and_a_busy_one_is_not() -> None:
    clock = Clock()
    sessions = Sessions(CARD, clock)
    idle, busy, fresh = opened(sessions), opened(sessions), opened(sessions)
    with sessions.using(busy):
        clock.now = HTTP_SESSION_IDLE_S
        with sessions.using(fresh):
            pass
        clock.now = HTTP_SESSION_IDLE_S + 1
        assert sessions.find(idle.id, OWNER) is None
        assert sessions.find(busy.id, OWNER) is busy
        assert sessions.find(fresh.id, OWNER) is fresh
    clock.now += HTTP_SESSION_IDLE_S
    assert sessions.find(busy.id, OWNER) is busy


def test_there_are_only_so_many_and_those_of_whoever_has_most_make_way() -> None:
    """Clients that open a session for each call and end none keep nobody out."""
    clock = Clock()
    sessions = Sessions(CARD, clock)
    other = sessions.made(("other", "workspace"))
    assert sessions.open(other)
    mine = []
    for number in range(HTTP_SESSIONS):
        clock.now = float(number)
        mine.append(opened(sessions))
    assert sessions.find(mine[0].id, OWNER) is None
    with sessions.using(mine[1]):  # it is in use now, and the next one is the oldest
        another = sessions.made(("other", "second"))
        assert sessions.open(another)
    assert [sessions.find(session.id, OWNER) for session in mine[1:4]] == [mine[1], None, mine[3]]
    for session in (other, another):
        assert sessions.find(session.id, session.owner) is session


def test_a_session_that_is_in_use_makes_way_for_nobody() -> None:
    sessions = Sessions(CARD)
    with ExitStack() as stack:
        for _ in range(HTTP_SESSIONS):
            stack.enter_context(sessions.using(opened(sessions)))
        assert not sessions.open(sessions.made(("other", "workspace")))


def _call(session: Session) -> ToolCall:
    for method, params in (("initialize", HELLO), ("tools/list", {})):
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        event = session.connection.receive(json.dumps(message).encode())
    assert isinstance(event, ToolCall)
    return event


async def _never() -> None:
    await asyncio.Event().wait()


def test_the_end_of_a_session_ends_its_calls() -> None:
    async def run() -> bool:
        sessions = Sessions(CARD)
        session = opened(sessions)
        task = asyncio.create_task(_never())
        session.tasks[_call(session)] = task
        sessions.close(session)
        await asyncio.wait({task})
        assert sessions.find(session.id, OWNER) is None
        return task.cancelled()

    assert asyncio.run(run())
