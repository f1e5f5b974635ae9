"""Times as people write them."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.errors import BadValue
from readroom.core.moments import as_iso, as_second, moment

NOW = datetime(2026, 11, 26, 11, 16, 7, 500_000, tzinfo=UTC)
NOW_US = int(NOW.timestamp() * 1_000_000)


def at(year: int, month: int, day: int, hour: int = 0) -> datetime:
    return datetime(year, month, day, hour, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("30s", NOW - timedelta(seconds=30)),
        ("10m", NOW - timedelta(minutes=10)),
        ("2h", NOW - timedelta(hours=2)),
        ("1.5 h", NOW - timedelta(minutes=90)),
        ("2h ago", NOW - timedelta(hours=2)),
        ("7d", NOW - timedelta(days=7)),
        ("2w", NOW - timedelta(days=14)),
        ("today", at(2026, 11, 26)),
        ("Yesterday", at(2026, 11, 25)),
        ("2026-01-31", at(2026, 1, 31)),
        (" 2026-01-31T12:00 ", at(2026, 1, 31, 12)),
        ("2026-01-31 12:00", at(2026, 1, 31, 12)),
        ("2026-01-31T12:00:00Z", at(2026, 1, 31, 12)),
        ("2026-01-31T12:00+02:00", at(2026, 1, 31, 10)),
    ],
)
def test_a_time_is_what_a_person_writes(text: str, meant: datetime) -> None:
    assert moment("since", text, now_us=NOW_US) == int(meant.timestamp() * 1_000_000)


@pytest.mark.parametrize(
    "text",
    ["", "soon", "10", "10y", "-2h", "2h2h", "99999999999d", "2026-13-01", "\u0662h", "x" * 10_000,
     "999999999w"],
)  # fmt: skip
def test_another_text_is_refused_with_what_is_understood(text: str) -> None:
    with pytest.raises(BadValue) as refused:
        moment("since", text, now_us=NOW_US)
    assert "Use 30m" in refused.value.advice
    assert len(str(refused.value)) < 400


@given(st.integers(0, 4_000_000_000_000_000))
def test_a_time_that_is_shown_is_read_as_the_same(time_us: int) -> None:
    assert moment("since", as_iso(time_us)) == time_us
    assert moment("since", as_second(time_us)) == time_us // 1_000_000 * 1_000_000


@given(st.text(max_size=60))
def test_no_text_is_anything_but_a_time_or_a_refusal(text: str) -> None:
    with suppress(BadValue):
        assert isinstance(moment("since", text), int)
