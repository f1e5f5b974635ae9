"""Gemini CLI: `~/.gemini/tmp/PROJECT/chats/session-TIME-ID.jsonl`.

Sub-agents have `chats/SESSION/ID.jsonl`. The record rewrites itself: a message that grows is appended again
with the same id, and `$set.messages` replaces the whole list (on resume, on compression, when old results are
masked). What was sent before stays sent, so a result counts when it first appears in a `user` message as
`functionResponse`; its copy in `toolCalls` is read when that never came.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from readroom.lens.limits import RESULT_BYTES, Bounds
from readroom.lens.records import values
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
    Wrote,
    asked,
    forgotten,
    short_name,
)
from readroom.lens.records.stream import Line, each, sibling_bytes

NAME = "Gemini CLI"
_MESSAGES = frozenset({"user", "gemini", "info", "error", "warning"})


def recognises(line: values.Object) -> bool:
    """Whether a line is of this client."""
    return "projectHash" in line or set(line) == {"$set"} or (line.get("type") == "gemini" and "id" in line)


def root_of(project: Path) -> str:
    """The folder that a project is about: its name is in a file here, in records only its hash; or empty."""
    try:
        return sibling_bytes(project / ".project_root", 4096).decode("utf-8", "replace").strip()
    except OSError:
        return ""


def project_root(record: Path) -> str:
    """The folder that a record is about."""
    return next(filter(None, map(root_of, islice(record.parents, 1, 4))), "")


def read(
    lines: Iterable[Line | Skipped], bounds: Bounds, folder: str = "", root: str = ""
) -> Iterator[Event]:
    """The events of one file.

    Args:
        lines: Its lines.
        bounds: Of memory.
        folder: The name of its folder, which for a sub-agent is the session of its parent.
        root: The folder that it may have worked in.
    """
    reader = _Chat(folder, root, bounds)
    yield from each(lines, reader.events)
    yield from reader.rest()


class _Chat:
    """One chat: messages met so far, by id, and which calls were made and answered."""

    def __init__(self, folder: str, root: str, bounds: Bounds) -> None:
        self._bounds = bounds
        self._folder = folder
        self._root = root
        self._session = "unnamed"
        self._seen = Remembered[tuple[str, int]](bounds.ids)
        """The answer before each message, and how many results had come by then."""
        self._answer_before = ""
        self._called = Remembered[None](bounds.ids)
        self._returned = Remembered[int](bounds.ids)
        self._waiting: dict[str, Returned] = {}
        self._chars = 0
        """Of all waiting results; when they are too long, the oldest are taken as sent."""

    def events(self, entry: values.Object, number: int) -> Iterator[Event]:
        if "projectHash" in entry:
            self._session = values.as_text(entry.get("sessionId")) or self._session
            parent = self._folder if entry.get("kind") == "subagent" else ""
            hashed = hashlib.sha256(self._root.encode()).hexdigest()
            root = self._root if values.as_text(entry["projectHash"]) == hashed else ""
            yield Opened(self._session, NAME, "", root, parent, time=values.time_of(entry.get("startTime")))
            if isinstance(entry.get("messages"), list):
                yield from self._replaced(entry["messages"])
        elif "$set" in entry:
            changed = values.as_object(entry["$set"])
            if isinstance(changed.get("messages"), list):
                yield from self._replaced(changed["messages"])
        elif "$rewindTo" in entry:
            yield from self._rewound(values.as_text(entry["$rewindTo"]))
        elif values.as_text(entry.get("type")) in _MESSAGES:
            yield from self._message(entry)
        else:
            kind = values.as_text(entry.get("type")) or ", ".join(list(entry)[:3])
            yield Skipped(f"line {number}", f"kind {kind[:40]!r} is not known", self._session)

    def _replaced(self, messages: list[object]) -> Iterator[Event]:
        if not self._seen:
            for message in values.objects(messages):
                yield from self._message(message)
            return
        new = [
            message
            for message in values.objects(messages)
            if values.as_text(message.get("id")) not in self._seen
        ]
        for message in new:
            self._meet(values.as_text(message.get("id")))
        responses = [
            _response(part)
            for message in values.objects(messages)
            for part in values.objects(message.get("content"))
        ]
        kept = [short_name(values.as_text(response.get("id"))) for response in responses if response]
        # A resume first writes a list with nothing new; a list that drops results for new text is a
        # compression.
        if new and not self._returned.all_in(kept):
            yield Compacted(self._session, kept=tuple(kept))
        for response in filter(None, responses):
            if short_name(values.as_text(response.get("id"))) in self._returned:
                yield from self._response(response, 0, "")

    def _meet(self, id: str) -> None:
        if id not in self._seen:
            self._seen.put(id, (self._answer_before, len(self._returned)))

    def _rewound(self, id: str) -> Iterator[Event]:
        before = self._seen.get(id)
        if before is not None:
            self._answer_before = before[0]
            self._returned.keep_first(before[1])  # else a later list without them would be a compression
            yield Rewound(self._session, before[0])

    def _message(self, message: values.Object) -> Iterator[Event]:
        id = values.as_text(message.get("id"))
        first = id not in self._seen
        self._meet(id)
        time = values.time_of(message.get("timestamp"))
        if message.get("type") == "gemini":
            yield from self._answer(message, id, time, first)
        elif message.get("type") == "user":
            yield from self._user(message, time)

    def _answer(self, message: values.Object, id: str, time: str, first: bool) -> Iterator[Event]:
        content = _parts(message.get("content"))
        calls = [values.as_object(part.get("functionCall")) for part in values.objects(content)]
        if any(short_name(values.as_text(call.get("id"))) in self._called for call in calls if call):
            return  # a compression or a resume writes earlier messages again, under new ids
        tokens = values.as_object(message.get("tokens"))
        read, wrote, thought, cached = values.counts_of(tokens, "input", "output", "thoughts", "cached")
        if first or tokens:
            self._answer_before = id
            used = (max(0, read - cached), wrote + thought, cached)
            yield Answered(self._session, id, time, values.as_text(message.get("model")), *used)
        if first and message.get("content"):
            spoken = [part for part in values.objects(content) if part.get("thought") is not True]
            yield Wrote(self._session, values.parts_text(spoken or message["content"])[0])
        for part in values.objects(content):
            if "functionCall" in part and not message.get("toolCalls"):
                yield from self._call(values.as_object(part["functionCall"]))
        for call in values.objects(message.get("toolCalls")):
            yield from self._call(call)

    def _call(self, call: values.Object) -> Iterator[Event]:
        id = short_name(values.as_text(call.get("id")))
        time = values.time_of(call.get("timestamp"))
        if id and id not in self._called:
            self._called.put(id, None)
            yield Called(
                self._session, id, values.as_text(call.get("name")), values.as_object(call.get("args")), time
            )
        failed = values.as_text(call.get("status")) == "error"
        result = call.get("result")
        for part in values.objects(_parts(result)):
            response = _response(part)
            if response and id not in self._returned:
                self._let_go(id)
                self._waiting[id] = _result(self._session, id, response, failed or None, time)
                self._chars += _weight(self._waiting[id])
        while self._chars > self._bounds.pending_chars:
            oldest = self._let_go(next(iter(self._waiting)))
            if oldest is not None:
                self._returned.put(oldest.id, len(oldest.text))
                yield oldest

    def _let_go(self, id: str) -> Returned | None:
        """Stop waiting for a result; it, where it was there."""
        waiting = self._waiting.pop(id, None)
        if waiting is not None:
            self._chars -= _weight(waiting)
        return waiting

    def _user(self, message: values.Object, time: str) -> Iterator[Event]:
        content = _parts(message.get("content"))
        images = sum(1 for part in values.objects(content) if "inlineData" in part or "fileData" in part)
        if not any(map(_response, values.objects(content))):
            yield from asked(self._session, values.parts_text(content)[0])
        for response in filter(None, map(_response, values.objects(content))):
            yield from self._response(response, images, time)

    def _response(self, response: values.Object, images: int, time: str) -> Iterator[Event]:
        id = short_name(values.as_text(response.get("id")))
        waiting = self._let_go(id)
        result = _result(self._session, id, response, waiting.error if waiting else None, time)
        size = len(result.text)
        before = self._returned.get(id)
        self._returned.put(id, size)
        if before is None:
            yield Returned(self._session, id, result.text, result.error, images or result.images, time)
        elif before != size:
            yield Returned(self._session, id, result.text, result.error, 0, time, rewritten=True)

    def rest(self) -> Iterator[Event]:
        """Results that are only in calls: the session ended before they were sent back as a message."""
        for id, result in self._waiting.items():
            if id not in self._returned:
                yield result
        if self._seen.forgot or self._called.forgot or self._returned.forgot:
            yield Skipped("file", forgotten(self._bounds), self._session)


def _parts(value: object) -> object:
    """Parts of a message: a list of them, one alone, or a text."""
    return [value] if isinstance(value, dict) else value


def _weight(result: Returned) -> int:
    return values.text_bytes(result.text) + RESULT_BYTES


def _response(part: values.Object) -> values.Object:
    return values.as_object(part.get("functionResponse"))


def _result(session: str, id: str, response: values.Object, error: bool | None, time: str) -> Returned:
    text, images, failed = values.response_text(response)
    return Returned(session, id, text, failed or error, images, time)
