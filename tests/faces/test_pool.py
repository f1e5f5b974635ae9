"""All work is done in order, by no more threads than were needed at once, and none is begun after the end."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import closing

import pytest

from readroom.faces.pool import Pool

END_S = 60


def test_work_that_comes_one_by_one_is_done_by_one_thread_in_order() -> None:
    done: list[tuple[int, int]] = []
    with closing(Pool("one")) as pool:
        for number in range(200):
            over = threading.Event()

            def work(number: int = number, over: threading.Event = over) -> None:
                done.append((number, threading.get_ident()))
                over.set()

            pool.submit(work, 1)
            assert over.wait(END_S)
    assert [number for number, _ in done] == list(range(200))
    assert len({thread for _, thread in done}) == 1


def test_what_is_begun_at_once_has_a_thread_each() -> None:
    together = threading.Barrier(6)

    def meet() -> None:
        together.wait(END_S)

    with closing(Pool("many")) as pool:
        for number in range(5):
            pool.submit(meet, number + 1)
        together.wait(END_S)


def test_work_that_fails_takes_no_thread_with_it(caplog: pytest.LogCaptureFixture) -> None:
    done = threading.Event()
    with closing(Pool("failing")) as pool:
        pool.submit(lambda: [][0], 1)
        pool.submit(done.set, 1)
        assert done.wait(END_S)
    assert "could not be done" in caplog.text


_WITHOUT_ROOM = """
import resource, threading
from readroom.faces.pool import Pool

begun, over, last = threading.Event(), threading.Event(), threading.Event()
pool = Pool("small")
pool.submit(lambda: (begun.set(), over.wait()), 1)
begun.wait()
with open("/proc/self/statm") as file:
    pages = int(file.read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 1_000_000,) * 2)  # no stack fits
pool.submit(last.set, 2)
over.set()
last.wait()
pool.close()
print("done")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="room for threads is bounded in Linux' way")
def test_work_waits_for_the_threads_that_there_are_when_the_system_gives_no_more() -> None:
    """As in a container that bounds its processes: a server would end, and what ran in it with it."""
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_ROOM], capture_output=True, timeout=END_S, check=False
    )
    assert (done.stdout, done.stderr) == (b"done\n", b"")


def test_the_end_waits_for_what_was_begun_and_begins_nothing_more() -> None:
    begun, over, late = threading.Event(), threading.Event(), threading.Event()
    ended: list[bool] = []

    def work() -> None:
        begun.set()
        assert over.wait(END_S)
        ended.append(True)

    pool = Pool("ending")
    pool.submit(work, 1)
    assert begun.wait(END_S)
    closing_it = threading.Thread(target=pool.close)
    closing_it.start()
    assert not ended
    over.set()
    closing_it.join(END_S)
    assert ended == [True]
    before = threading.active_count()
    pool.submit(late.set, 1)
    assert threading.active_count() == before
    assert not late.is_set()


def test_a_thread_knows_whether_it_is_one_of_them() -> None:
    said: list[bool] = []
    done = threading.Event()

    def work() -> None:
        said.append(pool.is_here)
        done.set()

    with closing(Pool("own")) as pool:
        pool.submit(work, 1)
        assert done.wait(END_S)
        assert not pool.is_here
    assert said == [True]
