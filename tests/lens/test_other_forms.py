"""Forms that hold the same calls without being a client's own record: traces, spans, ledgers, arrays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from readroom.lens.audit import Options, audit
from readroom.lens.normal_form import SkippedPart
from readroom.lens.sessions import Audited
from tests.lens.ground_truth import ranges, same, truth_of, unpacked

_OPTIONS = Options(secrets=False)


def _sessions(path: Path) -> list[Audited]:
    parts = list(audit(path, _OPTIONS))
    assert not [part for part in parts if isinstance(part, SkippedPart)]
    return [part for part in parts if isinstance(part, Audited)]


def test_a_trace_of_openai_agents_holds_the_calls_of_its_session(tmp_path: Path) -> None:
    """Spans are written as they end; each has the characters that were sent, and answers have their usage."""
    trace = next(path for path in unpacked("openai-agents/tools", tmp_path) if path.name == "traces.jsonl")
    (part,) = _sessions(trace)
    truth = truth_of("openai-agents/tools")["calls"]
    failed = {call["chars"] for call in truth if call["error"] and call["tool"] == "replace"}
    found = sorted(call.characters for call in part.calls if call.tool != "replace" or not call.error)
    assert found == sorted(call["chars"] for call in truth if call["chars"] not in failed)
    assert part.session.turns == 14
    assert part.session.input_tokens > 100_000


@pytest.mark.parametrize("client", ["codex", "opencode"])
@pytest.mark.parametrize("name", ["ledger.sqlite3", "export.jsonl"])
def test_our_ledger_has_the_lines_that_its_session_showed(client: str, name: str, tmp_path: Path) -> None:
    """The ledger of a session holds what its server showed, as the requests of the client do."""
    ledger = next(path for path in unpacked(f"readroom-ledger/{client}", tmp_path) if path.name == name)
    (part,) = _sessions(ledger)
    wanted = [call for call in truth_of(f"{client}/mixed")["calls"] if call["server"] == "readroom"]
    assert [call.tool for call in part.calls] == [one["tool"].rpartition("readroom_")[2] for one in wanted]
    shown = [ranges([line for line in part.lines if line.call == call.call]) for call in part.calls]
    for call, found, truth in zip(part.calls, shown, wanted, strict=True):
        # The reply to an edit shows lines too; the ledger counts those of reads and searches.
        if call.tool == "read_file":
            assert same(found, truth["shown"])
    assert {file for one in shown for file in one} >= {"app/main.py", "app/pricing.py", "app/auth.py"}
    assert part.session.client.startswith("readroom for ")


def _attribute(key: str, value: Any) -> dict[str, Any]:
    kind = "intValue" if isinstance(value, int) else "stringValue"
    return {"key": key, "value": {kind: str(value)}}


def _span(id: str, start: int, **given: Any) -> dict[str, Any]:
    attributes = [_attribute(key.replace("__", "."), value) for key, value in given.items()]
    return {
        "traceId": "t1", "spanId": id, "startTimeUnixNano": str(1_700_000_000_000_000_000 + start),
        "endTimeUnixNano": str(1_700_000_000_000_000_000 + start + 1), "attributes": attributes,
    }  # fmt: skip


def test_spans_of_tools_and_answers_are_a_session(tmp_path: Path) -> None:
    """The OTLP file exporter writes batches, in which spans stand as they ended."""
    arguments = json.dumps({"file_path": "/p/a.py"})
    spans = [
        _span(
            "b", 20, gen_ai__operation__name="execute_tool", gen_ai__tool__name="read_file",
            gen_ai__tool__call__id="c1", gen_ai__tool__call__arguments=arguments,
            gen_ai__tool__call__result="1\tfirst\n2\tsecond",
        ),
        _span(
            "a", 10, gen_ai__operation__name="chat", gen_ai__request__model="some-model",
            gen_ai__usage__input_tokens=100, gen_ai__usage__output_tokens=7,
        ),
        _span("x", 5, http__method="GET"),
        _span("d", 30, gen_ai__operation__name="chat", gen_ai__usage__input_tokens=150),
    ]  # fmt: skip
    path = tmp_path / "spans.json"
    path.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}) + "\n")
    (part,) = _sessions(path)
    assert (part.session.client, part.session.model) == ("OpenTelemetry", "some-model")
    assert part.session.started == "2023-11-14T22:13:20.000Z"  # of nanoseconds, which the exporter writes
    assert (part.session.input_tokens, part.session.output_tokens, part.session.turns) == (250, 7, 2)
    (call,) = part.calls
    assert (call.tool, call.file, call.characters, call.sent_in_requests) == ("read_file", "/p/a.py", 16, 1)
    assert ranges(part.lines) == {"/p/a.py": [[1, 2]]}


def test_spans_that_carry_messages_give_the_calls_of_the_messages(tmp_path: Path) -> None:
    """Where no span is a tool's, the messages of the next request have the result; each counts once."""
    asked = {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": "c1", "name": "grep", "arguments": {"pattern": "x"}}],
    }
    answered = {
        "role": "tool",
        "parts": [{"type": "tool_call_response", "id": "c1", "result": "a.py:3:x = 1"}],
    }
    given: list[dict[str, Any]] = [
        {"gen_ai.usage.input_tokens": 9},
        {"gen_ai.input.messages": json.dumps([asked, answered])},
        {"gen_ai.input.messages": [asked, answered]},
    ]
    lines = [
        {"trace_id": "t", "span_id": str(number), "attributes": {"gen_ai.operation.name": "chat", **more}}
        for number, more in enumerate(given)
    ]
    path = tmp_path / "spans.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (part,) = _sessions(path)
    (call,) = part.calls
    assert (call.tool, call.kind, call.characters) == ("grep", "search", 12)
    assert ranges(part.lines) == {"a.py": [[3, 3]]}


