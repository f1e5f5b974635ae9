"""What is said before anything heavy is imported: to clients of a contract, and by `readroom --help`.

Only contracts that are the same in every workspace: the others depend on settings.
"""

from __future__ import annotations

import json
from pathlib import Path

import click

from readroom.contracts.everruns import EVERRUNS
from readroom.contracts.native import NATIVE
from readroom.faces.cli.commands import GROUP
from readroom.faces.cli.early import PREPARED as PREPARED
from readroom.faces.cli.main import HELP, MARGIN
from readroom.faces.mcp.server import listed


def text() -> str:
    """The file, as it ought to be."""
    found = {
        record.name: {
            "title": record.title,
            "instructions": record.instructions,
            "tools": [listed(tool) for tool in record.tools],
            "commands": [listed(tool) for tool in record.commands],
        }
        for record in (NATIVE, EVERRUNS)
    }
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


_COLUMNS = (80, 100)
"""Those of a terminal that says nothing of its own, and all that are used."""


def helps() -> dict[Path, str]:
    """The help on all commands as it ought to be, by its files."""
    widths = [columns - MARGIN for columns in _COLUMNS]
    return {Path(HELP) / f"{width}.txt": f"{_help(width)}\n" for width in widths}


def _help(width: int) -> str:
    context = click.Context(GROUP, info_name="readroom", terminal_width=width, **GROUP.context_settings)
    return GROUP.get_help(context)
