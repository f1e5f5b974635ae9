"""Agno: its `Function`, which an agent makes of each function in its `tools`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agno.tools.function import Function, FunctionCall

from tests.adapters.calls import Call


def run(functions: Sequence[Callable[..., str]], calls: Sequence[Call]) -> list[str]:
    """What each call gives."""
    tools = {one.__name__: Function.from_callable(one) for one in functions}
    found = []
    for name, given in calls:
        done = FunctionCall(function=tools[name], arguments=dict(given)).execute()
        assert done.status == "success"
        found.append(str(done.result))
    return found
