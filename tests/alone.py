"""A plugin of pytest for `tests/test_alone.py`: of each module the first fast tests."""

from __future__ import annotations

from collections import Counter

import pytest

OF_EACH = 3
"""Tests of a module: enough to need what the module is about, and few enough for every module to be tried."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the first tests of each module, in the order of its lines, that are daily and not long."""
    seen: Counter[object] = Counter()
    kept: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in sorted(items, key=lambda item: (item.path, item.location[1] or 0)):
        module = item.nodeid.partition("::")[0]
        fast = not any(item.get_closest_marker(name) for name in ("whole", "long"))
        seen[module] += fast
        (kept if fast and seen[module] <= OF_EACH else others).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=others)
