"""Records of programs beside the eight clients, of their older versions, and in other encodings."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from readroom.lens.audit import Options, audit
from readroom.lens.normal_form import SkippedPart
from readroom.lens.records import of_folder, records
from readroom.lens.sessions import Audited
from tests.lens.ground_truth import ranges
from tests.lens.making import called, numbered, record, returned, said

_OPTIONS = Options(secrets=False)


def _session(path: Path) -> Audited:
    (part,) = audit(path, _OPTIONS)
    assert isinstance(part, Audited)
    return part


def _mini(form: str) -> dict[str, Any]:
    """A trajectory of mini-swe-agent: two commands, of which the second printed too much and failed."""
    commands = ["sed -n '3,4p' a.py", "cat big.log; exit 3"]
    whole = "ok\n" * 3000 + "ERROR: no space left\n" + "ok\n" * 3000
    cut = f"{whole[:5000]}\n</output_head>\n<elided_chars>\n{len(whole) - 10000} characters elided\n"
    cut = (
        f"<warning>\nToo long.\n</warning><output_head>\n{cut}</elided_chars>\n<output_tail>\n{whole[-5000:]}"
    )
    shown = ["<returncode>0</returncode>\n<output>\nx = 1\ny = 2</output>"]
    shown.append(f"<returncode>3</returncode>\n{cut}\n</output_tail>")
    messages: list[dict[str, Any]] = [{"role": "system", "content": "go"}, {"role": "user", "content": "do"}]
    for number, (command, text) in enumerate(zip(commands, shown, strict=True)):
        action: dict[str, Any] = {"command": command}
        block = f"so\n\n```mswea_bash_command\n{command}\n```"
        beside = {"returncode": (0, 3)[number], "raw_output": ("x = 1\ny = 2\n", whole)[number]}
        extra = {"actions": [action], "cost": 0.5, "timestamp": 1_795_416_890.11}
        if form == "tools":
            action["tool_call_id"] = f"c{number}"
            messages.append({"role": "assistant", "content": "so", "extra": extra})
            messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": text, "extra": beside})
        elif form == "responses":
            action["tool_call_id"] = f"c{number}"
            call = {"type": "function_call", "call_id": f"c{number}", "name": "bash", "arguments": "{}"}
            output = {"type": "function_call_output", "call_id": f"c{number}", "output": text}
            messages.append({"object": "response", "output": [call], "extra": extra})
            messages.append({**output, "extra": beside})
        else:
            old = form == "version 1"
            messages.append({"role": "assistant", "content": block} | ({} if old else {"extra": extra}))
            messages.append({"role": "user", "content": text} | ({} if old else {"extra": beside}))
    messages.append({"role": "assistant", "content": "done", "extra": {"actions": []}})
    config = {"environment": {"cwd": "/w"}, "model": {"model_name": "some-model"}}
    return {"info": {"mini_version": "2.4.6", "config": config}, "messages": messages}


@pytest.mark.parametrize("form", ["text", "tools", "responses", "version 1"])
def test_mini_swe_agent_runs_commands_from_blocks_of_text_and_from_calls(form: str, tmp_path: Path) -> None:
    """What the model got is the message behind each; the whole of a long output stands beside it."""
    path = tmp_path / "run.traj.json"
    path.write_text(json.dumps(_mini(form)))
    part = _session(path)
    session = part.session
    assert (session.client, session.version, session.folder, session.turns) == (
        "mini-swe-agent",
        "2.4.6",
        "/w",
        3,
    )
    assert [(call.tool, call.file, call.error, call.exit_code, call.cut_by) for call in part.calls] == [
        ("bash", "a.py", False, 0, None),
        ("bash", "big.log", True, 3, "client"),
    ]
    assert ranges([line for line in part.lines if line.call == 1]) == {"a.py": [[3, 4]]}
    lost = next(finding for finding in part.findings if finding.call == 2)
    if form == "version 1":
        assert (lost.kind, lost.what) == (
            "lost",
            "8,021 characters truncated by the client; the rest could not be read",
        )
    else:
        assert (lost.kind, lost.excerpt) == ("lost-errors", "ERROR: no space left")
        assert session.cost == 1.0


def _storage(folder: Path) -> Path:
    """What opencode kept before it had a database: a session, its messages and their parts in files."""
    storage = folder / "opencode" / "storage"
    text = "<path>/w/a</path>\n<type>file</type>\n<content>1: x\n2: y\n3: \n\n(End of file - total 3 lines)\n"
    state = {"status": "completed", "input": {"filePath": "/w/a"}, "output": f"{text}</content>"}
    tool = {"type": "tool", "callID": "c1", "tool": "read", "state": state}
    written: dict[str, dict[str, Any]] = {
        "session/global/ses_1.json": {
            "id": "ses_1",
            "projectID": "p",
            "directory": "/w",
            "version": "1.1.65",
        },
        "message/ses_1/msg_1.json": {"role": "user"},
        "message/ses_1/msg_2.json": {"role": "assistant", "tokens": {"input": 7}},
        "message/ses_1/msg_3.json": {"role": "assistant", "tokens": {"input": 9}},
        "part/msg_2/prt_1.json": tool,
        "part/msg_3/prt_2.json": {"type": "text", "text": "so"},
        "project/p.json": {"id": "p", "worktree": "/"},
    }
    for name, value in written.items():
        path = storage / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, indent=1))
    return storage


def test_opencode_before_its_database_kept_files(tmp_path: Path) -> None:
    """One session is one record; messages and parts belong to it and are no records of their own."""
    storage = _storage(tmp_path)
    (path,) = records([tmp_path])
    part = _session(path)
    session = part.session
    assert (session.client, session.version, session.folder) == ("opencode", "1.1.65", "/w")
    assert (session.turns, session.input_tokens) == (2, 16)
    assert ranges(part.lines) == {"a": [[1, 2]]}
    assert [call.sent_in_requests for call in part.calls] == [1]
    here = {"XDG_DATA_HOME": str(tmp_path)}
    assert of_folder([str(tmp_path)], tmp_path, here) == [storage]
    (storage.parent / "opencode.db").write_bytes(b"")
    assert of_folder([str(tmp_path)], tmp_path, here) == [storage.parent / "opencode.db"]
    assert list(records([tmp_path])) == [storage.parent / "opencode.db"]


def test_files_of_opencode_that_lead_elsewhere_are_not_followed(tmp_path: Path) -> None:
    """A link in place of a part is said and not read."""
    part = _storage(tmp_path) / "part" / "msg_2" / "prt_1.json"
    part.rename(tmp_path / "elsewhere")
    part.symlink_to(tmp_path / "elsewhere")
    skipped = [one for one in audit(next(records([tmp_path])), _OPTIONS) if isinstance(one, SkippedPart)]
    assert [(one.where, one.why.partition(":")[0]) for one in skipped] == [("part prt_1", "cannot be read")]


_LINES = [
    called(1, "Read", {"file_path": "/home/dev/shop/a.py"}),
    returned(1, numbered(["é = 1", "🦊 = 2"])),
    said("so"),
]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
@pytest.mark.parametrize("form", ["lines", "document"])
def test_records_in_the_encoding_of_powershell_are_read(encoding: str, form: str, tmp_path: Path) -> None:
    """`client > record` writes UTF-16 there; lines longer than what is read at once are no different."""
    long = [*_LINES[:1], returned(1, numbered(["é = 1", "🦊 = 2" + " " * 300_000])), *_LINES[2:]]
    path = record(tmp_path / "r.jsonl", long)
    if form == "document":
        messages = [line["message"] for line in long]
        path.write_text(json.dumps(messages, ensure_ascii=False), encoding="utf-8")
    in_utf8 = list(audit(path, _OPTIONS))
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    path.write_text(mark + path.read_text(encoding="utf-8"), encoding=encoding)
    assert list(audit(path, _OPTIONS)) == in_utf8
    (part,) = in_utf8
    assert isinstance(part, Audited)
    assert [call.characters for call in part.calls] == [300_015]


@pytest.mark.parametrize("form", ["lines", "list"])
def test_what_claude_code_prints_for_programs_is_a_record(form: str, tmp_path: Path) -> None:
    """`--output-format stream-json`, or the list of it that actions of CI keep."""
    lines: list[dict[str, Any]] = [
        {"type": "system", "subtype": "init", "cwd": "/home/dev/shop", "claude_code_version": "9.1"},
        *({"type": line["type"], "message": line["message"], "parent_tool_use_id": None} for line in _LINES),
        {"type": "result", "subtype": "success", "total_cost_usd": 0.25},
    ]  # fmt: skip
    lines = [{**line, "session_id": "s", "uuid": str(number)} for number, line in enumerate(lines)]
    path = record(tmp_path / "run.json", lines)
    if form == "list":
        path.write_text(json.dumps(lines))
    part = _session(path)
    session = part.session
    assert (session.client, session.version, session.folder, session.cost) == (
        "Claude Code",
        "9.1",
        "/home/dev/shop",
        0.25,
    )
    assert ranges(part.lines) == {"a.py": [[1, 2]]}


def test_a_database_of_very_many_tables_is_not_read(tmp_path: Path) -> None:
    """SQLite reads a schema before anything else, in time that grows with the square of it."""
    path = tmp_path / "opencode.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE session(id)")
        connection.execute("PRAGMA writable_schema = ON")
        rows = ((f"t{number}", f"t{number}", 2, f"CREATE TABLE t{number}(a)") for number in range(40_000))
        connection.executemany("INSERT INTO sqlite_schema VALUES ('table', ?, ?, ?, ?)", rows)
    connection.close()
    (part,) = audit(path, _OPTIONS)
    assert isinstance(part, SkippedPart)
    assert part.why == "a database with too many tables"


def test_a_trajectory_made_to_hurt_takes_time_with_its_size(tmp_path: Path) -> None:
    """Beginnings of blocks without an end, and very many commands in one answer."""
    begun = {"role": "assistant", "content": "```sh\nx" * 100_000}
    actions = [{"command": "c"}] * 15_000
    results = [{"role": "user", "content": "<returncode>0</returncode>\n<output>\n</output>"}] * 15_000
    document = _mini("version 1")
    document["messages"] = [
        begun,
        {"role": "assistant", "content": "", "extra": {"actions": actions}},
        *results,
    ]
    path = tmp_path / "run.traj.json"
    path.write_text(json.dumps(document))
    part = next(iter(audit(path, _OPTIONS)))
    assert isinstance(part, Audited)
    assert (part.session.turns, part.session.calls) == (2, 15_000)
