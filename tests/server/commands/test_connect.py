"""connect writes an entry with the token of a folder for a server that runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from readroom.cli.connect.clients import CLIENTS
from readroom.mcp.client_configs import program
from tests.cli.connect.test_connect import parsed, settings_of
from tests.cli.running import Cli
from tests.server.http.serving import agent, command


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that is this test's, and no client in it."""
    found = tmp_path / "home"
    found.mkdir()
    monkeypatch.setenv("HOME", str(found))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("CODEX_HOME", raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return found


@pytest.fixture(params=list(CLIENTS))
def client(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_write_makes_an_entry_that_starts_this_readroom_and_undo_leaves_nothing(
    client: str, home: Path, root: Path, cli: Cli
) -> None:
    place = settings_of(client, home, root)
    assert cli.bare("connect", client, str(root), "--write").code == 0
    servers = parsed(place)
    for key in CLIENTS[client].key:
        servers = servers[key]
    entry = servers["readroom"]
    command = entry.get("command", entry.get("cmd"))
    words = command if isinstance(command, list) else [command, *entry["args"]]
    assert words == [*program(), "mcp", str(root)]
    if client == "codex":
        assert entry["required"] is True
    again = cli.bare("connect", client, str(root), "--write")
    assert "already has it; nothing was changed" in again.out
    assert cli.bare("connect", client, str(root), "--undo").code == 0
    assert not place.exists()
    assert "nothing was changed" in cli.bare("connect", client, str(root), "--undo").out


def test_a_server_that_runs_already_is_reached_with_the_token_of_the_folder(
    home: Path, root: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    with agent(home / "state", "--", str(root)) as server:
        url = f"http://{server.host}:{server.port}/mcp"
        token = command(server.state, "token", "show", str(root)).strip()
        monkeypatch.setenv("READROOM_TOKEN", token)
        done = cli.bare("connect", "cursor", str(root), "--url", url, "--write")
        assert done.code == 0, done.err
        assert re.search(r"with \d tools", done.out)
        monkeypatch.setenv("READROOM_TOKEN", "rr_wrong")
        refused = cli.bare("connect", "cursor", str(root), "--url", url)
    entry = parsed(root / ".cursor/mcp.json")["mcpServers"]["readroom"]
    assert entry["headers"] == {"Authorization": "Bearer ${env:READROOM_TOKEN}"}
    assert token not in (root / ".cursor/mcp.json").read_text()
    assert refused.code == 5
    assert "another token (401)" in refused.err
    assert cli.bare("connect", "zed", str(root), "--url", "http://127.0.0.1:1/mcp").code == 2
