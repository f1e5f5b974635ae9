"""How hard tests search: most in minutes for a developer, everything in continuous integration."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

FULL = bool(os.environ.get("CI")) and os.environ.get("HYPOTHESIS_PROFILE") != "quick"
"""Not where a second run, of another account or another Python, looks only for what depends on those."""

_T = TypeVar("_T")

_RUN = "" if os.environ.get("CI") else os.environ.get("PYTEST_XDIST_TESTRUNUID", "")
"""Of a run of a developer on several processes, which all have it and hand it to what they start."""


def depth(full: int, quick: int | None = None) -> int:
    """So many rounds or examples in continuous integration, and elsewhere `quick` or a quarter of them."""
    if FULL:
        return full
    return max(3, full // 4) if quick is None else quick


def half(inputs: Iterable[_T]) -> list[_T]:
    """Of inputs that each take long every second one: these or the others, by chance for each run.

    All of them in continuous integration, and where one process runs some of the tests: `-n0`.
    """
    return list(inputs)[int(_RUN, 16) % 2 :: 2] if _RUN else list(inputs)
