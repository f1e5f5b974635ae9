"""SWE-agent: `*.traj`, one JSON document with `trajectory` (action, observation) and `history`.

Each step is one answer with one call; what the model got is the observation. What the whole run took stands
in `info.model_stats` alone, so that its last answer has it. Commands are SWE-agent's own
(`open`, `goto`, `edit`) or the shell's, so a call's tool is the first word of its action.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from readroom.lens.records.events import Answered, Arguments, Called, Event, Opened, Returned, Said, Skipped
from readroom.lens.records.stream import Element
from readroom.lens.records.values import (
    NotReadable,
    Object,
    as_cost,
    as_count,
    as_object,
    as_text,
    decode,
)

NAME = "SWE-agent"


def recognises(document: Object) -> bool:
    """Whether a document is a trajectory."""
    return isinstance(document.get("trajectory"), list)


def read(elements: Iterable[Element | Skipped], session: str) -> Iterator[Event]:
    """The events of one trajectory."""
    yield Opened(session, NAME)
    number = 0
    stats: Object = {}
    for element in elements:
        if isinstance(element, Skipped):
            yield element
        elif element.key == "trajectory":
            yield from _step(as_object(element.value), session, number)
            number += 1
        elif element.key == "info":
            stats = as_object(as_object(element.value).get("model_stats"))
    if number and stats:
        sent, received = as_count(stats.get("tokens_sent")), as_count(stats.get("tokens_received"))
        cost = as_cost(stats.get("instance_cost"))
        yield Answered(session, f"step {number - 1}", input_tokens=sent, output_tokens=received, cost=cost)


def _step(step: Object, session: str, number: int) -> Iterator[Event]:
    action = as_text(step.get("action"))
    yield Answered(session, f"step {number}")
    if step.get("thought"):
        yield Said(session, as_text(step["thought"]))
    folder = as_text(_state(step).get("working_dir"))
    if folder and number == 0:
        yield Opened(session, folder=folder)
    words = action.split(maxsplit=1)
    tool = words[0] if words else ""
    id = f"step {number}"
    yield Called(session, id, tool, _edited(action) if tool == _EDITOR else {"command": action})
    yield Returned(session, id, as_text(step.get("observation")))


_EDITOR = "str_replace_editor"
_VIEW = re.compile(r"\S+\s+(\w+)\s+(?:'([^']{1,2000})'|(\S{1,2000}))")
_RANGE = re.compile(r"\s--view_range\s+(\d+)\s+(-?\d+)")


def _edited(action: str) -> Arguments:
    """The arguments of the editor of newer versions, which are written as a command line: `str_replace_editor
    view /repo/a.py --view_range 1 40`.
    """
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


def _state(step: Object) -> Object:
    state = step.get("state")
    if isinstance(state, str):
        try:
            return as_object(decode(state.encode("utf-8", "replace")))
        except NotReadable:
            return {}
    return as_object(state)
