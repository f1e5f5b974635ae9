"""Records as other versions of clients write them, newer and older: what they say is read, the rest told."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from readroom.lens.audit import Options, audit
from readroom.lens.normal_form import Call, SkippedPart
from readroom.lens.sessions import Audited
from tests.lens.ground_truth import ranges
from tests.lens.making import called, numbered, record, returned, said


def _parts(path: Path) -> tuple[list[Audited], list[SkippedPart]]:
    parts = list(audit(path, Options(secrets=False)))
    return (
        [part for part in parts if isinstance(part, Audited)],
        [part for part in parts if isinstance(part, SkippedPart)],
    )


def _whole(path: Path) -> Audited:
    (session,), skipped = _parts(path)
    assert skipped == []
    return session


def _shown(session: Audited, call: Call) -> dict[str, list[list[int]]]:
    return ranges([line for line in session.lines if line.call == call.call])


def _claude(kind: str, number: int, content: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    line = said("") if kind == "assistant" else returned(number, "")
    message = {**line["message"], "id": f"m{number}", "content": content}
    return {**line, "uuid": f"{kind}{number}", "message": message, **more}


def _use(id: str, name: str, arguments: dict[str, Any], kind: str = "tool_use") -> dict[str, Any]:
    return {"type": kind, "id": id, "name": name, "input": arguments}


def _result(id: str, content: object) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content}


def test_results_of_claude_code_are_parts_of_every_kind(tmp_path: Path) -> None:
    """Texts and pictures side by side; two calls in one answer; thinking beside them; a PDF."""
    thinking = {"type": "thinking", "thinking": "so", "signature": "x"}
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    document = {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": "A"},
    }
    path = record(
        tmp_path / "r.jsonl",
        [
            _claude(
                "assistant",
                1,
                [
                    thinking,
                    _use("t1", "Read", {"file_path": "/home/dev/shop/a.py"}),
                    _use("t2", "Read", {"file_path": "b.png"}),
                ],
            ),
            _claude(
                "user",
                1,
                [
                    _result("t1", [{"type": "text", "text": numbered(["x", "y"])}]),
                    _result("t2", [{"type": "text", "text": "see"}, picture, document]),
                ],
            ),
            said("so"),
        ],
    )
    session = _whole(path)
    assert [(call.file, call.characters, call.images) for call in session.calls] == [
        ("a.py", 7, 0),
        ("b.png", 3, 1),
    ]
    assert _shown(session, session.calls[0]) == {"a.py": [[1, 2]]}
    assert session.session.turns == 2


def test_tools_that_the_provider_runs_are_calls_with_their_results(tmp_path: Path) -> None:
    """A search of the web, of which the record has ciphers; code; a tool of a server of MCP."""
    found = {"type": "web_search_result", "title": "T", "url": "https://x", "encrypted_content": "c" * 500}
    failed = {"type": "web_search_tool_result_error", "error_code": "unavailable"}
    ran = {"type": "bash_code_execution_result", "stdout": "out\n", "stderr": "bad", "return_code": 2}
    answer = [
        _use("s1", "web_search", {"query": "q"}, "server_tool_use"),
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [found]},
        _use("s2", "web_search", {"query": "q"}, "server_tool_use"),
        {"type": "web_search_tool_result", "tool_use_id": "s2", "content": failed},
        _use("s3", "bash_code_execution", {"command": "make"}, "server_tool_use"),
        {"type": "bash_code_execution_tool_result", "tool_use_id": "s3", "content": ran},
        {**_use("s4", "lookup", {}, "mcp_tool_use"), "server_name": "docs"},
        {
            "type": "mcp_tool_result",
            "tool_use_id": "s4",
            "is_error": False,
            "content": [{"type": "text", "text": "four"}],
        },
    ]
    array = tmp_path / "m.json"
    array.write_text(
        json.dumps([{"role": "user", "content": "go"}, {"role": "assistant", "content": answer}])
    )
    for path in (record(tmp_path / "r.jsonl", [_claude("assistant", 1, answer)]), array):
        calls = _whole(path).calls
        assert [(call.tool, call.server, call.characters, call.error) for call in calls] == [
            ("web_search", "", 0, False),
            ("web_search", "", 0, True),
            ("bash_code_execution", "", 7, True),
            ("lookup", "docs", 4, False),
        ]
        assert all(call.answered for call in calls)
        assert calls[2].exit_code == 2


def test_a_sub_agent_in_the_file_of_its_session_is_a_session_of_its_own(tmp_path: Path) -> None:
    """Older versions mark its lines and do not name it: two at a time, told by the lines they begin with."""
    lines = [_claude("assistant", 1, [_use("t1", "Task", {"prompt": "go"})])]
    for step in range(2):
        for agent in "ab":
            own = {
                "isSidechain": True,
                "parentUuid": None if step == 0 else f"{agent}u0",
                "uuid": f"{agent}u{step}",
            }
            call = _use(f"{agent}{step}", "Read", {"file_path": f"/home/dev/shop/{agent}.py"})
            number = 10 * step + "ab".index(agent) + 2
            lines.append(_claude("assistant", number, [call], **own))
            result = {**own, "uuid": f"{agent}r{step}", "parentUuid": f"{agent}u{step}"}
            lines.append(_claude("user", number, [_result(f"{agent}{step}", "1\tx")], **result))
    lines += [_claude("user", 1, [_result("t1", "done")]), said("so")]
    sessions, skipped = _parts(record(tmp_path / "r.jsonl", lines))
    assert skipped == []
    assert {
        part.session.session: (part.session.parent, [call.file for call in part.calls]) for part in sessions
    } == {
        "s1": ("", [""]),
        "s1/au0": ("s1", ["a.py", "a.py"]),
        "s1/bu0": ("s1", ["b.py", "b.py"]),
    }


def test_results_that_claude_code_cleared_were_sent_and_are_replaced(tmp_path: Path) -> None:
    """A boundary without a summary names the calls whose results later requests carry no longer."""
    cleared = {
        "type": "system",
        "subtype": "microcompact_boundary",
        "microcompactMetadata": {"compactedToolIds": ["t1"]},
    }
    head = {"sessionId": "s1", "uuid": "x"}
    lines = [called(1, "Read", {"file_path": "a"}), returned(1, "1\tx"), said("so"), {**cleared, **head}]
    (call,) = _whole(record(tmp_path / "r.jsonl", lines)).calls
    assert (call.characters, call.rewritten_characters) == (3, len("[Old tool result content cleared]"))


def test_paths_of_windows_are_paths(tmp_path: Path) -> None:
    """Drives in either case, ends of lines of Windows, notebooks; what policy denies is denied there, too."""
    head = {"cwd": "c:\\Users\\dev\\shop"}
    lines = [
        called(1, "Read", {"file_path": "C:\\Users\\dev\\shop\\app\\main.py"}),
        returned(1, numbered(["x\r", "y\r"])),
        called(2, "Read", {"file_path": "C:\\Users\\dev\\shop\\conf\\.env"}),
        returned(2, numbered(["A=1\r"])),
        called(3, "NotebookEdit", {"notebook_path": "C:\\Users\\dev\\shop\\n.ipynb", "new_source": "x"}),
        returned(3, "done"),
        called(4, "Read", {"file_path": "app/main.py"}),
        returned(4, numbered(["x", "y"])),
        said("so"),
    ]
    session = _whole(record(tmp_path / "r.jsonl", [{**line, **head} for line in lines]))
    assert [call.file for call in session.calls] == ["app/main.py", "conf/.env", "n.ipynb", "app/main.py"]
    assert [call.lines_again for call in session.calls] == [0, 0, 0, 2]
    assert [(finding.kind, finding.file) for finding in session.findings if finding.kind == "denied"] == [
        ("denied", "conf/.env")
    ]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_files_with_a_mark_and_ends_of_windows_are_read_whole(
    end: bytes, mark: bytes, tmp_path: Path
) -> None:
    """Of lines and of one document."""
    lines = [called(1, "Read", {"file_path": "a"}), returned(1, "1\tx"), said("so")]
    path = record(tmp_path / "r.jsonl", lines)
    path.write_bytes(mark + path.read_bytes().replace(b"\n", end))
    assert _whole(path).session.folder == "/home/dev/shop"
    array = tmp_path / "m.json"
    messages = [
        {"role": "assistant", "content": [_use("t", "Read", {"path": "a"})]},
        {"role": "user", "content": [_result("t", "1\tx")]},
    ]
    array.write_bytes(mark + json.dumps(messages, indent=1).encode().replace(b"\n", end))
    assert _whole(array).session.calls == 1


def _rollout(path: Path, *items: dict[str, Any], meta: dict[str, Any] | None = None) -> Path:
    lines: list[dict[str, Any]] = [
        {"type": "session_meta", "payload": meta or {"id": "new", "cwd": "/w", "cli_version": "9"}}
    ]
    lines += [
        {"type": "response_item", "timestamp": "2026-01-01T00:00:00Z", "payload": item} for item in items
    ]
    return record(path, lines)


def test_codex_calls_of_every_kind_are_calls(tmp_path: Path) -> None:
    """A patch as a tool, its older shell, searches of the web, a tool of a server that the provider asks."""
    patch = "*** Begin Patch\n*** Update File: app/main.py\n@@\n-a\n+b\n*** End Patch"
    wrapped = json.dumps({"output": "one\ntwo\n", "metadata": {"exit_code": 0, "duration_seconds": 0.1}})
    path = _rollout(
        tmp_path / "r.jsonl",
        {"type": "reasoning", "summary": []},
        {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": patch},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": wrapped},
        {
            "type": "local_shell_call",
            "call_id": "c2",
            "action": {"type": "exec", "command": ["bash", "-lc", "cat a.py"]},
        },
        {"type": "local_shell_call_output", "call_id": "c2", "output": wrapped},
        {
            "type": "function_call",
            "call_id": "c3",
            "name": "shell_command",
            "arguments": json.dumps({"command": "sed -n 3,4p a.py", "workdir": "/w"}),
        },
        {
            "type": "function_call_output",
            "call_id": "c3",
            "output": [{"type": "input_text", "text": "three\nfour\n"}],
        },
        {
            "type": "web_search_call",
            "id": "ws1",
            "status": "completed",
            "action": {"type": "search", "query": "q"},
        },
        {
            "type": "mcp_call",
            "id": "m1",
            "name": "lookup",
            "server_label": "docs",
            "arguments": "{}",
            "output": "four",
        },
        {
            "type": "function_call",
            "call_id": "c4",
            "name": "view_image",
            "arguments": json.dumps({"path": "p.png"}),
        },
        {
            "type": "function_call_output",
            "call_id": "c4",
            "output": [{"type": "input_image", "image_url": "data:"}],
        },
        {"type": "hologram", "content": "?"},
    )
    (session,), skipped = _parts(path)
    assert [
        (call.tool, call.server, call.kind, call.file, call.characters, call.images) for call in session.calls
    ] == [
        ("apply_patch", "", "edit", "app/main.py", len(wrapped), 0),
        ("local_shell", "", "command", "a.py", len(wrapped), 0),
        ("shell_command", "", "command", "a.py", 11, 0),
        ("web_search", "", "other", "", 0, 0),
        ("lookup", "docs", "other", "", 4, 0),
        ("view_image", "", "read", "p.png", 0, 1),
    ]
    assert [_shown(session, call) for call in session.calls[1:3]] == [{"a.py": [[1, 2]]}, {"a.py": [[3, 4]]}]
    assert [part.why for part in skipped] == ["kind 'hologram' is not known"]


def test_a_forked_rollout_is_the_session_that_it_begins_as(tmp_path: Path) -> None:
    """Behind its own head stands that of what it was forked from, with all its lines."""
    call = {
        "type": "function_call",
        "call_id": "c",
        "name": "shell",
        "arguments": '{"command": ["cat", "a"]}',
    }
    output = {"type": "function_call_output", "call_id": "c", "output": "x\n"}
    path = _rollout(
        tmp_path / "r.jsonl", call, output, meta={"id": "new", "cwd": "/w", "forked_from_id": "old"}
    )
    lines = path.read_text(encoding="utf-8").split("\n")
    old = json.dumps({"type": "session_meta", "payload": {"id": "old", "cwd": "/elsewhere"}})
    path.write_text("\n".join([lines[0], old, *lines[1:]]), encoding="utf-8")
    session = _whole(path).session
    assert (session.session, session.parent, session.folder, session.calls) == ("new", "old", "/w", 1)


def test_gemini_parts_stand_alone_and_results_under_any_name(tmp_path: Path) -> None:
    """One part for a list of one, results that are no `output`, and a line of a kind nobody knows."""
    responses = [
        {"output": "one"},
        {"result": {"a": 1}},
        {"content": [{"type": "text", "text": "two"}]},
        {"error": "no"},
    ]
    lines: list[dict[str, Any]] = [
        {"sessionId": "s", "projectHash": "h", "startTime": "2026-01-01T00:00:00Z"}
    ]
    for number, response in enumerate(responses):
        part = {"functionResponse": {"id": f"c{number}", "name": "mcp_docs_lookup", "response": response}}
        call = {
            "id": f"c{number}",
            "name": "mcp_docs_lookup",
            "args": {},
            "status": "success",
            "result": part,
        }
        lines.append({"id": f"m{number}", "type": "gemini", "content": {"text": "so"}, "toolCalls": [call]})
        lines.append({"id": f"u{number}", "type": "user", "content": part})
    lines.append({"$dream": "m1"})
    (session,), skipped = _parts(record(tmp_path / "r.jsonl", lines))
    assert [(call.tool, call.server, call.characters) for call in session.calls] == [
        ("lookup", "docs", 3),
        ("lookup", "docs", len('{"result":{"a":1}}')),
        ("lookup", "docs", 3),
        ("lookup", "docs", 2),
    ]
    assert session.calls[-1].error
    assert [part.why for part in skipped] == ["kind '$dream' is not known"]


def test_qwen_results_of_servers_are_what_was_sent(tmp_path: Path) -> None:
    """Where a response has no `output`, the model is sent the object."""
    head = {"sessionId": "s", "provenance": "x", "cwd": "/w"}
    call = {"functionCall": {"id": "c", "name": "mcp__docs__lookup", "args": {}}}
    answer = {"functionResponse": {"id": "c", "response": {"result": ["x"]}}}
    lines = [
        {"type": "assistant", "uuid": "1", **head, "message": {"parts": [call]}},
        {"type": "tool_result", "uuid": "2", **head, "message": {"parts": [answer]}},
    ]
    (made,) = _whole(record(tmp_path / "r.jsonl", lines)).calls
    assert (made.tool, made.server, made.characters) == ("lookup", "docs", len('{"result":["x"]}'))


def test_the_editor_of_newer_swe_agents_reads_and_edits(tmp_path: Path) -> None:
    """Its calls are command lines; what it shows is numbered."""
    steps = [
        (
            "str_replace_editor view /repo/a.py --view_range 3 4",
            "Here's the result of running `cat -n` on /repo/a.py:\n     3\tx\n     4\ty\n",
        ),
        (
            "str_replace_editor view '/repo/with blank.py'",
            "Here's the result of running `cat -n` on it:\n     1\tx\n",
        ),
        (
            "str_replace_editor create /repo/b.py --file_text 'view'",
            "File created successfully at: /repo/b.py",
        ),
        (
            "str_replace_editor str_replace /repo/a.py --old_str 'x' --new_str 'z'",
            "The file /repo/a.py has been edited.",
        ),
        ("str_replace_editor", "usage"),
    ]
    path = tmp_path / "r.traj"
    trajectory = [
        {"action": action, "observation": text, "thought": "", "state": {"working_dir": "/repo"}}
        for action, text in steps
    ]
    path.write_text(json.dumps({"trajectory": trajectory, "history": [], "info": {}}))
    session = _whole(path)
    assert [(call.kind, call.file) for call in session.calls] == [
        ("read", "a.py"),
        ("read", "with blank.py"),
        ("write", "b.py"),
        ("edit", "a.py"),
        ("edit", ""),
    ]
    assert [_shown(session, call) for call in session.calls[:2]] == [
        {"a.py": [[3, 4]]},
        {"with blank.py": [[1, 1]]},
    ]


def test_a_log_of_inspect_may_be_one_document(tmp_path: Path) -> None:
    """As `--log-format json` writes it, with as many sessions as samples."""
    messages = [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c", "function": "read_file", "arguments": {"path": "a.py"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "1\tx"},
    ]
    samples = [{"id": number, "epoch": 1, "messages": messages} for number in (1, 2)]
    evaluation = {"eval_id": "e", "model": "m", "packages": {"inspect_ai": "9"}}
    path = tmp_path / "log.json"
    path.write_text(
        json.dumps({"version": 2, "status": "success", "eval": evaluation, "plan": {}, "samples": samples})
    )
    sessions, skipped = _parts(path)
    assert skipped == []
    assert [
        (part.session.session, part.session.client, part.session.version, part.session.calls)
        for part in sessions
    ] == [
        ("e/1_epoch_1", "Inspect AI", "9", 1),
        ("e/2_epoch_1", "Inspect AI", "9", 1),
    ]


def test_newer_items_of_responses_are_calls_with_their_results(tmp_path: Path) -> None:
    """Command lines and patches that OpenAI's own tools make, several of them in one answer."""
    ran = [
        {"stdout": "one\ntwo\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
        {"stdout": "", "stderr": "no such file", "outcome": {"type": "exit", "exit_code": 1}},
    ]
    patch = {"type": "update_file", "path": "lib/x.py", "diff": "@@"}
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "look"}]},
        {"type": "shell_call", "call_id": "c1", "action": {"commands": ["cat a.py", "cat b.py"]}},
        {"type": "apply_patch_call", "call_id": "c2", "operation": patch},
        {"type": "shell_call_output", "call_id": "c1", "output": ran},
        {"type": "apply_patch_call_output", "call_id": "c2", "status": "failed", "output": "no"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "so"}]},
    ]
    path = tmp_path / "items.json"
    path.write_text(json.dumps(items))
    session = _whole(path)
    assert [(call.tool, call.kind, call.files, call.turn) for call in session.calls] == [
        ("shell", "command", ["b.py", "a.py"], 1),
        ("apply_patch", "edit", ["lib/x.py"], 1),
    ]
    assert [(call.characters, call.exit_code, call.error) for call in session.calls] == [
        (20, 1, True),
        (2, None, True),
    ]
    assert (session.session.turns, session.calls[0].sent_in_requests) == (2, 1)


