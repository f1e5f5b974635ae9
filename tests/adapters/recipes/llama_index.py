"""LlamaIndex: its `FunctionTool`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llama_index.core.tools import FunctionTool

from tests.adapters.calls import Call


def run(functions: Sequence[Callable[..., str]], calls: Sequence[Call]) -> list[str]:
    """What each call gives."""
    tools = {one.__name__: FunctionTool.from_defaults(one) for one in functions}
    return [tools[name].call(**given).content for name, given in calls]
