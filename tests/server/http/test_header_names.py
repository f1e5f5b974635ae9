"""Every header that the server reads or writes has its words in the guide and in the OpenAPI document."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import readroom
from readroom.server.http.header_names import READ, WRITTEN
from tests.mcp.serving import initialize
from tests.server.http.serving import Agent, agent

SOURCE = Path(readroom.__file__).parent
GUIDE = Path(__file__).parents[3] / "docs/how-to/serve-over-http.md"
KNOWN = {name.lower() for name in (*READ, *WRITTEN)}
_NAME = re.compile(r"[A-Za-z]+(-[A-Za-z]+)*")


def named(tree: ast.AST) -> Iterator[str]:
    """The constants of a module that are used as names of headers."""
    for node in ast.walk(tree):
        found: list[ast.expr] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if (
                node.func.attr in ("get", "setdefault", "pop")
                and "headers" in ast.unparse(node.func.value).lower()
            ):
                found = node.args[:1]
        elif isinstance(node, ast.Subscript) and "headers" in ast.unparse(node.value).lower():
            found = [node.slice]
        elif isinstance(node, ast.Compare) and any("headers" in ast.unparse(one) for one in node.comparators):
            found = [node.left]
        elif isinstance(node, ast.Tuple) and node.elts:
            # (b"name", b"value"), and sets of names in bytes
            found = [
                one for one in node.elts if isinstance(one, ast.Constant) and isinstance(one.value, bytes)
            ]
        elif isinstance(node, ast.Assign) and "headers" in ast.unparse(node.targets[0]).lower():
            found = [one for one in getattr(node.value, "keys", ()) if one is not None]
        elif isinstance(node, ast.keyword) and node.arg == "headers" and isinstance(node.value, ast.Dict):
            found = [one for one in node.value.keys if one is not None]
        for one in found:
            value = one.value if isinstance(one, ast.Constant) else None
            text = value.decode() if isinstance(value, bytes) else value
            if isinstance(text, str) and _NAME.fullmatch(text):
                yield text.lower()


def test_every_name_in_the_code_is_described() -> None:
    files = [*(SOURCE / "server" / "http").rglob("*.py"), SOURCE / "mcp" / "protocol" / "headers.py"]
    found = {name for file in files for name in named(ast.parse(file.read_text(encoding="utf-8")))}
    values = {"nosniff"}
    assert {"readroom-agent", "host", "retry-after", "mcp-session-id", "etag", "if-none-match"} <= found
    assert found - KNOWN == values & found


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    root = tmp_path_factory.mktemp("root")
    (root / "a.txt").write_text("hello\n", encoding="utf-8")
    config = root.parent / "operator.toml"
    config.write_text('[serve]\nauth = "required"\n', encoding="utf-8")
    with agent(tmp_path_factory.mktemp("state"), "--config", str(config), str(root)) as found:
        yield found


def test_every_header_of_an_answer_is_described(served: Agent) -> None:
    token = served.make_token("all")
    origin = {"Origin": f"http://{served.host}:{served.port}"}
    mcp = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    sent = json.dumps(initialize("somebody")).encode()
    shown = ("/", "/metrics", "/openapi.json", "/docs", "/mcp")
    answers = [
        *(served.request("GET", one) for one in ("/healthz", "/readyz", "/ui", "/ui/sign-in", "/w/x/ui")),
        *(served.request("GET", one, token=token) for one in (*shown, "/api/v0/read-file-lines?path=a.txt")),
        *(served.request("POST", one, b"{}", token=token) for one in (*shown, "/v1/native/read_file")),
        served.request("GET", "/ui/static/dashboard.css"),
        served.request("POST", "/mcp", sent, token=token, headers=mcp),
        served.request("POST", "/ui/sign-in", f"token={token}".encode(), headers=origin),
        served.request("GET", "/healthz", headers={"Host": "elsewhere"}),
        served.call("read_file", {"path": "a.txt"}, token=token),
        served.call("read_file", {"path": "absent"}, token=token),
    ]
    assert {name for answer in answers for name in answer.headers} <= {name.lower() for name in WRITTEN}


def test_the_guide_and_openapi_have_them_all(served: Agent) -> None:
    document = served.request("GET", "/openapi.json", token=served.make_token("reader")).json
    guide = GUIDE.read_text(encoding="utf-8")
    assert document["x-headers"] == {"read": dict(READ), "written": dict(WRITTEN)}
    for name, words in (*READ.items(), *WRITTEN.items()):
        assert f"| `{name}` | {words} |" in guide
    for path, operations in document["paths"].items():
        parameters = [one for each in operations.values() for one in each.get("parameters", ())]
        referred = {one["$ref"].rpartition("/")[2] for one in parameters if "$ref" in one}
        own = path.startswith(("/v1/history", "/v1/review"))
        named = own or (path.startswith("/v1/") and "{" not in path)
        assert (path, referred) == (path, {"Readroom-Session", "Readroom-Agent"} if named else set())
    pattern = document["components"]["parameters"]["Readroom-Session"]["schema"]["pattern"]
    assert re.fullmatch(pattern, "chat-1")
    assert not re.fullmatch(pattern, "chat 1")
