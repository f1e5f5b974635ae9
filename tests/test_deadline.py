"""Limits of time for parts of the work."""

from __future__ import annotations

import threading
import time

import pytest

from readroom.core.deadline import Deadline
from readroom.core.errors import Cancelled, TimedOut


def spend(seconds: float) -> None:
    """Use so much processor time of this thread."""
    began = time.thread_time()
    while time.thread_time() < began + seconds:
        pass


def test_a_limit_in_processor_time_of_a_thread_counts_its_own_work_alone() -> None:
    part = Deadline(60).of_thread(0.05)
    busy = threading.Thread(target=spend, args=(0.1,))
    busy.start()
    busy.join()
    part.check()
    spend(0.05)
    with pytest.raises(TimedOut):
        part.check()


def test_a_limit_in_processor_time_ends_with_the_one_it_is_part_of() -> None:
    with pytest.raises(TimedOut):
        Deadline(0).of_thread(60).check()
    whole = Deadline(60)
    part = whole.of_thread(60)
    whole.cancel()
    with pytest.raises(Cancelled):
        part.check()
