"""The grammar of `pages`: what it means, what is refused, and that what is written means the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.documents.formats import Area, Unit
from readroom.documents.formats.page_ranges import MAX_CHARS, BadPages, Pick, parse, written
from tests.each import each

SHEETS = ("Sales", "Sheet2", "a, b", "2024", "It's")


@each(
    ("pages", "picks"),
    [
        ("3", [Pick(3, 3)]),
        ("3-5,9", [Pick(3, 5), Pick(9, 9)]),
        (" 3 - 5 , 9 ", [Pick(3, 5), Pick(9, 9)]),
        ("7-", [Pick(7, 12)]),
        ("page 3", [Pick(3, 3)]),
        ("Pages 3-4", [Pick(3, 4)]),
        ("p. 3", [Pick(3, 3)]),
        ("cell 7", [Pick(7, 7)]),
        ("9,3", [Pick(9, 9), Pick(3, 3)]),
        ("#3", [Pick(3, 3)]),
        ("contents", [Pick(0, 0)]),
        ("3,,4,", [Pick(3, 3), Pick(4, 4)]),
    ],
)
def test_parts_by_number(pages: str, picks: list[Pick]) -> None:
    assert parse(pages, Unit.PAGE, 12, ()) == picks


@each(
    ("pages", "picks"),
    [
        ("Sheet2", [Pick(2, 2)]),
        ("sheet2", [Pick(2, 2)]),
        ("sheet 2", [Pick(2, 2)]),
        ("2", [Pick(2, 2)]),
        ("2024", [Pick(4, 4)]),
        ("a, b", [Pick(3, 3)]),
        ("'a, b',1", [Pick(3, 3), Pick(1, 1)]),
        ("'It''s'!B2", [Pick(5, 5, Area(2, 2, 2, 2))]),
        ("Sheet2!A1:F200", [Pick(2, 2, Area(1, 200, 1, 6))]),
        ("2!A:C", [Pick(2, 2, Area(1, None, 1, 3))]),
        ("Sales!5:20", [Pick(1, 1, Area(5, 20))]),
        ("$A$1:$AA$9", [Pick(1, 1, Area(1, 9, 1, 27))]),
        ("Sales!b2:c3,Sheet2", [Pick(1, 1, Area(2, 3, 2, 3)), Pick(2, 2)]),
    ],
)
def test_sheets_by_name_and_their_cells(pages: str, picks: list[Pick]) -> None:
    assert parse(pages, Unit.SHEET, 5, SHEETS) == picks


@each(
    ("pages", "unit"),
    [
        ("0", Unit.PAGE), ("13", Unit.PAGE), ("5-3", Unit.PAGE), ("-3", Unit.PAGE), ("x", Unit.PAGE),
        ("", Unit.PAGE), (",", Unit.PAGE), ("1!A1", Unit.PAGE), ("1.5", Unit.PAGE), ("9" * 99, Unit.PAGE),
        ("Nope", Unit.SHEET), ("Sales!", Unit.SHEET), ("Sales!A", Unit.SHEET), ("Sales!A0:B2", Unit.SHEET),
        ("Sales!C1:A9", Unit.SHEET), ("Sales!9:1", Unit.SHEET), ("Sales!:", Unit.SHEET),
        ("#Sales", Unit.SHEET),
        ("1," * MAX_CHARS, Unit.PAGE), ("²", Unit.PAGE), ("\0", Unit.SHEET),
    ],
)  # fmt: skip
def test_what_means_nothing_is_refused(pages: str, unit: Unit) -> None:
    with pytest.raises(BadPages):
        parse(pages, unit, 12, SHEETS if unit is Unit.SHEET else ())


def test_a_refusal_names_the_nearest_parts_that_there_are() -> None:
    with pytest.raises(BadPages) as refused:
        parse("10-14", Unit.PAGE, 12, ())
    assert refused.value.near == "10-12"


_areas = st.builds(
    lambda row, rows, column, columns: Area(row, row + rows, column, column + columns),
    st.integers(1, 2000),
    st.integers(0, 999),
    st.integers(1, 800),
    st.integers(0, 99),
)
_picks = st.lists(
    st.one_of(
        st.builds(
            lambda first, more: Pick(first, min(first + more, 40)), st.integers(1, 40), st.integers(0, 9)
        ),
        st.builds(lambda number, area: Pick(number, number, area), st.integers(1, 40), _areas),
    ),
    min_size=1,
    max_size=6,
)


@given(picks=_picks, titles=st.lists(st.sampled_from(["", "1", "2-3", "Sheet1", "'", "a,b"]), max_size=40))
def test_what_is_written_means_the_same(picks: list[Pick], titles: list[str]) -> None:
    assert parse(written(picks, titles), Unit.SHEET, 40, titles) == picks


@given(pages=st.text(max_size=40), titles=st.lists(st.text(max_size=5), max_size=5))
def test_anything_is_parsed_or_refused(pages: str, titles: list[str]) -> None:
    try:
        picks = parse(pages, Unit.SHEET, len(titles), titles)
    except BadPages:
        return
    assert all(0 <= pick.first <= pick.last <= max(len(titles), 0) for pick in picks)
