"""A deep agent whose file tools are those of a guarded folder."""

from __future__ import annotations

from typing import Any

from deepagents import create_deep_agent

from readroom import Workspace
from readroom.adapters.deepagents import backend


async def ask(question: str, folder: str, model: Any = "openai:gpt-5.2") -> str:
    with Workspace(folder) as workspace:
        agent: Any = create_deep_agent(model, backend=backend(workspace))
        done = await agent.ainvoke({"messages": [("user", question)]})
        return str(done["messages"][-1].text)
