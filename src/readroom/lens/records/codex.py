"""Codex: `~/.codex/sessions/Y/M/D/rollout-TIME-ID.jsonl`, a file for each agent.

Versions before September 2025 wrote the items bare, after a line with the id and the instructions.

Only `response_item` was sent to the model; `event_msg/item_completed` repeats each command with far more
of its output. What was before a `compacted` line is no longer sent. `SQLiteSession` files of the OpenAI
Agents SDK hold the same items, so its reader shares `item_events`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from readroom.lens.limits import Bounds
from readroom.lens.records.events import (
    Answered,
    Called,
    Compacted,
    Event,
    Opened,
    Remembered,
    Returned,
    Rewound,
    Skipped,
    Whole,
    Wrote,
    asked,
)
from readroom.lens.records.stream import Line, each
from readroom.lens.records.values import (
    Object,
    as_arguments,
    as_count,
    as_list,
    as_object,
    as_text,
    counts_of,
    objects,
    parts_text,
    texts_of,
    time_of,
)

NAME = "Codex"

_KNOWN = frozenset(
    [
        "session_meta", "event_msg", "response_item", "world_state", "turn_context", "token_usage_record",
        "compacted",
    ]
)  # fmt: skip
_CALLS = frozenset(
    {"function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call"}
)
_SILENT = (
    "reasoning", "ghost_snapshot", "compaction", "context_compaction", "item_reference", "mcp_list_tools",
)  # fmt: skip
"""Prefixes of kinds of items that call nothing and show nothing of files."""

_USAGE = ("input_tokens", "output_tokens", "cached_input_tokens", "cache_write_input_tokens")

_CONTEXT = ("<", "# AGENTS.md")
"""Prefixes of messages that the client itself writes in the name of the user."""

_OUTPUTS = frozenset(f"{kind}_output" for kind in _CALLS)


FOLDER = re.compile(r"(?:[Ww]orking directory: |<cwd>)(/[^\s<]{1,1000})")
"""Sentences with which clients name the working folder where a record has no other place for it."""


def recognises(line: Object) -> bool:
    """Whether this client wrote a line."""
    return _is_head(line) or (isinstance(line.get("payload"), dict) and as_text(line.get("type")) in _KNOWN)


def _is_head(line: Object) -> bool:
    """Whether a line is the first of an older version."""
    return {"id", "timestamp", "instructions"} <= line.keys() and not {"type", "role"} & line.keys()


def read(lines: Iterable[Line | Skipped], bounds: Bounds) -> Iterator[Event]:
    """The events of one rollout file."""
    yield from each(lines, _Rollout(bounds).events)


class _Rollout:
    """State of the lines so far: the session, its model, and the current answer."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._session = "unnamed"
        self._named = False
        self._bare = False
        self._model = ""
        self._answer = 0
        self._open = False
        self._asked: list[int] = []
        self._failed = Remembered[None](bounds.ids)

    def events(self, entry: Object, number: int) -> Iterator[Event]:
        kind = as_text(entry.get("type"))
        payload = as_object(entry.get("payload"))
        time = time_of(entry.get("timestamp"))
        if _is_head(entry):
            self._bare = True
            yield self._opened(entry)
        elif self._bare and not payload:
            if entry.get("record_type") != "state":  # which says nothing
                yield from self._item(entry, time)
        elif kind == "session_meta":
            # A fork begins with its own, followed by all lines of its origin.
            if not self._named:
                self._named = True
                yield self._opened(payload)
        elif kind == "turn_context":
            self._model = as_text(payload.get("model")) or self._model
        elif kind == "response_item":
            yield from self._item(payload, time)
        elif kind == "token_usage_record":
            yield self._answered(as_object(payload.get("usage")), time)
        elif kind == "event_msg" and payload.get("type") == "token_count":
            yield self._answered(as_object(as_object(payload.get("info")).get("last_token_usage")), time)
        elif kind == "event_msg" and payload.get("type") == "item_completed":
            yield from self._completed(as_object(payload.get("item")))
        elif kind == "event_msg" and payload.get("type") == "thread_rolled_back":
            yield from self._rolled_back(as_count(payload.get("num_turns")))
        elif kind == "compacted":
            yield Compacted(self._session, time, counted=self._open)
            self._open = False
        elif kind not in _KNOWN:
            yield Skipped(f"line {number}", f"kind {kind[:40]!r} is not known", self._session)

    def _completed(self, item: Object) -> Iterator[Event]:
        id = as_text(item.get("id"))
        if item.get("aggregated_output"):
            yield Whole(self._session, id, as_text(item["aggregated_output"]))
        if item.get("status") == "failed" or as_object(item.get("result")).get("isError") is True:
            self._failed.put(id, None)  # of an MCP server the output itself does not say so

    def _rolled_back(self, turns: int) -> Iterator[Event]:
        if not 0 < turns <= len(self._asked):
            return
        answer = self._asked[-turns]
        del self._asked[-turns:]
        self._open = False
        yield Rewound(self._session, f"answer {answer}" if answer else "")

    def _opened(self, meta: Object) -> Opened:
        self._session = as_text(meta.get("id")) or as_text(meta.get("session_id")) or self._session
        spawn = as_object(as_object(as_object(meta.get("source")).get("subagent")).get("thread_spawn"))
        parent = as_text(spawn.get("parent_thread_id")) or as_text(meta.get("forked_from_id"))
        shared = as_text(meta.get("session_id"))
        if not parent and shared and shared != self._session:
            parent = shared
        version, folder = texts_of(meta, "cli_version", "cwd")
        return Opened(self._session, NAME, version, folder, parent, time=time_of(meta.get("timestamp")))

    def _answered(self, usage: Object, time: str) -> Answered:
        # Usage comes after the items of its answer, and twice (record and count): with its key it adds, once.
        read, wrote, cached, written = counts_of(usage, *_USAGE)
        used = (max(0, read - cached), wrote, cached, written)
        return Answered(self._session, f"answer {self._answer}", time, self._model, *used)

    def _item(self, item: Object, time: str) -> Iterator[Event]:
        kind = as_text(item.get("type"))
        of_model = item.get("role") == "assistant" or kind in _CALLS or kind.endswith("_call")
        if of_model and not self._open:
            self._open = True
            self._answer += 1
            yield Answered(self._session, f"answer {self._answer}", time, self._model)
        if not of_model and item.get("type") in _OUTPUTS:
            self._open = False
        if item.get("role") == "user":
            self._open = False
            text = parts_text(item.get("content"))[0]
            if self._bare and (told := FOLDER.search(text, 0, 20_000)):
                yield Opened(self._session, folder=told[1])
            yield from asked(self._session, text)
            if not text.lstrip().startswith(_CONTEXT):
                self._asked.append(self._answer)
                del self._asked[: -self._bounds.ids]
        for event in item_events(item, self._session, time):
            if isinstance(event, Returned) and event.error is None and event.id in self._failed:
                event = replace(event, error=True)
            yield event


