"""Output as a person would have seen it, line by line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.text.output import folded, plain
from tests.each import each


@each(
    ("line", "expected"),
    [
        ("as it is\twith tabs", "as it is\twith tabs"),
        ("\x1b[1;31merror\x1b[0m: red", "error: red"),
        ("\x9b31mred\x9b0m", "red"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b(B\x1b7text\x1b8", "text"),
        ("\x1bPdevice control\x1b\\text", "text"),
        ("10%\r50%\r100%", "100%"),
        ("a long message\rshort", "shortg message"),
        ("a long message\r\x1b[Kshort", "short"),
        ("text\r", "text"),
        ("ab\b\bcd", "cd"),
        ("\b\bx", "x"),
        ("bell\x07 and null\0", "bell and null\u2400"),
    ],
)
def test_a_line_looks_as_it_finally_did(line: str, expected: str) -> None:
    assert plain(line) == expected


@pytest.mark.parametrize("line", ["\x1b]0;error: hidden", "\x1bPerror: hidden", "\x1b[", "\x1b"])
def test_an_unfinished_sequence_hides_no_text(line: str) -> None:
    assert plain(line) in (line[1:], line[2:])


def test_lines_that_a_later_one_was_drawn_over_are_gone() -> None:
    rows = [(1, "start"), (2, "10%"), (3, "20%"), (4, "\x1b[2A\x1b[Kdone"), (5, "end")]
    assert folded(rows) == [(1, "start"), (4, "done"), (5, "end")]


def test_a_redraw_of_more_lines_than_there_are_takes_all() -> None:
    assert folded([(1, "a"), (2, "\x1b[" + "9" * 5000 + "Ab")]) == [(2, "b")]


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=80))
def test_no_line_keeps_a_control_character(line: str) -> None:
    shown = plain(line)
    assert not any((ord(char) < 32 and char != "\t") or 0x7F <= ord(char) < 0xA0 for char in shown)
    assert plain(shown) == shown


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=80))
def test_a_line_without_controls_stays_as_it_is(line: str) -> None:
    assert plain(line) == line
