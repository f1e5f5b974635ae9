"""Several folders on the command line: as --root, for a client, and in what doctor and explain say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import Cli, Done
from tests.mcp.serving import Http, Stdio


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    for name in ("shop", "docs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(f"needle in {name}\n")
    (tmp_path / "docs" / ".env").write_text("SECRET=1\n")
    return tmp_path


@pytest.fixture
def cli(folders: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(folders / "shop", capsys)


def both(cli: Cli, folders: Path, *words: str, other: str = "docs") -> Done:
    command, *arguments = words
    return cli(command, "--root", f"{other}={folders / 'docs'}:ro", *arguments)


def test_every_command_takes_more_roots(cli: Cli, folders: Path) -> None:
    assert "needle in docs" in both(cli, folders, "read", "docs/a.txt").out
    assert both(cli, folders, "grep", "needle").out.count("needle in") == 2
    assert "docs/a.txt" in both(cli, folders, "find", "needle").out
    assert "docs/ (read-only)" in both(cli, folders, "ls").out
    assert "a.txt" in both(cli, folders, "ls", "docs").out


def test_a_command_that_is_suggested_names_all_roots(cli: Cli, folders: Path) -> None:
    done = both(cli, folders, "read", "docs/b.txt")
    roots = f"--root {folders / 'shop'} --root docs={folders / 'docs'}:ro"
    assert f"readroom read docs/a.txt {roots}" in done.err


def test_a_shell_is_told_nothing_that_it_has_just_said(cli: Cli, folders: Path) -> None:
    assert "Folders:" not in both(cli, folders, "read", "a.txt").out


@pytest.mark.parametrize("other", ["..", "a.txt", "x/y", ".outputs"])
def test_a_name_that_cannot_be_used_is_an_error_with_advice(cli: Cli, folders: Path, other: str) -> None:
    done = both(cli, folders, "ls", other=other)
    assert done.code == 2
    assert "NAME=PATH" in done.err or "no file or folder" in done.err


def test_the_same_folder_twice_is_an_error(cli: Cli, folders: Path) -> None:
    done = cli("ls", "--root", f"x={folders / 'shop'}")
    assert done.code == 2
    assert "the same folder" in done.err


def test_doctor_shows_each_folder(cli: Cli, folders: Path) -> None:
    done = cli.bare("doctor", str(folders / "shop"), f"docs={folders / 'docs'}:ro")
    assert f"folder .: {folders / 'shop'}, can be changed, confinement: " in done.out
    assert f"folder docs: {folders / 'docs'}, read-only, confinement: " in done.out
    refused = cli.bare("doctor", str(folders / "shop"), f"x={folders / 'shop'}")
    assert "PROBLEM  folders: " in refused.out
    assert "folder ." not in cli.bare("doctor", str(folders / "shop")).out


def test_doctor_takes_folders_as_other_commands_do(cli: Cli, folders: Path) -> None:
    """With --root, as read-only, and those that the operator's file adds."""
    shop, docs = str(folders / "shop"), f"docs={folders / 'docs'}:ro"
    assert cli.bare("doctor", "--root", shop, "--root", docs).out == cli.bare("doctor", shop, docs).out
    alone = cli.bare("doctor", f"{shop}:ro").out
    assert f"settings: for {shop}, read-only: " in alone
    assert "PROBLEM  folder" not in alone
    twice = cli.bare("doctor", shop, "--root", str(folders / "docs"))
    assert (twice.code, "Two folders were given" in twice.err) == (2, True)
    file = folders / "operator.toml"
    file.write_text(f'[roots.docs]\npath = "{folders / "docs"}"\nread_only = true\n')
    done = cli.bare("doctor", shop, "--config", str(file))
    assert f"folder docs: {folders / 'docs'}, read-only" in done.out


def test_explain_says_which_folder_a_path_is_in(cli: Cli, folders: Path) -> None:
    done = both(cli, folders, "explain", "docs/a.txt")
    assert f"it is in the folder docs ({folders / 'docs'}), which is read-only" in done.out
    facts = both(cli, folders, "explain", "a.txt", "--json").facts
    assert facts["folder"] == {"name": ".", "path": str(folders / "shop"), "read_only": False}
    assert "it is in the folder" not in cli("explain", "a.txt").out


def test_connect_writes_all_folders(cli: Cli, folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folders)
    done = cli.bare("connect", "claude-code", "shop", "docs=docs:ro", "--write")
    assert done.code == 0, done.err
    written = json.loads((folders / "shop" / ".mcp.json").read_text())
    arguments = written["mcpServers"]["readroom"]["args"]
    assert arguments[-3:] == ["mcp", str(folders / "shop"), f"docs={folders / 'docs'}:ro"]
    refused = cli.bare("connect", "claude-code", "shop", "docs=shop", "--write")
    assert "the same folder" in refused.err


def test_a_client_is_told_and_served_all_folders(folders: Path) -> None:
    with Stdio(folders / "shop", f"docs={folders / 'docs'}:ro") as client:
        assert "docs/ (read-only)" in client.greeting["result"]["instructions"]
        first = client.call("read_file", {"path": "docs/a.txt"})["content"][0]["text"]
        assert "needle in docs" in first
        assert "Folders: docs/ (read-only)" in first
        again = client.call("read_file", {"path": "docs/.env"})
        assert again["isError"]
        assert "Folders:" not in again["content"][0]["text"]


def test_a_server_serves_all_folders(folders: Path) -> None:
    command = [sys.executable, "-m", "readroom", "serve", "--port", "0", "--open"]
    named = [str(folders / "shop"), f"docs={folders / 'docs'}:ro"]
    with subprocess.Popen([*command, *named], stdout=subprocess.PIPE, encoding="utf-8") as process:
        try:
            assert process.stdout is not None
            url = next(filter(None, map(_URL.search, process.stdout)))[0]
            with Http(url) as client:
                assert (
                    "needle in docs" in client.call("read_file", {"path": "docs/a.txt"})["content"][0]["text"]
                )
                refused = client.call(
                    "write_file", {"path": "docs/n", "content": "", "expected_hash": "absent"}
                )
                assert "the folder docs is read-only" in refused["content"][0]["text"]
        finally:
            process.terminate()
            process.communicate()


_URL = re.compile(r"http://[^ ]*/mcp")
