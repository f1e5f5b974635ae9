"""A workspace as tools of LangChain and LangGraph (extra `langchain`).

    from langchain.agents import create_agent
    from readroom import Workspace
    from readroom.adapters.langchain import tools

    agent = create_agent(model, tools(Workspace(".")))

The text of a reply is the content of the tool's message, followed by image blocks; facts are its artifact.  A
failure is a message with the status "error".
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any, TypeAlias

from readroom.core.async_workspace import AsyncWorkspace
from readroom.core.caller import Caller
from readroom.core.contracts.base import Tool
from readroom.core.extras import needs
from readroom.core.values import Reply
from readroom.core.workspace import Workspace

with needs("langchain"):
    from langchain_core.tools import BaseTool, StructuredTool, ToolException

Content: TypeAlias = str | list[str | dict[str, Any]]

CALLER = Caller(agent="langchain")


def tools(workspace: Workspace, *, contract_name: str = "native", caller: Caller = CALLER) -> list[BaseTool]:
    """The tools of a workspace, for graphs with and without an event loop; its opener closes it.

    Args:
        workspace: The workspace to offer.
        contract_name: The contract of the tools.
        caller: The caller in the ledger, which also names the conversation.
    """
    awaited = AsyncWorkspace(workspace)

    def made(tool: Tool) -> BaseTool:
        def call(**arguments: Any) -> tuple[Content, dict[str, Any]]:
            return _result(workspace.call(tool.name, arguments, contract_name=contract_name, caller=caller))

        async def acall(**arguments: Any) -> tuple[Content, dict[str, Any]]:
            return _result(
                await awaited.call(tool.name, arguments, contract_name=contract_name, caller=caller)
            )

        return StructuredTool(
            name=tool.name,
            description=tool.description,
            args_schema=tool.input_schema,
            func=call,
            coroutine=acall,
            response_format="content_and_artifact",
            handle_tool_error=True,
            metadata={"read_only": tool.read_only},
        )

    return [made(tool) for tool in workspace.offered(contract_name)]


def _result(reply: Reply) -> tuple[Content, dict[str, Any]]:
    if reply.is_error:
        raise ToolException(reply.text)
    if not reply.images and not reply.attached:
        return reply.text, reply.facts
    files: list[str | dict[str, Any]] = [
        {"type": kind, "base64": b64encode(file.data).decode("ascii"), "mime_type": file.media_type}
        for kind, some in (("image", reply.images), ("file", reply.attached))
        for file in some
    ]
    return [{"type": "text", "text": reply.text}, *files], reply.facts
