"""A workspace as tools of smolagents (extra `smolagents`).

    from smolagents import CodeAgent
    from readroom import Workspace
    from readroom.adapters.smolagents import show_images, tools

    agent = CodeAgent(tools(Workspace(".")), model, step_callbacks=[show_images])

A tool returns the text of a reply, also for a failure: an agent's code can continue with it.  Tools of
smolagents cannot pass images to the model; `show_images` adds those that were read to the observation of the
step.
"""

from __future__ import annotations

import io
from typing import Any, final

from readroom.core.caller import Caller
from readroom.core.contracts.base import Tool as Record
from readroom.core.extras import needs
from readroom.core.values import Image
from readroom.core.workspace import Workspace

with needs("smolagents"):
    # First: it brings Pillow, and is what somebody without either has to install.
    from smolagents import ActionStep, Tool
    from smolagents.agents import MultiStepAgent

    # isort: split
    from PIL import Image as Pictures

CALLER = Caller(agent="smolagents")


def tools(workspace: Workspace, *, contract_name: str = "native", caller: Caller = CALLER) -> list[Tool]:
    """The tools of a workspace; its opener closes it.

    Args:
        workspace: The workspace to offer.
        contract_name: The contract of the tools.
        caller: The caller in the ledger, which also names the conversation.
    """
    return [
        WorkspaceTool(workspace, record, contract_name, caller) for record in workspace.offered(contract_name)
    ]


def show_images(step: Any, agent: MultiStepAgent | None = None) -> None:
    """A callback of steps: the images that tools have read since the last one are observed in this one."""
    if agent is None or not isinstance(step, ActionStep):
        return
    read = [
        taken for tool in agent.tools.values() if isinstance(tool, WorkspaceTool) for taken in tool.taken()
    ]
    if read:
        step.observations_images = [
            *(step.observations_images or ()),
            *(Pictures.open(io.BytesIO(image.data)) for image in read),
        ]


@final
class WorkspaceTool(Tool):  # type: ignore[misc]  # smolagents has no types
    """One tool of a workspace."""

    output_type = "string"
    # Its arguments are those of the contract; smolagents compares `inputs` with a signature otherwise.
    skip_forward_signature_validation = True

    def __init__(self, workspace: Workspace, record: Record, contract_name: str, caller: Caller) -> None:
        self.name = record.name
        self.description = record.description
        self.inputs = _inputs(record.input_schema)
        self._workspace = workspace
        self._contract = contract_name
        self._caller = caller
        self._images: list[Image] = []
        super().__init__()

    def forward(self, *values: Any, **arguments: Any) -> str:
        """The text of the reply to one call; code may give the first arguments without their names."""
        arguments |= dict(zip(self.inputs, values, strict=False))
        # Arguments that an agent omits, and those that its code sets to None, are absent.
        stated = {name: value for name, value in arguments.items() if value is not None}
        reply = self._workspace.call(self.name, stated, contract_name=self._contract, caller=self._caller)
        self._images += reply.images
        if reply.attached:
            return f"{reply.text}\n[Not attached: this framework takes no files]"
        return reply.text

    def taken(self) -> list[Image]:
        """The images that were read since this was last asked."""
        images, self._images = self._images, []
        return images


def _inputs(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The arguments as smolagents describes them: one type each, a description, optional or not."""
    required = schema.get("required", ())
    inputs = {}
    for name, value in schema["properties"].items():
        # Agents that write code are shown the words alone, not the values there are.
        words = value.get("description", name)
        if "enum" in value:
            words = f"{words} ({', '.join(map(str, value['enum']))})"
        described = {**value, "type": value.get("type", "any"), "description": words}
        inputs[name] = described if name in required else {**described, "nullable": True}
    return inputs
