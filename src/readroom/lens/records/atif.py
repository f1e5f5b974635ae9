"""ATIF: the trajectories that Harbor writes of the agents it runs, `trajectory.json`, one document.

A step of the `agent` is one answer, with its calls and in `observation` their results. Harbor's reader of
Claude Code adds words of its own to a result, which was not sent so: it keeps the original next to it. Costs
are estimates of Harbor and are not read. Sub-agents are whole trajectories in the same document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from readroom.lens.records import values
from readroom.lens.records.events import (
    Answered,
    Called,
    Event,
    Opened,
    Returned,
    Skipped,
    Wrote,
    asked,
    short_name,
)
from readroom.lens.records.messages import result_of
from readroom.lens.records.stream import Element

NAME = "ATIF"


def is_step(element: Element) -> bool:
    """Whether a member of a document shows that it is a trajectory."""
    step = values.as_object(element.value)
    return element.key == "steps" and {"step_id", "source", "message"} <= step.keys()


def read(elements: Iterable[Element | Skipped], session: str) -> Iterator[Event]:
    """The events of one document; `session` is its name where it has no id of its own."""
    model = ""
    for element in elements:
        if isinstance(element, Skipped):
            yield element
        elif element.key == "session_id":
            session = short_name(values.as_text(element.value)) or session
        elif element.key == "agent":
            model, opened = _agent(values.as_object(element.value), session)
            yield opened
        elif element.key == "steps":
            yield from _step(values.as_object(element.value), session, model)
        elif element.key == "subagent_trajectories":
            yield from _sub_agent(values.as_object(element.value), session)


def _agent(agent: values.Object, session: str) -> tuple[str, Opened]:
    name, version, model = values.texts_of(agent, "name", "version", "model_name")
    extra = values.as_object(agent.get("extra"))
    folders = [extra.get("cwd"), *values.as_list(extra.get("cwds"))]
    folder = next(filter(None, map(values.as_text, folders)), "")
    return model, Opened(session, f"{NAME}: {short_name(name, 40)}", version, folder)


def _sub_agent(trajectory: values.Object, parent: str) -> Iterator[Event]:
    session = short_name(values.as_text(trajectory.get("trajectory_id"))) or f"{parent} sub-agent"
    model, opened = _agent(values.as_object(trajectory.get("agent")), session)
    yield opened
    yield Opened(session, parent=parent)
    for step in values.objects(trajectory.get("steps")):
        yield from _step(step, session, model)


def _step(step: values.Object, session: str, model: str) -> Iterator[Event]:
    if step.get("is_copied_context") is True:
        return
    time, text = values.time_of(step.get("timestamp")), values.parts_text(step.get("message"))[0]
    if step.get("source") == "user":
        yield from asked(session, text)
    if step.get("source") == "agent" and step.get("llm_call_count") != 0:
        yield _answered(step, session, time, model)
        yield Wrote(session, text)
    calls = []
    for call in values.objects(step.get("tool_calls")):
        id, tool = values.texts_of(call, "tool_call_id", "function_name")
        calls.append(id)
        yield Called(session, id, tool, values.as_arguments(call.get("arguments")), time)
    results = values.as_object(step.get("observation")).get("results")
    for number, result in enumerate(values.objects(results)):
        # Agents without calls in their interface name none: then the results are in the order of the calls.
        id = values.as_text(result.get("source_call_id")) or "".join(calls[number : number + 1])
        if id:
            yield _returned(result, id, session, time)


def _answered(step: values.Object, session: str, time: str, model: str) -> Answered:
    metrics = values.as_object(step.get("metrics"))
    read, wrote, cached = values.counts_of(metrics, "prompt_tokens", "completion_tokens", "cached_tokens")
    model = values.as_text(step.get("model_name")) or model
    key = f"step {values.as_text(step.get('step_id'))}"
    return Answered(session, key, time, model, max(0, read - cached), wrote, cached)


def _returned(result: values.Object, id: str, session: str, time: str) -> Returned:
    extra = values.as_object(result.get("extra"))
    original = values.as_object(values.as_object(extra.get("tool_result_metadata")).get("raw_tool_result"))
    if original.get("tool_use_id") == id:
        return result_of(original, session, time)
    text, images = values.parts_text(result.get("content"))
    return Returned(session, id, text, extra.get("tool_result_is_error") is True or None, images, time)
