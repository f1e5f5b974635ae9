"""MCP at the HTTP agent, with tokens and named workspaces: the official client in both eras."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from readroom.core.contracts.base import FACTS_KEY
from readroom.core.limits import MCP_WORKERS
from readroom.server.database.sqlite import SqliteBackend
from readroom.server.ledger.ledger import Ledger
from readroom.server.tokens import Tokens
from tests.mcp.serving import ERAS, HANDSHAKE, STATELESS, client_meta, endless_log, initialize, request
from tests.server.http.cluster import PROCESSES
from tests.server.http.serving import END_S, Agent, Answer, agent

What: TypeAlias = "Callable[[Client], Awaitable[None]]"
MODES = {"legacy": HANDSHAKE, "auto": STATELESS, STATELESS: STATELESS}
"""How a client starts, and the version of the protocol that it ends up with."""


@pytest.fixture(scope="module")
def shelves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folders of two workspaces."""
    found = tmp_path_factory.mktemp("shelves")
    for name in ("main", "logs"):
        (found / name).mkdir()
        (found / name / "a.txt").write_text(f"{name}\n", encoding="utf-8")
    endless_log(found / "logs")
    return found


@pytest.fixture(scope="module", params=PROCESSES)
def served(
    request: pytest.FixtureRequest, shelves: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Agent]:
    state = tmp_path_factory.mktemp("state")
    config = state / "operator.toml"
    workspaces = "".join(f'[workspaces.{name}]\nroot = "{shelves / name}"\n' for name in ("main", "logs"))
    config.write_text(f'[serve]\nauth = "required"\ndefault = "main"\n{workspaces}', encoding="utf-8")
    with agent(state, "--workers", str(request.param), "--config", str(config)) as found:
        yield found


@pytest.fixture(scope="module")
def tokens(served: Agent) -> Iterator[Tokens]:
    """The running server's own tokens."""
    with closing(Tokens(os.fspath(served.state / "readroom" / "tokens.db"))) as found:
        yield found


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def connect(
    served: Agent,
    token: str | None,
    mode: str,
    what: What,
    *,
    at: str = "",
    take: Any = None,
    **headers: str,
) -> None:
    """Do something with the official client, within a time; `take` gets what comes by itself."""
    sent = dict(headers) if token is None else {"Authorization": f"Bearer {token}", **headers}

    async def main() -> None:
        url = f"http://{served.host}:{served.port}{at}/mcp"
        with anyio.fail_after(END_S):
            async with httpx2.AsyncClient(headers=sent, timeout=END_S) as http:
                road = streamable_http_client(url, http_client=http)
                async with Client(road, mode=mode, message_handler=take) as client:
                    await what(client)

    anyio.run(main)


def text(result: types.CallToolResult) -> str:
    (part,) = result.content
    assert isinstance(part, types.TextContent)
    return part.text


def code(result: types.CallToolResult) -> object:
    assert result.is_error
    assert result.meta is not None
    return result.meta[FACTS_KEY]["error"]["code"]


async def listed(client: Client) -> None:
    """The least that anybody asks for; a client of 2026-07-28 may connect without asking anything."""
    await client.list_tools()


def refusal(served: Agent, token: str | None, mode: str, *, at: str = "", **headers: str) -> str:
    """What the official client says of a server that does not let it in."""
    with pytest.raises((MCPError, ExceptionGroup)) as caught:
        connect(served, token, mode, listed, at=at, **headers)
    failure: BaseException = caught.value
    while isinstance(failure, BaseExceptionGroup):
        (failure,) = failure.exceptions
    assert isinstance(failure, MCPError)
    return str(failure)


def first(era: str) -> tuple[bytes, dict[str, str]]:
    """The first message of a conversation, and its headers."""
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if era == HANDSHAKE:
        return json.dumps(initialize("somebody")).encode(), headers
    headers |= {"Mcp-Protocol-Version": STATELESS, "Mcp-Method": "tools/list"}
    return json.dumps(request(1, "tools/list", {"_meta": client_meta("somebody")})).encode(), headers


def test_a_client_sees_and_calls_what_its_token_includes(served: Agent, tokens: Tokens, mode: str) -> None:
    _, token = tokens.create("bot", tools=["read_file", "list_directory"])

    async def what(client: Client) -> None:
        assert client.protocol_version == MODES[mode]
        assert {tool.name for tool in (await client.list_tools()).tools} == {"read_file", "list_directory"}
        assert "1\tmain" in text(await client.call_tool("read_file", {"path": "a.txt"}))
        assert code(await client.call_tool("grep_files", {"pattern": "main"})) == "not_granted"
        assert code(await client.call_tool("no_such_tool", {})) == "unknown_tool"

    connect(served, token, mode, what)