def test_one_message_a_line_and_an_object_of_messages_are_arrays_too(tmp_path: Path) -> None:
    """Fine-tuning files hold one message a line or an object with `messages`."""
    function = {"name": "cat", "arguments": '{"path": "a"}'}
    messages = [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "hello\nworld"},
    ]  # fmt: skip
    lines, document = tmp_path / "m.jsonl", tmp_path / "m.json"
    lines.write_text("".join(json.dumps(message) + "\n" for message in messages))
    document.write_text(json.dumps({"model": "x", "messages": messages}, indent=1))
    for path in (lines, document):
        (part,) = _sessions(path)
        assert [(call.tool, call.characters, call.file) for call in part.calls] == [("cat", 11, "a")]
        assert ranges(part.lines) == {"a": [[1, 2]]}


def test_gemini_files_of_one_document_are_read(tmp_path: Path) -> None:
    """Before it wrote lines, the client wrote one document with all messages."""
    response = {"functionResponse": {"id": "r1", "name": "read_file", "response": {"output": "one\ntwo"}}}
    call = {
        "id": "r1",
        "name": "read_file",
        "args": {"file_path": "a.py"},
        "result": [response],
        "status": "success",
    }
    tokens = {"input": 10, "output": 2, "cached": 4}
    document = {
        "sessionId": "s", "projectHash": "h", "startTime": "2025-01-01T00:00:00Z",
        "messages": [
            {"id": "1", "type": "user", "content": "look"},
            {"id": "2", "type": "gemini", "content": "so", "toolCalls": [call], "tokens": tokens},
        ],
    }  # fmt: skip
    path = tmp_path / "session.json"
    path.write_text(json.dumps(document, indent=2))
    (part,) = _sessions(path)
    assert [(one.tool, one.characters) for one in part.calls] == [("read_file", 7)]
    assert (part.session.input_tokens, part.session.cache_read_tokens) == (6, 4)


def test_a_version_that_is_not_known_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """Lines of a kind nobody knows are counted and told; the rest is read."""
    record = next(iter(unpacked("qwen-code/tools", tmp_path)))
    lines = record.read_text(encoding="utf-8").split("\n")
    new = json.dumps({**json.loads(lines[0]), "type": "hologram", "version": "99.0.0"})
    record.write_text("\n".join([*lines[:5], new, new, *lines[5:]]), encoding="utf-8")
    parts = list(audit(record, _OPTIONS))
    (session,) = [part for part in parts if isinstance(part, Audited)]
    assert len(session.calls) == 19
    (skipped,) = [part for part in parts if isinstance(part, SkippedPart)]
    assert (skipped.count, "hologram" in skipped.why) == (2, True)
