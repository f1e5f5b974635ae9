"""AutoGen: its `FunctionTool`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from autogen_core import CancellationToken
from autogen_core.tools import FunctionTool

from tests.adapters.calls import Call


def run(functions: Sequence[Callable[..., str]], calls: Sequence[Call]) -> list[str]:
    """What each call gives."""
    tools = {one.__name__: FunctionTool(one, description=one.__doc__ or "") for one in functions}

    async def work() -> list[str]:
        return [
            tools[name].return_value_as_string(await tools[name].run_json(given, CancellationToken()))
            for name, given in calls
        ]

    return asyncio.run(work())
