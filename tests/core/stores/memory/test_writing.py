"""Writing to the store in memory."""

from __future__ import annotations

import pytest

from tests.core.stores import write_cases
from tests.core.stores.worlds import MemoryWorld


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


class TestPlacing(write_cases.Placing):
    """The same as everywhere."""


class TestPlacingThroughLinks(write_cases.PlacingThroughLinks):
    """The same as everywhere."""


class TestExcluding(write_cases.Excluding):
    """The same as everywhere."""
