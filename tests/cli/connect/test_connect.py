"""connect: a client's settings get one entry, keep everything else, and get back what they were."""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from readroom.cli.connect.clients import CLIENTS
from readroom.cli.connect.files import BACKUP
from readroom.cli.connect.formats import Json
from tests.cli.running import Cli
from tests.suites import daily


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


def settings_of(client: str, home: Path, root: Path) -> Path:
    places = {
        "claude-code": root / ".mcp.json",
        "claude-desktop": home / ".config/Claude/claude_desktop_config.json",
        "codex": home / ".codex/config.toml",
        "cursor": root / ".cursor/mcp.json",
        "vscode": root / ".vscode/mcp.json",
        "gemini": root / ".gemini/settings.json",
        "qwen": root / ".qwen/settings.json",
        "opencode": root / "opencode.json",
        "zed": home / ".config/zed/settings.json",
        "windsurf": home / ".codeium/windsurf/mcp_config.json",
        "kilo": root / ".kilocode/mcp.json",
        "goose": home / ".config/goose/config.yaml",
    }
    if sys.platform == "darwin":
        places["claude-desktop"] = home / "Library/Application Support/Claude/claude_desktop_config.json"
    return places[client]


def parsed(path: Path) -> Any:
    text = path.read_text()
    if path.suffix == ".toml":
        return tomllib.loads(text)
    return yaml.safe_load(text) if path.suffix == ".yaml" else Json().loads(text)


OTHERS = {
    ".json": '{\n  // mine\n  "theme": "dark",\n  "%s": {\n    "other": {"command": "x"} // keep\n  }\n}\n',
    ".toml": '# mine\nmodel = "m"\n\n[%s.other]\ncommand = "x" # keep\n\n[tui]\nalerts = true\n',
    ".yaml": "# mine\nmodel: m\n%s:\n  other:\n    cmd: x # keep\n# below\nlast: 1\n",
}


