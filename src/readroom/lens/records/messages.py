"""Arrays of messages as sent to OpenAI's and Anthropic's APIs, and items of the Responses API.

Also `{"messages": [...]}`, and one message a line. The array is what the last request carried: its results
are what the model was sent, and what the client had dropped is not in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from readroom.lens.limits import Bounds
from readroom.lens.records.codex import FOLDER, item_events
from readroom.lens.records.events import (
    Answered,
    Called,
    Event,
    Opened,
    Returned,
    Skipped,
    Wrote,
    asked,
)
from readroom.lens.records.stream import Element
from readroom.lens.records.values import (
    Object,
    as_arguments,
    as_list,
    as_object,
    as_text,
    objects,
    parts_text,
    time_of,
)

NAME = "messages"
_ROLES = frozenset({"user", "assistant", "system", "developer", "tool", "function", "model"})


def recognises(element: Object) -> bool:
    """Whether an element of a list, or a line, is a message or an item of a conversation."""
    if as_text(element.get("type")).endswith(("_call", "_call_output")):
        return "call_id" in element
    return as_text(element.get("role")) in _ROLES and ("content" in element or "tool_calls" in element)


def read(elements: Iterable[Element | Skipped], session: str, _bounds: Bounds) -> Iterator[Event]:
    """The events of one conversation named `session`."""
    yield Opened(session, NAME)
    number = 0
    is_request = of_model = False
    key = ""
    for element in elements:
        if isinstance(element, Skipped):
            yield element
        elif element.key in ("", "messages", "input"):
            number += 1
            message = as_object(element.value)
            before, of_model = of_model, _is_of_answer(message)
            # An answer is several items: reasoning, text and calls.
            key = key if before and of_model else f"message {number}"
            is_request = as_text(message.get("role")) in ("user", "tool") or "output" in message
            yield from message_events(message, session, key)
    if is_request:  # the array ends with a question: it is itself a request
        yield Answered(session, "the request itself")


def _is_of_answer(item: Object) -> bool:
    """Whether the model wrote an item of the Responses API."""
    kind = as_text(item.get("type"))
    return (
        kind.endswith("_call") or kind == "reasoning" or (kind, item.get("role")) == ("message", "assistant")
    )


def message_events(message: Object, session: str, key: str) -> Iterator[Event]:
    """The events of one message, of either API or of Inspect."""
    role = as_text(message.get("role"))
    time = time_of(message.get("timestamp", message.get("created_at")))
    if not role:
        if as_text(message.get("type")).endswith("_call"):
            yield Answered(session, key, time)
        yield from item_events(message, session, time)
    elif role in ("assistant", "model"):
        yield Answered(session, key, time, as_text(message.get("model")))
        yield from _answer(message, session, time)
    elif role in ("tool", "function"):
        yield _result(message, session, time)
    else:
        yield from _input(message, session, time, role)


def _answer(message: Object, session: str, time: str) -> Iterator[Event]:
    content = message.get("content")
    if isinstance(content, str) and content:
        yield Wrote(session, content)
    yield from answer_events(content, session, time)
    for call in objects(message.get("tool_calls")):
        function = call.get("function")
        body = as_object(function) if isinstance(function, dict) else call
        tool = as_text(body.get("name")) or as_text(function)
        yield Called(session, as_text(call.get("id")), tool, as_arguments(body.get("arguments")), time)
    single = as_object(message.get("function_call"))
    if single:
        name = as_text(single.get("name"))
        yield Called(session, name, name, as_arguments(single.get("arguments")), time)


def _result(message: Object, session: str, time: str) -> Returned:
    id = as_text(message.get("tool_call_id")) or as_text(message.get("name"))
    text, images = parts_text(message.get("content"))
    error = as_object(message.get("error"))
    if error:  # of Inspect, whose content is empty then
        return Returned(session, id, f"Error: {as_text(error.get('message'))}", True, images, time)
    return Returned(session, id, text, None, images, time)


def _input(message: Object, session: str, time: str, role: str) -> Iterator[Event]:
    content = message.get("content")
    if isinstance(content, str):
        yield from _asked(content, session, role)
    for block in as_list(content):
        piece = as_object(block)
        if piece.get("type") == "tool_result":
            yield result_of(piece, session, time)
        elif isinstance(block, str) or "text" in piece:
            text = block if isinstance(block, str) else as_text(piece.get("text"))
            yield from _asked(text, session, role)


def result_of(block: Object, session: str, time: str) -> Returned:
    """The result in a block of Anthropic's API."""
    text, images = parts_text(block.get("content"))
    failed = block["is_error"] if isinstance(block.get("is_error"), bool) else None
    return Returned(session, as_text(block.get("tool_use_id")), text, failed, images, time)


def _asked(text: str, session: str, role: str) -> Iterator[Event]:
    if role == "user":
        yield from asked(session, text)
    match = FOLDER.search(text, 0, 20_000)
    if match:
        yield Opened(session, folder=match[1])


# -----------------------------------------------------------------------------
# Blocks of an answer in Anthropic's API: text and calls of the model, and calls that the provider ran.
#
# Results of tools that the provider runs (web search, code, MCP servers) are in the answer, next to their
# calls. Those of a search hold titles and encrypted text, so the read text is unknown.
# -----------------------------------------------------------------------------

_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


def answer_events(content: object, session: str, time: str) -> Iterator[Event]:
    """The events of the blocks of one answer."""
    for block in objects(content):
        kind = as_text(block.get("type"))
        if kind == "text":
            yield Wrote(session, as_text(block.get("text")))
        elif kind in _CALLS:
            id, tool = as_text(block.get("id")), as_text(block.get("name"))
            server = as_text(block.get("server_name"))
            yield Called(session, id, tool, as_object(block.get("input")), time, server)
        elif kind.endswith("tool_result"):
            yield _returned(block, session, time)


def _returned(block: Object, session: str, time: str) -> Returned:
    content = block.get("content")
    ran = as_object(content)
    failed = True if block.get("is_error") is True or as_text(ran.get("type")).endswith("error") else None
    if "stdout" in ran or "stderr" in ran:
        code = ran.get("return_code")
        text = as_text(ran.get("stdout")) + as_text(ran.get("stderr"))
        status = code if isinstance(code, int) else None
        return Returned(session, as_text(block.get("tool_use_id")), text, failed, 0, time, exit_code=status)
    text, images = parts_text(content)
    return Returned(session, as_text(block.get("tool_use_id")), text, failed, images, time)
