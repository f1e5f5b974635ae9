"""An endless stream of garbage costs its own share of memory only, and what comes after it is served."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

from readroom.mcp.protocol.connection import Connection
from readroom.mcp.protocol.messages import Answer, encode
from readroom.mcp.streams import Lines
from tests.mcp.protocol.test_connection import CARD, result, said
from tests.suites import daily

CHUNK = 16 * 1024
CHUNKS = 8

STREAMS = {
    "one line that never ends": b"x" * CHUNK,
    "lines that are not JSON": b"garbage\n" * (CHUNK // 8),
    "lines without anything": b"\n" * 1024,
    "lines over the limit": (b"y" * 20_000 + b"\n") * (CHUNK // 20_001),
    "nested without an end": b"[" * CHUNK,
    "cancellations of nothing": (
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n' * (CHUNK // 78)
    ),
    "requests that are refused": said("no/such") + b"\n",
}


def answers(connection: Connection, lines: Lines, data: bytes) -> Iterator[Answer]:
    for line in lines.feed(data):
        event = connection.receive(line)
        if isinstance(event, Answer):
            encode(event)
            yield event


@daily(2, "kind", STREAMS)
def test_memory_stays_level(kind: str) -> None:
    connection, lines = Connection(CARD), Lines(CARD.most)
    held = []
    tracemalloc.start()
    try:
        for _ in range(3):
            for _ in range(CHUNKS):
                for _ in answers(connection, lines, STREAMS[kind]):
                    pass
            held.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    # The first stretch fills what is kept once; a leak grows in the last one too.
    assert held[2] - held[1] < CHUNK
    (*_, last) = answers(connection, lines, b"\n" + said("ping") + b"\n")
    assert result(last) == {}
