"""Expansions are made once, by one thread at a time, bounded, and leave nothing behind."""

from __future__ import annotations

import gc
import gzip
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from readroom.core.deadline import Deadline
from readroom.core.errors import Cancelled
from readroom.core.paths import WorkPath
from readroom.core.session.expansions import ExpandedSource, Expansions
from readroom.core.stores.memory import MemoryStore
from tests.core.session.logs import Watched, rows

TEXT = rows(1, 5000)
STORE = MemoryStore({f"{number}.log.gz": gzip.compress(TEXT, mtime=0) for number in range(4)})


def opened(cache: Expansions, name: str, deadline: Deadline | None = None) -> ExpandedSource:
    with STORE.open(WorkPath(name)) as source:
        return cache.opened(source, "gzip", 10**9, lambda head, whole: True, deadline or Deadline())


def test_calls_that_come_together_expand_once() -> None:
    cache = Expansions()
    watched = [Watched() for _ in range(6)]
    start = threading.Barrier(6)

    def call(one: Watched) -> bytes:
        start.wait()
        return opened(cache, "0.log.gz", one.deadline).read_at(0, len(TEXT))

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(call, watched)) == {TEXT}
    assert sum(bool(one.steps) for one in watched) == 1


@pytest.mark.parametrize("cache", [Expansions(max_bytes=2 * len(TEXT)), Expansions(max_files=2)])
def test_the_least_recently_used_leave_and_can_still_be_read_by_who_has_them(cache: Expansions) -> None:
    held = opened(cache, "0.log.gz")
    for name in ("1.log.gz", "2.log.gz"):
        opened(cache, name)
    assert held.read_at(0, 30) == TEXT[:30]
    for name, again in (("2.log.gz", False), ("1.log.gz", False), ("0.log.gz", True)):
        watched = Watched()
        opened(cache, name, watched.deadline)
        assert bool(watched.steps) is again


def test_a_cancelled_expansion_goes_on_with_the_next_call() -> None:
    store = MemoryStore({"a.gz": gzip.compress(os.urandom(400_000).hex().encode(), mtime=0)})
    cache = Expansions()

    def call(deadline: Deadline) -> ExpandedSource:
        with store.open(WorkPath("a.gz")) as source:
            return cache.opened(source, "gzip", 10**9, lambda head, whole: True, deadline)

    steps = 0

    def count(done: int, total: int | None, unit: str) -> None:
        nonlocal steps
        steps += 1
        if steps == 50:
            deadline.cancel()

    deadline = Deadline(progress=count)
    with pytest.raises(Cancelled):
        call(deadline)
    watched = Watched()
    assert call(watched.deadline).size == 800_000
    assert watched.steps[0][0] == 51 * 4096


def test_descriptors_are_released() -> None:
    gc.collect()
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    cache = Expansions()
    with opened(cache, "0.log.gz") as source:
        source.fileno()
    cache.close()
    del source
    gc.collect()
    assert (len(os.listdir("/proc/self/fd")) if before else 0) <= before


_SMALL_DISK = """
import resource, sys
from readroom.core.workspace import Workspace
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
with Workspace(sys.argv[1]) as space:
    print(space.read("a.log.gz", offset=1, limit=1).text)
"""


def test_a_disk_that_is_full_ends_the_expansion_not_the_read(tmp_path: Path) -> None:
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(TEXT, mtime=0))
    command = [sys.executable, "-c", _SMALL_DISK, str(tmp_path)]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    assert "1\tline 0000001 of a log" in said
    assert "bytes of the content were expanded: File too large" in said
    assert "of an unknown number" in said
