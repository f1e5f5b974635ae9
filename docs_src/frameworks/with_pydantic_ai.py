"""An agent of Pydantic AI that reads a folder."""

from __future__ import annotations

from typing import Any

from pydantic_ai import Agent

from readroom import Workspace
from readroom.adapters.pydantic_ai import WorkspaceToolset


async def ask(question: str, folder: str, model: Any = "openai:gpt-5.2") -> str:
    with Workspace(folder) as workspace:
        agent = Agent(model, toolsets=[WorkspaceToolset(workspace)])
        return (await agent.run(question)).output
