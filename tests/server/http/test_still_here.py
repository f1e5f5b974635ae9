"""An answer over MCP that takes long keeps its connection alive, and comes whole whenever it comes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from readroom.mcp.protocol import headers
from readroom.mcp.protocol.messages import Answer, encode
from readroom.server.http.event_streams import Reply

ANSWER = Answer(1, {"content": []})


async def turn() -> None:
    """Let everything else in the event loop go on by one step."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    loop.call_soon(future.set_result, None)
    await future


class Client:
    """Takes what is sent, as the server behind the application does."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.comments = asyncio.Semaphore(0)

    async def send(self, message: Any) -> None:
        await turn()  # as one that has to wait for the client
        self.sent.append(message)
        if message.get("body") == headers.STILL_HERE:
            self.comments.release()

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)


async def answered(comments: int) -> Client:
    """What a client receives whose answer is made after so many signs of life."""
    client = Client()
    reply = Reply(client.send, still_s=0.001 if comments else 60.0)
    with reply.still_here():
        for _ in range(comments):
            await client.comments.acquire()
    await reply.answer(ANSWER, 200)
    for _ in range(10):  # what was begun comes to its end
        await turn()
    return client


@pytest.mark.parametrize("comments", [1, 2, 7])
def test_a_long_answer_is_a_stream_of_signs_of_life_and_then_the_answer(comments: int) -> None:
    client = asyncio.run(answered(comments))
    starts = [message for message in client.sent if message["type"] == "http.response.start"]
    assert [start["status"] for start in starts] == [200]
    assert (b"content-type", headers.EVENTS.encode()) in starts[0]["headers"]
    told, _, answer = client.body.rpartition(headers.STILL_HERE)
    assert told.count(headers.STILL_HERE) >= comments - 1
    assert answer == headers.event(encode(ANSWER))
    assert [message.get("more_body", False) for message in client.sent[1:]][-1] is False


def test_a_short_answer_is_json() -> None:
    client = asyncio.run(answered(0))
    assert client.body == encode(ANSWER)
    assert (b"content-type", headers.JSON.encode()) in client.sent[0]["headers"]


def test_nothing_comes_behind_an_answer() -> None:
    async def race() -> Client:
        client = Client()
        reply = Reply(client.send, still_s=0.0)
        with reply.still_here():
            await turn()  # the sign of life is begun, and not yet sent
        await reply.answer(ANSWER, 200)
        for _ in range(10):
            await turn()
        return client

    client = asyncio.run(race())
    assert [message["type"] for message in client.sent].count("http.response.start") == 1
    assert client.body.endswith((encode(ANSWER), headers.event(encode(ANSWER))))
