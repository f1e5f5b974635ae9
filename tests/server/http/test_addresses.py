"""Addresses and names as clients spell them: HEAD where GET is, a slash at the end, odd names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.each import each
from tests.mcp.serving import call, initialize
from tests.server.http.serving import Agent, agent

MCP = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

SHOWN = ("/", "/healthz", "/readyz", "/metrics", "/openapi.json", "/docs", "/w/b/openapi.json", "/w/b")
PAGES = (
    "/ui",
    "/ui/calls",
    "/ui/files",
    "/ui/ledger",
    "/ui/sign-in",
    "/ui/static/dashboard.css",
    "/ui/w/b/calls",
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """A server of two workspaces that asks for tokens."""
    state = tmp_path_factory.mktemp("state")
    for name in ("a", "b"):
        (state / name).mkdir()
        (state / name / f"{name}.txt").write_text(f"hello {name}\n", encoding="utf-8")
    config = state / "operator.toml"
    config.write_text(
        f'[serve]\ndefault = "a"\nauth = "required"\n[workspaces.a]\nroot = "{state}/a"\n'
        f'[workspaces.b]\nroot = "{state}/b"\n',
        encoding="utf-8",
    )
    with agent(state, "--config", str(config)) as found:
        yield found


@pytest.fixture(scope="module")
def token(served: Agent) -> str:
    return served.make_token("all")


def signed_in(served: Agent, token: str, page: str = "/ui/sign-in") -> tuple[dict[str, str], str]:
    """The cookie of a visitor, and where the sign-in leads."""
    origin = f"http://{served.host}:{served.port}"
    answer = served.request(
        "POST",
        page,
        urlencode({"token": token}).encode(),
        headers={"Content-Type": "application/x-www-form-urlencoded", "Origin": origin},
    )
    assert answer.status == 303, answer.body
    return {"Cookie": answer.headers["set-cookie"].partition(";")[0]}, answer.headers["location"]


@each("address", [*SHOWN, *PAGES, "/no/such/place", "/ui/nothing", "/mcp", "/v1/native/read_file"])
def test_head_has_the_head_of_get(served: Agent, token: str, address: str) -> None:
    """RFC 9110, 9.3.2: the same status and headers, and no body."""
    cookie, _ = signed_in(served, token)
    shown, head = (served.request(method, address, token=token, headers=cookie) for method in ("GET", "HEAD"))
    assert head.body == b""
    assert head.status == shown.status
    if address in (*SHOWN, *PAGES):
        assert shown.status == 200, shown.body
    for name in ("content-type", "etag", "cache-control", "content-security-policy"):
        assert head.headers.get(name) == shown.headers.get(name)


def test_a_connection_goes_on_after_head(served: Agent, token: str) -> None:
    connection = served.connect()
    for method in ("HEAD", "GET") * 3:
        connection.request(method, "/openapi.json", headers={"Authorization": f"Bearer {token}"})
        response = connection.getresponse()
        assert (response.status, bool(response.read())) == (200, method == "GET")
    connection.close()


@each("address", [one for one in (*SHOWN, *PAGES) if one not in ("/", "/ui/static/dashboard.css")])
def test_a_slash_at_the_end_means_nothing(served: Agent, token: str, address: str) -> None:
    cookie, _ = signed_in(served, token)
    assert served.request("GET", f"{address}/", token=token, headers=cookie).status == 200


@pytest.mark.parametrize("at", ["/mcp", "/w/b/mcp"])
def test_mcp_is_answered_with_a_slash(served: Agent, token: str, at: str) -> None:
    data = json.dumps(initialize("somebody")).encode()
    with_slash = served.request("POST", f"{at}/", data, token=token, headers=MCP)
    assert with_slash.status == 200
    assert (
        with_slash.json["result"] == served.request("POST", at, data, token=token, headers=MCP).json["result"]
    )


def test_a_refusal_at_mcp_is_one_of_json_rpc_with_a_slash_too(served: Agent) -> None:
    answer = served.request("POST", "/mcp/", b"{}", headers=MCP)
    assert (answer.status, answer.json["jsonrpc"]) == (401, "2.0")


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("/w/b/ui", "/ui/w/b"),
        ("/w/b/ui/", "/ui/w/b"),
        ("/w/b/ui/calls?agent=x", "/ui/w/b/calls?agent=x"),
        ("/w/nobody/ui", "/ui/w/nobody"),
    ],
)
def test_the_dashboard_of_a_workspace_is_found_in_the_other_order(
    served: Agent, address: str, place: str
) -> None:
    """It leads there without a token: the reply says only after the sign-in whether the workspace exists."""
    answer = served.request("GET", address)
    assert (answer.status, answer.headers["location"]) == (303, place)


@each("at", ["/ui", "/ui/", "/ui/calls", "/ui/w/b", "/ui/w/b/", "/w/b/ui"])
def test_a_token_of_another_workspace_lands_there(served: Agent, at: str) -> None:
    token = served.make_token("other", "--workspace", "b")
    cookie, place = signed_in(served, token)
    assert place == "/ui"
    answer = served.request("GET", at, headers=cookie)
    for _ in range(3):
        if answer.status != 303:
            break
        answer = served.request("GET", answer.headers["location"], headers=cookie)
    assert answer.status == 200, answer.body
    assert b"/ui/w/b/calls" in answer.body
    # A workspace that the token does not open looks like one that does not exist.
    assert served.request("GET", "/ui/w/a", headers=cookie).status == 404


NAMES = ("chat 1", "user@x", "a/b", "проект", "x" * 129, "a\tb", '"a"', "%20", "a,b", "\xff", "(a)", "a;b")


@each("header", ["Readroom-Session", "Readroom-Agent"])
@each("name", NAMES, ids=ascii)
def test_a_name_that_is_none_is_refused_with_the_rule(
    served: Agent, token: str, header: str, name: str
) -> None:
    """Taken for none, it would share its conversation with all others that are not."""
    for address, body in (
        ("/v1/native/read_file", {"path": "a.txt"}),
        ("/mcp", initialize("somebody")),
        ("/w/b/v1/native/read_file", {"path": "b.txt"}),
        ("/v1/native/read_file/", {"path": "a.txt"}),
    ):
        headers = {**MCP, header: name.encode().decode("latin-1")}
        answer = served.request("POST", address, json.dumps(body).encode(), token=token, headers=headers)
        assert answer.status == 400
        said = answer.json["error"]["message"]
        assert header in said
        assert "1 to 128 letters" in answer.body.decode()


@pytest.mark.parametrize("name", ["a", "x" * 128, "chat-1:2.3_~4", "", " padded\t"])
def test_a_name_of_a_conversation_is_taken(served: Agent, token: str, name: str) -> None:
    data, kind = json.dumps({"path": "a.txt"}).encode(), {"Content-Type": "application/json"}
    for header in ("Readroom-Session", "Readroom-Agent"):
        answer = served.request(
            "POST", "/v1/native/read_file", data, token=token, headers={**kind, header: name}
        )
        assert answer.status == 200, answer.body
    if name and name == name.strip():
        answer = served.request("POST", f"/v1/sessions/{name}/compacted", token=token)
        assert answer.json == {"session": name, "compacted": True}


@pytest.mark.parametrize(
    "name", ["y" * 300, "проект" * 50, "\0" * 201, "\ud800" * 201], ids=lambda name: name[0]
)
def test_conversations_of_long_names_over_mcp_are_apart(tmp_path: Path, name: str) -> None:
    """Outputs belong to a conversation, also where two names begin alike."""
    with agent(tmp_path, "--open", "--allow-commands", str(tmp_path)) as found:
        opened = found.request("POST", "/mcp", json.dumps(initialize("somebody")).encode(), headers=MCP)
        headers = {**MCP, "Mcp-Session-Id": opened.headers["mcp-session-id"]}

        def listed(tool: str, arguments: object, ending: str) -> str:
            message = call(1, tool, arguments, **{"readroom/session": name + ending})
            answer = found.request("POST", "/mcp", json.dumps(message).encode(), headers=headers)
            return str(answer.json["result"]["content"][0]["text"])

        assert "secret" in listed("run_command", {"command": "echo secret; seq 9000"}, "1")
        assert ".stdout" in listed("list_directory", {"path": "/.outputs"}, "1")
        assert ".stdout" not in listed("list_directory", {"path": "/.outputs"}, "2")
