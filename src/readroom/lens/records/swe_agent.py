"""SWE-agent and mini-swe-agent: trajectories, one JSON document each (`*.traj`, `*.traj.json`).

SWE-agent has `trajectory` (action, observation) and `history`: each step is one answer with one call, and the
observation is what the model got. Newer versions keep the request of each step (`query`, and for a while
`messages`, with what the step added), where one line replaces each observation that is no longer sent.
Usage is in `info.model_stats` for the whole run, so the last answer has all of it. Commands are SWE-agent's
own (`open`, `goto`, `edit`) or the shell's: the tool is the first word.

mini-swe-agent has `info` and `messages`. What the model runs is in `extra.actions` of its message, whether it
called a tool or wrote a block of shell, and in older versions in the block alone. The result is the next
message, with the whole output beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import re2

from readroom.lens.records import values
from readroom.lens.records.events import (
    Answered,
    Arguments,
    Called,
    Event,
    Opened,
    Returned,
    Skipped,
    Whole,
    Wrote,
)
from readroom.lens.records.stream import Element

NAME = "SWE-agent"
MINI_NAME = "mini-swe-agent"


def read_trajectory(elements: Iterable[Element | Skipped], session: str) -> Iterator[Event]:
    """The events of a trajectory of SWE-agent."""
    yield Opened(session, NAME)
    number = 0
    stats: values.Object = {}
    run = _Replaced(session)
    for element in elements:
        if isinstance(element, Skipped):
            yield element
        elif element.key == "trajectory":
            step = values.as_object(element.value)
            yield from run.in_request(step.get("query"), number)
            yield from _step(step, session, number)
            number += 1
            yield from run.in_request(step.get("messages"), number)
        elif element.key == "info":
            stats = values.as_object(values.as_object(element.value).get("model_stats"))
    if number and stats:
        sent, received = (
            values.as_count(stats.get("tokens_sent")),
            values.as_count(stats.get("tokens_received")),
        )
        cost = values.as_cost(_either(stats, "instance_cost", "task_cost"))  # the second of MLGym
        yield Answered(session, f"step {number - 1}", input_tokens=sent, output_tokens=received, cost=cost)


def _step(step: values.Object, session: str, number: int) -> Iterator[Event]:
    action = values.as_text(step.get("action"))
    yield Answered(session, f"step {number}")
    if step.get("thought"):
        yield Wrote(session, values.as_text(step["thought"]))
    folder = values.as_text(_state(step).get("working_dir"))
    if folder and number == 0:
        yield Opened(session, folder=folder)
    words = action.split(maxsplit=1)
    tool = words[0] if words else ""
    id = f"step {number}"
    yield Called(session, id, tool, _edited(action) if tool == _EDITOR else {"command": action})
    yield Returned(session, id, values.as_text(step.get("observation")))


_STANDS_FOR = "Old environment output: ("


class _Replaced:
    """The steps of a run for whose observations later requests carry a line."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._steps: set[int] = set()

    def in_request(self, request: object, number: int) -> Iterator[Event]:
        """The observations that the request after `number` steps is the first not to carry."""
        messages = [*values.objects(request)]
        # A demonstration comes before the steps, and may be told as steps of its own.
        step = number - 1 - sum(message.get("role") == "assistant" for message in messages)
        for message in messages:
            if message.get("role") == "assistant":
                step += 1
                continue
            text = values.parts_text(message.get("content"))[0]
            if step >= 0 and step not in self._steps and text.startswith(_STANDS_FOR):
                self._steps.add(step)
                yield Returned(self._session, f"step {step}", text, rewritten=True)


_EDITOR = "str_replace_editor"
_VIEW = re.compile(r"\S+\s+(\w+)\s+(?:'([^']{1,2000})'|(\S{1,2000}))")
_RANGE = re.compile(r"\s--view_range\s+(\d+)\s+(-?\d+)")


def _edited(action: str) -> Arguments:
    """The arguments of the newer editor's command line: `str_replace_editor view /a.py --view_range 1 40`."""
    head = _VIEW.match(action)
    if head is None:
        return {"command": action}
    arguments: Arguments = {
        "command": head[1],
        "path": head[2] or head[3],
        "text": action[head.end() :].strip(),
    }
    bounds = _RANGE.match(action, head.end()) if head[1] == "view" else None
    if bounds:
        arguments["view_range"] = [int(bounds[1]), int(bounds[2])]
    return arguments


