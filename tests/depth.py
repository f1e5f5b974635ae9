"""How hard tests search: most in minutes for a developer, everything in continuous integration."""

from __future__ import annotations

import os

FULL = bool(os.environ.get("CI")) and os.environ.get("HYPOTHESIS_PROFILE") != "quick"
"""Not where a second run, of another account or another Python, looks only for what depends on those."""


def depth(full: int, quick: int | None = None) -> int:
    """So many rounds or examples in continuous integration, and elsewhere `quick` or a quarter of them."""
    if FULL:
        return full
    return max(3, full // 4) if quick is None else quick
