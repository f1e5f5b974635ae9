"""What arrives at models in each framework is what the documentation says of it."""

from __future__ import annotations

import pytest

from tests.adapters.arrivals import PACKAGES, arrived, known
from tests.adapters.calls import adapters
from tests.suites import daily

pytestmark = pytest.mark.filterwarnings("ignore")  # those of frameworks are not ours


def test_every_framework_stands_there() -> None:
    assert set(known()) == set(PACKAGES)


@daily(2, "adapter", adapters(*PACKAGES))
def test_what_is_written_down_arrives(adapter: str) -> None:
    """`scripts/frameworks` writes it anew."""
    assert arrived(adapter) == {name: value for name, value in known()[adapter].items() if name != "version"}
