"""A workspace as function tools of the OpenAI Agents SDK (extra `openai-agents`).

    from agents import Agent
    from readroom import Workspace
    from readroom.adapters.openai_agents import tools

    agent = Agent("reader", tools=tools(Workspace(".")))

The text of a reply is the output, followed by its images.  A failure is also an output, with advice.
"""

from __future__ import annotations

import json
from base64 import b64encode
from posixpath import basename
from typing import Any

from readroom.core.async_workspace import AsyncWorkspace
from readroom.core.caller import Caller
from readroom.core.contracts.base import Tool
from readroom.core.extras import needs
from readroom.core.values import Image
from readroom.core.values.files import Attachment
from readroom.core.workspace import Workspace

with needs("openai-agents"):
    from agents import FunctionTool, ToolOutputFileContent, ToolOutputImage, ToolOutputText
    from agents.tool_context import ToolContext

CALLER = Caller(agent="openai-agents")


def tools(
    workspace: Workspace, *, contract_name: str = "native", caller: Caller = CALLER
) -> list[FunctionTool]:
    """The tools of a workspace; its opener closes it.

    Args:
        workspace: The workspace to offer.
        contract_name: The contract of the tools.
        caller: The caller in the ledger, which also names the conversation.
    """
    awaited = AsyncWorkspace(workspace)

    def made(tool: Tool) -> FunctionTool:
        async def invoke(_: ToolContext[Any], arguments: str) -> Any:
            parsed = _parsed(arguments)
            reply = await awaited.call(tool.name, parsed, contract_name=contract_name, caller=caller)
            if not reply.images and not reply.attached:
                return reply.text
            images = [ToolOutputImage(image_url=_data_url(image)) for image in reply.images]
            files = [
                ToolOutputFileContent(file_data=_data_url(file), filename=basename(file.path))
                for file in reply.attached
            ]
            return [ToolOutputText(text=reply.text), *images, *files]

        return FunctionTool(
            name=tool.name,
            description=tool.description,
            params_json_schema=tool.input_schema,
            on_invoke_tool=invoke,
            # Strict mode makes every argument required: models then invent values for all of them.
            strict_json_schema=False,
        )

    return [made(tool) for tool in workspace.offered(contract_name)]


def _data_url(file: Image | Attachment) -> str:
    """The image or file as a data URL."""
    return f"data:{file.media_type};base64,{b64encode(file.data).decode('ascii')}"


def _parsed(arguments: str) -> object:
    """The arguments from the model; text that is not JSON is passed on, and the contract refuses it."""
    try:
        return json.loads(arguments) if arguments else {}
    except ValueError:
        return arguments
