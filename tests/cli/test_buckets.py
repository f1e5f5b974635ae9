"""Buckets by their address: on the command line, over MCP, in the operator's file, beside a folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from readroom.core import config
from readroom.core.errors import BadConfig
from readroom.core.workspace import Workspace
from tests.cli.running import COMMAND, Cli, run
from tests.core.stores.bucket.conftest import kind as kind
from tests.core.stores.bucket.conftest import proxy as proxy
from tests.core.stores.bucket.conftest import world as world
from tests.core.stores.bucket.worlds import BucketWorld
from tests.mcp.serving import Stdio
from tests.suites import needs


@pytest.fixture
def shelf(world: BucketWorld) -> BucketWorld:
    world.file("notes/a.txt", b"needle in the bucket\n")
    world.file("notes/.env", b"TOKEN=secret-of-tests\n")
    world.file("secret.txt", b"needle above\n")
    return world


def test_every_command_takes_an_address(shelf: BucketWorld, capsys: pytest.CaptureFixture[str]) -> None:
    cli = Cli(f"{shelf.address}/notes", capsys)
    assert "needle in the bucket" in cli("read", "a.txt").out
    assert cli("ls").out.count("a.txt") == 1
    assert "a.txt" in cli("grep", "needle").out
    assert "above" not in cli("grep", "needle").out
    assert "a.txt" in cli("find", "needle").out
    denied = cli("read", ".env")
    assert denied.code
    assert "secret-of-tests" not in denied.out + denied.err
    above = cli("read", "../secret.txt")
    assert above.code
    assert "needle" not in above.out


def test_a_bucket_beside_a_folder_and_in_the_operators_file(
    shelf: BucketWorld, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "here.txt").write_text("needle here\n", encoding="utf-8")
    cli = Cli(tmp_path, capsys)
    both = cli("grep", "needle", "--root", f"B={shelf.address}/notes:ro")
    assert "here.txt" in both.out
    assert "B/a.txt" in both.out
    operators = tmp_path.parent / "operator.toml"
    operators.write_text(f'[roots]\ndocs = "{shelf.address}/notes:ro"\n', encoding="utf-8")
    assert "needle in the bucket" in cli("read", "docs/a.txt", "--config", str(operators)).out


def test_a_folders_own_file_names_no_bucket(shelf: BucketWorld, tmp_path: Path) -> None:
    (tmp_path / "readroom.toml").write_text(f'[roots]\ndocs = "{shelf.address}"\n', encoding="utf-8")
    with pytest.raises(BadConfig):
        Workspace(str(tmp_path))
    shelf.proxy.seen.clear()
    assert shelf.proxy.seen == []


def test_the_buckets_own_file_restricts(shelf: BucketWorld) -> None:
    shelf.file("notes/readroom.toml", b'[policy]\ndeny = ["a.txt"]\n')
    with Workspace(f"{shelf.address}/notes") as workspace:
        assert workspace.call("read_file", {"path": "a.txt"}).is_error
    shelf.file("notes/readroom.toml", b"[changes]\nread_only = true\n")
    with Workspace(f"{shelf.address}/notes") as workspace:
        assert workspace.settings.changes.read_only


@needs("mcp")
def test_a_client_is_served(shelf: BucketWorld) -> None:
    with Stdio(f"{shelf.address}/notes") as client:
        assert "needle in the bucket" in str(client.call("read_file", {"path": "a.txt"}))


def test_what_is_missing_and_what_is_not_tried_is_said(
    shelf: BucketWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    for address, said in (
        ("gs://bucket/x", "only s3 and az have been tried"),
        (f"{shelf.address.partition('://')[0]}://no-such-bucket-here", "there is no such"),
        ("s3://key:secret-of-tests@bucket", "more than a bucket"),
    ):
        done = Cli(address, capsys)("ls")
        assert done.code
        assert said in done.out + done.err
        assert "secret-of-tests" not in done.out + done.err


def test_without_the_library_it_says_how_to_install_it(shelf: BucketWorld, tmp_path: Path) -> None:
    extra = shelf.address.partition("://")[0]
    name = {"s3": "botocore", "az": "azure"}[extra]
    hidden = tmp_path / "hidden" / name
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text(f"raise ModuleNotFoundError(name='{name}')\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(hidden.parent)}
    done = subprocess.run(
        [*COMMAND, "ls", "--root", shelf.address], env=environment, capture_output=True, text=True
    )
    assert done.returncode
    assert f"pip install 'readroom[{extra}]'" in done.stdout + done.stderr


def test_settings_of_a_bucket_are_those_of_the_operator(shelf: BucketWorld, tmp_path: Path) -> None:
    operators = tmp_path / "operator.toml"
    operators.write_text('[policy]\ndeny = ["a.*"]\n', encoding="utf-8")
    store = config.open_store(f"{shelf.address}/notes")
    with Workspace(store, settings=config.load(store, str(operators))) as workspace:
        assert workspace.call("read_file", {"path": "a.txt"}).is_error


@needs("mcp")
def test_a_client_is_connected_and_tried(shelf: BucketWorld, tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path), "CODEX_HOME": str(tmp_path / ".codex")}
    done = run("connect", "codex", f"{shelf.address}/notes", "--write", cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr.decode()
    assert "Tested as codex-mcp-client" in done.stdout.decode()
    written = (tmp_path / ".codex/config.toml").read_text(encoding="utf-8")
    assert f'args = ["mcp", "{shelf.address}/notes"]' in written
    assert "secret-of-tests" not in written
