"""init and doctor: a file of settings that works when it is uncommented, and a diagnosis that is true."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from readroom import Denied, Workspace
from readroom.cli.init import configuration
from tests.cli.running import Cli


def test_it_is_made_once_and_changes_nothing_by_itself(root: Path, cli: Cli) -> None:
    before = Workspace(root).list().text
    done = cli.bare("init", str(root))
    assert done.code == 0, done.err
    assert "9 names (1 ignored, 1 denied already)" in done.out
    with Workspace(root) as workspace:
        assert workspace.list(glob="!readroom.toml").text.split("\n")[1:] == before.split("\n")[1:]
    text = (root / "readroom.toml").read_text()
    again = cli.bare("init", str(root))
    assert (again.code, (root / "readroom.toml").read_text()) == (2, text)
    assert "already exists" in again.err
    assert cli.bare("init", str(root), "--print").out == text


def test_every_line_works_when_its_comment_sign_is_taken_out(root: Path, cli: Cli) -> None:
    cli.bare("init", str(root))
    text = (root / "readroom.toml").read_text()
    plain = re.sub(r"^# (\w+ = )", r"\1", text, flags=re.MULTILINE)
    assert plain.count("\n# ") < text.count("\n# ")
    (root / "readroom.toml").write_text(plain)
    with Workspace(root) as workspace:
        assert workspace.settings.changes.read_only
        assert workspace.settings.limits.reply_bytes == 16384
        with pytest.raises(Denied):
            workspace.read("README.md")  # not in the list of folders that it suggests


def test_names_that_often_hold_credentials_are_denied_and_databases_named(root: Path, cli: Cli) -> None:
    (root / "trace.har").write_text("{}")
    (root / "src" / "Shop.SQL").write_text("select 1")
    done = cli.bare("init", str(root))
    assert "It denies *.har" in done.out
    assert "Found here, and not denied: *.sql." in (root / "readroom.toml").read_text()
    with Workspace(root) as workspace, pytest.raises(Denied):
        workspace.read("trace.har")


def test_names_that_are_denied_are_not_in_it(root: Path, cli: Cli) -> None:
    cli.bare("init", str(root))
    text = (root / "readroom.toml").read_text()
    assert ".env" not in text
    assert "secret" not in text


@pytest.mark.parametrize("name", ['a"b', "tab\t", "ü", "\x7f", "back\\slash"])
def test_any_name_of_a_folder_can_stand_in_it(name: str, tmp_path: Path) -> None:
    import tomllib

    text = configuration([{"path": name, "kind": "folder", "size_bytes": None}])
    plain = re.sub(r"^# (allow = )", r"\1", text, flags=re.MULTILINE)
    assert tomllib.loads(plain)["policy"]["allow"] == [f"{name}/"]


def test_a_link_where_it_should_be_is_not_followed(root: Path, tmp_path: Path, cli: Cli) -> None:
    (root / "readroom.toml").symlink_to(tmp_path / "elsewhere")
    assert cli.bare("init", str(root)).code == 2
    assert not (tmp_path / "elsewhere").exists()


def diagnosed(cli: Cli, *arguments: str) -> dict[str, Any]:
    done = cli.bare("doctor", *arguments, "--json")
    return {"code": done.code, **{one["what"]: one for one in json.loads(done.out)}}


def test_a_machine_that_works_has_no_problem(root: Path, cli: Cli) -> None:
    found = diagnosed(cli, str(root), "--port", "1")
    assert found["code"] == 0
    assert found["search"]["found"].endswith("/rg")
    assert found["outlines"]["state"] == "ok"
    rows = json.loads(cli.bare("doctor", str(root), "--port", "1", "--json").out)
    named = [row["found"].partition(": ")[2].split(", ") for row in rows if row["what"] == "extras"]
    assert not any("all" in extras for extras in named)  # it brings nothing of its own
    if sys.platform == "linux":
        assert "openat2" in found["confinement"]["found"]
    assert "nothing answers on port 1" in found["server"]["found"]
    assert cli.bare("doctor", str(root), "--port", "1").code == 0


def test_settings_that_cannot_be_used_are_said_with_what_to_do(root: Path, cli: Cli) -> None:
    (root / "readroom.toml").write_text("[polcy]\n")
    found = diagnosed(cli, str(root), "--port", "1")
    assert found["folder"]["state"] == "problem"
    assert "policy" in found["folder"]["remedy"]


def test_a_client_has_its_cap(root: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert "1,990 lines" in cli.bare("doctor", str(root), "--client", "opencode", "--port", "1").out
    done = cli.bare("doctor", str(root), "--client", "none", "--port", "1")
    assert done.code == 2
    assert "claude-code" in done.err


def test_a_state_folder_that_cannot_be_written_is_a_problem(
    root: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file" / "state"))
    found = diagnosed(cli, str(root), "--port", "1")
    if os.geteuid() != 0:
        assert found["state"]["state"] == "problem"
    assert found["state"]["what"] == "state"
