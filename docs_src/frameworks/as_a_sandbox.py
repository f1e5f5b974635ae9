"""A folder, or a sandbox under a guard, as the workspace of agents of Pydantic AI."""

from __future__ import annotations

from typing import Any

from pydantic_ai import Agent, RunContext
from pydantic_ai.workspaces import LocalWorkspaceBackend, Workspace

from readroom.adapters.sandboxes.backend import GuardedWorkspace, ReadroomBackend


def agent(model: Any) -> Agent[object, str]:
    """Its tools find the workspace of the run, whatever that is."""
    made = Agent(model)

    @made.tool
    async def size(ctx: RunContext[object], path: str) -> int:
        return len(await ctx.workspace.read_bytes(path))

    return made


async def ask(question: str, folder: str, model: Any = "openai:gpt-5.2") -> str:
    backend = ReadroomBackend(folder)
    try:
        return (await agent(model).run(question, workspace=backend)).output
    finally:
        backend.close()


async def ask_guarded(question: str, folder: str, model: Any = "openai:gpt-5.2") -> str:
    workspace = GuardedWorkspace(Workspace(LocalWorkspaceBackend(folder)))
    try:
        return (await agent(model).run(question, workspace=workspace)).output
    finally:
        workspace.close()
