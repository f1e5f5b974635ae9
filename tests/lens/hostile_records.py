"""Records that are made to hurt, in the form of every client and of any size: what each can bring much of.

A form is written as pieces until there are enough bytes: tiny calls with ids that never come again, names
that are long and everywhere others, results that wait for something, files of which a line each is shown,
and texts whose characters take four bytes each. What the calls are is given: `huge_records` has calls whose
texts are of 100 MB, or break the line that they stand in.
"""

from __future__ import annotations

import io
import json
import re
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

Call = tuple[str, dict[str, Any], str]
Calls = Callable[[int], Call]
"""An id, the arguments and the result of the call of a number."""


class Output(Protocol):
    """What bytes are written to."""

    def write(self, data: bytes, /) -> int:
        """Take them all."""


_WIDE = "\U0001f600"
"""One of them in a text, and each of its characters takes four bytes."""


def hostile_call(number: int) -> Call:
    """An id, the arguments and the result of a call, of six kinds by turns."""
    kind = number % 6
    if kind == 0:
        return f"c{number}", {}, ""
    if kind == 1:
        return f"{number}" + "i" * 400, {"path": f"{_WIDE}{number}/" + "d" * 900}, f"1\t{number}"
    if kind == 2:
        matches = "\n".join(f"{number}/f{at}{_WIDE}.py:{at + 1}:word{number}x{at}" for at in range(40))
        return f"c{number}", {"pattern": "x"}, matches
    if kind == 3:
        words = "\n".join(f"w{number}a{at} v{number}b{at}" for at in range(400))
        return f"c{number}", {"command": f"make {number}"}, words
    if kind == 4:
        return f"c{number}", {"path": f".env{number}"}, f"1\tpassword = 'x9{number}y!'{_WIDE}"
    return f"c{number}", {"values": [number] * 20, "path": "a"}, f"Error: {_WIDE} no {number}"


_TOOLS = ("t", "read_file", "grep", "shell", "read_file", "edit_file")


_LONG = re.compile(rb"@@([^@]+)@(\d+)@@")


def long_text(piece: bytes, size: int) -> str:
    """A text that stands for so many bytes of one piece after the other, written as they are."""
    return f"@@{piece.hex()}@{size}@@"