def item_events(item: Object, session: str, time: str) -> Iterator[Event]:
    """The events of one item of the Responses API."""
    kind = as_text(item.get("type"))
    role = as_text(item.get("role"))
    if kind in _CALLS:
        id = as_text(item.get("call_id")) or as_text(item.get("id"))
        named = (item.get(name) for name in ("arguments", "input", "action", "operation"))
        arguments = as_arguments(next((value for value in named if value is not None), None))
        commands = as_list(arguments.pop("commands", None))
        if commands:  # each a command line of its own
            arguments["command"] = "\n".join(map(as_text, commands))
        tool = as_text(item.get("name")) or kind.removesuffix("_call")
        server = as_text(item.get("namespace")).removeprefix("mcp__")
        yield Called(session, id, tool, arguments, time, server)
    elif kind in _OUTPUTS:
        yield _output(item, session, time)
    elif role == "assistant":
        yield Wrote(session, parts_text(item.get("content"))[0])
    elif not role and kind.endswith("_call"):
        yield from _by_provider(item, kind, session, time)
    elif not role and not kind.startswith(_SILENT):
        yield Skipped("an item", f"kind {kind[:40]!r} is not known", session)


def _output(item: Object, session: str, time: str) -> Returned:
    id, output = as_text(item.get("call_id")), item.get("output")
    failed = True if item.get("status") == "failed" else None
    ran = [part for part in objects(output) if "stdout" in part or "stderr" in part]
    if not ran:
        text, images = parts_text(output)
        return Returned(session, id, text, failed, images, time)
    text = "".join(as_text(part.get("stdout")) + as_text(part.get("stderr")) for part in ran)
    codes = [as_object(part.get("outcome")).get("exit_code") for part in ran]
    status = next((code for code in reversed(codes) if isinstance(code, int)), None)
    return Returned(session, id, text, failed, 0, time, exit_code=status)


def _by_provider(item: Object, kind: str, session: str, time: str) -> Iterator[Event]:
    """A tool that the provider runs: a web or file search, code, an MCP server.

    If the result is recorded at all, it is in the same item.
    """
    id = as_text(item.get("id")) or as_text(item.get("call_id")) or f"{kind} {time}"
    arguments = item.get("arguments", item.get("action", item.get("queries", item.get("code"))))
    tool = as_text(item.get("name")) or kind.removesuffix("_call")
    arguments = as_arguments(arguments if isinstance(arguments, dict | str) else {"input": arguments})
    yield Called(session, id, tool, arguments, time, as_text(item.get("server_label")))
    failed = bool(item.get("error")) or item.get("status") == "failed"
    text, images = parts_text(item.get("output", item.get("outputs", item.get("results"))))
    if failed and not text:
        error = item.get("error")
        text = error if isinstance(error, str) else as_text(as_object(error).get("message"))
    if text or images or failed or item.get("status") == "completed":
        yield Returned(session, id, text, failed or None, images, time)