def test_a_named_workspace_has_an_address_of_its_own(served: Agent, tokens: Tokens, mode: str) -> None:
    _, token = tokens.create("bot", workspaces=["logs"])

    async def what(client: Client) -> None:
        assert "edit_file" in {tool.name for tool in (await client.list_tools()).tools}
        assert "1\tlogs" in text(await client.call_tool("read_file", {"path": "a.txt"}))
        assert code(await client.call_tool("read_file", {"path": "../main/a.txt"})) == "outside_root"

    connect(served, token, mode, what, at="/w/logs")
    for at in ("", "/w/main", "/w/none"):
        assert "There is no workspace" in refusal(served, token, mode, at=at)


def test_a_long_call_tells_how_far_it_is(served: Agent, shelves: Path, tokens: Tokens, mode: str) -> None:
    _, token = tokens.create("bot")
    path = endless_log(shelves / "logs", f"{uuid4()}.txt", size=2**28)
    told: list[float] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        assert total == 2**28
        told.append(progress)

    async def what(client: Client) -> None:
        arguments = {"path": path.name, "offset": 2}
        result = await client.call_tool("read_file", arguments, progress_callback=heard)
        assert not result.is_error

    connect(served, token, mode, what, at="/w/logs")
    assert told
    assert told == sorted(set(told))


def test_cancelled_calls_free_the_server(served: Agent, tokens: Tokens, mode: str) -> None:
    """Every worker is busy for minutes; after their calls were cancelled another call is answered."""
    _, token = tokens.create("bot")

    async def cancelled_when_begun(client: Client) -> None:
        with anyio.CancelScope() as scope:

            async def begun(progress: float, total: float | None, message: str | None) -> None:
                scope.cancel()

            arguments = {"path": "endless.txt", "offset": -1}
            await client.call_tool("read_file", arguments, progress_callback=begun)
        assert scope.cancelled_caught

    async def what(client: Client) -> None:
        async with anyio.create_task_group() as group:
            for _ in range(MCP_WORKERS):
                group.start_soon(cancelled_when_begun, client)
        assert "1\tlogs" in text(await client.call_tool("read_file", {"path": "a.txt"}))

    connect(served, token, mode, what, at="/w/logs")


def test_the_ledger_says_who_called_and_in_which_conversation(
    served: Agent, tokens: Tokens, mode: str
) -> None:
    grant, token = tokens.create("bot")

    async def what(client: Client) -> None:
        for _ in range(2):
            await client.call_tool("read_file", {"path": "a.txt"})

    connect(served, token, mode, what)
    backend = SqliteBackend(os.fspath(served.state / "readroom" / "ledger.sqlite3"), make=False)
    with closing(Ledger(backend)) as book:
        events = [row.event for row in book.rows() if row.event.token == grant.token]
    assert [(event.face, event.outcome) for event in events] == [("mcp", "ok")] * 2
    assert len({event.session for event in events}) == 1


def bad_tokens(tokens: Tokens) -> Mapping[str, str]:
    """Tokens that open nothing, and what is said of each."""
    revoked, was_good = tokens.create("bot")
    tokens.revoke(revoked.token)
    _, expired = tokens.create("bot", lifetime_s=-1.0)
    grant, good = tokens.create("bot")
    other = f"rr_{grant.token}_{'x' * (len(good) - len(grant.token) - 4)}"
    return {"nobody": "it is not known", other: "it is not known", was_good: "revoked", expired: "expired"}


def test_a_client_without_a_token_that_works_is_told_why(served: Agent, tokens: Tokens, mode: str) -> None:
    assert "The request has no token. Send the header" in refusal(served, None, mode)
    for token, why in bad_tokens(tokens).items():
        assert why in refusal(served, token, mode)


def test_the_end_of_the_only_token_does_not_open_the_door(shelves: Path, tmp_path: Path) -> None:
    with closing(Tokens(os.fspath(tmp_path / "readroom" / "tokens.db"))) as tokens:
        _, token = tokens.create("bot", lifetime_s=-1.0)
    with agent(tmp_path, os.fspath(shelves / "main")) as found:
        assert "The request has no token." in refusal(found, None, "auto")
        assert "it is expired" in refusal(found, token, "auto")


@pytest.mark.parametrize("era", ERAS)
def test_a_refusal_is_a_401_that_asks_for_a_token(served: Agent, tokens: Tokens, era: str) -> None:
    """As RFC 6750 has it: the header says what is wrong with a token, and nothing when there was none."""
    body, headers = first(era)
    none = served.request("POST", "/mcp", body, headers=headers)
    assert (none.status, none.headers["www-authenticate"]) == (401, 'Bearer realm="readroom"')
    for token in bad_tokens(tokens):
        answer = served.request("POST", "/w/logs/mcp", body, token=token, headers=headers)
        assert answer.status == 401
        assert 'error="invalid_token"' in answer.headers["www-authenticate"]
        assert answer.json["error"]["data"]["code"] == "unauthorized"
        assert token not in answer.body.decode()


