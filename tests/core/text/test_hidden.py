"""Hidden characters are reported with their place, and nothing else is."""

from __future__ import annotations

import re
import sysconfig
import unicodedata
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from readroom.core.text.encodings import BROKEN_UNIT, UTF8, decode
from readroom.core.text.hidden import CODES, MORE, scan
from readroom.core.values import Warn
from tests.each import each


@each(
    ("char", "code", "detail"),
    [
        ("\u202e", "bidi_control", "U+202E RIGHT-TO-LEFT OVERRIDE"),
        ("\u2066", "bidi_control", "U+2066 LEFT-TO-RIGHT ISOLATE"),
        ("\u200f", "bidi_control", "U+200F RIGHT-TO-LEFT MARK"),
        ("\u061c", "bidi_control", "U+061C ARABIC LETTER MARK"),
        ("\u200b", "zero_width", "U+200B ZERO WIDTH SPACE"),
        ("\u200d", "zero_width", "U+200D ZERO WIDTH JOINER"),
        ("\ufeff", "zero_width", "U+FEFF ZERO WIDTH NO-BREAK SPACE"),
        ("\u00ad", "zero_width", "U+00AD SOFT HYPHEN"),
        ("\u3164", "invisible", "U+3164 HANGUL FILLER"),
        ("\U000e0041", "tag_character", "U+E0041 TAG LATIN CAPITAL LETTER A"),
        ("\U000e0100", "variation_selector", "U+E0100 VARIATION SELECTOR-17"),
        ("\udcff", "undecodable", "byte 0xFF"),
        ("\ud83d", "undecodable", "lone surrogate U+D83D"),
        (BROKEN_UNIT, "undecodable", "a broken UTF-16 or UTF-32 unit"),
        ("\r", "line_break", "U+000D CARRIAGE RETURN"),
        ("\u2028", "line_break", "U+2028 LINE SEPARATOR"),
        ("\x1b", "control_character", "U+001B ESCAPE"),
        ("\x00", "control_character", "U+0000 NULL, shown as ␀"),
        ("\x01", "control_character", "U+0001 CONTROL"),
        ("\x9b", "control_character", "U+009B CONTROL"),
    ],
)
def test_each_sort_is_named_with_line_and_column(char: str, code: str, detail: str) -> None:
    assert scan(["plain", "", f"ab{char}c"], 10, limit=20) == [Warn(code, detail, 12, 3)]


@each(
    "text",
    [
        "",
        "plain",
        "tab\there",
        "\fform feed",
        "\f",
        "é日本𝄞",
        "❤\ufe0f",
        "\u3000",
        "\xa0",
    ],
)
def test_ordinary_text_has_no_warnings(text: str) -> None:
    assert scan([text, "x", text], 1, limit=20) == []


def test_no_lines_have_no_warnings() -> None:
    assert scan([], 0, limit=20) == []


def test_same_characters_on_a_line_are_one_warning_that_counts() -> None:
    assert scan(["\x1b[31mred\x1b[0m \u200b"], 1, limit=20) == [
        Warn("control_character", "U+001B ESCAPE; 1 more on this line", 1, 1),
        Warn("zero_width", "U+200B ZERO WIDTH SPACE", 1, 14),
    ]


def test_columns_of_a_line_shown_from_its_middle_are_those_of_the_file() -> None:
    assert [warn.column for warn in scan(["a\u200b", "a\u200b"], 1, limit=20, first_column=2001)] == [2002, 2]


def test_beyond_the_limit_one_warning_counts_the_rest() -> None:
    warnings = scan(["\u200b"] * 25, 1, limit=20)
    assert [warn.line for warn in warnings] == [*range(1, 21), None]
    assert warnings[-1] == Warn(MORE, "5 more about hidden characters or tags in the lines shown")


def test_undecodable_bytes_of_a_file_are_found_where_they_stand() -> None:
    lines = decode(b"ok\n\xc3\xa4\xffx\n", UTF8).split("\n")
    assert scan(lines, 1, limit=20) == [Warn("undecodable", "byte 0xFF", 2, 2)]


@given(st.lists(st.text(st.characters(categories=None, exclude_characters="\n"), max_size=12), max_size=6))
def test_every_hidden_character_and_nothing_else_is_covered(lines: list[str]) -> None:
    """The slow way: each character by itself, but for the form feeds at the ends of a line."""
    hidden = re.compile("[" + "".join(chars for chars, _ in CODES.values()) + "]")
    inner = [line.removeprefix("\f").removesuffix("\f") for line in lines]
    expected = {number for number, line in enumerate(inner, 1) if any(map(hidden.fullmatch, line))}
    assert {warn.line for warn in scan(lines, 1, limit=1000)} == expected


def test_every_format_character_of_unicode_is_reported_or_known_to_be_seen() -> None:
    """Of Unicode's format characters, those of Arabic, Kaithi, Egyptian and shorthand are drawn."""
    hidden = re.compile("[" + "".join(chars for chars, _ in CODES.values()) + "]")
    left = [
        point
        for point in range(0x110000)
        if unicodedata.category(chr(point)) == "Cf" and not hidden.fullmatch(chr(point))
    ]
    assert all(
        0x600 <= point <= 0x8E2 or point in (0x110BD, 0x110CD) or 0x13430 <= point <= 0x1BCA3
        for point in left
    )


def test_the_standard_library_is_clean_but_for_its_own_samples() -> None:
    text = Path(sysconfig.get_path("stdlib"), "typing.py").read_text("utf-8")
    assert scan(text.split("\n"), 1, limit=20) == []
