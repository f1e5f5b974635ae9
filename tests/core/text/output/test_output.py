"""Which lines are chosen when not all can be, on streams that are lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from readroom.core.text.output import choose
from readroom.core.text.output.patterns import CAUSE, SUMMARY, WORD, LogPattern
from readroom.core.values.commands import OutputLine


@dataclass
class Lines:
    """A stream that is a list; None is a line that was drawn over."""

    rows: Sequence[str | None]
    told: Mapping[int, LogPattern] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return len(self.rows)

    def row(self, number: int) -> OutputLine | None:
        text = self.rows[number - 1]
        return None if text is None else OutputLine(number, text, total=len(text))

    def clues(self) -> Sequence[tuple[int, LogPattern]]:
        return sorted(self.told.items())


def cost(row: OutputLine) -> int:
    return len(row.text) + 1


def chosen(room: int, *streams: Lines, failed: bool = True) -> list[list[int]]:
    return [[row.number for row in rows] for rows in choose(streams, room, cost, failed=failed)]


def ten(count: int) -> list[str | None]:
    return ["x" * 9] * count


def test_what_fits_is_shown_whole() -> None:
    assert chosen(100, Lines(ten(10))) == [list(range(1, 11))]


def test_a_failed_command_shows_the_cause_with_what_explains_it() -> None:
    (rows,) = chosen(100, Lines(ten(1000), {500: LogPattern(CAUSE, 1, 2)}))
    assert {499, 500, 501, 502} <= set(rows)
    assert rows[-1] == 1000


def test_a_successful_command_shows_its_ends_only() -> None:
    (rows,) = chosen(100, Lines(ten(1000), {500: LogPattern(CAUSE, 1, 2)}), failed=False)
    assert rows == [1, 2, 3, *range(994, 1001)]


def test_the_cause_stands_before_what_follows_from_it() -> None:
    told = {number: LogPattern(SUMMARY) for number in range(1, 400)} | {500: LogPattern(CAUSE)}
    (rows,) = chosen(50, Lines(ten(1000), told))
    assert 500 in rows


def test_beside_a_cause_words_are_noise() -> None:
    told = {number: LogPattern(WORD) for number in range(1, 400)} | {500: LogPattern(CAUSE)}
    (rows,) = chosen(200, Lines(ten(1000), told))
    assert [row for row in rows if row < 500] == list(range(1, len([row for row in rows if row < 500]) + 1))


def test_of_equals_the_first_two_the_last_and_so_on() -> None:
    told = {number: LogPattern(CAUSE) for number in range(100, 200)}
    (rows,) = chosen(58, Lines(ten(1000), told))
    assert {100, 101, 199} <= set(rows)


def test_a_cause_longer_than_the_room_is_cut_and_says_so() -> None:
    rows: list[str | None] = [*ten(100), "y" * 500, *ten(100)]
    ((*_, row),) = [
        [row for row in found if row.text.startswith("y")]
        for found in choose([Lines(rows, {101: LogPattern(CAUSE)})], 100, cost, failed=True)
    ]
    assert row.left == 500 - len(row.text)
    assert row.left > 0


texts = st.none() | st.text("ab", max_size=30)
weights = st.builds(LogPattern, st.integers(1, 9), st.integers(0, 3), st.integers(0, 3))


@given(
    st.lists(
        st.builds(
            Lines, st.lists(texts, max_size=40), st.dictionaries(st.integers(1, 40), weights, max_size=10)
        ),
        min_size=1,
        max_size=3,
    ),
    st.integers(0, 400),
    st.booleans(),
)
def test_never_more_than_the_room_and_always_in_order(streams: list[Lines], room: int, failed: bool) -> None:
    for stream in streams:
        stream.told = {number: told for number, told in stream.told.items() if number <= stream.total}
    found = choose(streams, room, cost, failed=failed)
    assert sum(cost(row) for rows in found for row in rows) <= room
    for stream, rows in zip(streams, found, strict=True):
        numbers = [row.number for row in rows]
        assert numbers == sorted(set(numbers))
        for row in rows:
            text = stream.rows[row.number - 1]
            assert text is not None
            assert text.startswith(row.text)
            assert row.left == len(text) - len(row.text)
