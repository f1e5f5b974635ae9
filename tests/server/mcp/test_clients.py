"""Caps by client: what a client would cut never reaches it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from readroom.core.contracts import NAMES, contract
from readroom.core.limits import REPLY_BYTES
from readroom.core.workspace import Workspace
from readroom.mcp.server import CLIENTS, reply_bytes
from tests.documents.reading.making import code, notebook
from tests.each import each
from tests.mcp.serving import END_S, ERAS, Http, Stdio, http_server
from tests.server.http.serving import agent
from tests.suites import daily

MEASURED = {
    "codex-mcp-client": 12_000,
    "gemini-cli-mcp-client": 40_000,
    "qwen-cli-mcp-client-readroom": 25_500,
    "claude-code": 50_000,
    "opencode": 50 * 1024,
    "copilot-cli": 20_000,
}
"""What each client was seen to pass on, by the name it sends."""


@each("name", MEASURED)
def test_a_known_client_gets_less_than_it_passes_on(name: str) -> None:
    assert MEASURED[name] * 0.9 < (reply_bytes(name) or 0) < MEASURED[name]


def test_every_client_of_the_table_is_measured() -> None:
    caps = [one for one in CLIENTS if one.chars is not None]
    assert {next(name for name in MEASURED if name.startswith(one.prefix)) for one in caps} == set(MEASURED)


@pytest.mark.parametrize(
    ("sent", "same_as"),
    [
        ("claude-code (via mcp-remote 0.1.37)", "claude-code"),
        ("Claude Code", "claude-code"),
        ("gemini-cli-mcp-client-readroom", "gemini-cli-mcp-client"),
        ("Codex", "codex-mcp-client"),
        ("qwen-cli-mcp-client-files", "qwen-cli-mcp-client"),
    ],
)
def test_a_client_is_known_by_how_its_name_starts(sent: str, same_as: str) -> None:
    assert reply_bytes(sent) == reply_bytes(same_as)


UNKNOWN = [None, "", "cursor-vscode", "my-codex", "openai-agents", "pydantic-ai", "langchain"]


@each("name", UNKNOWN)
def test_an_unknown_client_has_no_cap_of_its_own(name: str | None) -> None:
    assert reply_bytes(name) is None


@pytest.mark.parametrize("name", [None, "claude-code"])
def test_what_the_operator_asks_for_counts_for_every_client(name: str | None) -> None:
    assert reply_bytes(name, 70_000) == 70_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files longer than any cap: of one-byte and of three-byte characters."""
    found = tmp_path_factory.mktemp("long")
    (found / "plain.txt").write_text("one line of plain text\n" * 12_000, encoding="utf-8")
    (found / "wide.txt").write_text("一行不是拉丁文的文字\n" * 5000, encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with http_server(folder) as (found, _):
        yield found


@each("path", ["plain.txt", "wide.txt"])
@each("era", ERAS)
@each("name", [*MEASURED, "somebody"])
def test_a_reply_fills_what_its_client_passes_on_and_no_more(
    url: str, name: str, era: str, path: str
) -> None:
    """The name comes from the handshake, in 2026-07-28 from each request."""
    with Http(url, client=name, version=era) as client:
        (part,) = client.call("read_file", {"path": path, "limit": 5000})["content"]
    cap = min(REPLY_BYTES, reply_bytes(name) or REPLY_BYTES)
    assert cap * 0.9 < len(part["text"].encode()) <= cap


@daily(2, "name", ["codex-mcp-client", "somebody"])
@pytest.mark.parametrize("served", ["native", "everruns", "kilo", "inspect_agents"])
def test_what_arrives_is_the_smaller_of_the_clients_cap_and_the_contracts(
    folder: Path, name: str, served: str
) -> None:
    most = contract(served).reply_bytes
    with Stdio(folder, "--contract", served, client=name) as client:
        asked = _all_of("plain.txt", served)
        (part,) = client.call("files" if served == "inspect_agents" else "read_file", asked)["content"]
    size, cap = len(part["text"].encode()), min(most, reply_bytes(name) or most)
    assert size <= cap
    # Everruns bounds the content below the reply.
    assert size > 0.85 * min(cap, 51_200 if served == "everruns" else cap)


def _all_of(path: str, served: str) -> dict[str, object]:
    match served:
        case "kilo":
            return {"path": path}
        case "inspect_agents":
            return {"params": {"command": "read", "file_path": path, "limit": 50_000}}
    return {"path": path, "limit": 5000}


def test_a_file_that_coder_serves_reaches_every_client_that_does_not_cut(tmp_path: Path) -> None:
    """24 KB in 300 lines are below the contract's 32,768 bytes."""
    (tmp_path / "a.txt").write_text(f"{'x' * 79}\n" * 300, encoding="utf-8")
    asked = {"workspace": "me/here", "path": str(tmp_path / "a.txt")}
    for name, served in (
        ("openai-agents", True),
        ("codex-mcp-client", False),
    ):
        with Stdio(tmp_path, "--contract", "coder", client=name) as client:
            assert client.call("coder_workspace_read_file", asked).get("isError", False) is not served


@each("name", NAMES)
def test_a_client_that_makes_text_of_images_gets_a_sentence(tmp_path: Path, name: str) -> None:
    """Over both transports and in every contract that reads images; the text is the same besides."""
    image = pytest.importorskip("PIL.Image")
    image.new("RGB", (640, 480), "red").save(tmp_path / "red.png")
    tool = next((tool for tool in contract(name).tools if "read" in tool.name and tool.read_only), None)
    if tool is None:
        return  # one tool reads and changes
    with Workspace(tmp_path) as workspace:
        arguments = {"path": "red.png"} if name == "native" else _as_read(workspace, name, tool.name)
    for client in ("somebody", "continue-cli-client", "continue-cli-client 1.6"):
        with Stdio(tmp_path, "--contract", name, client=client) as served:
            content = served.call(tool.name, arguments)["content"]
        kinds = [part["type"] for part in content]
        if client == "somebody":
            whole = content[0]["text"]
            if "image" not in kinds:
                return  # a contract without images
        else:
            assert kinds == ["text"]
            assert "Not sent as an image" in content[0]["text"]
            assert len(content[0]["text"]) < len(whole) + 200


def _as_read(workspace: Workspace, name: str, tool: str) -> dict[str, object]:
    """The arguments of the contract for its first read of that picture."""
    fields = contract(name).tool(tool).input_schema["properties"]
    path = next(one for one in fields if "path" in one.lower() or one == "target_file")
    return {path: str(workspace.guard.folder) + "/red.png" if name in ("coder", "rnd") else "red.png"}


def test_the_table_for_people_has_what_arrives() -> None:
    page = (Path(__file__).parents[3] / "docs/how-to/connect-clients.md").read_text(encoding="utf-8")
    for client in CLIENTS:
        rows = (line.split("|") for line in page.split("\n"))
        row = next(cells for cells in rows if cells[2:3] == [f" `{client.prefix}` "])
        caps = [contract(name).reply_bytes for name in NAMES]
        arrives = [f"{min(client.chars or cap, cap):,}" for cap in caps]
        assert [cell.strip() for cell in row[3:-1]] == arrives


def test_a_cut_reply_says_so_in_its_first_and_last_line(url: str) -> None:
    with Http(url) as client:
        text = client.call("read_file", {"path": "plain.txt", "limit": 5000})["content"][0]["text"]
    first, *_, last = text.split("\n")
    assert "more below" in first
    assert "Next: read_file" in last


def test_the_operators_file_sets_a_cap_that_an_option_overrides(folder: Path, tmp_path: Path) -> None:
    config = tmp_path / "operator.toml"
    config.write_text("[serve]\nmax_chars = 4000\n", encoding="utf-8")
    for options, most in ((), 4000), (("--max-chars", "3000"), 3000):
        with Stdio(folder, "--config", str(config), *options, client="claude-code") as client:
            text = client.call("read_file", {"path": "plain.txt"})["content"][0]["text"]
        assert 2000 < len(text) <= most


def test_the_operator_lowers_the_cap(folder: Path) -> None:
    with Stdio(folder, "--max-chars", "3000", client="claude-code") as client:
        text = client.call("read_file", {"path": "plain.txt"})["content"][0]["text"]
    assert 2000 < len(text) <= 3000


SHORT = "".join(f"{number}\n" for number in range(9000))
MANY = [
    ("read_file", {"path": "short.txt", "limit": 5000}),
    ("read_file", {"path": "short.txt", "limit": -5000}),
    ("read_file", {"path": "short.py", "view": "outline"}),
    ("read_file", {"path": "cells.ipynb", "limit": 9000}),
    ("grep_files", {"pattern": "^", "limit": 9000, "path": "short.txt"}),
    ("grep_files", {"pattern": "0", "limit": 9000, "context": 2, "path": "short.txt"}),
    ("list_directory", {"path": "names", "limit": 5000}),
    ("run_command", {"command": "seq 3000", "output": "full"}),
]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More lines than opencode passes on, in few bytes."""
    found = tmp_path_factory.mktemp("rows")
    (found / "short.txt").write_text(SHORT)
    (found / "short.py").write_text("".join(f"def f{number}(): 0\n" for number in range(4000)))
    (found / "cells.ipynb").write_bytes(notebook(*(code("a\nb\nc") for _ in range(2500))))
    (found / "names").mkdir()
    for number in range(3000):
        (found / "names" / str(number)).touch()
    return found


@daily(2, ("tool", "arguments"), MANY)
def test_a_client_that_counts_lines_gets_the_last_one(
    rows: Path, tool: str, arguments: dict[str, object]
) -> None:
    """It cuts from the end, where the next call stands."""
    with Stdio(rows, "--allow-commands", client="opencode") as client:
        text = client.call(tool, arguments)["content"][0]["text"]
    count = text.count("\n") + 1
    assert count <= 1990
    assert count > 900, "much less than it passes on, or than fits its bytes"
    assert "Next: " in text.rpartition("\n")[2]


@pytest.mark.parametrize("name", ["gemini-cli-mcp-client-readroom", "qwen-cli-mcp-client-readroom"])
def test_a_model_that_would_see_the_facts_of_an_error_gets_its_words_alone(folder: Path, name: str) -> None:
    with Stdio(folder, client=name) as client:
        refused = client.call("read_file", {"path": "none.txt"})
        assert refused["isError"]
        assert "_meta" not in refused
        assert client.call("read_file", {"path": "plain.txt"})["_meta"], "other results keep theirs"
        told = client.call("read_file", {"file": "plain.txt"})["content"][0]["text"]
        assert "path, offset, limit" in told, "the arguments there are"
    with Stdio(folder, client="claude-code") as client:
        assert client.call("read_file", {"path": "none.txt"})["_meta"]


@daily(1, "name", ["gemini-cli-mcp-client-readroom", "qwen-cli-mcp-client-readroom"])
def test_over_http_too_and_the_log_gets_the_code(folder: Path, tmp_path: Path, name: str) -> None:
    with agent(tmp_path, "--open", "--access-log", str(folder)) as served:
        with Http(f"http://{served.host}:{served.port}/mcp", client=name) as client:
            refused = client.call("read_file", {"path": "none.txt"})
            assert refused["isError"]
            assert "There is no file" in refused["content"][0]["text"]
            assert "_meta" not in refused
        served.process.terminate()
        _, log = served.process.communicate(timeout=END_S)
    lines = [json.loads(line) for line in log.decode().splitlines()]
    assert [line["code"] for line in lines if line["tool"]] == ["not_found"]
