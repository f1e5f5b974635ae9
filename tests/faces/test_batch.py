"""Calls of one turn of the event loop are performed together, and nobody waits for what takes long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from readroom.faces.batch import MOST_S, Batch
from readroom.faces.turns import Turns

END_S = 60


class Books:
    """Calls that note what became of them, and when their rows were written."""

    def __init__(self, batch: Batch, turns: Turns) -> None:
        self.batch, self.turns = batch, turns
        self.threads: set[int] = set()
        self.events: list[str] = []
        self.here: set[bool] = set()
        self.done = threading.Semaphore(0)

    def call(self, caller: str, name: str, wait: Callable[[], object] | None = None) -> None:
        """One that writes a row, and is answered when that is written."""

        def work() -> None:
            self.threads.add(threading.get_ident())
            if wait is not None:
                wait()
            self.events.append(f"performed {name}")
            self.batch.hold(written)

        def written(here: bool) -> None:
            self.events.append(f"written {name}")
            self.here.add(here)
            self.batch.answer(answered, name)

        def answered(name: str) -> None:
            self.events.append(f"answered {name}")
            self.done.release()

        self.turns.submit(caller, partial(self.batch.perform, work), wake=self.batch.add())


@given(st.lists(st.sampled_from(["", "a", "b"]), min_size=1, max_size=30), st.integers(1, 8))
def test_every_call_of_a_turn_is_answered_once_and_after_its_row(callers: list[str], threads: int) -> None:
    batch = Batch()
    with closing(Turns(threads)) as turns:
        books = Books(batch, turns)
        for number, caller in enumerate(callers):
            books.call(caller, str(number))
        if not batch.wait():  # the machine is busy
            turns.widen()
        for _ in callers:
            assert books.done.acquire(timeout=END_S)
    for number in range(len(callers)):
        steps = [event.partition(" ")[0] for event in books.events if event.endswith(f" {number}")]
        assert steps == ["performed", "written", "answered"]


def test_rows_are_written_together() -> None:
    batch, go = Batch(), threading.Event()
    with closing(Turns(8)) as turns:
        books = Books(batch, turns)
        books.call("", "a", lambda: go.wait(END_S))
        for name in "bcd":
            books.call("", name)
        go.set()
        if batch.wait():
            assert [event.split()[0] for event in books.events[:4]] == ["performed"] * 4
            assert len(books.threads) == 1
            assert books.here == {True}, "by the thread that has performed them"
        else:  # the machine is busy
            turns.widen()
        for _ in "abcd":
            assert books.done.acquire(timeout=END_S)


def test_nobody_waits_behind_what_takes_long() -> None:
    batch, over = Batch(), threading.Event()
    with closing(Turns(8)) as turns:
        books = Books(batch, turns)
        try:
            books.call("", "first")
            books.call("", "long", lambda: over.wait(END_S))
            for name in "abc":
                books.call("", name)
            begun = time.monotonic()
            assert not batch.wait()
            assert time.monotonic() - begun < MOST_S + END_S / 2
            turns.widen()
            for _ in range(4):
                assert books.done.acquire(timeout=END_S), "the others, and their rows, are done"
            assert "answered first" in books.events
            assert "performed long" not in books.events
        finally:
            over.set()
        assert books.done.acquire(timeout=END_S)


def test_a_call_whose_work_fails_holds_up_no_rows() -> None:
    batch = Batch()
    with closing(Turns(1)) as turns:
        books = Books(batch, turns)
        books.call("", "a")

        def fails() -> None:
            raise ValueError

        books.call("", "b", fails)
        batch.wait()
        assert books.done.acquire(timeout=END_S)
        assert "answered a" in books.events


def test_what_writes_for_many_calls_is_called_once() -> None:
    batch, go, performed, writes = Batch(), threading.Event(), threading.Semaphore(0), list[bool]()

    def work() -> None:
        assert go.wait(END_S)
        batch.hold(writes.append)
        performed.release()

    with closing(Turns(8)) as turns:
        for _ in range(8):
            turns.submit("", partial(batch.perform, work), wake=batch.add())
        go.set()
        for _ in range(8):
            assert performed.acquire(timeout=END_S)
    assert writes == [True]


def test_a_turn_without_a_call_is_not_waited_for() -> None:
    assert Batch().wait()
