"""No token has all threads, each gets a turn, all work is done once, and nothing begins after the end."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.deadline import Deadline
from readroom.mcp.calls import Calls, Failed, share

END_S = 60


def nothing(_result: object) -> None:
    pass


def test_a_token_with_long_calls_leaves_threads_to_others() -> None:
    over, begun = threading.Event(), threading.Semaphore(0)

    def long() -> None:
        begun.release()
        assert over.wait(END_S)

    with closing(Calls(threads=8, queue=200)) as calls:
        try:
            for _ in range(100):
                assert calls.start("greedy", long, nothing)
            for _ in range(6):
                assert begun.acquire(timeout=END_S)
            for _ in range(20):
                done = threading.Event()
                assert calls.start("other", done.set, nothing)
                assert done.wait(END_S)
            assert not begun.acquire(blocking=False)
        finally:
            over.set()
        for _ in range(94):
            assert begun.acquire(timeout=END_S)


def test_all_threads_work_for_callers_without_a_token() -> None:
    together = threading.Barrier(9)
    with closing(Calls(threads=8)) as calls:
        for _ in range(8):
            calls.start("", lambda: together.wait(END_S), nothing)
        together.wait(END_S)


def test_tokens_that_wait_take_turns() -> None:
    """A third one waits for one call of each of the others, not for all that came before."""
    order: list[str] = []
    begun, over, last = threading.Event(), threading.Event(), threading.Event()

    def first() -> None:
        begun.set()
        assert over.wait(END_S)

    with closing(Calls(threads=1)) as calls:
        calls.start("a", first, nothing)
        assert begun.wait(END_S)
        for name, number in (("a", 3), ("b", 2), ("c", 1)):
            for _ in range(number):
                calls.start(name, lambda name=name: order.append(name), nothing)  # type: ignore[misc]
        calls.start("a", last.set, nothing)
        over.set()
        assert last.wait(END_S)
    assert order == ["a", "b", "c", "a", "b", "a"]


def test_one_token_has_a_share_of_the_places() -> None:
    over = threading.Event()
    with closing(Calls(threads=4, queue=4)) as calls:
        try:
            assert [calls.start("a", lambda: over.wait(END_S), nothing) for _ in range(8)].count(True) == 6
            assert [calls.start("b", lambda: over.wait(END_S), nothing) for _ in range(3)].count(True) == 2
        finally:
            over.set()


def test_work_that_fails_takes_no_thread_with_it(caplog: pytest.LogCaptureFixture) -> None:
    results: list[object] = []
    done = threading.Event()
    with closing(Calls(threads=1)) as calls:
        calls.start("a", lambda: [][0], results.append)
        calls.start("a", lambda: None, lambda _: [][0])
        calls.start("a", done.set, nothing)
        assert done.wait(END_S)
    assert isinstance(results[0], Failed)
    assert "could not be made" in caplog.text
    assert "could not be sent" in caplog.text


@given(st.integers(1, 9), st.lists(st.sampled_from("abc"), max_size=60))
def test_all_work_is_done_once_and_nobody_has_more_than_a_share(threads: int, tokens: list[str]) -> None:
    lock, running, most = threading.Lock(), dict.fromkeys("abc", 0), dict.fromkeys("abc", 0)
    done = threading.Semaphore(0)
    counts = dict.fromkeys("abc", 0)

    def work(token: str) -> None:
        with lock:
            running[token] += 1
            most[token] = max(most[token], running[token])
        with lock:
            running[token] -= 1
            counts[token] += 1

    with closing(Calls(threads=threads, queue=100)) as calls:
        for token in tokens:
            calls.start(token, lambda token=token: work(token), lambda _: done.release())  # type: ignore[misc]
        for _ in tokens:
            assert done.acquire(timeout=END_S)
        assert max(most.values()) <= share(threads) <= threads
        assert calls.open == 0
    assert counts == {token: tokens.count(token) for token in "abc"}


def test_calls_that_come_one_by_one_are_done_by_one_thread_in_order() -> None:
    done: list[tuple[int, int]] = []
    with closing(Calls()) as calls:
        for number in range(200):
            over = threading.Event()

            def work(number: int = number) -> None:
                done.append((number, threading.get_ident()))

            calls.start("", work, lambda _, over=over: over.set())  # type: ignore[misc]
            assert over.wait(END_S)
    assert [number for number, _ in done] == list(range(200))
    assert len({thread for _, thread in done}) == 1


_WITHOUT_ROOM = """
import resource, threading
from readroom.mcp.calls import Calls

begun, over, last = threading.Event(), threading.Event(), threading.Event()
calls = Calls()
calls.start("", lambda: (begun.set(), over.wait()), lambda _: None)
begun.wait()
with open("/proc/self/statm") as file:
    pages = int(file.read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 1_000_000,) * 2)  # no stack fits
calls.start("", last.set, lambda _: None)
over.set()
last.wait()
calls.close()
print("done")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="room for threads is bounded in Linux' way")
def test_work_waits_for_the_threads_that_there_are_when_the_system_gives_no_more() -> None:
    """As in a container that bounds its processes: a server would end, and what ran in it with it."""
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_ROOM], capture_output=True, timeout=END_S, check=False
    )
    assert (done.stdout, done.stderr) == (b"done\n", b"")


def test_the_end_cancels_and_waits_for_running_work_and_begins_nothing_more() -> None:
    begun, over, late = threading.Event(), threading.Event(), threading.Event()
    running, waiting, after = Deadline(), Deadline(), Deadline()
    ended: list[bool] = []

    def work() -> None:
        begun.set()
        assert over.wait(END_S)
        ended.append(True)

    calls = Calls(threads=1)
    calls.start("", work, nothing, running)
    assert begun.wait(END_S)
    calls.start("", late.set, nothing, waiting)
    closing_it = threading.Thread(target=calls.close)
    closing_it.start()
    assert not ended
    over.set()
    closing_it.join(END_S)
    assert ended == [True]
    calls.start("", late.set, nothing, after)
    assert running.cancelled
    assert waiting.cancelled
    assert after.cancelled
    assert not late.is_set()
