"""The Everruns contract: commands, their shortened output and their kept files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from readroom.contracts.everruns.requests import REPLY_BYTES as EVERRUNS_REPLY_BYTES
from readroom.core import config
from readroom.core.kernel import landlock
from readroom.core.stores.local import LocalStore
from readroom.core.values.commands import SHOWN_BYTES
from readroom.core.workspace import Workspace

Json = Any


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    operator = tmp_path / "operator.toml"
    operator.write_text('[commands]\nenabled = true\nconfinement = "none"\n', encoding="utf-8")
    (tmp_path / "root").mkdir()
    store = LocalStore(tmp_path / "root")
    with Workspace(store, settings=config.load(store, operator)) as found:
        yield found


def bash(workspace: Workspace, command: str, **more: Json) -> Json:
    reply = workspace.call("bash", {"command": command, **more}, contract_name="everruns")
    assert not reply.is_error, reply.text
    return json.loads(reply.text)


def read(workspace: Workspace, path: str, **more: Json) -> Json:
    reply = workspace.call("read_file", {"path": path, **more}, contract_name="everruns")
    assert not reply.is_error, reply.text
    return json.loads(reply.text)


@pytest.mark.clause("everruns.exec.policy")
def test_commands_are_offered_only_where_policy_allows_them(workspace: Workspace, tmp_path: Path) -> None:
    assert "bash" in [tool.name for tool in workspace.tools("everruns")]
    with Workspace(tmp_path / "root") as plain:
        assert "bash" not in [tool.name for tool in plain.tools("everruns")]
        assert plain.call("bash", {"command": "true"}, contract_name="everruns").is_error


@pytest.mark.clause("everruns.exec.spellings")
@pytest.mark.parametrize(
    "root", [".outputs", "./.outputs", "/.outputs", "/workspace/.outputs", "workspace/../.outputs"]
)
def test_a_kept_output_is_one_file_in_every_spelling(workspace: Workspace, root: str) -> None:
    bash(workspace, "seq 3", tool_call_id="one")
    found = read(workspace, f"{root}/one.stdout")
    assert (found["path"], found["content"]) == ("/.outputs/one.stdout", "1|1\n2|2\n3|3")
    for tool, asked, key, shown in (
        ("grep_files", {"path": root, "pattern": "2"}, "match_count", 1),
        ("list_directory", {"path": root}, "count", 2),
        ("stat_file", {"path": f"{root}/one.stdout"}, "path", "/.outputs/one.stdout"),
    ):
        assert json.loads(workspace.call(tool, asked, contract_name="everruns").text)[key] == shown
    refused = workspace.call("read_file", {"path": root}, contract_name="everruns")
    assert refused.text == "Path '/.outputs' is a directory, not a file. Use list_directory instead."
    written = workspace.call(
        "write_file", {"path": f"{root}/one.stdout", "content": ""}, contract_name="everruns"
    )
    assert written.is_error


def test_a_folder_of_that_name_in_the_workspace_can_be_read(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "root" / ".outputs").mkdir()
    (tmp_path / "root" / ".outputs" / "own.txt").write_text("own\n", encoding="utf-8")
    bash(workspace, "seq 3", tool_call_id="one")
    assert read(workspace, ".outputs/own.txt")["content"] == "1|own"
    assert read(workspace, "/workspace/.outputs/one.stdout")["total_lines"] == 3


@pytest.mark.clause("everruns.deviation.kept-bytes")
def test_more_than_a_mebibyte_is_kept(workspace: Workspace) -> None:
    bash(workspace, "seq 300000", tool_call_id="much")
    assert read(workspace, "/.outputs/much.stdout", offset=0, limit=1)["size_bytes"] > 1 << 20
    assert read(workspace, "/.outputs/much.stdout", limit=1)["content"] == "1|1"
    last = read(workspace, "/.outputs/much.stdout", offset=299_999, limit=1)
    assert last["content"] == "300000|300000"


@pytest.mark.clause("everruns.deviation.full-output")
def test_full_output_ends_at_the_cap_and_names_where_the_rest_is(workspace: Workspace) -> None:
    assert bash(workspace, "seq 3000", output="full")["stdout"].count("\n") == 2999
    found = bash(workspace, "seq 100000", output="full", tool_call_id="long")
    assert 0.8 * EVERRUNS_REPLY_BYTES < len(json.dumps(found)) <= EVERRUNS_REPLY_BYTES
    assert "[full output saved to /.outputs/long.stdout (576 KiB)" in found["stdout"]
    assert read(workspace, "/.outputs/long.stdout", offset=50_000, limit=1)["content"] == "50001|50001"


@pytest.mark.clause("everruns.deviation.commands-beside-denied")
@pytest.mark.skipif(bool(landlock.available() < landlock.FOR_COMMANDS), reason="no Landlock here")
def test_beside_a_denied_file_nothing_is_created_under_landlock_and_a_note_says_so(tmp_path: Path) -> None:
    operator, root = tmp_path / "operator.toml", tmp_path / "root"
    operator.write_text('[commands]\nenabled = true\nconfinement = "landlock"\n', encoding="utf-8")
    (root / "sub").mkdir(parents=True)
    (root / ".env").write_text("A=1\n", encoding="utf-8")
    store = LocalStore(root)
    with Workspace(store, settings=config.load(store, operator)) as workspace:
        found = bash(workspace, "touch beside; touch sub/below; ls sub")
    assert (found["stdout"], (root / "beside").exists()) == ("below", False)
    assert "a command cannot create or delete files directly in ." in found["notes"][0]


@pytest.mark.clause("everruns.exec.fields")
def test_a_result_has_its_fields_and_the_files_of_its_output(workspace: Workspace) -> None:
    found = bash(workspace, "echo out; echo err >&2; exit 3", tool_call_id="call_abc123")
    assert found == {
        "stdout": "out",
        "stderr": "err",
        "exit_code": 3,
        "success": False,
        "full_output": "/.outputs/call_abc123.stdout",
        "total_lines": 1,
        "output_files": ["/.outputs/call_abc123.stdout", "/.outputs/call_abc123.stderr"],
    }


@pytest.mark.clause("everruns.exec.read-back")
def test_what_is_left_out_is_said_and_read_in_the_kept_output(workspace: Workspace) -> None:
    found = bash(workspace, "seq 1 8450", tool_call_id="c1")
    assert found["total_lines"] == 8450
    assert re.search(r"\n\n\[\.\.\. \d+ bytes omitted \.\.\.\]\n\n", found["stdout"])
    assert found["stdout"].endswith(
        "[full output saved to /.outputs/c1.stdout (41 KiB) — use read_file with offset/limit]"
    )
    page = read(workspace, found["full_output"], offset=8350, limit=100)
    assert page["lines_shown"] == {"start": 8351, "end": 8450}
    assert page["path"] == "/.outputs/c1.stdout"
    assert read(workspace, "/workspace/.outputs/c1.stdout", offset=0, limit=1)["content"] == "1|1"


@pytest.mark.parametrize("mode", [*SHOWN_BYTES, "full", "loud"])
@pytest.mark.clause("everruns.exec.full")
def test_each_mode_keeps_to_its_budget(workspace: Workspace, mode: str) -> None:
    found = bash(workspace, "seq 1 9000 | sed 's/$/ a \"line\"/'", output=mode)
    shown = found["stdout"].rpartition("\n[full output")[0] or found["stdout"]
    if mode == "full":
        assert shown.count("\n") == 8999 or len(json.dumps(found)) > 0.8 * EVERRUNS_REPLY_BYTES
        return
    budget = SHOWN_BYTES.get(mode, SHOWN_BYTES["concise"])  # type: ignore[call-overload] # a name that is none
    assert budget // 2 < len(shown.encode()) <= budget


def test_an_error_in_the_middle_is_shown_of_a_command_that_failed(workspace: Workspace) -> None:
    command = (
        "for i in $(seq 2000); do echo Compiling $i; test $i = 900 && echo 'error: broken'; done; exit 1"
    )
    assert "error: broken" in bash(workspace, command)["stdout"]


def test_what_a_failed_command_left_out_is_counted_in_lines_where_it_stood(workspace: Workspace) -> None:
    command = "seq 3000; echo 'error: broken'; seq 3001 6000; exit 1"
    rows = bash(workspace, command)["stdout"].split("\n")
    counted = [int(row.split()[1]) for row in rows if row.startswith("[... ")]
    assert len(counted) >= 2
    assert sum(counted) + len(rows) - len(counted) - 1 == 6001


def test_a_name_that_is_taken_gets_a_number_and_both_are_kept(workspace: Workspace) -> None:
    first = bash(workspace, "echo 1", tool_call_id="../x y")
    second = bash(workspace, "echo 2", tool_call_id="xy")
    assert (first["full_output"], second["full_output"]) == ("/.outputs/xy.stdout", "/.outputs/xy-2.stdout")
    assert read(workspace, first["full_output"])["content"] == "1|1"
    assert read(workspace, second["full_output"])["content"] == "1|2"


@pytest.mark.parametrize("name", ["", "…", "a" * 500])
def test_a_name_of_nothing_usable_is_replaced_and_a_long_one_cut(workspace: Workspace, name: str) -> None:
    path = bash(workspace, "echo 1", tool_call_id=name)["full_output"]
    assert path.startswith("/.outputs/")
    assert 4 < len(path.removeprefix("/.outputs/").removesuffix(".stdout")) <= 64


def test_terminal_escapes_and_redrawn_lines_are_not_shown(workspace: Workspace) -> None:
    found = bash(workspace, r"printf '\033[31mred\033[0m\n10%%\r50%%\r100%%\n'")
    assert found["stdout"] == "red\n100%"


def test_a_reply_stays_within_a_small_client_whatever_escapes_cost(workspace: Workspace) -> None:
    arguments = {"command": 'yes \'""""""\' | head -n 20000', "output": "full"}
    reply = workspace.call("bash", arguments, contract_name="everruns", reply_bytes=4096)
    assert len(reply.text.encode()) <= 4096
    assert json.loads(reply.text)["exit_code"] == 0


def test_kept_outputs_cannot_be_changed(workspace: Workspace) -> None:
    path = bash(workspace, "echo 1", tool_call_id="c")["full_output"]
    arguments = {"path": path, "content": "2"}
    assert workspace.call("write_file", arguments, contract_name="everruns").is_error
    assert read(workspace, path)["content"] == "1|1"
