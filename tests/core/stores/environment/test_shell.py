"""The store over commands of an environment does what every store does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.stores.cases import Folders, Links, Reading
from tests.core.stores.environment.machines import FullMachine, ShellMachine
from tests.core.stores.environment.worlds import EnvironmentWorld
from tests.core.stores.write_cases import Excluding, Placing


@pytest.fixture(params=[ShellMachine, FullMachine])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> EnvironmentWorld:
    return EnvironmentWorld(tmp_path, request.param)


class TestReading(Reading):
    pass


class TestFolders(Folders):
    pass


class TestLinks(Links):
    pass


class TestPlacing(Placing):
    pass


class TestExcluding(Excluding):
    pass
