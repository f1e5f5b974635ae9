"""Shared by all tests: how hard the property tests search, and how many processes run what in which order."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from tests.depth import half

# A failure prints the blob that reproduces it.  Every run of a developer searches elsewhere; continuous
# integration judges a change, and judges it the same each time.
settings.register_profile(
    "default", max_examples=20, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("default"), max_examples=100, derandomize=True)
settings.register_profile("quick", settings.get_profile("default"), max_examples=15, derandomize=True)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default"))

# Servers that tests start record their calls; not in the ledger of whoever runs the tests.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="readroom-tests-state-")

# Whoever opens something closes it, in the programs that tests start, too.
os.environ.setdefault("PYTHONWARNINGS", "error::ResourceWarning")

# A shell starts what runs in the background with interrupts ignored, and whatever that starts inherits it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors, as some tests wait for a clock or for a server."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays to the end: to look through it for garbage again and again would take longer
    than many a test.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes long begins first, so that no process is left with it when the others are done.

    Of a test that is marked as `halved`, a developer runs every second of its variants.
    """
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
    variants: dict[str, list[str]] = {}
    for name in sorted(item.nodeid for item in items if item.get_closest_marker("halved")):
        variants.setdefault(name.partition("[")[0], []).append(name)
    left_out = {
        name for names in variants.values() if len(names) > 1 for name in set(names) - set(half(names))
    }
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
        items[:] = [item for item in items if item.nodeid not in left_out]
