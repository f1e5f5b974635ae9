"""Google ADK: its `FunctionTool`, which an agent makes of each function in its `tools`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from google.adk.tools import FunctionTool

from tests.adapters.calls import Call


def run(functions: Sequence[Callable[..., str]], calls: Sequence[Call]) -> list[str]:
    """What each call gives."""
    tools = {one.__name__: FunctionTool(one) for one in functions}
    nowhere: Any = None

    async def work() -> list[str]:
        return [await tools[name].run_async(args=dict(given), tool_context=nowhere) for name, given in calls]

    return asyncio.run(work())
