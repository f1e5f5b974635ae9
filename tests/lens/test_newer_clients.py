"""Records of Copilot CLI, pi, Kilo, Continue and Cline, and spans, beyond what recorded sessions hold."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from readroom.lens.audit import Options, audit
from readroom.lens.normal_form import SkippedPart
from readroom.lens.records import Unknown, read, records
from readroom.lens.records.events import Returned, Whole
from readroom.lens.records.pi import folder_name
from readroom.lens.sessions import Audited
from tests.each import each
from tests.lens.ground_truth import SESSIONS, unpacked
from tests.lens.truth import WHOLE_NOT_KEPT

TIME = "2026-01-01T00:00:00Z"


def _parts(path: Path) -> list[Audited]:
    parts = list(audit(path, Options(secrets=False)))
    assert not any(isinstance(part, SkippedPart) for part in parts), parts
    return [part for part in parts if isinstance(part, Audited)]


def _written(path: Path, *lines: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def _entry(id: str, parent: str | None, **message: Any) -> dict[str, Any]:
    return {"type": "message", "id": id, "parentId": parent, "timestamp": TIME, "message": message}


def _asked(id: str, parent: str | None, text: str) -> dict[str, Any]:
    return _entry(id, parent, role="user", content=text)


def _read(id: str, parent: str, call: str, path: str) -> dict[str, Any]:
    part = {"type": "toolCall", "id": call, "name": "read", "arguments": {"path": path}}
    return _entry(id, parent, role="assistant", model="m", content=[part], usage={"input": 10, "output": 2})


def _result(id: str, parent: str, call: str, text: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return _entry(id, parent, role="toolResult", toolCallId=call, content=content, isError=False)


HEAD = {"type": "session", "version": 3, "id": "s1", "timestamp": TIME, "cwd": "/w"}


def test_a_branch_of_pi_does_not_send_what_the_user_left(tmp_path: Path) -> None:
    """The user went back to the first question: the reading after it is not in view any more."""
    text = "one\ntwo\nthree\nfour\n"
    path = _written(
        tmp_path / f"{folder_name('/w')}/t_s1.jsonl",
        HEAD,
        _asked("e1", None, "What is in a?"),
        _read("e2", "e1", "c1", "a"), _result("e3", "e2", "c1", text),
        _asked("e4", "e1", "No, rather what is in b?"),
        _read("e5", "e4", "c2", "a"), _result("e6", "e5", "c2", text),
        _read("e7", "e6", "c3", "a"), _result("e8", "e7", "c3", text),
        _entry("e9", "e8", role="assistant", model="m", content=[{"type": "text", "text": "So."}]),
    )  # fmt: skip
    (part,) = _parts(path)
    assert part.session.title == "What is in a?"
    assert [call.sent_in_requests for call in part.calls] == [0, 2, 1]
    assert [finding.call for finding in part.findings if finding.kind == "repeated"] == [3]


def test_pi_sends_what_a_compaction_kept(tmp_path: Path) -> None:
    """The request for the summary carried the first result, the answer after it the second."""
    path = _written(
        tmp_path / "t_s1.jsonl",
        HEAD,
        _asked("e1", None, "Look."),
        _read("e2", "e1", "c1", "a"), _result("e3", "e2", "c1", "one\n"),
        _read("e4", "e3", "c2", "b"), _result("e5", "e4", "c2", "two\n"),
        {"type": "compaction", "id": "e6", "parentId": "e5", "timestamp": TIME, "firstKeptEntryId": "e4"},
        _entry("e7", "e6", role="assistant", model="m", content=[{"type": "text", "text": "So."}]),
    )  # fmt: skip
    (part,) = _parts(path)
    assert part.session.compactions == 1
    assert [call.sent_in_requests for call in part.calls] == [2, 1]


@pytest.mark.parametrize(
    ("folder", "name"),
    [("/home/dev/shop", "--home-dev-shop--"), ("C:\\work\\a b", "--C--work-a b--"), ("/", "----")],
)
def test_the_folder_of_pi_for_a_folder(folder: str, name: str) -> None:
    assert folder_name(folder) == name


def _event(kind: str, data: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "id": f"i{kind}", "timestamp": TIME, "parentId": None, **more}


def test_a_record_of_copilot_without_its_head_has_the_name_of_its_folder(tmp_path: Path) -> None:
    """A file that was cut at its front; and a kind of a later version is said, not dropped."""
    request = {"toolCallId": "c", "name": "bash", "arguments": {"command": "make"}}
    shell = {"success": True, "shellExecution": {"exitCode": 2}, "toolCallId": "c"}
    path = _written(
        tmp_path / "session-state/abc/events.jsonl",
        _event("assistant.turn_start", {}),
        _event("assistant.message", {"toolRequests": [request]}),
        _event(
            "tool.execution_complete",
            {**shell, "result": {"content": "x\n<shellId: 0 completed with exit code 2>"}},
        ),
        _event("new_kind", {}),
    )
    parts = list(audit(path, Options(secrets=False)))
    (told,) = (part for part in parts if isinstance(part, SkippedPart))
    assert "'new_kind' is not known" in told.why
    (part,) = (part for part in parts if isinstance(part, Audited))
    assert part.session.session == "abc"
    (call,) = part.calls
    assert (call.exit_code, call.error, call.characters) == (2, True, 41)


def test_a_compaction_of_copilot_that_failed_changes_nothing(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in _record("copilot-cli/long", tmp_path).read_text().splitlines()]
    for line in lines:
        if line["type"] == "session.compaction_complete":
            line["data"]["success"] = False
    main = next(
        part for part in _parts(_written(tmp_path / "x/events.jsonl", *lines)) if not part.session.parent
    )
    assert main.session.compactions == 0
    assert main.calls[0].sent_in_requests > 6


def _record(session: str, folder: Path) -> Path:
    (record,) = unpacked(session, folder)
    return record


def test_a_database_with_a_computed_column_is_no_record(tmp_path: Path) -> None:
    """Kilo has indexes over functions, which no reading calls; a computed column would be."""
    path = _record("kilo/tools", tmp_path)
    assert len(_parts(path)) == 1
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("ALTER TABLE message RENAME COLUMN data TO old")
        connection.execute("ALTER TABLE message ADD COLUMN data TEXT AS (hex(zeroblob(1000)))")
    with pytest.raises(Unknown):
        list(read(path))


def test_when_a_session_of_continue_began_is_in_the_list_beside_it(tmp_path: Path) -> None:
    """A list that is a link, broken or without the session leaves the time unknown."""
    record = _record("continue/tools", tmp_path)
    listed = record.with_name("sessions.json")
    (part,) = _parts(record)
    assert part.session.started.startswith("2026-11-26T")
    assert (part.session.folder, part.session.cost) == ("/home/dev/shop", 0)  # its costs are guesses
    assert part.session.title == "Look at the shop and mend the banner."
    for text in ("[{}]", "[", '{"sessionId": 1}'):
        listed.write_text(text)
        assert _parts(record)[0].session.started == ""
    listed.rename(tmp_path / "elsewhere")
    listed.symlink_to(tmp_path / "elsewhere")
    assert _parts(record)[0].session.started == ""


def test_what_cline_sends_is_cut_and_what_it_keeps_is_whole(tmp_path: Path) -> None:
    """As in the requests: 8,000 characters of a text, its ends, and how many are gone."""
    main = next(path for path in unpacked("cline/long", tmp_path) if "agent_" not in path.name)
    events = [*read(main)]
    (whole,) = (event for event in events if isinstance(event, Whole))
    returned = next(event for event in events if isinstance(event, Returned) and event.id == whole.id)
    (entry,) = json.loads(returned.text)
    head, gone, tail = re.split(r"\n\n\.\.\.\[truncated (\d+) chars\]\.\.\.\n\n", entry["result"])
    assert 7_990 < len(entry["result"]) <= 8_000
    assert whole.text.startswith(head)
    assert whole.text.endswith(tail)
    assert len(head) == len(tail) == (len(whole.text) - int(gone)) / 2


def test_a_compaction_of_cline_is_told_as_not_read(tmp_path: Path) -> None:
    """The record goes on with all messages, so how long a result was sent is not in it."""
    main = next(path for path in unpacked("cline/long", tmp_path) if "agent_" not in path.name)
    beside = main.with_name(main.name.replace("messages", "compaction"))
    beside.write_text("{}")
    parts = [*audit(main, Options(secrets=False))]
    (told,) = (part for part in parts if isinstance(part, SkippedPart))
    assert "compaction" in told.why
    assert [*records([main.parent])] == sorted(main.parent.glob("*.messages.json"))


def test_files_read_in_one_call_of_cline_are_told_apart(tmp_path: Path) -> None:
    """The last call read two files that had been shown before."""
    (part,) = _parts(_record("cline/tools", tmp_path))
    last = part.calls[-1]
    assert (last.file, last.more_files) == ("app/main.py", "app/tax.py")
    again = [
        finding.file for finding in part.findings if finding.call == last.call and finding.kind == "repeated"
    ]
    assert again == ["app/main.py", "app/tax.py"]


def test_a_trajectory_holds_its_sub_agents_and_copies_of_steps(tmp_path: Path) -> None:
    """A copied step was counted in the trajectory before; a step without a model is no answer."""

    def step(number: int, tool: str, **more: Any) -> dict[str, Any]:
        call = {"tool_call_id": f"c{number}", "function_name": tool, "arguments": {"path": "a"}}
        results = [{"content": [{"type": "text", "text": "one\n"}, {"type": "image", "source": {}}]}]
        of_agent = {"step_id": number, "source": "agent", "message": "So.", "tool_calls": [call]}
        return {**of_agent, "observation": {"results": results}, **more}

    agent = {"name": "own", "version": "1", "model_name": "m", "extra": {"cwd": "/w"}}
    asked = {"step_id": 1, "source": "user", "message": "Look."}
    steps = [
        asked,
        step(2, "read_file", is_copied_context=True),
        step(3, "read_file", metrics={"prompt_tokens": 10, "cached_tokens": 4, "completion_tokens": 2}),
        step(4, "read_file", llm_call_count=0),
    ]
    inner = {"schema_version": "ATIF-v1.8", "trajectory_id": "t2", "agent": agent, "steps": [step(1, "grep")]}
    path = tmp_path / "trajectory.json"
    trajectory = {"schema_version": "ATIF-v1.8", "session_id": "s1", "agent": agent, "steps": steps}
    path.write_text(json.dumps(trajectory | {"subagent_trajectories": [inner]}))
    main, sub = _parts(path)
    assert (main.session.session, main.session.client, main.session.title) == ("s1", "ATIF: own", "Look.")
    assert [(call.id, call.images, call.characters) for call in main.calls] == [("c3", 1, 4), ("c4", 1, 4)]
    assert (main.session.turns, main.session.input_tokens, main.session.folder) == (1, 6, "/w")
    assert (sub.session.session, sub.session.parent, len(sub.calls)) == ("t2", "s1", 1)


def test_spans_of_a_sub_agent_are_known_before_the_span_of_the_agent_itself(tmp_path: Path) -> None:
    """Exporters write a span when it ends, maybe each in a line of its own: the agent's comes last."""
    export = json.loads(_record("otlp/long", tmp_path).read_text())
    (resource,) = export["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    spans = sorted(scope["spans"], key=lambda span: int(span["endTimeUnixNano"]))
    lines = ({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]} for span in spans)
    main, agent = _parts(_written(tmp_path / "lines.jsonl", *lines))
    assert [len(main.calls), len(agent.calls)] == [8, 4]
    assert agent.session.parent == main.session.session
    assert (main.session.turns, agent.session.turns) == (9, 4)


@each("session", WHOLE_NOT_KEPT)
def test_what_cannot_be_seen_is_nowhere_in_the_record(session: str, tmp_path: Path) -> None:
    """Otherwise the truth table would excuse what was missed."""
    assert session in SESSIONS
    for record in unpacked(session, tmp_path):
        if record.suffix in (".jsonl", ".json"):
            assert b"check 0811 FAILED" not in record.read_bytes()
