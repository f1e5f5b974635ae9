"""The address under which the near end knows this workspace, while a command runs for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from readroom.mcp.place import Place

address: str = ""
"""Empty unless the command was asked for with `--at` on another machine."""


def other(folder: str) -> str:
    """The address of another folder on this machine."""
    from msgspec.structs import replace

    from readroom.cli.remote.address import parsed

    return str(replace(parsed(address), folder=folder if folder.startswith("/") else f"/{folder}"))


def shown(folder: str) -> Place | None:
    """The place of a folder for a client on another machine; None for one on this machine."""
    if not address:
        return None
    from readroom.core.stores.bucket.address import absolute
    from readroom.mcp.place import Place

    return Place(address, absolute(folder))
