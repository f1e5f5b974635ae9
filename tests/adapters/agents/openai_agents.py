"""An agent of the OpenAI Agents SDK with a model of its interface that says what it is told."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from collections.abc import AsyncIterator, Sequence
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.items import TResponseInputItem
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from readroom import Workspace
from readroom.adapters.openai_agents import tools
from tests.adapters.calls import CALLER, Call, Seen


class Scripted(Model):
    """Makes one call a turn, and keeps what it was sent."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = list(calls)
        self._made = 0
        self.sent: list[TResponseInputItem] = []
        self.tools: list[Any] = []

    async def get_response(self, *arguments: Any, **given: Any) -> ModelResponse:
        named = dict(
            zip(("system_instructions", "input", "model_settings", "tools"), arguments, strict=False)
        )
        named |= given
        self.sent, self.tools = list(named["input"]), list(named["tools"])
        item: ResponseFunctionToolCall | ResponseOutputMessage
        if self._made < len(self._calls):
            name, values = self._calls[self._made]
            self._made += 1
            item = ResponseFunctionToolCall(
                arguments=json.dumps(values), call_id=f"call-{self._made}", name=name, type="function_call"
            )
        else:
            text = ResponseOutputText(annotations=[], text="done", type="output_text")
            item = ResponseOutputMessage(
                id="m", content=[text], role="assistant", status="completed", type="message"
            )
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *arguments: Any, **given: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def scripted(calls: Sequence[Call]) -> Scripted:
    """A model that makes one call a turn."""
    set_tracing_disabled(True)
    return Scripted(calls)


def run(workspace: Workspace, calls: Sequence[Call], contract_name: str) -> list[Seen]:
    """What the model was shown."""
    model = scripted(calls)
    offered = tools(workspace, contract_name=contract_name, caller=CALLER)
    agent = Agent(name="reader", model=model, tools=[*offered])
    asyncio.run(Runner.run(agent, "Follow the script.", max_turns=len(calls) + 2))
    outputs = [one for one in model.sent if one.get("type") == "function_call_output"]
    return [_seen(one["output"]) for one in outputs]  # type: ignore[typeddict-item]


def _seen(output: Any) -> Seen:
    if isinstance(output, str):
        return Seen(output)
    images = [one["image_url"] for one in output if one["type"] == "input_image"]
    return Seen(
        "".join(one["text"] for one in output if one["type"] == "input_text"),
        [b64decode(url.partition(",")[2]) for url in images],
    )
