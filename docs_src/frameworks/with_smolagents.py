"""An agent of smolagents that reads a folder."""

from __future__ import annotations

from typing import Any

from smolagents import ToolCallingAgent

from readroom import Workspace
from readroom.adapters.smolagents import show_images, tools


def ask(question: str, folder: str, model: Any) -> str:
    with Workspace(folder) as workspace:
        agent = ToolCallingAgent(tools(workspace), model, step_callbacks=[show_images])
        return str(agent.run(question))
