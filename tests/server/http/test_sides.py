"""Two states side by side: nothing of either is lost, and every number is that of its line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from readroom.core.text.edits.diff import hunks, split
from readroom.core.values.changes import DiffStyle
from readroom.server.http.ui.sides import Side, SideRow, side_rows

WHOLE = DiffStyle(context=10_000, line_chars=10_000)
LINES = st.lists(st.sampled_from(["", "a", "ab", "abc", "x", "<b>", "  tab\t"]), max_size=12)


def rows_of(old: str, new: str, style: DiffStyle = WHOLE) -> list[SideRow]:
    return list(side_rows(hunks(split(old), split(new), style=style)))


def text_of(side: Side) -> str:
    return side.before + side.differs + side.after


@given(LINES, LINES, st.booleans(), st.booleans())
def test_each_side_is_its_text_with_its_numbers(
    old: list[str], new: list[str], old_ended: bool, new_ended: bool
) -> None:
    before = "\n".join(old) + ("\n" if old and old_ended else "")
    after = "\n".join(new) + ("\n" if new and new_ended else "")
    rows = rows_of(before, after)
    if before == after:
        assert rows == []
        return
    for sides, text in (([row.old for row in rows], before), ([row.new for row in rows], after)):
        there = [side for side in sides if side is not None]
        assert [side.number for side in there] == list(range(1, len(there) + 1))
        whole = "".join(text_of(side) + ("" if side.unended else "\n") for side in there)
        assert whole == text
    for row in rows:
        if row.kind == "same":
            assert row.old is not None
            assert row.new is not None
            assert text_of(row.old) == text_of(row.new)


@given(LINES, LINES, st.integers(0, 2))
def test_numbers_are_right_in_every_hunk(old: list[str], new: list[str], context: int) -> None:
    before, after = "".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new)
    for row in rows_of(before, after, DiffStyle(context, 10_000)):
        if row.old is not None:
            assert text_of(row.old) == old[row.old.number - 1]
        if row.new is not None:
            assert text_of(row.new) == new[row.new.number - 1]


def test_a_replaced_line_is_marked_where_it_differs() -> None:
    rows = rows_of("total = price * count\n", "total = price * number\n")
    assert rows[1:] == [
        SideRow(
            "changed",
            Side(1, "total = price * ", "count"),
            Side(1, "total = price * ", "number"),
        )
    ]
