"""CrewAI: its decorator `tool`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from crewai.tools import tool

from tests.adapters.calls import Call


def run(functions: Sequence[Callable[..., str]], calls: Sequence[Call]) -> list[str]:
    """What each call gives."""
    tools = {one.__name__: tool(one.__name__)(one) for one in functions}
    return [str(tools[name].run(**given)) for name, given in calls]
