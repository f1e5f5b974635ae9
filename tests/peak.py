"""The most memory that this process has held."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

REPO = Path(__file__).parents[1]
"""Where a process must be started to import this module."""

UNIT = 1024 if sys.platform == "linux" else 1
"""Of `ru_maxrss`, in bytes."""

_STATUS = Path("/proc/self/status")


def own_peak_bytes() -> int:
    """Since it began, and of itself alone: on Linux `ru_maxrss` counts whoever started it, too."""
    if not _STATUS.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT
    lines = _STATUS.read_text(encoding="ascii").split("\n")
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024
