"""A person who goes back in a conversation: what came after is no longer sent, and no longer in view."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from readroom.lens.audit import Options, audit
from readroom.lens.sessions import Audited
from tests.lens.making import called, numbered, record, returned, said

_LINES = [f"line {number} of the file" for number in range(1, 6)]


def _codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload}


def _codex_read(number: int) -> list[dict[str, Any]]:
    text = "Output:\n" + "".join(line + "\n" for line in _LINES)
    call = {
        "type": "function_call",
        "call_id": f"c{number}",
        "name": "shell",
        "arguments": '{"cmd": "cat a"}',
    }
    output = {"type": "function_call_output", "call_id": f"c{number}", "output": text}
    return [_codex("response_item", **call), _codex("response_item", **output)]


def _codex_said(role: str, text: str) -> dict[str, Any]:
    return _codex("response_item", type="message", role=role, content=[{"type": "text", "text": text}])


def _of_codex() -> list[dict[str, Any]]:
    return [
        _codex("session_meta", id="s", cwd="/w"),
        _codex_said("user", "<environment_context>/w</environment_context>"),
        _codex_said("user", "first"),
        _codex_said("assistant", "so"),
        _codex_said("user", "second"),
        *_codex_read(1),
        _codex_said("assistant", "so"),
        _codex("event_msg", type="thread_rolled_back", num_turns=1),
        _codex_said("user", "third"),
        *_codex_read(2),
        _codex_said("assistant", "so"),
    ]


def _of_claude_code() -> list[dict[str, Any]]:
    def asked(id: str, parent: str) -> dict[str, Any]:
        return {**returned(0, ""), "uuid": id, "parentUuid": parent, "message": {"content": "go"}}

    def read(number: int, parent: str) -> list[dict[str, Any]]:
        return [
            {**called(number, "Read", {"file_path": "a"}), "parentUuid": parent},
            {**returned(number, numbered(_LINES)), "parentUuid": f"a{number}"},
        ]

    first = {**said("so"), "uuid": "x", "parentUuid": "q1"}
    return [
        asked("q1", ""),
        {**first, "message": {**first["message"], "id": "m0"}},
        asked("q2", "x"),
        *read(1, "q2"),
        {**said("so"), "parentUuid": "u1"},
        asked("q3", "x"),
        *read(2, "q3"),
        {**said("so"), "uuid": "y", "message": {**first["message"], "id": "m9"}},
    ]


def _of_gemini_cli() -> list[dict[str, Any]]:
    def read(number: int) -> list[dict[str, Any]]:
        call = {"id": f"c{number}", "name": "read_file", "args": {"file_path": "a"}, "status": "success"}
        response = {"id": f"c{number}", "response": {"output": "\n".join(_LINES)}}
        return [
            {"id": f"g{number}", "type": "gemini", "content": "", "toolCalls": [call]},
            {"id": f"r{number}", "type": "user", "content": [{"functionResponse": response}]},
        ]

    last = {"id": "last", "type": "gemini", "content": "so"}
    kept = [{"id": "q9", "type": "user", "content": [{"text": "again"}]}]
    return [
        {"sessionId": "s", "projectHash": "h", "startTime": "2026-01-01T00:00:00Z"},
        {"id": "q1", "type": "user", "content": [{"text": "first"}]},
        {"id": "g0", "type": "gemini", "content": "so"},
        {"id": "q2", "type": "user", "content": [{"text": "second"}]},
        *read(1),
        {**last, "id": "g8"},
        {"$rewindTo": "q2"},
        {"$set": {"messages": kept}},
        *read(2),
        last,
    ]


@pytest.mark.parametrize("lines", [_of_codex, _of_claude_code, _of_gemini_cli])
def test_what_a_person_went_back_behind_is_no_longer_in_view(lines: Any, tmp_path: Path) -> None:
    """The file is read once in each branch: neither read repeats the other, and each was sent once."""
    (session,) = audit(record(tmp_path / "r.jsonl", lines()), Options(secrets=False))
    assert isinstance(session, Audited)
    assert [(call.lines, call.lines_again, call.sent_in_requests) for call in session.calls] == [
        (5, 0, 1),
        (5, 0, 1),
    ]
    assert session.session.compactions == 0
    assert [finding.kind for finding in session.findings] == []


def test_results_that_come_side_by_side_are_no_branch(tmp_path: Path) -> None:
    """Each result hangs on its own call in the record, and the next question on one of them."""
    lines = _of_claude_code()[:5]
    other = {**called(2, "Read", {"file_path": "b"}), "parentUuid": "a1"}
    other["message"]["id"] = "m1"
    lines[4:4] = [other, {**returned(2, numbered(["x"])), "parentUuid": "a2"}]
    lines.append({**returned(0, ""), "uuid": "q", "parentUuid": "u1", "message": {"content": "and?"}})
    lines.append({**called(3, "Read", {"file_path": "a"}), "parentUuid": "q"})
    lines.append(returned(3, numbered(_LINES)))
    (session,) = audit(record(tmp_path / "r.jsonl", lines), Options(secrets=False))
    assert isinstance(session, Audited)
    assert [call.lines_again for call in session.calls] == [0, 0, 5]


def test_gemini_says_its_folder_in_a_file_near_the_record(tmp_path: Path) -> None:
    """The record has a hash of it, so that another folder's name is not believed."""
    chats = tmp_path / "tmp" / "w" / "chats"
    chats.mkdir(parents=True)
    lines = _of_gemini_cli()
    lines[0]["projectHash"] = hashlib.sha256(b"/home/dev/w").hexdigest()
    path = record(chats / "session-1.jsonl", lines)
    folders = []
    for root in ("/home/dev/w", "/etc"):
        (chats.parent / ".project_root").write_text(root)
        (session,) = audit(path, Options(secrets=False))
        assert isinstance(session, Audited)
        folders.append(session.session.folder)
    assert folders == ["/home/dev/w", ""]


