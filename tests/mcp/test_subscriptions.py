"""Files that were shown as resources, and word of their changes, over a pipe."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from readroom.core.caller import Caller
from readroom.core.workspace import Workspace
from readroom.mcp.access import Access
from readroom.mcp.listing import card, methods
from readroom.mcp.polling import Poller
from readroom.mcp.protocol import eras
from readroom.mcp.protocol.connection import Connection, ToolCall
from readroom.mcp.protocol.messages import Refusal
from readroom.mcp.resources import address
from readroom.mcp.subscriptions import MCP_LISTENING, MCP_SUBSCRIBED, Watch, listening, subscribe
from tests.mcp.serving import ERAS, HANDSHAKE, STATELESS, Stdio, request
from tests.suites import needs

URI = "readroom:///a.py"
ID = "io.modelcontextprotocol/subscriptionId"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / ".env").write_text("canary7f3a\n", encoding="utf-8")
    return tmp_path


def listen(request_id: object, *uris: str, **more: object) -> dict[str, Any]:
    return request(
        request_id, "subscriptions/listen", {"notifications": {"resourceSubscriptions": list(uris), **more}}
    )


@needs("cli")
def test_capabilities_of_each_version(root: Path) -> None:
    with Stdio(root, version=HANDSHAKE) as client:
        offered = client.greeting["result"]["capabilities"]
        assert offered["logging"] == {}
        assert offered["resources"] == {"listChanged": False, "subscribe": True}
        assert client.ask(listen(1, URI))["error"]["code"] == -32601
    with Stdio(root, version=STATELESS) as client:
        offered = client.ask(request(1, "server/discover"))["result"]["capabilities"]
        assert "logging" not in offered
        assert offered["resources"] == {"listChanged": False, "subscribe": True}
        for number, method in enumerate(("resources/subscribe", "resources/unsubscribe", "logging/setLevel")):
            asked = request(10 + number, method, {"uri": URI, "level": "info"})
            assert client.ask(asked)["error"]["code"] == -32601


@needs("cli")
def test_a_contract_without_the_tools_offers_no_resources(root: Path) -> None:
    with Stdio(root, "--contract", "opencode") as client:
        assert "resources" not in client.greeting["result"]["capabilities"]
        assert client.ask(request(1, "resources/list"))["error"]["code"] == -32601


@needs("cli")
@pytest.mark.parametrize("era", ERAS)
def test_files_that_were_shown_are_listed_and_read(root: Path, era: str) -> None:
    absent = -32002 if era == HANDSHAKE else -32602
    with Stdio(root, version=era) as client:
        assert client.ask(request(1, "resources/list"))["result"]["resources"] == []
        assert client.ask(request(2, "resources/read", {"uri": URI}))["error"]["code"] == absent
        client.call("read_file", {"path": "a.py"})
        (one,) = client.ask(request(3, "resources/list"))["result"]["resources"]
        assert (one["uri"], one["name"], one["size"]) == (URI, "a.py", 6)
        (part,) = client.ask(request(4, "resources/read", {"uri": URI}))["result"]["contents"]
        assert "1\tx = 1" in part["text"]
        (root / "a.py").write_text("x = 2\n")
        client.ask(request(5, "resources/read", {"uri": URI}))
        news = client.call("list_directory", {"path": "."})["content"][0]["text"]
        assert "Changed since you saw it: a.py" in news, "the host has read it, the model has not"
        (root / ".readroomignore").write_text("a.py\n")
        assert client.ask(request(6, "resources/list"))["result"]["resources"] == []
        refused = client.ask(request(7, "resources/read", {"uri": URI}))["error"]
        assert (refused["code"], refused["data"]["code"]) == (-32602, "denied")


@needs("cli")
def test_a_session_hears_of_what_it_has_subscribed_to(root: Path) -> None:
    with Stdio(root, version=HANDSHAKE) as client:
        client.call("read_file", {"path": "a.py"})
        for number, uri in enumerate(("readroom:///.env", "readroom:///b.py", "file:///etc/passwd", "")):
            refused = client.ask(request(number, eras.SUBSCRIBE, {"uri": uri}))["error"]
            assert (refused["code"], refused["data"]) == (-32002, {"uri": uri, "code": "not_found"})
        assert client.ask(request(10, eras.SUBSCRIBE, {}))["error"]["code"] == -32602
        assert client.ask(request(11, eras.SUBSCRIBE, {"uri": URI}))["result"] == {}
        (root / "a.py").write_text("x = 2\n")
        heard = client.receive()
        assert heard == {
            "jsonrpc": "2.0",
            "method": "notifications/resources/updated",
            "params": {"uri": URI},
        }
        (root / "a.py").unlink()
        assert client.receive()["params"] == {"uri": URI}
        assert client.ask(request(12, eras.UNSUBSCRIBE, {"uri": URI}))["result"] == {}
        assert client.ask(request(13, eras.UNSUBSCRIBE, {"uri": "readroom:///no"}))["result"] == {}


@needs("cli")
def test_a_subscription_begins_with_what_is_heard_and_ends_with_its_answer(root: Path) -> None:
    with Stdio(root, version=STATELESS) as client:
        client.call("read_file", {"path": "a.py"})
        client.send(listen("l1", URI, "readroom:///.env", toolsListChanged=True))
        first = client.receive()
        assert first["method"] == "notifications/subscriptions/acknowledged"
        assert first["params"]["notifications"] == {"resourceSubscriptions": [URI]}
        assert first["params"]["_meta"][ID] == "l1"
        assert first["params"]["_meta"]["readroom/refused"] == [
            {"uri": "readroom:///.env", "code": "not_found"}
        ]
        (root / "a.py").write_text("x = 2\n")
        heard = client.receive()
        assert heard["method"] == "notifications/resources/updated"
        assert heard["params"] == {"uri": URI, "_meta": {ID: "l1"}}
        client.process.terminate()
        over = client.receive()
        assert (over["id"], over["result"]["resultType"]) == ("l1", "complete")
        assert over["result"]["_meta"][ID] == "l1"


@needs("cli")
def test_a_cancelled_subscription_says_nothing_more(root: Path) -> None:
    with Stdio(root, version=STATELESS) as client:
        client.call("read_file", {"path": "a.py"})
        client.send(listen(5, URI))
        client.receive()
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}})
        client.send(listen(6, URI))
        assert client.receive()["params"]["_meta"][ID] == 6
        (root / "a.py").write_text("x = 2\n")
        assert client.receive()["params"]["_meta"][ID] == 6


@pytest.mark.parametrize(
    "wanted", [None, [], "all", {"resourceSubscriptions": "a"}, {"resourceSubscriptions": [1]}]
)
@needs("cli")
def test_a_filter_of_another_form_is_refused(root: Path, wanted: object) -> None:
    with Stdio(root, version=STATELESS) as client:
        answer = client.ask(request(1, "subscriptions/listen", {"notifications": wanted}))
        assert answer["error"]["code"] == -32602


# --- without a process -----------------------------------------------------------------------------


def opened(workspace: Workspace, path: str = "a.py") -> Access:
    """The access of a conversation that was shown a file."""
    caller = Caller(session="s", face="mcp")
    workspace.call("read_file", {"path": path}, caller=caller)
    return Access(workspace, "native", caller=caller)


def connected() -> Connection:
    return Connection(card("readroom", "", methods("native"), shared=True))


def asked(number: int, uri: str, method: str = eras.SUBSCRIBE) -> ToolCall:
    params = {"uri": uri, "notifications": {"resourceSubscriptions": [uri]}}
    return ToolCall(
        number, method, params, STATELESS if method == eras.LISTEN else HANDSHAKE, None, None, None, None
    )


def test_resources_of_a_session_are_bounded(root: Path) -> None:
    with Workspace(root) as workspace:
        access, connection = opened(workspace), connected()
        connection.subscribed.update({f"readroom:///{number}": None for number in range(MCP_SUBSCRIBED)})
        with pytest.raises(Refusal, match="at most 100"):
            subscribe(access, connection, asked(1, URI))
        call_ = asked(1, URI, eras.LISTEN)
        call_.params["notifications"]["resourceSubscriptions"] = [str(n) for n in range(MCP_SUBSCRIBED + 1)]
        with pytest.raises(Refusal, match="at most 100"):
            listening(access, connection, call_)


def test_nothing_is_said_of_what_may_no_longer_be_seen(root: Path) -> None:
    with Workspace(root) as workspace:
        access, connection = opened(workspace), connected()
        subscribe(access, connection, asked(1, URI))
        watch = Watch(access, connection.subscribed)
        (root / ".readroomignore").write_text("a.py\n")
        (root / "a.py").write_text("x = 2\n")
        assert watch.changed() == []
        (root / ".readroomignore").unlink()
        assert watch.changed() == [URI]
        assert watch.changed() == []
        outside = root.parent / "outside"
        outside.write_text("canary7f3a\n")
        (root / "a.py").unlink()
        (root / "a.py").symlink_to(outside)
        assert watch.changed() == []
        (root / "a.py").unlink()
        os.mkfifo(root / "a.py")
        assert watch.changed() in ([], [URI])
        assert watch.changed() == []


def test_a_token_without_the_tool_hears_nothing(root: Path) -> None:
    with Workspace(root) as workspace:
        access = replace(opened(workspace), granted=frozenset({"list_directory"}))
        with pytest.raises(Refusal) as refused:
            subscribe(access, connected(), asked(1, URI))
        assert refused.value.data == {"uri": URI, "code": "not_granted"}


def test_no_thread_looks_while_nobody_listens(root: Path) -> None:
    with Workspace(root) as workspace:
        access, connection, said = opened(workspace), connected(), list[bytes]()
        poller = Poller(connection, said.append, every_s=0.01)

        def looks() -> int:
            return sum(thread.name == "readroom-subscriptions" for thread in threading.enumerate())

        assert looks() == 0
        calls = [asked(number, URI, eras.LISTEN) for number in range(MCP_LISTENING + 1)]
        done = [poller.listen(listening(access, connection, one)) for one in calls]
        assert done == [True] * MCP_LISTENING + [False]
        assert looks() == 1
        for one in calls:
            poller.end(one)
        for thread in threading.enumerate():
            if thread.name == "readroom-subscriptions":
                thread.join(60)
        assert looks() == 0
        assert len(said) == MCP_LISTENING


@pytest.mark.parametrize("name", ["a b.py", "é.py", "100%.py", "#?.py", "\udcff.py"])
def test_an_address_has_one_spelling(root: Path, name: str) -> None:
    (root / os.fsencode(name).decode("utf-8", "surrogateescape")).write_bytes(b"x\n")
    with Workspace(root) as workspace:
        workspace.call("grep_files", {"pattern": "x", "glob": "*.py"}, caller=Caller(session="s", face="mcp"))
        access = Access(workspace, "native", caller=Caller(session="s", face="mcp"))
        uri = address(name)
        assert uri.isascii()
        subscribe(access, connected(), asked(1, uri))
        for other in (
            uri + "/",
            uri.replace("readroom:///", "readroom:////"),
            uri.replace(".py", "%2epy"),
            uri + "?",
        ):
            with pytest.raises(Refusal):
                subscribe(access, connected(), asked(1, other))