@pytest.fixture(params=list(CLIENTS))
def client(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_without_write_it_shows_the_entry_tries_the_server_and_changes_nothing(
    client: str, home: Path, root: Path, cli: Cli
) -> None:
    before = sorted(home.rglob("*")) + sorted(root.rglob("*"))
    done = cli.bare("connect", client, str(root))
    assert done.code == 0, done.err
    assert str(settings_of(client, home, root)) in done.out
    assert str(root) in done.out
    assert re.search(r"with \d tools \(read_file, ", done.out)
    assert f"connect {client} {root} --write" in done.out
    assert sorted(home.rglob("*")) + sorted(root.rglob("*")) == before


def test_settings_keep_every_other_line_and_get_back_what_they_were(
    client: str, home: Path, root: Path, cli: Cli
) -> None:
    place = settings_of(client, home, root)
    before = OTHERS[place.suffix] % CLIENTS[client].key[0]
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(before)
    place.chmod(0o640)
    done = cli.bare("connect", client, str(root), "--write")
    assert done.code == 0, done.err
    after = place.read_text().split("\n")
    missing = [line for line in before.split("\n") if line not in after and f"{line}," not in after]
    assert [line for line in missing if "keep" not in line] == []  # that line has a comma more
    assert "keep" in place.read_text()
    assert place.stat().st_mode & 0o777 == 0o640
    assert Path(str(place) + BACKUP).read_text() == before
    done = cli.bare("connect", client, str(root), "--undo")
    assert "Restored " in done.out
    assert place.read_text() == before
    assert not Path(str(place) + BACKUP).exists()


def test_what_was_changed_since_stays_when_it_is_undone(
    client: str, home: Path, root: Path, cli: Cli
) -> None:
    place = settings_of(client, home, root)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(OTHERS[place.suffix] % CLIENTS[client].key[0])
    cli.bare("connect", client, str(root), "--write")
    place.write_text(place.read_text().replace('"dark"', '"light"').replace("model", "models"))
    done = cli.bare("connect", client, str(root), "--undo")
    assert "later changes there were kept" in done.out
    text = place.read_text()
    assert "readroom" not in text
    assert '"light"' in text or "models" in text


BROKEN = {
    ".json": ('{\n  "a": 1\n  "b": 2\n}\n', "line 3"),
    ".toml": ("a = 1\nb = \n", "line 2"),
    ".yaml": ("a: 1\nb: [\n", "line 3"),
}
FOREIGN = {".json": "[1, 2]\n", ".toml": '%s = "x"\n', ".yaml": "- 1\n- 2\n"}


@pytest.mark.parametrize("what", ["broken", "foreign", "linked", "a folder", "a pipe", "not text"])
def test_settings_that_cannot_be_used_are_not_touched_and_it_is_said_why(
    client: str, what: str, home: Path, root: Path, cli: Cli
) -> None:
    place = settings_of(client, home, root)
    place.parent.mkdir(parents=True, exist_ok=True)
    expected = {"linked": "symbolic link", "not text": "line 2: it is not UTF-8"}.get(what, "not a")
    if what == "broken":
        content, expected = BROKEN[place.suffix]
        place.write_text(content)
    elif what == "foreign":
        content = FOREIGN[place.suffix]
        place.write_text(content % CLIENTS[client].key[0] if "%" in content else content)
    elif what == "linked":
        (home / "elsewhere").write_text("{}")
        place.symlink_to(home / "elsewhere")
    elif what == "a folder":
        place.mkdir()
    elif what == "a pipe":
        os.mkfifo(place)
    else:
        place.write_bytes(b"{}\n\xff\xfe\n")
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    for option in ("--write", "--undo"):
        done = cli.bare("connect", client, str(root), option)
        assert done.code == 2
        assert str(place) in done.err
        assert expected in done.err
        assert "Nothing was changed" in done.err
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before
    assert list(place.parent.glob(f"*{BACKUP}")) == []


@pytest.mark.parametrize("name", [".cursor", ".vscode"])
def test_a_folder_that_comes_with_a_link_leads_nowhere(name: str, home: Path, root: Path, cli: Cli) -> None:
    (root / name).symlink_to(home)
    done = cli.bare("connect", name[1:], str(root), "--write")
    assert done.code == 2
    assert f"{name} is a symbolic link" in done.err
    assert list(home.iterdir()) == []


def test_a_write_protected_file_stays_as_it_is(home: Path, root: Path, cli: Cli) -> None:
    place = root / ".mcp.json"
    place.write_text("{}")
    place.chmod(0o444)
    done = cli.bare("connect", "claude-code", str(root), "--write")
    assert (done.code, place.read_text()) == (2, "{}")
    assert "write-protected" in done.err


def test_an_unknown_client_gets_the_list_and_the_form_of_most(home: Path, root: Path, cli: Cli) -> None:
    done = cli.bare("connect", "curser", str(root))
    assert done.code == 2
    assert "Did you mean cursor?" in done.err
    assert all(one.title in done.err for one in CLIENTS.values())
    form = json.loads(done.err[done.err.index("{") :])
    assert form["mcpServers"]["readroom"]["args"][-1] == str(root)
    assert "Zed" in cli.bare("connect").out


def test_the_users_own_settings_hold_several_folders_under_names(
    home: Path, root: Path, tmp_path: Path, cli: Cli
) -> None:
    (tmp_path / "other").mkdir()
    cli.bare("connect", "codex", str(root), "--write")
    cli.bare("connect", "codex", str(tmp_path / "other"), "--write", "--name", "other")
    cli.bare("connect", "cursor", str(root), "--write", "--user")
    assert list(parsed(home / ".codex/config.toml")["mcp_servers"]) == ["readroom", "other"]
    assert (home / ".cursor/mcp.json").exists()
    assert cli.bare("connect", "codex", str(root), "--name", "a b").code == 2


def stand_in(home: Path, client: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of the client's name, found before any other."""
    program = home / "bin" / client
    program.parent.mkdir()
    program.write_text(script)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")


def test_a_clients_own_check_is_shown_where_it_is_installed(
    home: Path, root: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program of that name stands for the client: what it is asked, and where, is what counts."""
    stand_in(home, "codex", '#!/bin/sh\nprintf "\\033[32masked\\033[0m: $*\\n"; pwd\n', monkeypatch)
    done = cli.bare("connect", "codex", str(root), "--write")
    assert f"$ codex mcp get readroom\n  asked: mcp get readroom\n  {home}\n" in done.out


def test_a_client_is_started_in_a_folder_only_when_that_is_asked_for(
    home: Path, root: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would start what else the folder configures, which may have come from anywhere."""
    stand_in(home, "opencode", "#!/bin/sh\necho started here: $(pwd)\n", monkeypatch)
    done = cli.bare("connect", "opencode", str(root), "--write")
    assert "started here" not in done.out
    assert "`opencode mcp list` in that folder, or --check" in done.out
    cli.bare("connect", "opencode", str(root), "--undo")
    asked = cli.bare("connect", "opencode", str(root), "--write", "--check")
    assert f"started here: {root}" in asked.out


@pytest.mark.parametrize("folder", ["none", "README.md"])
def test_a_folder_that_is_not_one_is_refused(folder: str, home: Path, root: Path, cli: Cli) -> None:
    assert cli.bare("connect", "codex", str(root / folder), "--write").code in (4, 5)
    assert not (home / ".codex").exists()


@daily(2, "name", ["a b", "ü", 'quote\'s "both"', "-dash", "$HOME", "line\nbreak"])
def test_any_name_of_a_folder_arrives_as_it_is(name: str, home: Path, tmp_path: Path, cli: Cli) -> None:
    folder = tmp_path / name
    folder.mkdir()
    for client in ("claude-code", "codex", "goose"):
        done = cli.bare("connect", client, "--write", "--", str(folder))
        assert done.code == 0, done.err
    assert parsed(folder / ".mcp.json")["mcpServers"]["readroom"]["args"] == ["mcp", str(folder)]
    assert parsed(home / ".codex/config.toml")["mcp_servers"]["readroom"]["args"] == ["mcp", str(folder)]
    assert parsed(home / ".config/goose/config.yaml")["extensions"]["readroom"]["args"] == [
        "mcp",
        str(folder),
    ]
