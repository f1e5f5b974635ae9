"""Lines that fit a pattern, found in blocks: the same numbers as line by line, and little kept."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.core.deadline import Deadline
from readroom.core.errors import Cancelled
from readroom.core.limits import BLOCK_BYTES
from readroom.core.text.output import Shape, lines_with, shapes
from tests.core.text.held import HeldBytes

PATTERN = r"(?m:^error\b|failed$)"


def numbers(data: bytes, pattern: str = PATTERN) -> list[int]:
    return [number for number, _ in lines_with(HeldBytes(data), pattern, Deadline())]


def expected(data: bytes) -> list[int]:
    lines = data.replace(b"\r\n", b"\n").split(b"\n")
    return [number for number, line in enumerate(lines, 1) if re.search(rb"^error\b|failed$", line)]


pieces = st.sampled_from([b"\n", b"error", b"failed", b" ", b"x", b"\xff", b"\xe2\x82", b"error: a failed\n"])


@given(st.lists(pieces, max_size=60).map(b"".join))
def test_every_line_that_fits_is_found_once(data: bytes) -> None:
    assert numbers(data) == expected(data)


@settings(max_examples=7)
@given(st.integers(-30, 30), st.integers(-30, 30))
def test_a_block_border_hides_nothing(first: int, second: int) -> None:
    data = (
        b"x" * (BLOCK_BYTES + first) + b"\nerror one\n" + b"y\n" * (BLOCK_BYTES // 2 + second) + b"error two"
    )
    assert numbers(data) == expected(data)


def test_a_line_longer_than_blocks_is_one_line() -> None:
    data = b"error " * (BLOCK_BYTES // 2) + b"\nerror\n"
    assert numbers(data)[-1] == 2
    assert set(numbers(data)) == {1, 2}


@pytest.mark.parametrize(
    "line", [b"\x1b[1;31merror\x1b[0m: red", b"10%\rerror: x", b"\x1b[K\r\x1b[Kerror: x", b"it failed\r"]
)
def test_colours_and_redraws_hide_nothing(line: bytes) -> None:
    assert numbers(b"one\n" + line + b"\nthree\n") == [2]


def test_lines_are_given_from_their_beginning() -> None:
    found = list(lines_with(HeldBytes(b"a\n  an error here\nb\n"), "error", Deadline()))
    assert found == [(2, b"  an error here")]


def test_whoever_goes_away_ends_it() -> None:
    deadline = Deadline()
    deadline.cancel()
    with pytest.raises(Cancelled):
        list(lines_with(HeldBytes(b"error\n"), PATTERN, deadline))


def test_lines_that_differ_in_numbers_are_one_shape() -> None:
    lines = [(number, b"attempt %d of 9000 at 0x%x failed" % (number, number)) for number in range(1, 1001)]
    (shape,) = shapes(lines, 400)
    assert shape.count == 1000
    assert list(shape.numbers) == [1, 2, 3, 4, 5, 6, 999, 1000]


def test_nothing_and_something_are_two_shapes() -> None:
    assert len(shapes([(1, b"0 errors"), (2, b"3 errors"), (3, b"17 errors")], 400)) == 2


def test_the_first_and_the_last_shapes_are_kept() -> None:
    lines = [(number, b"x" * number) for number in range(1, 101)]
    assert [shape.numbers[0] for shape in shapes(lines, 10)] == [*range(1, 11), *range(91, 101)]


@given(st.lists(st.integers(1, 1_000_000), unique=True, max_size=40).map(sorted))
def test_a_shape_keeps_few_and_counts_all(given: list[int]) -> None:
    shape = Shape()
    for number in given:
        shape.add(number)
    assert shape.count == len(given)
    assert len(shape.numbers) <= 8
    assert list(shape.numbers) == sorted(set(shape.numbers) & set(given))
    assert not given or (shape.numbers[0], shape.numbers[-1]) == (given[0], given[-1])
