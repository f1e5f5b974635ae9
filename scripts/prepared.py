"""What clients of a contract hear before anything heavy is imported.

Only contracts that are the same wherever no file has settings; with one, nothing is prepared.
"""

from __future__ import annotations

import json

from readroom.cli.early import PREPARED as PREPARED
from readroom.core.contracts import contract
from readroom.core.contracts.native import NATIVE
from readroom.mcp.server import listed


def text() -> str:
    """The file, as it ought to be."""
    found = {
        record.name: {
            "title": record.title,
            "instructions": record.instructions,
            "tools": [listed(tool) for tool in record.tools],
            "commands": [listed(tool) for tool in record.commands],
        }
        for record in (NATIVE, contract("everruns"))
    }
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"