def test_a_compaction_of_inspect_is_told(tmp_path: Path) -> None:
    """The messages are whole all the same, so that nothing in them says what later requests carried."""
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "so"}]
    sample = {"id": 1, "messages": messages, "events": [{"event": "compaction", "type": "trim"}] * 2}
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"eval": {}, "samples": [sample]}))
    (session,), (skipped,) = _parts(path)
    assert (session.session.turns, session.session.compactions) == (1, 0)
    assert (skipped.where, skipped.count) == ("events", 2)
    assert "compaction" in skipped.why


def _model_event(id: str, usage: dict[str, Any], **more: Any) -> dict[str, Any]:
    output = {"choices": [{"message": {"id": id, "role": "assistant"}}], "usage": usage}
    return {"event": "model", "timestamp": "2026-01-01T10:00:00+00:00", "output": output, **more}


@pytest.mark.parametrize("form", ["eval", "json"])
def test_what_answers_took_stands_in_the_events_of_inspect(tmp_path: Path, form: str) -> None:
    """By the answer in the conversation, with what was cached and what it cost; answers of a grader, and of
    a cache of Inspect's own, are none of it.
    """
    call = {"id": "c", "function": "read_file", "arguments": {"path": "a.py"}}
    messages = [
        {"role": "user", "id": "q", "content": "go"},
        {"role": "assistant", "id": "m1", "content": "", "tool_calls": [call]},
        {"role": "tool", "id": "t1", "tool_call_id": "c", "content": "1\tx"},
        {"role": "assistant", "id": "m2", "content": "so"},
    ]
    usage = {
        "input_tokens": 100, "output_tokens": 10, "input_tokens_cache_read": 7, "input_tokens_cache_write": 5,
        "total_cost": 0.25,
    }  # fmt: skip
    events = [
        {"event": "tool", "id": "c"},
        _model_event("m1", usage),
        _model_event("of a grader", usage),
        _model_event("m2", usage, cache="read"),
        {"event": "model", "output": {}},
    ]
    sample = {"id": 1, "epoch": 1, "messages": messages, "events": events}
    evaluation = {"eval": {"eval_id": "e", "model": "m"}}
    path = tmp_path / f"log.{form}"
    if form == "json":
        path.write_text(json.dumps({**evaluation, "samples": [sample]}))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("header.json", json.dumps(evaluation))
            archive.writestr("samples/1_epoch_1.json", json.dumps(sample))
    session = _whole(path)
    first, second = session.turns
    assert (first.input_tokens, first.output_tokens) == (100, 10)
    assert (first.cache_read_tokens, first.cache_write_tokens, first.cost) == (7, 5, 0.25)
    assert (second.input_tokens, second.time) == (0, "")
    assert first.time == session.session.ended == "2026-01-01T10:00:00+00:00"
    assert session.session.cost == 0.25


