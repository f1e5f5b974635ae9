"""Texts that take too much to be parsed whole: what their pieces define, at the places of the whole text."""

from __future__ import annotations

import itertools

import pytest

from readroom.core.deadline import Deadline
from readroom.core.errors import TimedOut
from readroom.core.outline import build
from readroom.core.outline.pieces import outline_in_pieces
from readroom.core.values.files import Outline, rows
from tests.core.outline.outlining import check
from tests.each import each

_C = "".join(
    f"/* Number {n}. */\nstatic int f{n}(int a)\n{{\n    if (a) {{\n        return {n};\n    }}\n\n"
    f"    return g(a);\n}}\n\n#define LIMIT_{n} {n}\n"
    for n in range(200)
)
_PYTHON = "".join(
    f"class A{n}:\n    x = {n}\n\n    def f(self):\n        return {n}\n\n\n" for n in range(200)
)


def _places(outline: Outline) -> list[tuple[str, int, int, int, bool]]:
    return [
        (row.name, row.item.start, row.item.line, row.item.end, row.item.certain)
        for row in rows(outline.items)
    ]


@each(("language", "text"), [("c", _C), ("python", _PYTHON)])
@each("chars", [700, 2_500, 1_000_000])
def test_pieces_have_what_the_whole_has(language: str, text: str, chars: int) -> None:
    outline = outline_in_pieces(text, language, Deadline(60), chars)
    assert _places(outline) == _places(build(text, language, Deadline(60)))
    assert outline.partial is not None
    assert "in pieces" in outline.partial


def test_errors_stand_at_their_lines() -> None:
    text = _C + "int broken(int a {\n" + _C
    outline = outline_in_pieces(text, "c", Deadline(60), 2_500)
    first = text[: text.index("int broken")].count("\n") + 1
    assert min(outline.errors)[0] >= first
    check(outline, text)


def test_without_time_for_all_the_first_pieces_are_outlined() -> None:
    """The clock counts how often it is asked, so that time is up at the same place on any machine."""
    text = _C * 3
    outline = outline_in_pieces(text, "c", Deadline(60, clock=itertools.count().__next__), 2_500)
    found = [row.item for row in rows(outline.items)]
    last = max(item.end for item in found)
    assert 20 < last < text.count("\n") / 2
    assert outline.partial is not None
    reached = int(outline.partial.partition("its first ")[2].partition(" ")[0].replace(",", ""))
    assert last <= reached < last + 20
    with pytest.raises(TimedOut):
        outline_in_pieces(text, "c", Deadline(1, clock=itertools.count().__next__), 2_500)


@pytest.mark.parametrize("text", ["", "int f(void);", "\n" * 10_000, "x" * 10_000, "{" * 300 + "\n" * 3_000])
def test_texts_without_places_to_part_them_end(text: str) -> None:
    check(outline_in_pieces(text, "c", Deadline(60), 1_000), text)
