"""An agent of Pydantic AI with its `FunctionModel`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from pydantic_ai import Agent
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from readroom import Workspace
from readroom.adapters.pydantic_ai import WorkspaceToolset
from tests.adapters.calls import CALLER, Call, Seen


def run(workspace: Workspace, calls: Sequence[Call], contract_name: str) -> list[Seen]:
    """What the model was shown."""
    toolset = WorkspaceToolset[None](workspace, contract_name=contract_name, caller=CALLER)
    return [_seen(part) for part in parts(toolset, calls)]


def parts(toolset: WorkspaceToolset[None], calls: Sequence[Call]) -> list[ToolReturnPart | RetryPromptPart]:
    """What became of each call."""
    done = asyncio.run(Agent(scripted(calls), toolsets=[toolset]).run("Follow the script."))
    return list(_results(done.all_messages()))


def scripted(calls: Sequence[Call]) -> FunctionModel:
    """A model that makes one call a turn."""
    waiting = iter(calls)

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        call = next(waiting, None)
        return ModelResponse([TextPart("done") if call is None else ToolCallPart(call[0], call[1])])

    return FunctionModel(answer)


def _results(messages: Sequence[ModelMessage]) -> Iterator[ToolReturnPart | RetryPromptPart]:
    for message in messages:
        if isinstance(message, ModelRequest):
            yield from (one for one in message.parts if isinstance(one, (ToolReturnPart, RetryPromptPart)))


def _seen(part: ToolReturnPart | RetryPromptPart) -> Seen:
    if isinstance(part, RetryPromptPart):
        assert isinstance(part.content, str)
        return Seen(part.content, failed=True)
    content = part.content if isinstance(part.content, list) else [part.content]
    text = "".join(one for one in content if isinstance(one, str))
    images = [one.data for one in content if isinstance(one, BinaryContent)]
    return Seen(text, images, failed=part.outcome == "failed")