def test_pydantic_ai_results_of_the_provider_and_files_are_told(tmp_path: Path) -> None:
    """A tool that the provider ran answers in the same response; a picture is not its base64."""
    picture = {"kind": "binary", "data": "A" * 400, "media_type": "image/png", "identifier": "f1"}
    history = [
        {
            "kind": "response",
            "parts": [
                {"part_kind": "thinking", "content": "so"},
                {
                    "part_kind": "builtin-tool-call",
                    "tool_call_id": "b",
                    "tool_name": "web_search",
                    "args": {"query": "q"},
                },
                {
                    "part_kind": "builtin-tool-return",
                    "tool_call_id": "b",
                    "tool_name": "web_search",
                    "content": [{"url": "x"}],
                },
                {
                    "part_kind": "tool-call",
                    "tool_call_id": "c",
                    "tool_name": "read_file",
                    "args": '{"path": "p.png"}',
                },
            ],
        },
        {
            "kind": "request",
            "parts": [
                {
                    "part_kind": "tool-return",
                    "tool_call_id": "c",
                    "tool_name": "read_file",
                    "content": ["see", picture],
                }
            ],
        },
    ]
    path = tmp_path / "h.json"
    path.write_text(json.dumps(history))
    session = _whole(path)
    assert [(call.tool, call.characters, call.images) for call in session.calls] == [
        ("web_search", len('[{"url":"x"}]'), 0),
        ("read_file", 3, 1),
    ]


def test_a_span_whose_result_is_an_object_has_its_json(tmp_path: Path) -> None:
    """Attributes may be structured since 1.37 of the conventions."""
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.call.id": "c",
        "gen_ai.tool.name": "read",
        "gen_ai.tool.call.arguments": {"path": "a"},
        "gen_ai.tool.call.result": {"rows": [1]},
        "new.attribute": {},
    }
    path = record(tmp_path / "s.jsonl", [{"traceId": "t", "spanId": "1", "attributes": attributes}])
    (call,) = _whole(path).calls
    assert (call.file, call.characters) == ("a", len('{"rows":[1]}'))
