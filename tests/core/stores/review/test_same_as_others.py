"""A store in which changes wait does what every store does, wherever its files are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.stores import cases, write_cases
from tests.core.stores.review.worlds import BelowWorld, WaitingWorld


@pytest.fixture(params=[BelowWorld, WaitingWorld])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> BelowWorld | WaitingWorld:
    made: BelowWorld | WaitingWorld = request.param(tmp_path)
    return made


class TestReading(cases.Reading):
    """The same as everywhere."""


class TestFolders(cases.Folders):
    """The same as everywhere."""


class TestLinks(cases.Links):
    """The same as everywhere."""


class TestPlacing(write_cases.Placing):
    """The same as everywhere."""


class TestExcluding(write_cases.Excluding):
    """The same as everywhere."""
