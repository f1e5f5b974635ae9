"""Names of definitions: every form that people and models write, and what is none."""

from __future__ import annotations

from readroom.core.deadline import Deadline
from readroom.core.outline import build, look_up
from readroom.core.values.files import Item, Outline, rows
from tests.core.outline.outlining import SAMPLES, outline_of
from tests.each import each


def _lines(language: str, text: str, symbol: str) -> list[tuple[int, int]]:
    found = look_up(build(text, language, Deadline(60)), symbol).rows
    return [(row.item.start, row.item.end) for row in found]


@each("sample", SAMPLES, ids=[path.name for path in SAMPLES])
def test_every_definition_is_found_by_its_qualified_name(sample: object) -> None:
    outline = outline_of(sample)  # type: ignore[arg-type]  # pytest gives parameters no type
    for row in rows(outline.items):
        found = look_up(outline, row.name, row.item.start).rows
        assert [(one.item.start, one.item.end) for one in found] == [(row.item.start, row.item.end)], row.name


PYTHON = "class A:\n    def f(self): pass\n    class B:\n        def f(self): pass\ndef g(): pass\n"


@each("symbol", ["A.f", "A::f", "A#f", "A.f()", "A.f(self)", "a.b.A.f", " A.f "])
def test_forms_of_a_method(symbol: str) -> None:
    expected = [] if symbol.startswith("a.b") else [(2, 2)]
    assert _lines("python", PYTHON, symbol) == expected


def test_the_end_of_a_name_is_enough_when_it_is_unique() -> None:
    assert _lines("python", PYTHON, "B.f") == [(4, 4)]
    assert _lines("python", PYTHON, "g") == [(5, 5)]


def test_a_name_of_several_has_them_all() -> None:
    assert _lines("python", PYTHON, "f") == [(2, 2), (4, 4)]


def test_a_type_wins_over_the_blocks_that_implement_it() -> None:
    text = "struct A;\nimpl A { fn f() {} }\nimpl B for A { fn g() {} }\n"
    assert _lines("rust", text, "A") == [(1, 1)]
    assert _lines("rust", text, "A::g") == [(3, 3)]


def test_methods_of_go_belong_to_their_receiver() -> None:
    text = "package a\ntype T struct{}\nfunc (t *T) F() {}\nfunc (u U) F() {}\n"
    assert _lines("go", text, "T.F") == [(3, 3)]
    assert _lines("go", text, "(*T).F") == [(3, 3)]


def test_operators_are_names() -> None:
    text = "struct V { bool operator==(V o) { return true; } V operator->(); };\nV V::operator+(V o) {}\n"
    assert _lines("cpp", text, "V::operator==") == [(1, 1)]
    assert _lines("cpp", text, "operator->") == [(1, 1)]
    assert _lines("cpp", text, "V::operator+") == [(2, 2)]


def test_headings_are_found_in_any_case_and_with_their_marks() -> None:
    text = "# Guide: v1.2\n\ntext\n\n## How to  start\n\nmore\n"
    for symbol in ("Guide: v1.2", "guide: v1.2", "# Guide: v1.2"):
        assert _lines("markdown", text, symbol) == [(1, 7)]
    for symbol in ("How to  start", "## how to start"):
        assert _lines("markdown", text, symbol) == [(5, 7)]


def test_tables_of_toml_are_one_name() -> None:
    assert _lines("toml", "[tool.ruff]\na = 1\n[tool.ruff.lint]\nb = 2\n", "tool.ruff") == [(1, 2)]


def test_an_unknown_name_lists_near_ones_best_first() -> None:
    outline = build("def length(): pass\ndef width(): pass\n", "python", Deadline(60))
    assert [row.name for row in look_up(outline, "lenght").near] == ["length"]
    assert look_up(outline, "zzz").near == []


@each("symbol", ["", " ", ".", "::", "()", "#", "a" * 5000, "operator", "<", "\0", "((("])
def test_odd_names_find_nothing_and_do_not_fail(symbol: str) -> None:
    assert _lines("python", PYTHON, symbol) == []


def test_a_first_line_chooses_what_begins_there() -> None:
    """Ends that are not certain overlap, and then several definitions hold one line."""
    first, second = Item("function", "f", "f()", 13, 36, 13), Item("function", "f", "f(int)", 26, 30, 26)
    outline = Outline("cpp", (first, second))
    assert [row.item for row in look_up(outline, "f", 26).rows] == [second]
    assert [row.item for row in look_up(outline, "f", 13).rows] == [first]
    assert [row.item for row in look_up(outline, "f", 28).rows] == [first, second]
