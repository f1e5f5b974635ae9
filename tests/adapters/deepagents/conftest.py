"""Most tests of this folder import deepagents; `scripts/frameworks` runs them where it is installed."""

from __future__ import annotations

from importlib.util import find_spec

_IMPORTING = [
    "test_changes.py",
    "test_masked.py",
    "test_names.py",
    "test_reads.py",
    "test_sandbox.py",
    "test_standard.py",
]

collect_ignore = _IMPORTING if find_spec("deepagents") is None else []