def test_codex_says_beside_a_result_that_a_tool_of_a_server_failed(tmp_path: Path) -> None:
    """What the model got has no mark of it, and is no line of the file that was asked for."""
    call = {
        "type": "function_call",
        "call_id": "c",
        "name": "read_file",
        "namespace": "mcp__readroom",
        "arguments": '{"path": "a"}',
    }
    item = {"type": "McpToolCall", "id": "c", "status": "failed", "result": {"isError": True}}
    output = {"type": "function_call_output", "call_id": "c", "output": "Output:read_file takes no argument"}
    lines = [
        _codex("session_meta", id="s", cwd="/w"),
        _codex("response_item", **call),
        _codex("event_msg", type="item_completed", item=item),
        _codex("response_item", **output),
    ]
    (session,) = audit(record(tmp_path / "r.jsonl", lines), Options(secrets=False))
    assert isinstance(session, Audited)
    assert [(call.error, call.lines) for call in session.calls] == [(True, 0)]


def test_what_codex_keeps_of_a_long_output_is_not_taken_for_the_whole(tmp_path: Path) -> None:
    """How much was cut is then what the mark says; and nothing that was cut away was carried."""
    kept = "a\n" * 9 + "\n... command output truncated for persistence ...\n" + "error: no space left\n"
    cut = "Output:\nWarning: truncated output\nTotal output lines: 900\n\na\na…4000 chars truncated…z\n"
    lines = [
        _codex("session_meta", id="s", cwd="/w"),
        _codex("response_item", type="function_call", call_id="c", name="shell", arguments='{"cmd": "make"}'),
        _codex("event_msg", type="item_completed", item={"id": "c", "aggregated_output": kept}),
        _codex("response_item", type="function_call_output", call_id="c", output=cut),
        _codex_said("assistant", "so"),
    ]
    (session,) = audit(record(tmp_path / "r.jsonl", lines), Options(secrets=False))
    assert isinstance(session, Audited)
    (finding,) = session.findings
    assert (finding.kind, finding.what) == (
        "lost-errors",
        "1 error line among 4,000 characters that were truncated",
    )
    assert finding.tokens > 500
    assert finding.carried_tokens == 0


def test_a_repetition_names_the_lines_that_were_shown_again(tmp_path: Path) -> None:
    """Not only the first and the last of them: those between may be new."""
    lines = [
        called(1, "Read", {"file_path": "a", "offset": 1, "limit": 3}),
        returned(1, numbered(["a1", "a2", "a3"])),
        called(2, "Read", {"file_path": "a", "offset": 7, "limit": 3}),
        returned(2, numbered(["a7", "a8", "a9"], 7)),
        called(3, "Read", {"file_path": "a"}),
        returned(3, numbered([f"a{number}" for number in range(1, 12)])),
        said("so"),
    ]
    (session,) = audit(record(tmp_path / "r.jsonl", lines), Options(secrets=False))
    assert isinstance(session, Audited)
    (finding,) = session.findings
    assert (finding.first, finding.last) == (1, 9)
    assert finding.what == "6 unchanged lines shown again while in view: 1-3, 7-9"


def test_a_secret_beside_lines_of_another_file_is_found(tmp_path: Path) -> None:
    """Of two commands in one call only one says which lines it prints."""
    secret = 'DB_PASSWORD = "kX9#mQ2v7Lp!t4Rw"'
    lines = [
        called(1, "Bash", {"command": "head -n 2 a.py && ./show-settings"}),
        returned(1, f"one\ntwo\n{secret}\n"),
        said("so"),
    ]
    (session,) = audit(record(tmp_path / "r.jsonl", lines), Options())
    assert isinstance(session, Audited)
    assert [(one.kind, one.file, one.first) for one in session.findings] == [("secrets", "", 0)]
