"""An agent of Pydantic AI whose tools read and change the files of a sandbox."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.workspaces import LocalWorkspaceBackend, WorkspaceBackend

from readroom import Workspace
from readroom.adapters.pydantic_ai import WorkspaceToolset
from readroom.adapters.sandboxes.pydantic_ai import store


def sandbox(folder: str) -> WorkspaceBackend:
    """Yours instead: Docker, SSH, E2B, Daytona and others are in the harness of Pydantic AI."""
    return LocalWorkspaceBackend(folder)


async def ask(question: str, folder: str, model: Any = "openai:gpt-5.2") -> str:
    workspace = await asyncio.to_thread(Workspace, store(sandbox(folder)))
    agent = Agent(model, toolsets=[WorkspaceToolset(workspace)])
    return (await agent.run(question)).output
