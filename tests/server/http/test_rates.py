"""How often is too often, and when it no longer is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.errors import TooManyRequests
from readroom.server.http.rate_limit import OwnRates as Rates


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def accepted(rates: Rates, who: str = "a") -> bool:
    try:
        rates.address(who)
    except TooManyRequests:
        return False
    return True


@given(st.integers(1, 20), st.lists(st.floats(0, 40), max_size=100))
def test_never_more_than_twice_the_rate_in_a_minute_and_always_some(most: int, pauses: list[float]) -> None:
    """What the counts of two minutes can promise of any sixty seconds."""
    clock = Clock()
    rates = Rates(token=0, address=most, clock=clock)
    taken: list[float] = []
    for pause in pauses:
        clock.now += pause
        if accepted(rates):
            taken.append(clock.now)
        else:
            assert any(clock.now - one < 120 for one in taken)
        assert sum(clock.now - one < 60 for one in taken) <= 2 * most


@given(st.integers(1, 20), st.lists(st.floats(0, 40), min_size=1, max_size=60))
def test_after_the_time_that_a_refusal_names_a_request_is_accepted(most: int, pauses: list[float]) -> None:
    clock = Clock()
    rates = Rates(token=0, address=most, clock=clock)
    for pause in pauses:
        clock.now += pause
        wait = 0
        try:
            rates.address("a")
        except TooManyRequests as refused:
            wait = refused.retry_after_s
        assert 0 <= wait <= 120
        if wait:
            clock.now += wait
            rates.address("a")


def test_a_steady_client_gets_its_rate() -> None:
    clock = Clock()
    rates = Rates(token=0, address=60, clock=clock)
    taken = 0
    for _ in range(10 * 120):
        clock.now += 0.5
        taken += accepted(rates)
    assert 590 <= taken <= 660


def test_each_has_a_count_of_its_own() -> None:
    rates = Rates(token=1, address=1, failed=1, clock=Clock())
    rates.address("a")
    rates.address("b")
    rates.token("a")
    rates.failure("a")
    with pytest.raises(TooManyRequests):
        rates.token("a")


def test_none_is_no_limit() -> None:
    rates = Rates(token=0, address=0, clock=Clock())
    assert all(accepted(rates) for _ in range(1000))
