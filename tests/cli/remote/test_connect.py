"""connect and doctor with an address: tried before anything is written, and what is written works."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from readroom.cli.connect.clients import CLIENTS
from readroom.cli.remote.address import parsed
from tests.cli.connect.test_connect import parsed as settings
from tests.cli.connect.test_connect import settings_of
from tests.cli.remote.sshd import Sshd, needs_sshd
from tests.cli.remote.test_at import encoded, run
from tests.cli.remote.test_mcp import HELLO, Talk
from tests.suites import daily

pytestmark = needs_sshd


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Where the client is used: its settings are there, the files elsewhere."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def started(entry: Any) -> list[str]:
    """The command in an entry, whatever its client calls the parts."""
    command = entry.get("command", entry.get("cmd"))
    return list(command) if isinstance(command, list) else [command, *entry["args"]]


@daily(3, "client", CLIENTS)
def test_every_client_gets_a_command_that_serves_the_folder_there(
    client: str, sshd: Sshd, shop: Path, project: Path
) -> None:
    address = sshd.address(encoded(shop))
    environment = {**sshd.environment, "HOME": str(project)}
    done = run("connect", client, address, "--write", environment=environment, cwd=project)
    assert done.returncode == 0, done.stderr
    assert b"starts in " in done.stdout
    assert b"links cannot lead out" in done.stdout
    place = settings_of(client, project, project)
    found = settings(place)
    for key in CLIENTS[client].key:
        found = found[key]
    words = started(found["readroom"])
    assert words[-3:] == ["mcp", "--at", str(parsed(address))]
    text = place.read_text()
    assert "$" not in text, "clients replace variables in their settings"
    server = subprocess.run(
        words, env=environment, input=_hello(), capture_output=True, timeout=300, check=False
    )  # fmt: skip
    assert "The workspace is" in json.loads(server.stdout.split(b"\n")[0])["result"]["instructions"]
    undone = run("connect", client, address, "--undo", environment=environment, cwd=project)
    assert undone.returncode == 0
    assert not place.exists()


def _hello() -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}).encode() + b"\n"


@daily(1, "client", ["cursor", "codex", "goose"])
def test_a_client_can_start_ssh_itself(client: str, sshd: Sshd, shop: Path, project: Path) -> None:
    address = sshd.address(encoded(shop))
    environment = {**sshd.environment, "HOME": str(project)}
    done = run("connect", client, address, "--write", "--direct", environment=environment, cwd=project)
    assert done.returncode == 0, done.stderr
    place = settings_of(client, project, project)
    found = yaml.safe_load(place.read_text()) if place.suffix == ".yaml" else settings(place)
    for key in CLIENTS[client].key:
        found = found[key]
    words = started(found["readroom"])
    assert words[0].endswith("/ssh")
    assert words[words.index("--") + 1] == "127.0.0.1"
    server = subprocess.run(
        words, env=environment, input=_hello(), capture_output=True, timeout=300, check=False
    )
    assert json.loads(server.stdout.split(b"\n")[0])["result"]["serverInfo"]["name"] == "readroom"


@daily(2, "machine, problem, code", [
    ("empty", "there is no readroom there", 8), ("usual", "no file or folder", 4), ("old", "too old", 8),
    ("another", "another version", 8),
])  # fmt: skip
def test_nothing_is_written_where_the_machine_is_of_no_use(
    machine: str, problem: str, code: int, sshd: Sshd, project: Path
) -> None:
    address = sshd.address("/no/such/folder", machine)
    done = run("connect", "cursor", address, "--write", environment=sshd.environment, cwd=project)
    assert (done.returncode, list(project.iterdir())) == (code, [])
    assert problem in done.stderr.decode()


@daily(1, "words", [
    ("--url", "http://127.0.0.1:1/mcp"), ("--write", "--undo"), ("--name", "a b"),
])  # fmt: skip
def test_options_that_do_not_go_with_an_address_are_refused(
    words: tuple[str, ...], sshd: Sshd, project: Path
) -> None:
    done = run("connect", "cursor", "ssh://127.0.0.1:1/x", *words, environment=sshd.environment, cwd=project)
    assert done.returncode == 2
    assert (
        run("connect", "cursor", ".", "--direct", environment=sshd.environment, cwd=project).returncode == 2
    )


def test_doctor_says_where_the_workspace_is_and_what_is_there(sshd: Sshd, shop: Path) -> None:
    address = sshd.address(encoded(shop))
    done = run("doctor", address, "--json", environment=sshd.environment)
    found = {row["what"]: row for row in json.loads(done.stdout)}
    assert done.returncode == 0, done
    assert "is on 127.0.0.1; there, links cannot lead out" in found["workspace"]["found"]
    assert "readroom" in found["there: settings"]["found"]
    assert found["there: readroom"]["state"] == "ok"
    lost = run("doctor", sshd.address("/nope"), environment=sshd.environment)
    assert lost.returncode == 5
    assert b"PROBLEM  address: There is no file or folder" in lost.stdout
    empty = run("doctor", sshd.address(encoded(shop), "empty"), environment=sshd.environment)
    assert empty.returncode == 5
    assert b"there is no readroom there" in empty.stdout


def test_a_direct_server_needs_no_more_than_its_settings(sshd: Sshd, shop: Path) -> None:
    """The same server, without a line about its place: that is of the near end."""
    talk = Talk(str(shop), environment=sshd.environment)
    talk.send("initialize", 1, **HELLO)
    assert "The workspace is" not in talk.hear()["result"]["instructions"]
    assert talk.end()[0] == 0
