"""A `ToolCallingAgent` of smolagents with a model of its interface that says what it is told."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

from smolagents import ActionStep, ChatMessage, MessageRole, Model, ToolCallingAgent
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction

from readroom import Workspace
from readroom.adapters.smolagents import show_images, tools
from tests.adapters.calls import CALLER, Call, Seen


class Scripted(Model):  # type: ignore[misc]  # smolagents has no types
    """Makes one call a step."""

    def __init__(self, calls: Sequence[Call]) -> None:
        super().__init__(model_id="scripted")
        self._calls = iter([*calls, ("final_answer", {"answer": "done"})])

    def generate(self, messages: list[ChatMessage], *arguments: Any, **given: Any) -> ChatMessage:
        name, values = next(self._calls)
        call = ChatMessageToolCall(
            id="call", type="function", function=ChatMessageToolCallFunction(name=name, arguments=values)
        )
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])


def scripted(calls: Sequence[Call]) -> Scripted:
    """A model that makes one call a step."""
    return Scripted(calls)


def run(workspace: Workspace, calls: Sequence[Call], contract_name: str) -> list[Seen]:
    """What the model was shown."""
    agent = ToolCallingAgent(
        tools(workspace, contract_name=contract_name, caller=CALLER),
        Scripted(calls),
        step_callbacks=[show_images],
        verbosity_level=0,
        max_steps=len(calls) + 2,
    )
    agent.run("Follow the script.")
    steps = [one for one in agent.memory.steps if isinstance(one, ActionStep) and not one.is_final_answer]
    return [
        Seen(step.observations or "", [_png(one) for one in step.observations_images or ()]) for step in steps
    ]


def _png(image: Any) -> bytes:
    """The image as it was read: Pillow keeps the file that it opened lazily."""
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()
