"""Word of changed files over HTTP: with the official client, at one process and at two."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPError

from readroom.mcp.calls import Calls
from readroom.server.http.listening import Listeners, Stream, stays
from tests.mcp.serving import END_S, STATELESS, Http, events, http_server, request
from tests.server.http.cluster import cluster
from tests.server.http.serving import open_agent
from tests.server.http.test_mcp import connect

URI = "readroom:///a.py"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n", encoding="utf-8")
    (folder / ".env").write_text("canary7f3a\n", encoding="utf-8")
    return folder


def listen(*uris: str) -> dict[str, Any]:
    return request("l", "subscriptions/listen", {"notifications": {"resourceSubscriptions": list(uris)}})


def test_a_session_before_2026_hears_by_its_stream(root: Path) -> None:
    with http_server(root) as (url, process), Http(url) as client:
        client.call("read_file", {"path": "a.py"})
        refused = client.ask(request(1, "resources/subscribe", {"uri": "readroom:///.env"}))["error"]
        assert (refused["code"], refused["data"]["code"]) == (-32002, "not_found")
        assert client.ask(request(2, "resources/subscribe", {"uri": URI}))["result"] == {}
        (root / "a.py").write_text("x = 2\n")
        with closing(client.connect()) as connection:
            connection.request("GET", "/mcp", None, {"Accept": "text/event-stream", **client.session_headers})
            response = connection.getresponse()
            assert (response.status, response.headers["Content-Type"]) == (200, "text/event-stream")
            said = events(response)
            assert next(said)["params"] == {"uri": URI}, "it changed after the client had asked"
            with closing(client.connect()) as another:
                another.request(
                    "GET", "/mcp", None, {"Accept": "text/event-stream", **client.session_headers}
                )
                assert another.getresponse().status == 409
            (root / "a.py").write_text("x = 3\n")
            assert next(said)["params"] == {"uri": URI}
            process.terminate()
            assert list(said) == [], "the server closes, and the stream with it"


def test_a_stream_is_for_who_takes_events(root: Path) -> None:
    with http_server(root) as (url, _), Http(url) as client, closing(client.connect()) as connection:
        connection.request("GET", "/mcp", None, {"Accept": "application/json", **client.session_headers})
        assert connection.getresponse().status == 406


def test_a_client_of_2026_hears_by_the_answer(root: Path) -> None:
    with http_server(root) as (url, process), Http(url, version=STATELESS) as client:
        named = {"readroom/session": "mine"}
        asked = request(1, "tools/call", {"name": "read_file", "arguments": {"path": "a.py"}, "_meta": named})
        assert not client.ask(asked)["result"]["isError"]
        message = listen(URI, "readroom:///.env")
        message["params"]["_meta"] = named
        with closing(client.connect()) as connection:
            client.begin(message, connection)
            said = events(connection.getresponse())
            first = next(said)
            assert first["method"] == "notifications/subscriptions/acknowledged"
            assert first["params"]["notifications"] == {"resourceSubscriptions": [URI]}
            (root / "a.py").write_text("x = 2\n")
            heard = next(said)
            assert heard["method"] == "notifications/resources/updated"
            assert heard["params"] == {"uri": URI, "_meta": {"io.modelcontextprotocol/subscriptionId": "l"}}
            process.terminate()
            (over,) = said
            assert (over["id"], over["result"]["resultType"]) == ("l", "complete")


def test_what_another_conversation_was_shown_is_no_resource(root: Path) -> None:
    with http_server(root) as (url, _), Http(url, version=STATELESS) as client:
        asked = request(1, "tools/call", {"name": "read_file", "arguments": {"path": "a.py"}})
        asked["params"]["_meta"] = {"readroom/session": "mine"}
        client.ask(asked)
        refused = client.ask(listen(URI))["error"]
        assert (refused["code"], refused["data"]["code"]) == (-32602, "not_found")


async def follows(client: Client, root: Path) -> None:
    """Read a file, hear of its change, and read it again."""
    await client.call_tool("read_file", {"path": "a.py"})
    async with client.listen(resource_subscriptions=[URI, "readroom:///.env"]) as subscription:
        assert subscription.honored.resource_subscriptions == [URI]
        (root / "a.py").write_text("x = 4\n")
        with anyio.fail_after(END_S):
            assert await anext(subscription) == ResourceUpdated(URI)
        found = await client.read_resource(URI)
        (part,) = found.contents
        assert isinstance(part, types.TextResourceContents)
        assert "x = 4" in part.text
    with pytest.raises(MCPError):
        await client.read_resource("readroom:///.env")


def test_the_official_client_follows_a_file(root: Path, tmp_path: Path) -> None:
    with open_agent(tmp_path / "state", str(root)) as found:
        connect(found, None, "auto", lambda client: follows(client, root))


@pytest.mark.filterwarnings("ignore:resources/")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_any_process_of_a_server_tells(root: Path, tmp_path: Path, mode: str) -> None:
    """Reading, subscribing and the stream may each be at another process."""
    heard: list[str] = []
    came = anyio.Event()

    async def what(client: Client) -> None:
        if mode == "auto":
            await follows(client, root)
            return
        await client.call_tool("read_file", {"path": "a.py"})
        await client.session.subscribe_resource(URI)
        (root / "a.py").write_text("x = 5\n")
        with anyio.fail_after(END_S):
            await came.wait()
        assert heard[0] == URI
        await client.session.unsubscribe_resource(URI)

    async def take(message: object) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            heard.append(str(message.params.uri))
            came.set()

    with cluster(tmp_path / "state", root, None, 'auth = "open"') as server:
        connect(server.agents[0], None, mode, what, take=take)


def test_streams_are_bounded_and_end() -> None:
    async def main() -> None:
        calls = Calls()
        listeners = Listeners(calls, every_s=0.01, lived_s=0.2, most=2)
        said: list[bytes] = []

        def stream(token: str) -> Stream:
            return Stream(token, lambda: [b"x"], said.append, stays, asyncio.Event())

        assert listeners.has_room("t", 1)
        async with anyio.create_task_group() as group:
            group.start_soon(listeners.hear, stream("t"))
            await anyio.lowlevel.checkpoint()
            assert not listeners.has_room("t", 1)
            assert listeners.has_room("other", 1)
            group.start_soon(listeners.hear, stream("other"))
            await anyio.lowlevel.checkpoint()
            assert not listeners.has_room("third", 1)
        assert said, "they heard until their time was over"
        assert listeners.has_room("third", 1)
        calls.stop()
        assert not listeners.has_room("third", 1)

    anyio.run(main)
