"""mini-swe-agent: `*.traj.json`, one JSON document with `info` and `messages`.

What the model is to run stands in `extra.actions` of its message, whether it called a tool or wrote a block
of shell, and in older versions in the block alone; what it got is the message after it, with the whole
output beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import re2

from readroom.lens.records.events import (
    Answered,
    Called,
    Event,
    Opened,
    Returned,
    Said,
    Skipped,
    Whole,
)
from readroom.lens.records.stream import Element
from readroom.lens.records.values import (
    Object,
    as_cost,
    as_count,
    as_object,
    as_text,
    objects,
    parts_text,
    time_of,
)

NAME = "mini-swe-agent"

_BLOCK = re2.compile(r"(?s)```(?:mswea_bash_command|bash|sh)[ \t]*\n(.*?)\n```")
"""Of RE2: a text full of beginnings without an end would take others a time with the square of it."""
_TOOL = "bash"


def recognises(element: Element) -> bool:
    """Whether a member of a document is of this program."""
    return element.key == "info" and "mini_version" in as_object(element.value)


def read(elements: Iterable[Element | Skipped], session: str) -> Iterator[Event]:
    """The events of one trajectory."""
    run = _Run(session)
    for element in elements:
        if isinstance(element, Skipped):
            yield element
        elif element.key == "info":
            yield _opened(as_object(element.value), session)
        elif element.key == "messages":
            yield from run.events(as_object(element.value))


def _opened(info: Object, session: str) -> Opened:
    config = as_object(info.get("config"))
    folder = as_text(as_object(config.get("environment")).get("cwd"))
    model = as_text(as_object(config.get("model")).get("model_name"))
    return Opened(session, NAME, as_text(info.get("mini_version")), folder, model=model)


class _Run:
    """Answers so far, the calls of the last one, and how many of their results have come."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._answers = 0
        self._ids: list[str] = []
        self._came = 0

    def events(self, message: Object) -> Iterator[Event]:
        extra = as_object(message.get("extra"))
        if message.get("role") == "assistant" or message.get("object") == "response":
            yield from self._answer(message, extra)
        elif self._came < len(self._ids) and _is_result(message, extra):
            yield from self._result(message, extra)

    def _answer(self, message: Object, extra: Object) -> Iterator[Event]:
        self._answers += 1
        time = time_of(extra.get("timestamp"))
        usage = as_object(as_object(extra.get("response", message)).get("usage"))
        read, wrote = (as_count(_either(usage, *names)) for names in (_READ, _WROTE))
        cached = as_count(as_object(_either(usage, *_OF_READ)).get("cached_tokens"))
        kept = as_count(usage.get("cache_creation_input_tokens"))
        rest = max(0, read - cached - kept)
        cost = as_cost(extra.get("cost"))
        yield Answered(self._session, f"answer {self._answers}", time, "", rest, wrote, cached, kept, cost)
        said = [message, *objects(message.get("output"))]
        text = "\n".join(parts_text(piece.get("content"))[0] for piece in said)
        yield Said(self._session, text)
        written = [{"command": found} for found in _BLOCK.findall(text)]
        actions = list(objects(extra.get("actions", written)))
        self._ids, self._came = [], 0
        for number, action in enumerate(actions):
            id = as_text(action.get("tool_call_id")) or f"answer {self._answers}.{number}"
            self._ids.append(id)
            command = {"command": as_text(action.get("command"))}
            yield Called(self._session, id, _TOOL, command, time)

    def _result(self, message: Object, extra: Object) -> Iterator[Event]:
        named = as_text(message.get("tool_call_id")) or as_text(message.get("call_id"))
        id = named or self._ids[self._came]
        self._came += 1
        text, images = parts_text(message.get("output", message.get("content")))
        whole = as_text(extra.get("raw_output"))
        if len(whole) > len(text):
            yield Whole(self._session, id, whole)
        code = extra.get("returncode")
        time = time_of(extra.get("timestamp"))
        status = code if type(code) is int else None
        yield Returned(self._session, id, text, None, images, time, exit_code=status)


_READ = ("prompt_tokens", "input_tokens")
_OF_READ = ("prompt_tokens_details", "input_tokens_details")
_WROTE = ("completion_tokens", "output_tokens")
"""What either interface of OpenAI calls them; what was cached is among what was read."""


def _either(usage: Object, *names: str) -> object:
    return next((usage[name] for name in names if usage.get(name) is not None), None)


def _is_result(message: Object, extra: Object) -> bool:
    named = message.get("role") == "tool" or message.get("type") == "function_call_output"
    return named or "returncode" in extra or as_text(message.get("content")).startswith("<returncode>")