def test_a_token_that_is_revoked_ends_a_conversation(served: Agent, tokens: Tokens, mode: str) -> None:
    grant, token = tokens.create("bot")

    async def what(client: Client) -> None:
        assert not (await client.call_tool("read_file", {"path": "a.txt"})).is_error
        tokens.revoke(grant.token)
        with pytest.raises(MCPError, match="it is revoked"):
            await client.call_tool("read_file", {"path": "a.txt"})

    connect(served, token, mode, what)


@pytest.mark.parametrize(
    ("header", "value", "why"),
    [("Host", "evil.example", "not a name of this server"), ("Origin", "https://evil.example", "a page of")],
)
def test_a_token_does_not_open_the_door_to_pages_of_others(
    served: Agent, tokens: Tokens, mode: str, header: str, value: str, why: str
) -> None:
    _, token = tokens.create("bot")
    assert why in refusal(served, token, mode, **{header: value})


def test_a_session_belongs_to_its_token_and_its_workspace(served: Agent, tokens: Tokens) -> None:
    """Whoever learns its id can neither call in it, nor listen to it, nor end it."""
    (_, owner), (_, other) = tokens.create("owner"), tokens.create("other")
    body, headers = first(HANDSHAKE)
    opened = served.request("POST", "/mcp", body, token=owner, headers=headers)
    headers |= {"Mcp-Session-Id": opened.headers["mcp-session-id"], "Mcp-Protocol-Version": HANDSHAKE}
    listed = json.dumps(request(2, "tools/list")).encode()

    def asked(method: str, token: str, at: str = "") -> Answer:
        return served.request(method, f"{at}/mcp", listed, token=token, headers=headers)

    for method in ("POST", "GET", "DELETE"):
        assert asked(method, other).status == 404
        assert asked(method, owner, at="/w/logs").status == 404
    assert asked("POST", owner).status == 200
    assert asked("DELETE", owner).status == 200
    assert asked("POST", owner).status == 404


def test_a_session_whose_header_names_no_version_is_told_so_and_goes_on(
    served: Agent, tokens: Tokens
) -> None:
    _, token = tokens.create("bot")
    body, headers = first(HANDSHAKE)
    opened = served.request("POST", "/mcp", body, token=token, headers=headers)
    headers |= {"Mcp-Session-Id": opened.headers["mcp-session-id"], "Mcp-Protocol-Version": "1999-01-01"}
    listed = json.dumps(request(2, "tools/list")).encode()
    for method in ("POST", "GET", "DELETE"):
        answer: Any = served.request(method, "/mcp", listed, token=token, headers=headers)
        assert answer.status == 400
        assert "'1999-01-01', which is not spoken here" in answer.json["error"]["message"]
    headers["Mcp-Protocol-Version"] = HANDSHAKE
    assert served.request("POST", "/mcp", listed, token=token, headers=headers).status == 200


def test_requests_that_the_gate_refuses_get_errors_of_the_protocol(served: Agent, tokens: Tokens) -> None:
    """Clients show people the message of a JSON-RPC error, and no other."""
    _, token = tokens.create("bot")
    answer: Any = served.request("POST", "/w/none/mcp", b"{}", token=token)
    assert answer.status == 404
    assert (answer.json["jsonrpc"], answer.json["id"]) == ("2.0", None)
    assert answer.json["error"]["code"] < 0
    assert answer.json["error"]["data"]["code"] == "no_such_workspace"
    assert answer.json["error"]["message"] == answer.json["error"]["data"]["message"]


def test_the_access_log_says_who_called_which_tool(shelves: Path, tmp_path: Path, mode: str) -> None:
    with agent(tmp_path, "--access-log", os.fspath(shelves / "main")) as found:
        token = found.make_token("bot")

        async def what(client: Client) -> None:
            await client.list_tools()
            await client.call_tool("read_file", {"path": "a.txt"})
            assert code(await client.call_tool("read_file", {"path": "none.txt"})) == "not_found"
            assert code(await client.call_tool(token, {})) == "unknown_tool"

        connect(found, token, mode, what)
        metrics = found.request("GET", "/metrics", token=token).body.decode()
        found.process.terminate()
        _, log = found.process.communicate(timeout=END_S)
    lines = [json.loads(line) for line in log.decode().splitlines()]
    spoken = [line for line in lines if line["rpc"]]
    assert {line["agent"] for line in spoken} == {"mcp"}  # as the official client calls itself
    assert "tools/list" in {line["rpc"] for line in spoken}
    calls = [line for line in spoken if line["rpc"] == "tools/call"]
    assert [(line["tool"], line["code"]) for line in calls] == [
        *(("read_file", ""), ("read_file", "not_found"), ("", "unknown_tool")),
    ]
    assert {(line["contract"], line["workspace"], line["status"]) for line in calls} == {
        ("native", "default", 200)
    }
    assert b".txt" not in log
    assert token.encode() not in log
    assert 'outcome="not_found",tool="read_file"' in metrics
    assert token not in metrics
