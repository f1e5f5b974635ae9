"""Shared by all tests: how hard the property tests search, and how many processes run what in which order."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

# The same examples in every run, wherever it is; `thorough` searches elsewhere each time.
settings.register_profile(
    "default",
    max_examples=20,
    derandomize=True,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=5000, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
if settings.get_current_profile_name() == "default":
    # It would also draw constants of the modules that are loaded, other ones in each worker.
    vars(providers)["_get_local_constants"] = Constants

# Servers that tests start record their calls; not in the ledger of whoever runs the tests.
STATE = os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="readroom-tests-state-")

# Whoever opens something closes it, in the programs that tests start, too.
os.environ.setdefault("PYTHONWARNINGS", "error::ResourceWarning")

# A shell starts what runs in the background with interrupts ignored, and whatever that starts inherits it.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def anyones() -> Iterator[Path]:
    """A folder that other users can enter; runs of pytest that begin close those of `tmp_path`."""
    with tempfile.TemporaryDirectory(prefix="readroom-anyones-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors, as some tests wait for a clock or for a server."""
    return (os.cpu_count() or 1) + 1


def pytest_unconfigure() -> None:
    shutil.rmtree(STATE, ignore_errors=True)


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
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long begins first, so that no process is left with it when the others are done."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
