"""A workspace as a toolset of Pydantic AI (extra `pydantic-ai`).

    from pydantic_ai import Agent
    from readroom import Workspace
    from readroom.adapters.pydantic_ai import WorkspaceToolset

    agent = Agent(model, toolsets=[WorkspaceToolset(Workspace("."))])

The text of a reply is the result, with its images and with facts as metadata.  A call that the model can
correct is a `ModelRetry`, any other failure a `ToolFailed`: a denied file must not use up the retries of a
run.
"""

from __future__ import annotations

from typing import Any, final

from readroom.core.async_workspace import AsyncWorkspace
from readroom.core.caller import Caller
from readroom.core.errors import ConflictError, UsageError, of_code
from readroom.core.extras import needs
from readroom.core.values import Reply
from readroom.core.workspace import Workspace

with needs("pydantic-ai"):
    from pydantic_ai import ModelRetry, RunContext, ToolFailed, ToolReturn
    from pydantic_ai.messages import BinaryContent
    from pydantic_ai.tools import AgentDepsT, ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
    from pydantic_core import SchemaValidator, core_schema

_ANY = SchemaValidator(core_schema.any_schema())
"""The contract checks arguments, and its sentence lists the valid ones."""

_RETRIES = 5
"""Calls of one tool in a row that a model may have to mend: one would end a run at its second mistake."""


@final
class WorkspaceToolset(AbstractToolset[AgentDepsT]):
    """The tools of a workspace. Closing the workspace stays with the caller."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        contract_name: str = "native",
        caller: Caller | None = None,
        max_retries: int = _RETRIES,
        id: str | None = None,
    ) -> None:
        """Offer a workspace to agents.

        Args:
            workspace: The workspace to offer.
            contract_name: The contract of the tools.
            caller: The caller in the ledger; without one, runs of one conversation share a session.
            max_retries: How often in a row a model may mend its call of one tool.
            id: A name for durable execution, which several toolsets of one agent must not share.
        """
        self._workspace = workspace
        self._contract = contract_name
        self._caller = caller
        self._max_retries = max_retries
        self._id = id

    @property
    def id(self) -> str | None:
        """The name it was given."""
        return self._id

    async def get_instructions(self, ctx: RunContext[AgentDepsT]) -> str:
        """The instructions for the tools."""
        return self._workspace.contract(self._contract).instructions

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        """The tools with their schemas; those that run commands only where policy allows it."""
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=tool.input_schema,
                    # Strict modes make every argument required.
                    strict=False,
                    sequential=not tool.read_only,
                ),
                max_retries=self._max_retries,
                args_validator=_ANY,
            )
            for tool in self._workspace.offered(self._contract)
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[AgentDepsT], tool: ToolsetTool[AgentDepsT]
    ) -> ToolReturn[Any]:
        """The reply to one call.

        Raises:
            ModelRetry: The model can mend it.
            ToolFailed: It cannot.
        """
        caller = self._caller or Caller(agent="pydantic-ai", session=ctx.conversation_id or "")
        workspace = AsyncWorkspace(self._workspace)
        reply = await workspace.call(name, tool_args, contract_name=self._contract, caller=caller)
        if reply.is_error:
            raise ModelRetry(reply.text) if _is_mendable(reply) else ToolFailed(reply.text)
        return ToolReturn(_content(reply), metadata=reply.facts)


def _is_mendable(reply: Reply) -> bool:
    """Whether the model can mend the call: its arguments were wrong, or the file has changed since."""
    error = reply.facts.get("error")
    return isinstance(error, dict) and issubclass(of_code(error.get("code")), UsageError | ConflictError)


def _content(reply: Reply) -> str | list[str | BinaryContent]:
    files = [BinaryContent(image.data, media_type=image.media_type) for image in reply.images]
    files += [BinaryContent(file.data, media_type=file.media_type) for file in reply.attached]
    return [reply.text, *files] if files else reply.text
