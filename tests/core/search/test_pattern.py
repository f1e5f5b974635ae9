"""Which lines of a text match, what is text, and which words a pattern spells out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.deadline import Deadline
from readroom.core.errors import TimedOut
from readroom.core.search.pattern import Hit, Pattern, is_binary, with_lf, words
from readroom.core.text.encodings.detect import NUL_BYTES
from tests.each import each


def hits(pattern: str, text: bytes, **options: bool) -> list[Hit]:
    return list(Pattern(pattern, **options).hits(text, lambda: None))


def numbers(pattern: str, text: bytes, **options: bool) -> list[int]:
    return [hit.number for hit in hits(pattern, text, **options)]


def test_a_hit_says_where_its_line_and_the_first_match_in_it_are() -> None:
    assert hits("fo+", b"a\nxfoo fooo\n\nfo") == [Hit(2, 2, 1, 3), Hit(4, 13, 0, 2)]


@pytest.mark.parametrize(
    ("text", "expected"), [(b"", []), (b"\n", [1]), (b"a", [1]), (b"a\n", [1]), (b"a\n\n", [1, 2])]
)
def test_a_final_line_feed_adds_no_line(text: bytes, expected: list[int]) -> None:
    assert numbers("", text) == numbers("^", text) == numbers("$", text) == expected
    assert numbers("", text, multiline=True) == expected


@pytest.mark.parametrize("pattern", [r"a\s*b", "a[^x]*b", r"a\W+b", "(?s)a.b", r"a[\n ]b"])
def test_a_match_stays_in_its_line(pattern: str) -> None:
    assert numbers(pattern, b"a\nb\na b\n") == [3]


def test_a_pattern_that_reaches_far_is_no_slower_for_it() -> None:
    """Searched line by line from every place, this would look at 20,000 lines 20,000 times."""
    assert numbers("[^q]*q", b"xyz\n" * 20_000 + b"q\n") == [20_001]


def test_lines_that_a_match_spans_are_each_shown_once() -> None:
    text = b"a1\nb\nc a2\nb\nend\n"
    assert hits(r"a\d\nb", text, multiline=True) == [
        Hit(1, 0, 0, 4),
        Hit(2, 3, 0, 0),
        Hit(3, 5, 2, 4),
        Hit(4, 10, 0, 0),
    ]
    assert numbers(r"\d\n", text, multiline=True) == [1, 3]
    assert numbers("(?s)b.*end", text, multiline=True) == [2, 3, 4, 5]


@pytest.mark.parametrize("multiline", [False, True])
def test_one_cr_before_a_line_feed_belongs_to_the_line_end(multiline: bool) -> None:
    text = with_lf(b"foo\r\nfoo\nfoo \r\n", keep_cr=False)
    assert numbers("^foo$", text, multiline=multiline) == [1, 2]
    assert numbers(" $", text, multiline=multiline) == [3]
    assert numbers("o.$", text, multiline=multiline) == [1, 2, 3]


def test_a_lone_cr_is_a_character_that_re2_is_not_trusted_with() -> None:
    assert not Pattern("foo").decides(b"a\rfoo\n")
    assert Pattern("foo").decides(with_lf(b"a\r\nfoo\r\n", keep_cr=False))


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [("a.b", b"axb\na.b\n", [2]), ("(", b"(\n", [1]), ("É", "é\nÉ\n".encode(), [2]), ("", b"x\n", [1])],
)
def test_fixed_text_is_taken_as_it_is(pattern: str, text: bytes, found: list[int]) -> None:
    assert numbers(pattern, text, fixed=True) == found


def test_fixed_text_may_ignore_case_beyond_ascii() -> None:
    assert numbers("ÉCOLE", "école\n".encode(), fixed=True, ignore_case=True) == [1]


def test_fixed_text_with_a_line_end_needs_multiline() -> None:
    assert Pattern("a\nb", fixed=True).problem is not None
    assert numbers("a\nb", b"xa\nb\n", fixed=True, multiline=True) == [1, 2]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbffoo", b"foo"),
        (b"a\r\r\nb\r", b"a\r\nb\r"),
        (b"\xe9\r\n", b"\xe9\n"),
    ],
)
def test_text_is_utf8_without_its_mark_and_lines_end_with_lf(data: bytes, text: bytes) -> None:
    assert with_lf(data, keep_cr=False) == text


@each(
    ("pattern", "asks"),
    [("\r\n", True), (r"a\r?\n", True), (r"\x0D", True), (r"\u{d}", True), (r"\\r", False), (r"\n", False)],
)
def test_a_pattern_that_names_a_cr_is_searched_in_text_that_keeps_it(pattern: str, asks: bool) -> None:
    assert Pattern(pattern, multiline=True).keeps_cr is asks
    assert not Pattern(r"\n", fixed=True, multiline=True).keeps_cr


def test_a_nul_makes_a_file_binary_only_near_its_beginning() -> None:
    assert is_binary(b"x" * (NUL_BYTES - 1) + b"\0")
    assert not is_binary(b"x" * NUL_BYTES + b"\0")


@pytest.mark.parametrize("multiline", [False, True])
def test_a_deadline_ends_a_search_in_a_text_of_nothing_but_matches(multiline: bool) -> None:
    ticks = iter(range(10**9))
    deadline = Deadline(2.5, clock=lambda: float(next(ticks)))
    found = Pattern("", multiline=multiline).hits(b"x\n" * 10_000, deadline.check)
    with pytest.raises(TimedOut):
        list(found)


@pytest.mark.parametrize(
    ("pattern", "fixed", "expected"),
    [
        ("connection  Timed-out", True, ("connection", "Timed", "out")),
        (r"foo\s+(bar|BAZ)\b", False, ("foo", "bar", "BAZ")),
        (r"\w+\p{Greek}é+", False, ("é",)),
        ("a a A", True, ("a", "A")),
        ("(.*)", False, ()),
    ],
)
def test_words_are_what_a_pattern_spells_out(pattern: str, fixed: bool, expected: tuple[str, ...]) -> None:
    assert words(pattern, fixed=fixed) == expected


_FEW = st.sampled_from([b"a", b"ab", b" ", b"\n", b"\xc3\xa4", b"\xa4", b"\xff", b"<", b"/"])
_LITERAL = st.text(st.sampled_from("ab </"), min_size=1, max_size=4)


@given(_LITERAL, st.lists(_FEW, max_size=40).map(b"".join), st.booleans())
def test_a_text_is_found_as_the_pattern_that_means_it(literal: str, text: bytes, fixed: bool) -> None:
    assert hits(literal, text, fixed=fixed) == hits(f"(?:{literal})", text)
    assert hits(literal + "ä", text, fixed=True) == hits(f"(?:{literal}ä)", text)


@each("text", ["a.c", "a+", "(a)", "[a]", "a|c", "^a", "a$", "a{1}", "#a", "a-c"])
def test_a_pattern_with_a_meaning_is_no_text(text: str) -> None:
    data = b"abc\nac\naa\na\n" + text.encode()
    assert hits(text, data) == hits(f"(?:{text})", data)
