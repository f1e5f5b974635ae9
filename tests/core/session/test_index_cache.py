"""Indexes are continued when a file has grown, and forgotten when it has changed otherwise."""

from __future__ import annotations

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.core.deadline import Deadline
from readroom.core.errors import Cancelled
from readroom.core.limits import BLOCK_BYTES
from readroom.core.paths import WorkPath
from readroom.core.session.index_cache import IndexCache, Unfinished
from readroom.core.stores.memory import MemoryStore
from readroom.core.text.encodings import UTF8, Encoding
from readroom.core.text.line_index import (
    LineIndex,
    build_index,
    continued,
    index_of,
    still_there,
    whole_lines,
)
from tests.core.session.logs import Watched, built, facts, giant, rows
from tests.core.text.files import contents, encodings
from tests.core.text.held import HeldBytes

PATH = WorkPath("a.log")
OLD = rows(1, 60_000)


def indexed(
    cache: IndexCache, store: MemoryStore, deadline: Deadline | None = None, *, hashed: bool = False
) -> LineIndex:
    with store.open(PATH) as source:
        return cache.of(source, UTF8, deadline or Deadline(), hashed=hashed)


@given(st.data(), encodings(), st.sampled_from([4, 16, 64]))
def test_continuing_an_index_gives_what_counting_anew_gives(
    data: st.DataObject, encoding: Encoding, block_bytes: int
) -> None:
    """However a file is cut into what was there and what was appended."""
    whole = encoding.bom + data.draw(contents(encoding))
    cut = data.draw(st.integers(0, len(whole)))
    index = build_index(HeldBytes(whole[:cut]), encoding, Deadline(), block_bytes)
    work = continued(index, HeldBytes(whole))
    work.run(HeldBytes(whole), Deadline())
    anew = build_index(HeldBytes(whole), encoding, Deadline(), block_bytes)
    found = index_of(work)
    assert facts(found) == facts(anew)
    blocks = [whole[at : at + block_bytes] for at in range(0, len(whole), block_bytes)]
    assert [len(found.ascii_blocks), len(found.checks)] == [len(blocks)] * 2
    assert all(block.isascii() for block, mark in zip(blocks, found.ascii_blocks, strict=True) if mark)
    assert still_there(index, HeldBytes(whole), 3)


@given(st.data(), encodings(), st.sampled_from([4, 16, 64]))
@settings(max_examples=15)
def test_the_lines_that_have_an_end_are_those_of_the_file(
    data: st.DataObject, encoding: Encoding, block_bytes: int
) -> None:
    whole = encoding.bom + data.draw(contents(encoding))
    held = HeldBytes(whole)
    part = whole_lines(build_index(held, encoding, Deadline(), block_bytes), held)
    anew = build_index(HeldBytes(whole[: part.size]), encoding, Deadline(), block_bytes)
    assert part.total_lines == anew.total_lines
    assert [part.line_start(held, n + 1) for n in range(part.total_lines)] == [
        anew.line_start(held, n + 1) for n in range(anew.total_lines)
    ]
    assert still_there(part, held, 3)


@given(st.integers(0, 8 * 64 - 1))
@settings(max_examples=15)
def test_a_changed_byte_of_a_block_that_is_looked_at_is_seen(at: int) -> None:
    data = bytearray(rows(1, 1000)[: 8 * 64])
    index = build_index(HeldBytes(bytes(data)), UTF8, Deadline(), 64)
    data[at] ^= 1
    assert not still_there(index, HeldBytes(bytes(data)), 8)


def test_only_what_was_appended_is_counted() -> None:
    store, cache = MemoryStore({PATH: OLD}), IndexCache(giant())
    assert indexed(cache, store).sha256 == hashlib.sha256(OLD).hexdigest()
    store.put(PATH, OLD + rows(60_001, 60_002))
    watched = Watched()
    index = indexed(cache, store, watched.deadline)
    assert facts(index) == facts(built(OLD + rows(60_001, 60_002)))
    whole = len(OLD) // BLOCK_BYTES * BLOCK_BYTES
    assert watched.steps == [(index.size, index.size)]
    assert index.size - whole < BLOCK_BYTES * 2


def test_the_hash_of_a_log_that_has_grown_is_unknown_until_it_is_asked_for() -> None:
    """A look at some blocks does not prove the others."""
    store, cache = MemoryStore({PATH: OLD}), IndexCache(giant())
    indexed(cache, store)
    new = OLD + rows(60_001, 60_001)
    store.put(PATH, new)
    assert indexed(cache, store).sha256 == ""
    assert indexed(cache, store, hashed=True).sha256 == hashlib.sha256(new).hexdigest()
    assert indexed(cache, store).sha256 == hashlib.sha256(new).hexdigest()


