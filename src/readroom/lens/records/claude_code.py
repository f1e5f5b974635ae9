"""Claude Code: `~/.claude/projects/FOLDER/SESSION.jsonl`.

FOLDER is a path with `-` for `/`; sub-agents have `SESSION/subagents/agent-*.jsonl`. There is one line for
each block, so an answer is several lines with one `message.id` and the same usage. What the client adds to a
result on its way is in `attachment` lines after it; where the record keeps the request (`api-request-blob`),
that is what was sent. `toolUseResult` is for the screen and not counted. Lines before a `compact_boundary`
are no longer sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from readroom.lens.limits import RESULT_BYTES, Bounds
from readroom.lens.records import values
from readroom.lens.records.events import (
    Answered,
    Compacted,
    Event,
    Opened,
    Remembered,
    Returned,
    Rewound,
    Skipped,
    asked,
    short_name,
)
from readroom.lens.records.messages import answer_events, result_of
from readroom.lens.records.stream import Element, Line, each

NAME = "Claude Code"

_SILENT = frozenset(
    [
        "queue-operation", "atis-latch", "api-request-shape", "api-request", "tools-used", "last-prompt",
        "cost-state", "mode", "summary", "file-history-snapshot", "progress", "custom-title", "agent-name",
        "permission-mode", "pr-link", "attribution-snapshot", "stream_event", "rate_limit_event",
        "tool_progress", "auth_status",
    ]
)  # fmt: skip
"""Kinds of lines without content that the model saw."""

_FILES = frozenset(
    {"file", "already_read_file", "selected_lines_in_ide", "edited_text_file", "compact_file_reference"}
)
"""Attachments that carry content of files."""


def recognises(line: values.Object) -> bool:
    """Whether this client wrote a line."""
    if "provenance" in line:
        return False
    if "session_id" in line and "sessionId" not in line:
        return values.as_text(line.get("type")) in ("system", "assistant", "user") and "uuid" in line
    return "sessionId" in line and ("uuid" in line or values.as_text(line.get("type")) in _SILENT)


def read(lines: Iterable[Line | Skipped], bounds: Bounds) -> Iterator[Event]:
    """The events of one file, a main session or a sub-agent."""
    sessions = _ClaudeSessions(bounds)
    yield from each(lines, sessions.events)
    yield from sessions.rest()


def read_list(elements: Iterable[Element | Skipped], _session: str, bounds: Bounds) -> Iterator[Event]:
    """The events of a list of such lines, as `--output-format json --verbose` prints."""
    lines = (
        element if isinstance(element, Skipped) else Line(number, element.value)
        for number, element in enumerate(elements, 1)
    )
    return read(lines, bounds)


def _recorded(line: values.Object) -> values.Object:
    """A line of `--output-format stream-json` in the form of the record."""
    agent = values.as_text(line.get("parent_tool_use_id"))
    return {**line, "sessionId": line.get("session_id"), "isSidechain": bool(agent), "agentId": agent}


class _ClaudeSessions:
    """The sessions met so far, and the results that wait in each."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._pending: dict[str, _Pending] = {}
        self._roots = Remembered[str](bounds.ids)
        self._answers = Remembered[str](bounds.ids)
        """The last answer before each line, by the id of the line."""
        self._chars = 0
        """Of all waiting results; when they are too many or too long, those of the oldest session are
        released.
        """

    def events(self, entry: values.Object, number: int) -> Iterator[Event]:
        if "session_id" in entry and "sessionId" not in entry:
            entry = _recorded(entry)
        kind = values.as_text(entry.get("type"))
        if kind == "api-request-blob":  # which agent sent it, only the ids of its calls say
            for held in self._pending.values():
                _sent(values.as_object(entry.get("message")), held)
            self._chars = sum(held.chars for held in self._pending.values())
            return
        if kind in _SILENT and ("uuid" not in entry or "session_id" in entry):
            return
        session = self._session(entry)
        waiting = self._pending.get(session)
        if waiting is None:
            waiting = self._pending[session] = _Pending()
            yield _opened(entry, session)
        before = waiting.chars
        yield from self._gone_back(entry, session, waiting)
        yield from _events(entry, session, waiting, number)
        self._chars += waiting.chars - before
        while len(self._pending) > self._bounds.sessions or self._chars > self._bounds.pending_chars:
            oldest = self._pending.pop(next(iter(self._pending)))
            self._chars -= oldest.chars
            yield from oldest.release()

    def _gone_back(self, entry: values.Object, session: str, held: _Pending) -> Iterator[Event]:
        """A user who goes back continues from an earlier line, as a branch of the record."""
        message = values.as_object(entry.get("message"))
        if entry.get("type") == "assistant":
            held.latest = _key(entry, message)
        elif entry.get("type") == "user" and not _has_results(message):
            before = self._answers.get(values.as_text(entry.get("parentUuid")))
            if before is not None and before != held.latest:
                yield from held.release()
                held.latest = before
                yield Rewound(session, before)
        self._answers.put(values.as_text(entry.get("uuid")), held.latest)

    def _session(self, entry: values.Object) -> str:
        """The session of a line. Sub-agents are sessions: by name, or in older versions, which wrote them
        into the same file without one, by their first line.
        """
        session = values.as_text(entry.get("sessionId")) or "unnamed"
        if entry.get("isSidechain") is not True:
            return short_name(session)
        agent = values.as_text(entry.get("agentId"))
        if not agent:
            own = values.as_text(entry.get("uuid"))
            agent = self._roots.get(values.as_text(entry.get("parentUuid"))) or short_name(own)
            self._roots.put(own, agent)
        return short_name(f"{session}/{agent}")

    def rest(self) -> Iterator[Event]:
        """The results that waited when the file ended."""
        for held in self._pending.values():
            yield from held.release()


