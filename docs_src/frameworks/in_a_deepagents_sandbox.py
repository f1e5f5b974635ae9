"""A deep agent whose own file tools work in a sandbox, under a guard."""

from __future__ import annotations

from typing import Any

from deepagents import create_deep_agent
from deepagents.backends import LocalShellBackend
from deepagents.backends.protocol import SandboxBackendProtocol

from readroom import Workspace
from readroom.adapters.deepagents import backend
from readroom.adapters.sandboxes.deepagents import store


def sandbox(folder: str) -> SandboxBackendProtocol:
    """Yours instead: Modal, Daytona, Runloop, LangSmith, or any other `SandboxBackendProtocol`."""
    return LocalShellBackend(folder, inherit_env=True)


async def ask(question: str, folder: str, model: Any = "openai:gpt-5.2") -> str:
    with Workspace(store(sandbox(folder))) as workspace:
        agent: Any = create_deep_agent(model, backend=backend(workspace))
        done = await agent.ainvoke({"messages": [("user", question)]})
        return str(done["messages"][-1].text)