@pytest.mark.parametrize(
    "new",
    [
        pytest.param(rows(1, 60_001, "LINE"), id="rewritten and larger"),
        pytest.param(b"first\n" + OLD, id="something put before it"),
        pytest.param(OLD[:-30] + b"X" * 100 + b"\n", id="its end rewritten"),
        pytest.param(rows(1, 60_000, "LINE"), id="rewritten at the same size"),
        pytest.param(OLD[: len(OLD) // 2], id="cut"),
    ],
)
def test_an_index_of_a_file_that_changed_otherwise_is_forgotten(new: bytes) -> None:
    store, cache = MemoryStore({PATH: OLD}), IndexCache(giant())
    indexed(cache, store)
    store.put(PATH, new)
    index = indexed(cache, store)
    assert facts(index) == facts(built(new))
    assert index.sha256 == hashlib.sha256(new).hexdigest()


def test_a_small_file_that_has_grown_is_counted_and_hashed_anew() -> None:
    store, cache = MemoryStore({PATH: OLD}), IndexCache()
    indexed(cache, store)
    store.put(PATH, OLD + b"more\n")
    assert indexed(cache, store).sha256 == hashlib.sha256(OLD + b"more\n").hexdigest()


def test_a_pass_that_is_out_of_time_goes_on_with_the_next_call() -> None:
    store, cache = MemoryStore({PATH: OLD * 3}), IndexCache()
    first = Watched(reports=2)
    with pytest.raises(Unfinished) as caught:
        indexed(cache, store, first.deadline)
    assert caught.value.counted == first.steps[-1][0] == 2 * 4 * BLOCK_BYTES
    assert caught.value.index.total_lines == (OLD * 3)[: caught.value.counted].count(b"\n")
    again = Watched()
    assert indexed(cache, store, again.deadline).sha256 == hashlib.sha256(OLD * 3).hexdigest()
    assert again.steps[0][0] > first.steps[-1][0]


def test_a_cancelled_pass_goes_on_with_the_next_call() -> None:
    store, cache = MemoryStore({PATH: OLD * 3}), IndexCache()
    deadline = Deadline(progress=lambda *step: deadline.cancel())
    with pytest.raises(Cancelled):
        indexed(cache, store, deadline)
    again = Watched()
    indexed(cache, store, again.deadline)
    assert again.steps[0][0] == 2 * 4 * BLOCK_BYTES


def test_a_pass_out_of_time_over_a_log_that_grows_meanwhile_goes_on_too() -> None:
    """A busy log would otherwise never be counted."""
    store, cache = MemoryStore({PATH: OLD * 3}), IndexCache(giant())
    with pytest.raises(Unfinished):
        indexed(cache, store, Watched(reports=2).deadline)
    new = OLD * 3 + b"more\n"
    store.put(PATH, new)
    again = Watched()
    index = indexed(cache, store, again.deadline)
    assert (facts(index), index.sha256) == (facts(built(new)), "")
    assert again.steps[0][0] > 2 * 4 * BLOCK_BYTES


def test_calls_that_come_together_make_one_pass() -> None:
    """Who waits long tells how far it is, too; the index is that of the one who made the pass."""
    store, cache = MemoryStore({PATH: OLD}), IndexCache()
    start = threading.Barrier(6)

    def call(_: int) -> LineIndex:
        start.wait()
        return indexed(cache, store)

    with ThreadPoolExecutor(6) as pool:
        first, *others = pool.map(call, range(6))
    assert [other is first for other in others] == [True] * 5


def test_the_least_recently_used_indexes_leave() -> None:
    store = MemoryStore({f"{number}.log": OLD for number in range(3)})
    one = built(OLD).memory_bytes
    cache = IndexCache(max_bytes=2 * one)
    for name in ("0.log", "1.log", "0.log", "2.log"):
        with store.open(WorkPath(name)) as source:
            cache.of(source, UTF8, Deadline())
    passed = []
    for name in ("0.log", "2.log", "1.log"):
        watched = Watched()
        with store.open(WorkPath(name)) as source:
            cache.of(source, UTF8, watched.deadline)
        passed.append(bool(watched.steps))
    assert passed == [False, False, True]
