"""An agent of LangChain, which is a graph of LangGraph, that reads a folder."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent

from readroom import Workspace
from readroom.adapters.langchain import tools


async def ask(question: str, folder: str, model: Any = "openai:gpt-5.2") -> str:
    with Workspace(folder) as workspace:
        agent: Any = create_agent(model, tools(workspace))
        done = await agent.ainvoke({"messages": [("user", question)]})
        return str(done["messages"][-1].text)
