"""Writing to the store in memory."""

from __future__ import annotations

import pytest

from tests.stores import write_cases
from tests.stores.worlds import MemoryWorld


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


class TestPlacing(write_cases.Placing):
    """The same as everywhere."""


class TestExcluding(write_cases.Excluding):
    """The same as everywhere."""
