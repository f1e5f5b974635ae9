"""The Everruns contract: commands in the form of today, beside that of its document."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from readroom.contracts.everruns import EverrunsSettings
from readroom.contracts.everruns.requests import TIMEOUT_MOST_MS, TIMEOUT_MS
from readroom.core.caller import Caller
from readroom.core.contracts import Setup, contract
from readroom.core.values import Reply
from readroom.core.values.commands import RUN_AUTO_BYTES, RUN_NORMAL_BYTES, SHOWN_BYTES
from readroom.core.workspace import Workspace
from tests.contracts.everruns.test_command import read, workspace
from tests.each import each

__all__ = ["workspace"]

Json = Any

LOUD = "seq 1 9000 | sed 's/$/ a \"line\"/'"
SHOWN = {"full_output", "output_files"}


def asked(workspace: Workspace, **arguments: Json) -> Reply:
    return workspace.call("bash", arguments, contract_name="everruns")


def ran(workspace: Workspace, commands: str, **more: Json) -> Json:
    reply = asked(workspace, commands=commands, **more)
    assert not reply.is_error, reply.text
    return json.loads(reply.text)


def without_pointer(text: str) -> str:
    return text.rpartition("\n[full output saved to ")[0] or text


@pytest.mark.clause("everruns.today.commands")
def test_what_is_shown_whole_has_no_pointer(workspace: Workspace) -> None:
    found = ran(workspace, "echo out; echo err >&2; exit 3", tool_call_id="c1")
    assert found == {
        "stdout": "out", "stderr": "err", "exit_code": 3, "success": False, "truncated": False,
        "total_lines": 1,
    }  # fmt: skip
    kept = read(workspace, "/workspace/outputs/c1.stderr")
    assert (kept["path"], kept["content"]) == ("/workspace/outputs/c1.stderr", "1|err")


@pytest.mark.clause("everruns.today.commands", "everruns.today.outputs")
def test_what_is_left_out_has_a_pointer_that_can_be_read(workspace: Workspace) -> None:
    found = ran(workspace, f"{LOUD}; echo err >&2", tool_call_id="c1")
    assert (found["truncated"], found["total_lines"]) == (True, 9000)
    assert found["full_output"] == "/workspace/outputs/c1.stdout"
    assert found["output_files"] == ["/workspace/outputs/c1.stdout"]
    pointer = re.sub(r"\d+ KiB", "N KiB", found["stdout"].rpartition("\n")[2])
    where = f"{found['full_output']} (N KiB)"
    assert pointer == f"[full output saved to {where} — use read_file with offset/limit]"
    page = read(workspace, found["full_output"], offset=8990, limit=10)
    assert (page["path"], page["lines_shown"]) == (found["full_output"], {"start": 8991, "end": 9000})


@pytest.mark.clause("everruns.today.commands")
def test_only_the_stream_that_is_cut_is_named(workspace: Workspace) -> None:
    found = ran(workspace, f"echo out; ({LOUD}) >&2", tool_call_id="c1")
    assert found["stdout"] == "out"
    assert "full_output" not in found
    assert found["output_files"] == ["/workspace/outputs/c1.stderr"]


@pytest.mark.clause("everruns.today.auto")
def test_auto_is_small_on_success_and_large_on_failure(workspace: Workspace) -> None:
    for code, budget in ((0, RUN_AUTO_BYTES), (1, RUN_NORMAL_BYTES)):
        for more in ({}, {"output": "auto"}):
            shown = without_pointer(ran(workspace, f"{LOUD}; exit {code}", **more)["stdout"])
            assert budget // 2 < len(shown.encode()) <= budget
    assert len(ran(workspace, LOUD)["stdout"].encode()) <= 512


@pytest.mark.clause("everruns.today.auto")
@pytest.mark.parametrize("mode", [*SHOWN_BYTES, "full"])
def test_the_other_words_mean_what_they_did(workspace: Workspace, mode: str) -> None:
    today = ran(workspace, LOUD, output=mode)
    older = json.loads(asked(workspace, command=LOUD, output=mode).text)
    if mode == "full":
        assert len(today["stdout"]) > 40_000
    else:
        assert without_pointer(today["stdout"]) == without_pointer(older["stdout"])


@pytest.mark.clause("everruns.today.auto", "everruns.exec.unknown", "everruns.deviation.unknown-verbosity")
def test_an_unknown_word_is_refused_in_the_form_of_today_alone(workspace: Workspace) -> None:
    refused = asked(workspace, commands="touch made", output="loud")
    assert refused.is_error
    assert refused.text == (
        "output='loud' is not known. Use one of auto, silent, concise, normal, verbose, full."
    )
    assert json.loads(asked(workspace, command="ls", output="loud").text)["stdout"] == ""
    schema = contract("everruns").tool("bash").input_schema
    assert schema["properties"]["output"]["enum"] == ["auto", *SHOWN_BYTES, "full"]


@pytest.mark.clause("everruns.today.request-chooses", "everruns.deviation.older-forms")
def test_the_request_chooses_defaults_and_places(workspace: Workspace) -> None:
    older = json.loads(asked(workspace, command=LOUD, tool_call_id="a").text)
    today = ran(workspace, LOUD, tool_call_id="b")
    assert len(without_pointer(older["stdout"])) > 1000 > len(without_pointer(today["stdout"]))
    assert older["output_files"] == ["/.outputs/a.stdout", "/.outputs/a.stderr"]
    assert today["output_files"] == ["/workspace/outputs/b.stdout"]
    for name in ("a", "b"):
        one, other = (
            read(workspace, f"{root}/{name}.stdout") for root in ("/.outputs", "/workspace/outputs")
        )
        assert one["content_hash"] == other["content_hash"]
    quiet = json.loads(asked(workspace, command="echo x").text)
    assert set(quiet) >= SHOWN
    assert not SHOWN & set(ran(workspace, "echo x"))


@pytest.mark.clause("everruns.today.request-chooses")
def test_only_the_form_of_today_is_offered() -> None:
    schema = contract("everruns").tool("bash").input_schema
    assert list(schema["properties"]) == ["commands", "working_dir", "timeout_ms", "output"]
    assert schema["required"] == ["commands"]
    assert schema["properties"]["timeout_ms"]["maximum"] == TIMEOUT_MOST_MS


@pytest.mark.clause("everruns.today.contradictions", "everruns.deviation.contradictions")
@each(
    ("arguments", "words"),
    [
        ({}, "Missing required parameter: commands"),
        ({"commands": "", "command": ""}, "Missing required parameter: commands"),
        ({"commands": "touch a", "command": "touch b"},
         "command='touch b' is not that of commands. Send commands alone."),
        ({"commands": "touch a", "timeout_ms": 1000, "timeout_s": 2},
         "timeout_s=2.0 is not that of timeout_ms=1000. Send timeout_ms alone."),
        ({"command": "touch a", "timeout_ms": 1000, "timeout_s": 2},
         "timeout_s=2.0 is not that of timeout_ms=1000. Send timeout_ms alone."),
    ],
)  # fmt: skip
def test_fields_that_contradict_each_other_are_both_named(
    workspace: Workspace, arguments: Json, words: str
) -> None:
    refused = asked(workspace, **arguments)
    assert (refused.is_error, refused.text) == (True, words)
    assert ran(workspace, "ls")["stdout"] == ""


@pytest.mark.clause("everruns.today.contradictions")
def test_fields_that_say_the_same_are_one(workspace: Workspace) -> None:
    found = ran(workspace, "echo x", command="echo x", timeout_ms=2000, timeout_s=2)
    assert (found["stdout"], "full_output" in found) == ("x", False)


@pytest.mark.clause("everruns.today.working-dir")
@pytest.mark.parametrize("spelled", ["d/e", "/d/e", "/workspace/d/e", "/workspace/d/./e/"])
@pytest.mark.parametrize("form", ["commands", "command"])
def test_a_command_starts_in_its_folder(
    workspace: Workspace, tmp_path: Path, spelled: str, form: str
) -> None:
    (tmp_path / "root" / "d" / "e").mkdir(parents=True)
    (tmp_path / "root" / "d" / "e" / "here").touch()
    reply = asked(workspace, working_dir=spelled, **{form: "ls"})
    assert json.loads(reply.text)["stdout"] == "here"


@pytest.mark.clause("everruns.today.working-dir")
def test_a_folder_that_is_not_there_starts_nothing(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "root" / "f").touch()
    for folder in ("missing", "f", "../..", "/workspace/../.."):
        assert asked(workspace, commands="touch made", working_dir=folder).is_error
    assert not (tmp_path / "root" / "made").exists()


@pytest.mark.clause("everruns.today.timeout", "everruns.deviation.timeout")
@pytest.mark.parametrize("form", ["commands", "command"])
def test_what_was_written_before_the_time_was_over_is_shown(workspace: Workspace, form: str) -> None:
    arguments = {form: "echo begun; echo problem >&2; sleep 1000", "timeout_ms": 1500}
    reply = asked(workspace, **arguments)
    found = json.loads(reply.text)
    assert (found["stdout"], found["stderr"]) == ("begun", "problem")
    assert (found["success"], found["timed_out"]) == (False, True)
    assert found["exit_code"] != 0
    if form == "commands":
        assert found["notes"] == ["Command timed out after 1500ms"]


@pytest.mark.clause("everruns.today.timeout")
@each(
    ("arguments", "seconds"),
    [
        ({"commands": "x"}, TIMEOUT_MS / 1000),
        ({"commands": "x", "timeout_ms": 10**7}, TIMEOUT_MOST_MS / 1000),
        ({"commands": "x", "timeout_ms": 1}, 0.001),
        ({"command": "x"}, None),
        ({"command": "x", "timeout_ms": 500}, 0.5),
        ({"command": "x", "timeout_s": 100}, 100),
    ],
)
def test_times_are_those_of_the_form(arguments: Json, seconds: float | None) -> None:
    record = contract("everruns")
    request: Json = record.bind("bash", arguments).request
    assert request.timeout_s == seconds
    again = record.to_call(request)
    assert again is not None
    assert record.bind(again.tool, dict(again.arguments)).request == request


@pytest.mark.parametrize("time", [0, -5, 1.5, "soon"])
def test_a_time_that_is_none_is_refused(workspace: Workspace, time: Json) -> None:
    refused = asked(workspace, commands="true", timeout_ms=time)
    assert refused.is_error
    assert "timeout_ms" in refused.text


# --- the folder of kept outputs ----------------------------------------------------------------


@pytest.mark.clause("everruns.today.outputs")
@pytest.mark.parametrize("root", ["outputs", "/outputs", "./outputs", "/workspace/outputs", "d/../outputs"])
def test_a_kept_output_stands_in_the_folder_of_today_too(workspace: Workspace, root: str) -> None:
    ran(workspace, "seq 3", tool_call_id="one")
    assert read(workspace, f"{root}/one.stdout")["content"] == "1|1\n2|2\n3|3"
    for tool, arguments, key, shown in (
        ("grep_files", {"path": root, "pattern": "2"}, "match_count", 1),
        ("list_directory", {"path": root}, "count", 2),
        ("stat_file", {"path": f"{root}/one.stdout"}, "exists", True),
    ):
        assert json.loads(workspace.call(tool, arguments, contract_name="everruns").text)[key] == shown
    written = {"path": f"{root}/one.stdout", "content": ""}
    assert workspace.call("write_file", written, contract_name="everruns").is_error
    assert read(workspace, f"{root}/one.stdout")["total_lines"] == 3


@pytest.mark.clause("everruns.today.outputs")
def test_listings_and_matches_spell_what_can_be_read(workspace: Workspace) -> None:
    ran(workspace, "seq 3", tool_call_id="one")
    listed = workspace.call("list_directory", {"path": "/workspace/outputs"}, contract_name="everruns")
    paths = [entry["path"] for entry in json.loads(listed.text)["entries"]]
    assert paths == ["/workspace/outputs/one.stderr", "/workspace/outputs/one.stdout"]
    matched = workspace.call(
        "grep_files", {"path": "/workspace/outputs", "pattern": "2"}, contract_name="everruns"
    )
    assert json.loads(matched.text)["matches"][0]["path"] == "/workspace/outputs/one.stdout"


@pytest.mark.clause("everruns.today.outputs", "everruns.deviation.kept-folder")
def test_a_folder_of_the_workspace_with_that_name_stays_one(workspace: Workspace, tmp_path: Path) -> None:
    def call(tool: str, **arguments: Json) -> Reply:
        return workspace.call(tool, arguments, contract_name="everruns")

    assert call("write_file", path="/workspace/outputs/own.txt", content="own\n").text
    assert (tmp_path / "root" / "outputs" / "own.txt").read_text() == "own\n"
    ran(workspace, "seq 3", tool_call_id="one")
    assert read(workspace, "/workspace/outputs/own.txt")["content"] == "1|own"
    assert read(workspace, "/workspace/outputs/one.stdout")["total_lines"] == 3
    listed = json.loads(call("list_directory", path="outputs").text)
    assert [entry["name"] for entry in listed["entries"]] == ["own.txt"]
    assert call("read_file", path="outputs/none.txt").text == "File not found: /workspace/outputs/none.txt"
    assert not call("write_file", path="outputs/two.stdout", content="mine").is_error
    assert read(workspace, "outputs/two.stdout")["content"] == "1|mine"
    assert not call("delete_file", path="outputs", recursive=True).is_error
    assert read(workspace, "/workspace/outputs/one.stdout")["total_lines"] == 3


@pytest.mark.clause("everruns.today.outputs")
def test_without_any_output_there_is_no_such_folder(workspace: Workspace) -> None:
    refused = workspace.call("list_directory", {"path": "outputs"}, contract_name="everruns")
    assert refused.text == "Directory not found: /workspace/outputs"
    assert not workspace.call(
        "write_file", {"path": "outputs", "content": "x"}, contract_name="everruns"
    ).is_error


@pytest.mark.clause("everruns.today.outputs")
def test_nobody_else_reads_a_kept_output_there(workspace: Workspace) -> None:
    mine, other = Caller(token="a", session="1"), Caller(token="b", session="2")
    arguments = {"commands": "echo secret", "tool_call_id": "one"}
    assert not workspace.call("bash", arguments, contract_name="everruns", caller=mine).is_error
    asked_for = {"path": "/workspace/outputs/one.stdout"}
    assert "secret" in workspace.call("read_file", asked_for, contract_name="everruns", caller=mine).text
    assert workspace.call("read_file", asked_for, contract_name="everruns", caller=other).is_error


@pytest.mark.clause("everruns.today.outputs", "everruns.today.display-root")
def test_kept_outputs_stand_below_the_root_that_is_shown() -> None:
    record = contract("everruns", Setup(own=EverrunsSettings("/srv/app")))
    request: Json = record.bind("read_file", {"path": "/srv/app/outputs/one.stdout"}).request
    assert request.path == "outputs/one.stdout"
