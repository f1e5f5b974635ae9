"""The order of a dictionary, compared with what ICU gives for the root locale."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from readroom.core.text.collation import collation_key

SIGNS = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789aAbBcCdDeEfFgGhHiIjJkKlLmMnNoOpPqQrRsStTuUvVwWxXyYzZ"
NAMES = "_x .git 😀 € ½ a A á å Å a_b a-b a.b ab aB Ab ab1 ab10 ab2 b É f n ñ o st z Z \u03b1 \u0430 я あ 中"
"""As `localeCompare` of JavaScript sorts them."""


def test_signs_come_before_digits_before_letters_and_small_letters_before_capitals() -> None:
    mixed = random.Random(1).sample(SIGNS, len(SIGNS))
    assert "".join(sorted(mixed, key=collation_key)) == SIGNS


def test_accents_count_after_all_letters_and_case_after_all_accents() -> None:
    names = NAMES.split(" ")
    mixed = random.Random(2).sample(names, len(names))
    assert sorted(mixed, key=collation_key) == names


@given(st.text(max_size=6), st.text(max_size=6))
def test_only_equal_names_have_equal_keys(one: str, other: str) -> None:
    assert (collation_key(one) == collation_key(other)) is (one == other)


@given(st.text(st.characters(codec="utf-8"), max_size=6))
def test_names_with_odd_bytes_have_keys(name: str) -> None:
    assert collation_key(f"{name}\udcff") != collation_key(name)
