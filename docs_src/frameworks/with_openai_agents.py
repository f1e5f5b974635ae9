"""An agent of the OpenAI Agents SDK that reads a folder."""

from __future__ import annotations

from typing import Any

from agents import Agent, Runner

from readroom import Workspace
from readroom.adapters.openai_agents import tools


async def ask(question: str, folder: str, model: Any = "gpt-5.2") -> str:
    with Workspace(folder) as workspace:
        agent = Agent(name="reader", model=model, tools=[*tools(workspace)])
        return str((await Runner.run(agent, question)).final_output)
