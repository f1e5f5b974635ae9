"""Writes of one turn of the event loop are sent as one, in order, and none is lost at an end."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from readroom.faces.http.protocol import JoinedWrites, Turn
from readroom.limits.session import SERVE_JOINED_BYTES


class Wire(asyncio.Transport):
    """What is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []
        self.over = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.over
        self.sent.append(bytes(data))

    def close(self) -> None:
        self.over = True

    def is_closing(self) -> bool:
        return self.over


async def turn() -> None:
    """Let what waits for the next turn of the loop be done."""
    loop = asyncio.get_running_loop()
    done = loop.create_future()
    loop.call_soon(done.set_result, None)
    await done


@given(st.lists(st.lists(st.binary(min_size=1, max_size=9), max_size=4), max_size=6), st.booleans())
def test_each_turn_is_sent_as_one(turns: list[list[bytes]], closes: bool) -> None:
    async def run() -> None:
        wire = Wire()
        joined = JoinedWrites(wire, Turn(asyncio.get_running_loop()))
        for pieces in turns:
            for piece in pieces:
                joined.write(piece)
            if closes and pieces is turns[-1]:
                joined.close()
            await turn()
        assert wire.sent == [b"".join(pieces) for pieces in turns if pieces]
        assert wire.over is (closes and bool(turns))

    asyncio.run(run())


def test_a_long_answer_does_not_wait_in_memory_for_the_end_of_the_turn() -> None:
    async def run() -> None:
        wire = Wire()
        joined = JoinedWrites(wire, Turn(asyncio.get_running_loop()))
        joined.write(b"head")
        joined.write(bytes(SERVE_JOINED_BYTES))
        assert [len(data) for data in wire.sent] == [4 + SERVE_JOINED_BYTES]
        joined.write(b"more")
        await turn()
        assert wire.sent[1:] == [b"more"]

    asyncio.run(run())


def test_what_was_written_to_a_connection_that_is_gone_is_dropped() -> None:
    async def run() -> None:
        wire = Wire()
        joined = JoinedWrites(wire, Turn(asyncio.get_running_loop()))
        joined.write(b"late")
        wire.over = True
        await turn()
        assert wire.sent == []

    asyncio.run(run())


def test_a_write_that_fails_takes_no_others_along() -> None:
    async def run() -> list[str]:
        done: list[str] = []

        def fails() -> None:
            raise ValueError

        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: done.append(type(context["exception"]).__name__))
        turn = Turn(loop)
        last = asyncio.Event()
        for work in (lambda: done.append("first"), fails, last.set):
            turn.behind(work)
        assert done == []
        await last.wait()
        return done

    assert asyncio.run(run()) == ["first", "ValueError"]
