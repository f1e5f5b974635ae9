"""The tools of a workspace as plain functions, for frameworks that take any callable; needs no extra.

    from readroom import Workspace
    from readroom.adapters.functions import functions

    agent = Agent(tools=functions(Workspace(".")))

A function has the name, the description, the parameters and the annotations of its tool, from which
frameworks make the schema.  It returns the text of the reply, also for a failure.  An argument of None counts
as omitted.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import reduce
from operator import or_
from typing import Any, Literal

from readroom.core.caller import Caller
from readroom.core.contracts.base import Tool
from readroom.core.workspace import Workspace

CALLER = Caller(agent="functions")


def functions(
    workspace: Workspace, *, contract_name: str = "native", caller: Caller = CALLER
) -> list[Callable[..., str]]:
    """The tools of a workspace; its opener closes it.

    Args:
        workspace: The workspace to offer.
        contract_name: The contract of the tools.
        caller: The caller in the ledger, which also names the conversation.
    """

    def made(tool: Tool) -> Callable[..., str]:
        signature = _signature(tool.input_schema)

        def call(*values: Any, **named: Any) -> str:
            bound = signature.bind_partial(*values).arguments | named
            arguments = {name: value for name, value in bound.items() if value is not None}
            return workspace.call(tool.name, arguments, contract_name=contract_name, caller=caller).text

        call.__name__ = call.__qualname__ = tool.name
        call.__doc__ = _words(tool)
        call.__signature__ = signature  # type: ignore[attr-defined]  # what inspect.signature looks for
        call.__annotations__ = {
            name: parameter.annotation for name, parameter in signature.parameters.items()
        }
        call.__annotations__["return"] = str
        return call

    return [made(tool) for tool in workspace.offered(contract_name)]


def _signature(schema: dict[str, Any]) -> inspect.Signature:
    required = schema.get("required", ())
    names = sorted(schema["properties"], key=lambda name: name not in required)
    return inspect.Signature(
        [_parameter(name, schema["properties"][name], name in required) for name in names],
        return_annotation=str,
    )


def _parameter(name: str, schema: dict[str, Any], required: bool) -> inspect.Parameter:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    annotation = _annotation(schema)
    if required:
        return inspect.Parameter(name, kind, annotation=annotation)
    return inspect.Parameter(name, kind, default=None, annotation=annotation | None)


def _annotation(schema: dict[str, Any]) -> Any:
    """The type of an argument, as far as every framework that was tried understands it."""
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    if "anyOf" in schema:
        return reduce(or_, map(_annotation, schema["anyOf"]))
    if schema.get("type") == "array":
        return list[_annotation(schema["items"])]  # type: ignore[misc]  # made from a schema
    return _PLAIN.get(schema.get("type", ""), str)


_PLAIN: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "object": dict[str, Any],
}


def _words(tool: Tool) -> str:
    """The description, and a line for each argument in the form that most frameworks read."""
    properties = tool.input_schema["properties"]
    lines = [f"    {name}: {_about(name, property_)}" for name, property_ in properties.items()]
    return "\n".join([tool.description, "", "Args:", *lines])


def _about(name: str, schema: dict[str, Any]) -> str:
    text = str(schema.get("description", name.replace("_", " ")))
    if schema.get("type") != "array" or "properties" not in schema.get("items", {}):
        return text
    # A list of objects is only "dict" in an annotation, so words describe its fields.
    inner = "; ".join(
        f"{key}: {_about(key, inner_schema)}" for key, inner_schema in schema["items"]["properties"].items()
    )
    return f"objects with {inner}"
