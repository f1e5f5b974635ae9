"""No caller has all threads, everybody gets a turn, and all work is done once."""

from __future__ import annotations

import threading
from contextlib import closing

from hypothesis import given
from hypothesis import strategies as st

from readroom.faces.turns import Turns, shared

END_S = 60


def test_who_asks_for_what_takes_long_leaves_threads_to_others() -> None:
    over, begun = threading.Event(), threading.Semaphore(0)

    def long() -> None:
        begun.release()
        assert over.wait(END_S)

    with closing(Turns(8)) as turns:
        try:
            for _ in range(100):
                turns.submit("greedy", long)
            for _ in range(6):
                assert begun.acquire(timeout=END_S)
            for _ in range(20):
                done = threading.Event()
                turns.submit("other", done.set)
                assert done.wait(END_S)
            assert not begun.acquire(blocking=False)
        finally:
            over.set()
        for _ in range(94):
            assert begun.acquire(timeout=END_S)


def test_where_callers_have_no_names_all_threads_work() -> None:
    together = threading.Barrier(9)

    def meet() -> None:
        together.wait(END_S)

    with closing(Turns(8)) as turns:
        for _ in range(8):
            turns.submit("", meet)
        together.wait(END_S)


def test_those_who_wait_take_turns() -> None:
    """A third caller waits for one piece of work of each of the others, not for all that came before."""
    order: list[str] = []
    begun, over, last = threading.Event(), threading.Event(), threading.Event()

    def first() -> None:
        begun.set()
        assert over.wait(END_S)

    with closing(Turns(1)) as turns:
        turns.submit("a", first)
        assert begun.wait(END_S)
        for name, number in (("a", 3), ("b", 2), ("c", 1)):
            for _ in range(number):
                turns.submit(name, lambda name=name: order.append(name))  # type: ignore[misc]
        turns.submit("a", last.set)
        over.set()
        assert last.wait(END_S)
    assert order == ["a", "b", "c", "a", "b", "a"]


def test_work_that_fails_takes_no_thread_with_it() -> None:
    def fails() -> None:
        raise ValueError

    with closing(Turns(1)) as turns:
        for _ in range(3):
            turns.submit("a", fails)
        done = threading.Event()
        turns.submit("a", done.set)
        assert done.wait(END_S)


@given(st.integers(1, 9), st.lists(st.sampled_from("abc"), max_size=60))
def test_all_work_is_done_once_and_nobody_has_more_than_a_share(threads: int, callers: list[str]) -> None:
    lock, running, most = threading.Lock(), dict.fromkeys("abc", 0), dict.fromkeys("abc", 0)
    done = threading.Semaphore(0)
    counts = dict.fromkeys("abc", 0)

    def work(caller: str) -> None:
        with lock:
            running[caller] += 1
            most[caller] = max(most[caller], running[caller])
        with lock:
            running[caller] -= 1
            counts[caller] += 1
        done.release()

    with closing(Turns(threads)) as turns:
        for caller in callers:
            turns.submit(caller, lambda caller=caller: work(caller))  # type: ignore[misc]
        for _ in callers:
            assert done.acquire(timeout=END_S)
        assert max(most.values()) <= shared(threads) <= threads
    assert counts == {caller: callers.count(caller) for caller in "abc"}
