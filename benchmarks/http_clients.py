"""Many HTTP clients in one process, which read, search and edit for a while.

`python -m benchmarks.http_clients PORT CLIENTS SECONDS KIND...` prints one JSON object:
the seconds of every answer by kind, what was not answered with 200, and how
often each file was edited.  Each client waits for an answer before it asks again, on a
connection that it keeps.  The protocol is written by hand, so that what is measured is
the server: a client's share of a request is some 100 µs.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

MODULES = 100
"""Files that are read and searched."""

EDITED_LINES = 200
PATTERNS = ("session", "ledger_select", r"def \w+_budget", r"cursor\[9\d\d\]", "nowhere")
KINDS = {"read": 70, "grep": 20, "edit": 10}
"""Of a hundred requests."""


def edited_name(client: int) -> str:
    """The file that only this client edits."""
    return f"edited_{client:02d}.txt"


def edited_text(count: int) -> str:
    """The file after that many edits."""
    return f"value {count}\n" + "a line that stays as it is\n" * EDITED_LINES


@dataclass(slots=True)
class Log:
    """What all clients have seen."""

    seconds: dict[str, list[float]]
    errors: Counter[str] = field(default_factory=Counter)
    edits: list[int] = field(default_factory=list)


class Client:
    """One client and its connection."""

    def __init__(self, number: int, log: Log) -> None:
        self._number = number
        self._weights = [KINDS[kind] for kind in log.seconds]
        self._log = log
        self._rng = random.Random(number)
        self._hash = f"sha256:{sha256(edited_text(0).encode()).hexdigest()}"

    async def work(self, port: int, ends: float) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < ends:
            (kind,) = self._rng.choices(list(self._log.seconds), self._weights)
            tool, arguments = self._request(kind)
            began = time.perf_counter()
            status, body = await self._ask(reader, writer, tool, arguments)
            self._log.seconds[kind].append(time.perf_counter() - began)
            if status != 200:
                self._log.errors[f"{kind}: {status}"] += 1
            elif kind == "edit":
                self._edited(json.loads(body))
        writer.close()

    def _request(self, kind: str) -> tuple[str, dict[str, Any]]:
        if kind == "read":
            return "read_file", {"path": f"module_{self._rng.randrange(MODULES):03d}.py"}
        if kind == "grep":
            return "grep_files", {"pattern": self._rng.choice(PATTERNS), "limit": 20}
        done = self._log.edits[self._number]
        edit = {"old_text": f"value {done}\n", "new_text": f"value {done + 1}\n"}
        return "edit_file", {
            "path": edited_name(self._number),
            "expected_hash": self._hash,
            "edits": [edit],
        }

    async def _ask(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, tool: str, arguments: dict[str, Any]
    ) -> tuple[int, bytes]:
        body = json.dumps(arguments).encode()
        writer.write(
            b"POST /v1/native/%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Readroom-Agent: client-%d\r\nContent-Length: %d\r\n\r\n%s"
            % (tool.encode(), self._number, len(body), body)
        )
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
        return int(head[9:12]), await reader.readexactly(length)

    def _edited(self, answer: Any) -> None:
        self._log.edits[self._number] += 1
        self._hash = answer["_meta"]["readroom/facts"]["content_hash"]


async def main(port: int, clients: int, seconds: float, kinds: Sequence[str]) -> None:
    log = Log({kind: [] for kind in kinds}, edits=[0] * clients)
    ends = time.perf_counter() + seconds
    await asyncio.gather(*(Client(number, log).work(port, ends) for number in range(clients)))
    print(json.dumps({"seconds": log.seconds, "errors": log.errors, "edits": log.edits}))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]))
