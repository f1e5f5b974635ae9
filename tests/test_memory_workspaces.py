"""Stores in memory beside a workspace: one for each key, bounded in number, given up when idle."""

from __future__ import annotations

import threading

import pytest

from readroom.core.closeable import Closeable
from readroom.core.errors import TooLarge
from readroom.core.session.instances import STORE_IDLE_S, STORES, Instances


class Held(Closeable):
    """Something that is kept."""

    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_one_key_has_one_store_and_others_have_their_own() -> None:
    kept = Instances[Held]()
    one = kept.of(("a",), Held)
    assert kept.of(("a",), Held) is one
    assert kept.of(("b",), Held) is not one
    kept.close()
    assert one.closed


def test_more_than_may_be_are_refused_while_all_are_in_use() -> None:
    kept = Instances[Held](clock=Clock())
    for number in range(STORES):
        kept.of((str(number),), Held)
    with pytest.raises(TooLarge):
        kept.of(("one more",), Held)
    assert not kept.of(("0",), Held).closed


def test_the_one_that_was_idle_for_longest_makes_room() -> None:
    clock = Clock()
    kept = Instances[Held](clock=clock)
    stores = []
    for number in range(STORES):
        stores.append(kept.of((str(number),), Held))
        clock.now += 1
    kept.of(("0",), Held)
    clock.now += STORE_IDLE_S
    kept.of(("one more",), Held)
    assert [number for number, one in enumerate(stores) if one.closed] == [1]


def test_threads_that_ask_at_once_get_the_same_store() -> None:
    kept, found = Instances[Held](), list[Held]()
    start = threading.Barrier(8)

    def ask() -> None:
        start.wait()
        found.append(kept.of(("a",), Held))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(set(map(id, found))) == 1
