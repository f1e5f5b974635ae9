"""Texts that are replaced where they stand, exactly or nearly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.text.edits.lenient import ManyPlaces, NoPlace, replaced
from tests.each import each


def change(text: str, old: str, new: str, *, every: bool = False) -> str:
    return replaced(text, old, new, every=every, named=3)[0]


@each(
    ("text", "old", "new", "expected"),
    [
        ("a b a", "b", "c", "a c a"),
        # Blanks at the ends of lines, and then on both sides, are no difference; the file keeps its own.
        ("a  \nb\t\nc", "a\nb", "a\nB", "a  \nB\t\nc"),
        ("x\n  a\n  b\n", "a\nb", "a\nB", "x\n  a\n  B\n"),
        # An exact place is taken before one that is nearly it.
        ("  a\na\n", "\na\n", "\nb\n", "  a\nb\n"),
        # Inserted lines stand at the level of their neighbours, in the file's style.
        (
            "\tif a:\n\t\tb()\n", "    if a:\n        b()\n",
            "    if a:\n        b()\n        if c:\n            d()\n",
            "\tif a:\n\t\tb()\n\t\tif c:\n\t\t\td()\n",
        ),
        (
            "  f {\n    a\n  }\n", "f {\n    a\n}", "f {\n    a\n    b\n}",
            "  f {\n    a\n    b\n  }\n",
        ),
        # Lines of one depth do not show how deep a level is; the rest of the file does.
        (
            "f:\n    if a:\n        b()\n", "\tb()", "\tb()\n\tif c:\n\t\td()",
            "f:\n    if a:\n        b()\n        if c:\n            d()\n",
        ),
        (
            "f {\n  g {\n    a\n  }\n}\n", "\ta\n", "\ta\n\th {\n\t\tb\n\t}\n",
            "f {\n  g {\n    a\n    h {\n      b\n    }\n  }\n}\n",
        ),
        # A file that only aligns says nothing.
        (
            "f:\n        b()\n         c\n", "\tb()", "\tb()\n\t\td()",
            "f:\n        b()\n                d()\n         c\n",
        ),
        # Where the caller changes an indent or a line end on purpose, the caller's stands.
        ("\ta\n\tb\n", "    a\n    b\n", "    a\n        b\n", "\ta\n        b\n"),
        ("foo\nline\nbar\n", "line\n", "LINE", "foo\nLINEbar\n"),
        ("a\r\nb\r\n", "a\r\nb\r\n", "a\nb\n", "a\nb\n"),
        # Otherwise line ends are those of the file.
        ("a\r\nb\r\nc\r\n", "a\nb\n", "A\nB\n", "A\r\nB\r\nc\r\n"),
        ("a\r\nb\r\n", "a", "x\ny", "x\r\ny\r\nb\r\n"),
        ("a\nb\n", "a", "x\r\ny", "x\ny\nb\n"),
        ("a\r\nb\r\nc\r\n", "b\n", "", "a\r\nc\r\n"),
        # No line end is added at the end of a file, and none is lost within.
        ("a\n  b", "a\nb", "a\nB", "a\n  B"),
        ("a\n  b", "a\nb\n", "a\nB\nc\n", "a\n  B\n  c"),
        ("  a\nb\n", "a \n", "A", "  A\nb\n"),
    ],
)  # fmt: skip
def test_a_text_is_replaced(text: str, old: str, new: str, expected: str) -> None:
    assert change(text, old, new) == expected


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("a\n\n\nb\n", "a\nb", "x"),  # blank lines count
        ("b\n", "a", "x"),
        ("a\nb\n", "a\r\nb\r\n", "a\nb\n"),  # line ends are to be changed that are not there
        ("  a\n", "a\n\n", "x"),
    ],
)
def test_what_is_not_there_is_not_replaced(text: str, old: str, new: str) -> None:
    with pytest.raises(NoPlace):
        change(text, old, new)


@pytest.mark.parametrize(
    ("text", "old", "lines"), [("a\nb\na\na a\n", "a", [1, 3, 4]), (" x \ny\n  x \n", "x\n", [1, 3])]
)
def test_several_places_are_refused_with_their_lines(text: str, old: str, lines: list[int]) -> None:
    with pytest.raises(ManyPlaces) as caught:
        change(text, old, "z")
    assert list(caught.value.lines) == lines
    assert caught.value.count >= len(lines)


def test_every_place_is_replaced_in_its_own_way() -> None:
    assert change("  a\n  b\ny\n\ta\n\tb\n", "a\nb\n", "a\nB\n", every=True) == "  a\n  B\ny\n\ta\n\tB\n"


_LINES = st.lists(st.sampled_from(["", "a", " a", "\ta  ", "b", "  b"]), max_size=6)
_END = st.sampled_from(["\n", "\r\n"])


@given(before=_LINES, after=_LINES, end=_END, final=st.booleans())
def test_what_is_not_matched_stays(before: list[str], after: list[str], end: str, final: bool) -> None:
    text = end.join([*before, "  target here  ", *after]) + (end if final else "")
    found = change(text, "target here\n" if after or final else "target here", "other\n")
    head, tail = end.join([*before, ""]), end.join(["", *after]) + (end if final else "")
    assert found.startswith(head)
    assert found.endswith(tail)
    assert found[len(head) : len(found) - len(tail)].strip() == "other"


@given(text=st.text("a b\t\r\n", max_size=20), old=st.text("a b\t\r\n", min_size=1, max_size=5))
def test_replacing_a_text_by_itself_changes_nothing(text: str, old: str) -> None:
    try:
        assert change(text, old, old, every=True) == text
    except NoPlace:
        assert old not in text
