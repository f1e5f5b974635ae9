"""Values that a database cannot hold are of the call that sends them: nobody else is touched.

Every text that reaches SQLite or PostgreSQL from a caller, through every face of a real server of several
processes: NUL, halves of surrogate pairs, names too long for an index, numbers beyond 64 bits.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import pytest

from tests.each import each
from tests.mcp.serving import call, client_meta, initialize, request
from tests.server.http.cluster import Cluster, cluster, database, emptied
from tests.server.http.serving import Agent, Answer, command
from tests.server.ledger.postgres import Server
from tests.suites import parts

pytestmark = pytest.mark.long

MCP = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
STATELESS = {**MCP, "MCP-Protocol-Version": "2026-07-28"}

DRAWN = random.Random(25)

UNSEEN = "".join(chr(DRAWN.randrange(0xE0001, 0xE0FFF)) for _ in range(180))
"""Every character takes 16 with its escapes, and nothing compresses them."""

TEXTS = (
    *("\0", "a\0b", "x\udfff", "\ude00\ud83d", "\udc80\udcff\u202eabc\u2028"),
    *(UNSEEN, "x" * 5000, "проект " * 40, "\n\r\t\x1b[31m"),
)
NUMBERS = (2**63, -(2**63) - 1, 2**200, -0.5)


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    with database() as found:
        yield found


@pytest.fixture(scope="module", params=["workers", "servers"])
def found(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, postgres: Server
) -> Iterator[Cluster]:
    """Two processes that share an SQLite file, and two servers that share a PostgreSQL; all of it counts."""
    url = emptied(postgres) if request.param == "servers" else None
    root = tmp_path_factory.mktemp("root")
    (root / "a.txt").write_text("hello there\n", encoding="utf-8")
    deep = root.joinpath(*("".join(DRAWN.choices("abcdefghij", k=200)) for _ in range(16)))
    deep.mkdir(parents=True)
    (deep / "deep.txt").write_text("far down\n", encoding="utf-8")
    settings = 'auth = "open"\nrate = 100000\naddress_rate = 100000\n[budget]\nsession = 100000000\n'
    with cluster(tmp_path_factory.mktemp("state"), root, url, settings, "--allow-commands") as opened:
        yield opened


def posted(agent: Agent, message: object, headers: Mapping[str, str] = MCP) -> Answer:
    return agent.request("POST", "/mcp", json.dumps(message).encode(), headers=headers)


def session_of(agent: Agent, name: str = "somebody") -> dict[str, str]:
    answer = posted(agent, initialize(name))
    assert answer.status == 200, answer.body
    return {**MCP, "Mcp-Session-Id": answer.headers["mcp-session-id"]}


def nobody_is_touched(found: Cluster, what: str, answer: Answer) -> None:
    """The sender gets an answer or a refusal, and each process continues with others at once."""
    assert answer.status < 500, (what, answer.status, answer.body[:400])
    for one in found.turns(2):
        began = time.monotonic()
        other = one.call("read_file", {"path": "a.txt"})
        assert other.status == 200, (what, other.body)
        assert "ledger" not in other.json["content"][0]["text"], what
        assert time.monotonic() - began < 30, what


def messages(value: object) -> Iterator[tuple[str, Any]]:
    """Messages of a session that hold a value, wherever one can stand."""
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": value}}
    yield "cancelled", note
    yield (
        "compacted",
        {
            "jsonrpc": "2.0",
            "method": "notifications/readroom/compacted",
            "params": {"_meta": {"readroom/session": value}},
        },
    )
    yield "id", request(value, "tools/list")
    for tool, argument in (
        *(("read_file", "path"), ("read_file", "cursor"), ("read_file", "known_hash")),
        *(("grep_files", "pattern"), ("list_directory", "glob"), ("run_command", "command")),
        *(("write_file", "path"), ("edit_file", "path"), ("read_file", "offset"), ("read_file", "limit")),
    ):
        yield f"{tool} {argument}", call(1, tool, {"path": "a.txt", "pattern": "a", argument: value})
    yield "kept output", call(1, "read_file", {"path": f"/.outputs/{value}.stdout"})
    yield "argument", call(1, "read_file", {"path": "a.txt", f"{value}": value})
    yield "tool", request(1, "tools/call", {"name": value, "arguments": {"path": "a.txt"}})
    for meta in ("readroom/session", "readroom/epoch", "progressToken", "other"):
        yield meta, call(1, "read_file", {"path": "a.txt"}, **{meta: value})
        yield meta, call(1, "run_command", {"command": "echo hello"}, **{meta: value})
    yield "deep", call(1, "grep_files", {"pattern": "far"}, **{"readroom/session": value})
    yield "uri", request(1, "resources/read", {"uri": f"readroom:///.outputs/{value}.stdout"})
    yield "cursor", request(1, "resources/list", {"cursor": value})
    yield "level", request(1, "logging/setLevel", {"level": value})
    yield "method", request(1, f"{value}")


@pytest.mark.parametrize("value", [*TEXTS, *NUMBERS], ids=lambda value: ascii(value)[:20])
def test_a_value_in_a_message_touches_nobody_else(found: Cluster, value: object) -> None:
    agent = found.agents[0]
    session = session_of(agent)
    for what, message in messages(value):
        nobody_is_touched(found, what, posted(agent, message, session))


@pytest.mark.parametrize("values", parts(TEXTS))
@each("value", "values")
def test_a_name_of_a_client_touches_nobody_else(found: Cluster, value: str) -> None:
    agent = found.agents[0]
    for message in (
        initialize(value),
        initialize("somebody", value),
        {**initialize("x"), "id": value},
    ):
        opened = posted(agent, message)
        nobody_is_touched(found, "initialize", opened)
        if session := opened.headers.get("mcp-session-id"):
            headers = {**MCP, "Mcp-Session-Id": session}
            nobody_is_touched(found, "call", posted(agent, call(1, "read_file", {"path": "a.txt"}), headers))
    meta = client_meta(value)
    answer = posted(
        agent, request(1, "tools/list", {"_meta": meta}), {**STATELESS, "Mcp-Method": "tools/list"}
    )
    nobody_is_touched(found, "stateless", answer)


@pytest.mark.parametrize("values", parts(TEXTS))
@each("value", "values")
def test_a_value_over_plain_http_touches_nobody_else(found: Cluster, value: str) -> None:
    for tool, arguments in (
        ("read_file", {"path": value}),
        ("read_file", {"path": "a.txt", "cursor": value}),
        ("read_file", {"path": f"/.outputs/{value}.stdout"}),
        ("write_file", {"path": f"new/{value}", "content": "x"}),
        ("grep_files", {"pattern": "far", "path": "."}),
        ("read_file", {"path": "a.txt", value: value}),
    ):
        nobody_is_touched(found, tool, found.agents[0].call(tool, arguments))
    escaped = quote(value.encode("utf-8", "surrogatepass"), safe="")[:4000]
    for page in ("", "sessions", "calls", "files", "map", "findings", "session", "call", "file", "ledger"):
        for query in ("agent", "token", "tool", "outcome", "id", "path", "before", "number", "since", "q"):
            answer = found.agents[0].request("GET", f"/ui/{page}?{query}={escaped}")
            assert answer.status < 500, (page, query, answer.status)
    nobody_is_touched(found, "pages", answer)
    for header in ("Readroom-Session", "Readroom-Agent", "Authorization", "Mcp-Session-Id", "Cookie"):
        sent = escaped if header != "Authorization" else f"Bearer {escaped}"
        data = json.dumps({"path": "a.txt"}).encode()
        headers = {"Content-Type": "application/json", header: sent}
        answer = found.agents[0].request("POST", "/v1/native/read_file", data, headers=headers)
        nobody_is_touched(found, header, answer)


def test_the_ledger_verifies_after_all_of_it(found: Cluster) -> None:
    """It holds a row of each call, and its sums can be made of them."""
    # Alone in its process, this test is the first that calls: nothing has made a ledger yet.
    assert found.agents[0].call("read_file", {"path": "a.txt"}).status == 200
    assert "verifies" in command(found.agents[0].state, "ledger", "verify", *found.options)
    assert found.agents[0].request("GET", "/ui/files").status == 200