def _state(step: values.Object) -> values.Object:
    state = step.get("state")
    if isinstance(state, str):
        try:
            return values.as_object(values.decode(state.encode("utf-8", "replace")))
        except values.NotReadable:
            return {}
    return values.as_object(state)


# -----------------------------------------------------------------------------
# mini-swe-agent
# -----------------------------------------------------------------------------

_BLOCK = re2.compile(r"(?s)```(?:mswea_bash_command|bash|sh)[ \t]*\n(.*?)\n```")
"""For RE2: other engines take quadratic time on a text full of openings without an end."""
_TOOL = "bash"


def is_mini(element: Element) -> bool:
    """Whether a member of a document shows that mini-swe-agent wrote it."""
    return element.key == "info" and "mini_version" in values.as_object(element.value)


def read_mini(elements: Iterable[Element | Skipped], session: str) -> Iterator[Event]:
    """The events of a trajectory of mini-swe-agent."""
    run = _Run(session)
    for element in elements:
        if isinstance(element, Skipped):
            yield element
        elif element.key == "info":
            yield _opened(values.as_object(element.value), session)
        elif element.key == "messages":
            yield from run.events(values.as_object(element.value))


def _opened(info: values.Object, session: str) -> Opened:
    config = values.as_object(info.get("config"))
    folder = values.as_text(values.as_object(config.get("environment")).get("cwd"))
    model = values.as_text(values.as_object(config.get("model")).get("model_name"))
    return Opened(session, MINI_NAME, values.as_text(info.get("mini_version")), folder, model=model)


class _Run:
    """A run of mini-swe-agent: how many answers there were, the calls of the last, and how many returned."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._answers = 0
        self._ids: list[str] = []
        self._returned = 0

    def events(self, message: values.Object) -> Iterator[Event]:
        extra = values.as_object(message.get("extra"))
        if message.get("role") == "assistant" or message.get("object") == "response":
            yield from self._answer(message, extra)
        elif self._returned < len(self._ids) and _is_result(message, extra):
            yield from self._result(message, extra)

    def _answer(self, message: values.Object, extra: values.Object) -> Iterator[Event]:
        self._answers += 1
        time = values.time_of(extra.get("timestamp"))
        usage = values.as_object(values.as_object(extra.get("response", message)).get("usage"))
        read, wrote = (values.as_count(_either(usage, *names)) for names in (_READ, _WROTE))
        cached = values.as_count(values.as_object(_either(usage, *_OF_READ)).get("cached_tokens"))
        kept = values.as_count(usage.get("cache_creation_input_tokens"))
        rest = max(0, read - cached - kept)
        cost = values.as_cost(extra.get("cost"))
        yield Answered(self._session, f"answer {self._answers}", time, "", rest, wrote, cached, kept, cost)
        said = [message, *values.objects(message.get("output"))]
        text = "\n".join(values.parts_text(piece.get("content"))[0] for piece in said)
        yield Wrote(self._session, text)
        written = [{"command": block} for block in _BLOCK.findall(text)]
        actions = list(values.objects(extra.get("actions", written)))
        self._ids, self._returned = [], 0
        for number, action in enumerate(actions):
            id = values.as_text(action.get("tool_call_id")) or f"answer {self._answers}.{number}"
            self._ids.append(id)
            command = {"command": values.as_text(action.get("command"))}
            yield Called(self._session, id, _TOOL, command, time)

    def _result(self, message: values.Object, extra: values.Object) -> Iterator[Event]:
        named = values.as_text(message.get("tool_call_id")) or values.as_text(message.get("call_id"))
        id = named or self._ids[self._returned]
        self._returned += 1
        text, images = values.parts_text(message.get("output", message.get("content")))
        whole = values.as_text(extra.get("raw_output"))
        if len(whole) > len(text):
            yield Whole(self._session, id, whole)
        code = extra.get("returncode")
        time = values.time_of(extra.get("timestamp"))
        status = code if type(code) is int else None
        yield Returned(self._session, id, text, None, images, time, exit_code=status)


_READ = ("prompt_tokens", "input_tokens")
_OF_READ = ("prompt_tokens_details", "input_tokens_details")
_WROTE = ("completion_tokens", "output_tokens")
"""Names in the two APIs of OpenAI; cached tokens are part of the input."""


def _either(usage: values.Object, *names: str) -> object:
    return next((usage[name] for name in names if usage.get(name) is not None), None)


def _is_result(message: values.Object, extra: values.Object) -> bool:
    named = message.get("role") == "tool" or message.get("type") == "function_call_output"
    return named or "returncode" in extra or values.as_text(message.get("content")).startswith("<returncode>")
