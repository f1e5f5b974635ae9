"""Why a text was not found: slips are named for what they are, else the most similar lines are shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.text.edits.suggest import CLOSEST_LINES, Closest, closest

CODE = "".join(
    f"def function_{number}(first, second):\n    result = first * {number} + second\n    return result\n\n"
    for number in range(200)
)


def why(old: str, new: str = "") -> Closest:
    assert old not in CODE
    return closest(CODE, old, new)


class TestSlips:
    def test_copied_line_numbers_are_named(self) -> None:
        found = why("5\tdef function_1(first, second):\n6\t    result = first * 1 + second")
        assert "line numbers" in found.hint
        assert (found.first, found.last) == (5, 6)

    @pytest.mark.parametrize("old", [r"second):\n    result = first * 7 +", "first * 7 + second\\n"])
    def test_copied_escapes_are_named(self, old: str) -> None:
        assert "backslashes" in why(old).hint
        assert why(old).first in (29, 30)

    def test_other_white_space_is_named(self) -> None:
        found = why("def function_3(first, second):\n\tresult = first * 3 + second")
        assert found.hint.startswith("It differs only in white space: line 2 of old_text is '\\tresult")
        assert "U+0020 instead of U+0009" in found.hint
        assert found.first == 13

    def test_blanks_inside_a_line_are_white_space_too(self) -> None:
        assert "only in white space" in why("first*3+second").hint

    def test_letters_of_one_character_or_two_are_named(self) -> None:
        one, two = "x = 'caf\u00e9'", "x = 'cafe\u0301'"
        for text, old, where in ((two, one, "the file"), (one, two, "old_text")):
            found = closest(f"first\n{text}\n", old, "x = 1")
            assert found.hint.endswith(f"{where} has '\u00e9' as two, \\u0065\\u0301.")
            assert (found.first, list(found.lines)) == (2, [text])

    def test_other_case_is_named(self) -> None:
        assert "upper and lower case" in why("DEF function_3(").hint

    def test_an_edit_that_was_made_is_named(self) -> None:
        found = closest(CODE, "    return something_else()", "    result = first * 9 + second\n")
        assert "may have been made" in found.hint
        assert found.first == 38

    def test_bytes_that_are_not_characters_are_named(self) -> None:
        found = closest("caf\udce9 = 1\n", "caf\ufffd = 1", "x")
        assert "not characters" in found.hint
        assert list(found.lines) == ["caf\ufffd = 1"]


class TestMostAlike:
    def test_the_line_that_differs_is_shown_beside_that_of_the_file(self) -> None:
        found = why("def function_42(first, second):\n    result = first * 42 - second\n    return result")
        assert (found.first, found.last) == (169, 171)
        assert "line 2 of old_text is '    result = first * 42 - second'" in found.hint
        assert "the file has '    result = first * 42 + second'" in found.hint

    def test_characters_that_look_alike_are_named_by_number(self) -> None:
        found = closest("say('hello, world')\nmore\n", "say(’hello, world’)\nmore", "")
        assert "line 1, column 5" in found.hint
        assert "(U+0027), old_text U+2019 (right single quotation mark)." in found.hint

    def test_nothing_alike_is_said_so(self) -> None:
        found = why("SELECT * FROM customers WHERE id IN (SELECT 1)")
        assert found.first is None
        assert found.shown == ""

    def test_long_places_are_cut(self) -> None:
        old = CODE[:4000].replace("return result", "return outcome", 1)
        found = why(old)
        assert found.first == 1
        assert found.shown.count("\n") == CLOSEST_LINES
        assert found.shown.endswith("more lines")


@given(
    st.text(alphabet="ab \n\t\\n1é", max_size=60), st.text(alphabet="ab \n\t\\n1é", min_size=1, max_size=20)
)
def test_every_place_that_is_shown_is_in_the_file(text: str, old: str) -> None:
    found = closest(text, old, "b")
    assert found.hint.endswith(".")
    if found.first is not None:
        assert list(found.lines) == text.split("\n")[found.first - 1 : found.last]
