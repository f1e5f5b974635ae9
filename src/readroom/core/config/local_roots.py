"""Roots that are folders of this machine: every command asks, so this needs nothing of several roots."""

from __future__ import annotations

import os
import re

from readroom.core.errors import BadValue

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def require_local(root: str) -> None:
    """Raise BadValue for the address of what is no folder of this machine."""
    if _ADDRESS.match(root) and not os.path.lexists(root):
        advice = (
            "Give a folder of this machine, or s3://bucket/prefix. For a folder of another machine: "
            "`readroom connect CLIENT ssh://host/folder`, or `--at ssh://host/folder` for one command."
        )
        raise BadValue("root", root, "is no folder of this machine", advice)
