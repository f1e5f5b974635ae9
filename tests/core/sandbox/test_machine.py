"""What continuous integration needs of the machine, so that the tests of confinement are no empty promise."""

from __future__ import annotations

import os
import shutil

import pytest

from readroom.core.policy.commands import PATH
from readroom.core.sandbox import available
from tests.core.sandbox.cells import CONFINEMENTS

in_ci = pytest.mark.skipif(not os.environ.get("CI"), reason="a developer's machine may lack all of it")


@in_ci
def test_programs_that_the_tests_need_are_installed() -> None:
    """`.ci/run` installs them."""
    assert [name for name in ("bwrap", "python3") if shutil.which(name, path=PATH) is None] == []


@in_ci
def test_this_machine_confines_commands() -> None:
    """One of the two has to work. A container may forbid the other, whose tests are skipped and say so."""
    reasons = {one: available(one) for one in CONFINEMENTS}
    assert not all(reasons.values()), reasons