def put(stream: Output, data: bytes) -> int:
    """Write a piece of a record with its long texts; how many bytes it is."""
    written = at = 0
    for match in _LONG.finditer(data):
        piece, size = bytes.fromhex(match[1].decode()), int(match[2])
        written += stream.write(data[at : match.start()])
        block = piece * max(1, min(size, 1_000_000) // len(piece))
        for _ in range(max(1, size // len(block))):
            written += stream.write(block)
        at = match.end()
    return written + stream.write(data[at:])


def _lines(path: Path, size: int, lines: Iterator[dict[str, Any]]) -> Path:
    written = 0
    with path.open("wb") as stream:
        for line in lines:
            written += put(stream, json.dumps(line).encode() + b"\n")
            if written >= size:
                break
    return path


def _numbers() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


def claude_code(path: Path, size: int, calls: Calls = hostile_call) -> Path:
    """Calls of thousands of sessions by turns; every third session never answers what came back."""

    def lines() -> Iterator[dict[str, Any]]:
        for number in _numbers():
            id, arguments, text = calls(number)
            head = {"sessionId": f"s{number % 3}" if number % 2 else f"n{number}", "uuid": f"u{number}"}
            head |= {"cwd": "/w", "version": "1"}
            use = {"type": "tool_use", "id": id, "name": _TOOLS[number % 6], "input": arguments}
            if number % 3:
                message = {"id": f"m{number}", "role": "assistant", "model": "m", "content": [use]}
                yield {"type": "assistant", **head, "message": message}
            block = {"type": "tool_result", "tool_use_id": id, "content": text}
            yield {"type": "user", **head, "message": {"role": "user", "content": [block]}}
            if not number % 50:
                yield {"type": "system", "subtype": "compact_boundary", **head}

    return _lines(path, size, lines())


def codex(path: Path, size: int, calls: Calls = hostile_call) -> Path:
    """One session; whole outputs beside calls that are never answered."""

    def lines() -> Iterator[dict[str, Any]]:
        yield {"type": "session_meta", "payload": {"id": "s", "cwd": "/w"}}
        for number in _numbers():
            id, arguments, text = calls(number)
            call = {"type": "function_call", "call_id": id, "name": _TOOLS[number % 6]}
            yield {"type": "response_item", "payload": {**call, "arguments": json.dumps(arguments)}}
            whole = {"type": "item_completed", "item": {"id": id, "aggregated_output": text}}
            yield {"type": "event_msg", "payload": whole}
            if number % 3:
                output = {"type": "function_call_output", "call_id": id, "output": text}
                yield {"type": "response_item", "payload": output}
            if not number % 50:
                yield {"type": "compacted", "payload": {}}

    return _lines(path, size, lines())


def gemini_cli(path: Path, size: int, calls: Calls = hostile_call) -> Path:
    """Messages that never come again, results that were never sent, and lists that replace all."""

    def lines() -> Iterator[dict[str, Any]]:
        yield {"sessionId": "s", "projectHash": "p", "startTime": "2026-01-01T00:00:00Z"}
        for number in _numbers():
            id, arguments, text = calls(number)
            response = {"id": id, "response": {"output": text}}
            result = [{"functionResponse": response}]
            call = {"id": id, "name": _TOOLS[number % 6], "args": arguments, "status": "success"}
            yield {"type": "gemini", "id": f"m{number}", "toolCalls": [{**call, "result": result}]}
            if number % 3:
                yield {"type": "user", "id": f"u{number}", "content": result}
            if not number % 500:
                yield {"$set": {"messages": [{"type": "user", "id": f"n{number}", "content": "so"}]}}

    return _lines(path, size, lines())


def qwen_code(path: Path, size: int, calls: Calls = hostile_call) -> Path:
    """Calls of sessions that begin and are never heard of again."""

    def lines() -> Iterator[dict[str, Any]]:
        for number in _numbers():
            id, arguments, text = calls(number)
            session = "s" if number % 2 else f"s{number}"
            head = {"sessionId": session, "uuid": f"u{number}", "provenance": "x", "cwd": "/w"}
            call = {"functionCall": {"id": id, "name": _TOOLS[number % 6], "args": arguments}}
            yield {"type": "assistant", **head, "message": {"parts": [call]}}
            if number % 3:
                part = {"functionResponse": {"id": id, "response": {"output": text}}}
                yield {"type": "tool_result", **head, "message": {"parts": [part]}}

    return _lines(path, size, lines())


def copilot_cli(path: Path, size: int, calls: Calls = hostile_call) -> Path:
    """Agents that begin and are never heard of again, and compactions that never end."""

    def lines() -> Iterator[dict[str, Any]]:
        for number in _numbers():
            id, arguments, text = calls(number)
            head = {"id": f"e{number}", "timestamp": "2026-01-01T00:00:00Z", "parentId": f"e{number - 1}"}
            head |= {"agentId": f"a{number}" + "a" * 300} if number % 2 else {}
            request = {"toolCallId": id, "name": _TOOLS[number % 6], "arguments": arguments}
            if not number % 9:
                yield {**head, "type": "session.compaction_start", "data": {}}
            yield {**head, "type": "assistant.turn_start", "data": {}}
            yield {**head, "type": "assistant.message", "data": {"toolRequests": [request]}}
            if number % 3:
                data = {"toolCallId": id, "success": bool(number % 5), "result": {"content": text}}
                yield {**head, "type": "tool.execution_complete", "data": data}
            if not number % 50:
                yield {**head, "type": "session.compaction_complete", "data": {"success": True}}

    return _lines(path, size, lines())


def pi(path: Path, size: int, calls: Calls = hostile_call) -> Path:
    """Entries that go back, and compactions that keep what was never there."""

    def lines() -> Iterator[dict[str, Any]]:
        yield {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/w"}
        for number in _numbers():
            id, arguments, text = calls(number)
            head = {"type": "message", "timestamp": "2026-01-01T00:00:00Z"}
            call = {"type": "toolCall", "id": id, "name": _TOOLS[number % 6], "arguments": arguments}
            parent = f"r{number - 1}" if number % 7 else f"r{number // 2}" + "p" * 300
            message = {"role": "assistant", "model": "m", "content": [call]}
            yield {**head, "id": f"m{number}", "parentId": parent, "message": message}
            content = [{"type": "text", "text": text}]
            result = {"role": "toolResult", "toolCallId": id, "content": content, "isError": not number % 5}
            yield {**head, "id": f"r{number}", "parentId": f"m{number}", "message": result}
            if not number % 50:
                kept = f"r{number - 20}" if number % 100 else "never"
                yield {**head, "type": "compaction", "id": f"c{number}", "firstKeptEntryId": kept}

    return _lines(path, size, lines())


def opencode(path: Path, size: int, calls: Calls = hostile_call) -> Path:
    """A database of many sessions, half of all calls in one."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(
            """
            PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
            CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, version TEXT);
            CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, data TEXT);
            CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);
            CREATE INDEX of_session ON message (session_id);
            CREATE INDEX of_message ON part (message_id);
            BEGIN;
            """
        )
        written = 0
        for number in _numbers():
            id, arguments, text = calls(number)
            session = "s" if number % 2 else f"s{number}"
            state = {"status": "completed", "input": arguments, "output": text}
            whole = io.BytesIO()
            put(
                whole,
                json.dumps(
                    {"type": "tool", "callID": id, "tool": _TOOLS[number % 6], "state": state}
                ).encode(),
            )
            part = whole.getvalue()
            connection.execute("INSERT OR IGNORE INTO session VALUES (?, '', '/w', '1')", (session,))
            row = (f"m{number:09}", session, '{"role": "assistant"}')
            connection.execute("INSERT INTO message VALUES (?, ?, ?)", row)
            connection.execute(
                "INSERT INTO part VALUES (?, ?, ?, CAST(? AS TEXT))", (f"p{number}", row[0], session, part)
            )
            written += len(part) + 200
            if written >= size:
                break
        connection.execute("COMMIT")
    return path


def _document(path: Path, size: int, head: str, elements: Iterator[dict[str, Any]], tail: str) -> Path:
    written = 0
    with path.open("wb") as stream:
        stream.write(head.encode())
        for element in elements:
            written += put(stream, (b",\n" if written else b"") + json.dumps(element).encode())
            if written >= size:
                break
        stream.write(tail.encode())
    return path


def continue_cli(path: Path, size: int, calls: Calls = hostile_call) -> Path:
    """One session of very many answers."""

    def entries() -> Iterator[dict[str, Any]]:
        for number in _numbers():
            id, arguments, text = calls(number)
            function = {"name": _TOOLS[number % 6], "arguments": json.dumps(arguments)}
            message = {"role": "assistant", "content": "", "toolCalls": [{"id": id, "function": function}]}
            states = [{"toolCallId": id, "status": "done", "output": [{"content": text}]}]
            yield {"message": message, "contextItems": [], "toolCallStates": states if number % 3 else []}

    head = '{"sessionId": "s", "workspaceDirectory": "/w", "history": ['
    return _document(path, size, head, entries(), "]}")


def atif(path: Path, size: int, calls: Calls = hostile_call) -> Path:
    """One trajectory of very many steps."""

    def steps() -> Iterator[dict[str, Any]]:
        for number in _numbers():
            id, arguments, text = calls(number)
            call = {"tool_call_id": id, "function_name": _TOOLS[number % 6], "arguments": arguments}
            results = [{"source_call_id": id if number % 2 else None, "content": text}] * (number % 3)
            step = {"step_id": number, "source": "agent", "message": "", "tool_calls": [call]}
            yield step | {"observation": {"results": results}}

    head = '{"schema_version": "ATIF-v1.8", "session_id": "s", "agent": {"name": "a"}, "steps": ['
    return _document(path, size, head, steps(), "]}")


def cline(path: Path, size: int, calls: Calls = hostile_call) -> Path:
    """One session of very many answers; results come as entries, which may hold several files."""

    def messages() -> Iterator[dict[str, Any]]:
        for number in _numbers():
            id, arguments, text = calls(number)
            use = {
                "type": "tool_use",
                "id": id,
                "name": _TOOLS[number % 6],
                "input": {"files": [arguments] * 2},
            }
            yield {"id": f"m{number}", "role": "assistant", "content": [use], "ts": 1}
            entry = {"query": "q", "result": text, "success": number % 5 > 0}
            result = {"type": "tool_result", "tool_use_id": id, "content": [entry] * (number % 3)}
            yield {"id": f"r{number}", "role": "user", "content": [result], "ts": 1}

    head = '{"sessionId": "s", "origin": {"version": "1"}, "messages": ['
    return _document(path, size, head, messages(), "]}")


def swe_agent(path: Path, size: int, calls: Calls = hostile_call) -> Path:
    """One trajectory of very many steps."""

    def steps() -> Iterator[dict[str, Any]]:
        for number in _numbers():
            id, _, text = calls(number)
            actions = (
                "",
                f"open {id}/{_WIDE}.py",
                f"grep x {id}",
                f"make {id}",
                f"cat .env{number}",
                "edit 1:1",
            )
            yield {"action": actions[number % 6], "observation": text, "thought": text, "state": "{}"}

    return _document(path, size, '{"trajectory": [', steps(), '], "history": [], "info": {}}')


def _chat(calls: Calls) -> Iterator[dict[str, Any]]:
    for number in _numbers():
        id, arguments, text = calls(number)
        function = {"name": _TOOLS[number % 6], "arguments": json.dumps(arguments)}
        call = {"id": id, "type": "function", "function": function}
        yield {"role": "assistant", "content": text, "tool_calls": [call]}
        if number % 3:
            yield {"role": "tool", "tool_call_id": id, "content": text}


def openai_messages(path: Path, size: int, calls: Calls = hostile_call) -> Path:
    """An array of messages of OpenAI's interface."""
    return _document(path, size, "[", _chat(calls), "]")


def anthropic_messages(path: Path, size: int, calls: Calls = hostile_call) -> Path:
    """An array of messages of Anthropic's interface."""

    def messages() -> Iterator[dict[str, Any]]:
        for number in _numbers():
            id, arguments, text = calls(number)
            use = {"type": "tool_use", "id": id, "name": _TOOLS[number % 6], "input": arguments}
            yield {"role": "assistant", "content": [use]}
            block = {"type": "tool_result", "tool_use_id": id if number % 3 else "x", "content": text}
            yield {"role": "user", "content": [block]}

    return _document(path, size, '{"messages": [', messages(), "]}")


def inspect(path: Path, size: int, calls: Calls = hostile_call) -> Path:
    """A log of one sample of half the size, and of very many small ones."""
    path.unlink(missing_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("header.json", '{"eval": {"eval_id": "e", "model": "m"}}')
        written = 0
        with archive.open("samples/1_epoch_1.json", "w", force_zip64=True) as stream:
            stream.write(b'{"messages": [')
            for message in _chat(calls):
                written += put(stream, (b"," if written else b"") + json.dumps(message).encode())
                if written >= size - size // 50:
                    break
            stream.write(b"]}")
        chat = _chat(hostile_call)
        for number in range(2, min(30_000, size // 5_000)):
            messages = json.dumps({"messages": [next(chat), next(chat)]})
            archive.writestr(f"samples/{number}_epoch_1.json", messages)
    return path


def pydantic_ai(path: Path, size: int, calls: Calls = hostile_call) -> Path:
    """Histories of very many conversations in one list."""

    def messages() -> Iterator[dict[str, Any]]:
        for number in _numbers():
            id, arguments, text = calls(number)
            name = {"conversation_id": "s" if number % 2 else f"s{number}"}
            call = {"part_kind": "tool-call", "tool_call_id": id, "tool_name": _TOOLS[number % 6]}
            yield {"kind": "response", **name, "parts": [{**call, "args": arguments}]}
            if number % 3:
                part = {"part_kind": "tool-return", "tool_call_id": id, "content": text}
                yield {"kind": "request", **name, "parts": [part]}

    return _document(path, size, "[", messages(), "]")


def opentelemetry(path: Path, size: int, calls: Calls = hostile_call) -> Path:
    """Spans of which every second is of another trace."""

    def spans() -> Iterator[dict[str, Any]]:
        for number in _numbers():
            id, arguments, text = calls(number)
            attributes: dict[str, Any] = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.call.id": id,
                "gen_ai.tool.name": _TOOLS[number % 6],
                "gen_ai.tool.call.arguments": json.dumps(arguments),
            }
            if number % 3:
                attributes["gen_ai.tool.call.result"] = text
            trace = "t" if number % 2 else f"t{number}"
            yield {"traceId": trace, "spanId": f"s{number}", "attributes": attributes}

    return _lines(path, size, spans())


def openai_agents(path: Path, size: int, calls: Calls = hostile_call) -> Path:
    """An exported trace, of which every second span is of another."""

    def spans() -> Iterator[dict[str, Any]]:
        for number in _numbers():
            id, arguments, text = calls(number)
            data = {"type": "function", "name": _TOOLS[number % 6], "input": json.dumps(arguments)}
            trace = "t" if number % 2 else f"t{number}"
            span = {"object": "trace.span", "id": id, "trace_id": trace}
            yield {**span, "span_data": {**data, "output": text}}

    return _lines(path, size, spans())


def readroom_ledger(path: Path, size: int, calls: Calls = hostile_call) -> Path:
    """The export of a ledger with very many conversations, epochs and files."""

    def rows() -> Iterator[dict[str, Any]]:
        for number in _numbers():
            id, arguments, text = calls(number)
            if text.startswith("@@"):  # a ledger has no results
                arguments = {**arguments, "content": text}
            names = [f"{number}/{at}{_WIDE}" + "n" * 200 for at in range(5)]
            shown = [[name, "sha256:0", 1, 1 + number % 40] for name in names]
            row = {"number": number, "contract": "native", "tool": _TOOLS[number % 6], "outcome": "ok"}
            row |= {"previous": "", "hash": "", "id": id, "arguments": arguments, "shown": shown}
            yield {**row, "session": "s" if number % 2 else f"s{number}", "epoch": number // 9, "tokens": 9}

    return _lines(path, size, rows())


class Writer(Protocol):
    """Writes a record of one form."""

    def __call__(self, path: Path, size: int, calls: Calls = ..., /) -> Path:
        """A record at `path`, of at least so many bytes."""


FORMS: dict[str, Writer] = {
    "Claude Code": claude_code,
    "Codex": codex,
    "Gemini CLI": gemini_cli,
    "Qwen Code": qwen_code,
    "GitHub Copilot CLI": copilot_cli,
    "pi": pi,
    "Continue CLI": continue_cli,
    "Cline": cline,
    "ATIF": atif,
    "opencode": opencode,
    "SWE-agent": swe_agent,
    "OpenAI messages": openai_messages,
    "Anthropic messages": anthropic_messages,
    "Inspect AI": inspect,
    "pydantic-ai": pydantic_ai,
    "OpenTelemetry": opentelemetry,
    "openai-agents": openai_agents,
    "readroom": readroom_ledger,
}
"""What writes a record of each client's form."""
