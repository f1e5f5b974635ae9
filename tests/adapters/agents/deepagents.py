"""A deep agent with the fake chat model of langchain-core, on the backend of a workspace."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from deepagents import create_deep_agent

from readroom import Workspace
from readroom.adapters.deepagents import backend
from tests.adapters.agents.langchain import scripted as scripted
from tests.adapters.agents.langchain import seen
from tests.adapters.calls import CALLER, Call, Seen


def run(
    workspace: Workspace,
    calls: Sequence[Call],
    contract_name: str = "native",
    *,
    awaited: bool = True,
    tools: Sequence[Any] = (),
) -> list[Seen]:
    """What the model was shown; the tools and their words are those of deepagents."""
    agent: Any = create_deep_agent(scripted(calls), tools, backend=backend(workspace, caller=CALLER))
    given: Any = {"messages": [("user", "Follow the script.")]}
    config: Any = {"recursion_limit": 10 * len(calls) + 20}
    done = asyncio.run(agent.ainvoke(given, config)) if awaited else agent.invoke(given, config)
    return seen(done["messages"])