class _Pending:
    """Results that wait, until the model answers, for additions by the client."""

    def __init__(self) -> None:
        self.chars = 0
        self.latest = ""
        self.results: dict[str, Returned] = {}
        self.added: list[str] = []
        self.sent: dict[str, str] = {}

    def release(self) -> Iterator[Event]:
        last = next(reversed(self.results), "")
        for id, result in self.results.items():
            added = self.added if id == last else []
            text = self.sent.get(id, "\n\n".join([result.text, *added]))
            yield replace(result, text=text)
        self.results, self.added, self.sent, self.chars = {}, [], {}, 0


def _key(entry: values.Object, message: values.Object) -> str:
    return short_name(values.as_text(message.get("id")) or values.as_text(entry.get("uuid")))


def _has_results(message: values.Object) -> bool:
    return any(block.get("type") == "tool_result" for block in values.objects(message.get("content")))


def _opened(entry: values.Object, session: str) -> Opened:
    parent = session.partition("/")[0] if "/" in session else ""
    version, folder = values.texts_of(entry, "version", "cwd")
    return Opened(session, NAME, version, folder, parent, time=values.time_of(entry.get("timestamp")))


def _events(entry: values.Object, session: str, pending: _Pending, number: int) -> Iterator[Event]:
    kind = values.as_text(entry.get("type"))
    message = values.as_object(entry.get("message"))
    if kind == "assistant":
        yield from pending.release()
        yield from _answer(entry, message, session)
    elif kind == "user":
        _keep_results(entry, message, session, pending)
        if not (entry.get("isMeta") or entry.get("isCompactSummary") or _has_results(message)):
            yield from asked(session, values.parts_text(message.get("content"))[0])
    elif kind == "attachment":
        _attach(entry, pending)
    elif kind == "system":
        yield from _system(entry, session, pending)
    elif kind == "result" and "session_id" in entry:
        if pending.latest:
            yield Answered(session, pending.latest, cost=values.as_cost(entry.get("total_cost_usd")))
    elif kind not in _SILENT:
        yield Skipped(f"line {number}", f"kind {kind[:40]!r} is not known", session)
    if entry.get("version") and kind in ("user", "assistant"):
        yield Opened(
            session, version=values.as_text(entry["version"]), folder=values.as_text(entry.get("cwd"))
        )


_CLEARED = "[Old tool result content cleared]"
"""The replacement of a result in later requests, when the client makes room without a summary."""


def _system(entry: values.Object, session: str, pending: _Pending) -> Iterator[Event]:
    kind = values.as_text(entry.get("subtype"))
    if kind == "init":
        version, folder, model = values.texts_of(entry, "claude_code_version", "cwd", "model")
        yield Opened(session, version=version, folder=folder, model=model)
    elif kind == "compact_boundary":
        yield from pending.release()
        yield Compacted(session, values.time_of(entry.get("timestamp")))
    elif kind == "microcompact_boundary":
        yield from pending.release()
        for id in values.as_list(values.as_object(entry.get("microcompactMetadata")).get("compactedToolIds")):
            yield Returned(session, values.as_text(id), _CLEARED, rewritten=True)


_USAGE = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def _answer(entry: values.Object, message: values.Object, session: str) -> Iterator[Event]:
    used = values.counts_of(values.as_object(message.get("usage")), *_USAGE)
    time = values.time_of(entry.get("timestamp"))
    yield Answered(session, _key(entry, message), time, values.as_text(message.get("model")), *used)
    yield from answer_events(message.get("content"), session, time)


def _keep_results(entry: values.Object, message: values.Object, session: str, pending: _Pending) -> None:
    time = values.time_of(entry.get("timestamp"))
    for block in values.objects(message.get("content")):
        if block.get("type") == "tool_result":
            result = result_of(block, session, time)
            pending.chars += values.text_bytes(result.text) + RESULT_BYTES
            pending.results[short_name(result.id)] = result


def _attach(entry: values.Object, pending: _Pending) -> None:
    """Keep the client's additions to waiting results; the content of files is not part of them."""
    text = "\n".join(
        values.parts_text(piece.get("content"))[0] for piece in values.objects(entry.get("rendered"))
    )
    if (
        text
        and pending.results
        and values.as_text(values.as_object(entry.get("attachment")).get("type")) not in _FILES
    ):
        pending.added.append(text)
        pending.chars += values.text_bytes(text) + RESULT_BYTES


def _sent(message: values.Object, pending: _Pending) -> None:
    for block in values.objects(message.get("content")):
        id = short_name(values.as_text(block.get("tool_use_id")))
        if block.get("type") == "tool_result" and id in pending.results:
            text = pending.sent.setdefault(id, values.parts_text(block.get("content"))[0])
            pending.chars += values.text_bytes(text)
