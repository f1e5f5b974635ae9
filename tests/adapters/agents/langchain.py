"""An agent of LangChain (a graph of LangGraph) with the fake chat model of langchain-core."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage

from readroom import Workspace
from readroom.adapters.langchain import tools
from tests.adapters.calls import CALLER, Call, Seen


class Scripted(GenericFakeChatModel):
    """That model, which takes tools without a look at them."""

    def bind_tools(self, tools: Any, **given: Any) -> Any:
        return self


def scripted(calls: Sequence[Call]) -> Scripted:
    """A model that makes one call a turn."""
    turns = [
        AIMessage("", tool_calls=[{"name": name, "args": given, "id": f"call-{number}"}])
        for number, (name, given) in enumerate(calls)
    ]
    return Scripted(messages=iter([*turns, AIMessage("done")]))


def run(
    workspace: Workspace, calls: Sequence[Call], contract_name: str, *, awaited: bool = True
) -> list[Seen]:
    """What the model was shown."""
    agent = create_agent(scripted(calls), tools(workspace, contract_name=contract_name, caller=CALLER))
    given: Any = {"messages": [("user", "Follow the script.")]}
    config: Any = {"recursion_limit": 4 * len(calls) + 4}
    done = asyncio.run(agent.ainvoke(given, config)) if awaited else agent.invoke(given, config)
    return seen(done["messages"])


def seen(messages: Sequence[Any]) -> list[Seen]:
    """What tool messages show."""
    return [_seen(one) for one in messages if isinstance(one, ToolMessage)]


def _seen(message: ToolMessage) -> Seen:
    blocks = message.content_blocks
    return Seen(
        "".join(one["text"] for one in blocks if one["type"] == "text"),
        [b64decode(one["base64"]) for one in blocks if one["type"] == "image"],
        failed=message.status == "error",
    )
