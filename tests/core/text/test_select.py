"""Selection: what a page shows, where it is cut, and where it goes on."""

from __future__ import annotations

import pytest

from readroom.core.deadline import Deadline
from readroom.core.text.encodings import UTF8, Encoding, named
from readroom.core.text.line_index import Shrunk, build_index
from readroom.core.text.select import (
    Frame,
    IndexedText,
    Page,
    Text,
    WholeText,
    along,
    backward,
    byte_size,
    forward,
)
from readroom.core.values import Cut
from tests.core.text.held import HeldBytes
from tests.each import each


def numbered(number: int) -> int:
    """What the native contract adds: the number, a tab, a line feed."""
    return len(str(number)) + 2


def frame(room: int = 100_000, line_chars: int = 2000) -> Frame:
    return Frame(room, line_chars, numbered)


def indexed(
    data: bytes, encoding: Encoding = UTF8, line_chars: int = 2000, chunk_bytes: int = 64
) -> IndexedText:
    held = HeldBytes(data)
    index = build_index(held, encoding, Deadline())
    return IndexedText(held, index, line_chars, Deadline(), chunk_bytes)


def both(text: str, line_chars: int = 2000) -> list[Text]:
    return [WholeText(text), indexed(text.encode("utf-8", "surrogateescape"), line_chars=line_chars)]


def weight(page: Page) -> int:
    """Bytes of the page as it is rendered."""
    marks = [f" [+{cut.total - cut.last} chars]" for cut in page.cuts.values() if cut.last < cut.total]
    rows = (byte_size(line) + numbered(number) for number, line in enumerate(page.lines, page.start))
    return sum(rows) + sum(map(len, marks))


@pytest.mark.parametrize("text", both("one\ntwo\nthree"))
def test_a_page_that_fits_has_all_its_lines_and_no_next(text: Text) -> None:
    assert forward(text, 1, 3, frame()) == Page(1, ["one", "two", "three"])


@pytest.mark.parametrize("text", both("one\ntwo\nthree\n"))
def test_a_page_that_ends_at_its_limit_goes_on_at_the_next_line(text: Text) -> None:
    page = forward(text, 1, 2, frame())
    assert (page.lines, page.next_line, page.reason) == (["one", "two"], 3, "limit")


@pytest.mark.parametrize("text", both("one\ntwo\nthree\n"))
def test_a_page_that_is_full_goes_on_at_the_line_that_did_not_fit(text: Text) -> None:
    page = forward(text, 1, 3, frame(room=12))
    assert (page.lines, page.next_line, page.reason) == (["one", "two"], 3, "reply_cap")


@pytest.mark.parametrize("text", both("x" * 25 + "\nshort\n", line_chars=10))
def test_a_line_over_the_limit_is_cut_and_counted(text: Text) -> None:
    page = forward(text, 1, 2, frame(line_chars=10))
    assert page.lines == ["x" * 10, "short"]
    assert page.cuts == {1: Cut(1, 10, 25)}


@pytest.mark.parametrize("text", both("日" * 4000 + "\nafter\n", line_chars=4000))
def test_a_line_alone_too_large_is_cut_between_characters(text: Text) -> None:
    page = forward(text, 1, 2, frame(room=1000, line_chars=4000))
    shown = page.lines[0]
    assert shown == "日" * len(shown)
    assert page.cuts == {1: Cut(1, len(shown), 4000)}
    assert (page.next_line, page.reason) == (2, "reply_cap")
    assert 900 < weight(page) <= 1000


@pytest.mark.parametrize("text", both("é" * 10))
def test_a_page_shows_a_character_even_without_any_room(text: Text) -> None:
    assert forward(text, 1, 1, frame(room=-5)).lines == ["é"]
    page, total = along(text, 1, 1, 4, frame(room=0))
    assert (page.lines, page.next_column, total) == (["é"], 5, 10)


@pytest.mark.parametrize("text", both("\n".join(f"line {n}" for n in range(1, 101))))
def test_a_tail_ends_at_the_last_line_and_is_cut_at_its_head(text: Text) -> None:
    assert backward(text, 96, 100, frame()).lines == [f"line {n}" for n in range(96, 101)]
    page = backward(text, 1, 100, frame(room=40))
    assert page.lines == ["line 98", "line 99", "line 100"]
    assert (page.start, page.next_line, page.reason) == (98, 97, "reply_cap")
    assert weight(page) <= 40


@pytest.mark.parametrize("text", both("short\n" + "x" * 500))
def test_a_tail_whose_last_line_does_not_fit_shows_its_beginning(text: Text) -> None:
    page = backward(text, 1, 2, frame(room=100))
    assert page.start == 2
    assert page.cuts == {2: Cut(1, len(page.lines[0]), 500)}
    assert weight(page) <= 100


def test_a_tail_of_a_large_file_reads_only_its_end() -> None:
    data = b"".join(b"event %06d\n" % number for number in range(100_000))
    held = HeldBytes(data)
    text = IndexedText(held, build_index(held, UTF8, Deadline()), 2000, Deadline())
    held.reads.clear()
    page = backward(text, 1, 100_000, frame(room=1000))
    assert page.lines[-1] == "event 099999"
    assert held.bytes_read < len(data) // 2


@pytest.mark.parametrize("text", both("aé日𝄞" * 50 + "\nnext"))
def test_the_rest_of_a_line_is_shown_piece_by_piece(text: Text) -> None:
    column, pieces = 1, []
    while True:
        page, total = along(text, 1, 1, column, frame(room=90))
        assert total == 200
        assert weight(page) <= 90
        pieces.append(page.lines[0])
        assert page.cuts == {1: Cut(column, column + len(pieces[-1]) - 1, 200)}
        if page.next_line is None or page.next_column == 1:
            break
        assert page.next_line == 1
        column = page.next_column
    assert "".join(pieces) == "aé日𝄞" * 50
    assert len(pieces) > 3


@pytest.mark.parametrize("text", both("abc\n"))
def test_a_column_past_the_end_shows_nothing_and_tells_the_length(text: Text) -> None:
    page, total = along(text, 1, 1, 4, frame())
    assert (list(page.lines), total) == ([], 3)


@each("codec", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-be", "shift_jis", "gb18030"])
def test_pieces_of_a_very_long_line_join_in_every_encoding(codec: str) -> None:
    line = "漢字kanji" * 300
    text = indexed((line + "\nnext\n").encode(codec), named(codec), line_chars=20, chunk_bytes=100)
    first = forward(text, 1, 2, frame(line_chars=20))
    assert first.lines == [line[:20], "next"]
    shown, column = first.lines[0], 21
    while column <= len(line):
        page, total = along(text, 1, 1, column, frame(room=500))
        assert total == len(line)
        shown += page.lines[0]
        column += len(page.lines[0])
    assert shown == line


def test_a_later_piece_of_a_long_line_does_not_read_what_is_before_it() -> None:
    data = b"x" * 4_000_000
    held = HeldBytes(data)
    text = IndexedText(held, build_index(held, UTF8, Deadline()), 2000, Deadline())
    along(text, 1, 1, 2001, frame(30_000))
    held.reads.clear()
    page, _ = along(text, 1, 1, 3_900_001, frame(30_000))
    assert len(page.lines[0]) > 29_000
    assert held.bytes_read < 1_000_000


def test_a_byte_that_is_no_character_counts_one() -> None:
    for text in both("ab\udcff\udcfecd" * 30):
        page, total = along(text, 1, 1, 3, frame(room=50))
        assert total == 180
        assert page.lines[0][:4] == "\udcff\udcfecd"


def test_an_unfinished_last_line_keeps_its_carriage_return() -> None:
    for text in both("a\r\nb\r"):
        assert list(text.lines(1, 2)) == ["a", "b\r"]
        assert text.ends.form == "crlf"


def test_a_file_that_became_shorter_is_noticed() -> None:
    held = HeldBytes(b"line\n" * 100)
    index = build_index(held, UTF8, Deadline())
    text = IndexedText(HeldBytes(held.data, truncated_to=30), index, 2000, Deadline(), 16)
    with pytest.raises(Shrunk):
        list(text.lines(1, 100))


LINES = "\n".join(["a" * 30, "short", "b" * 25, "c" * 12, "end"])


@pytest.mark.parametrize("text", both(LINES, line_chars=10))
def test_the_rests_of_several_lines_fill_a_page(text: Text) -> None:
    page, total = along(text, 1, 4, 21, frame(line_chars=10))
    assert total == 30
    assert page.numbers == [1, 3, 4]
    assert page.lines == ["a" * 10, "b" * 15, "cc"]
    assert page.cuts == {1: Cut(21, 30, 30), 3: Cut(11, 25, 25), 4: Cut(11, 12, 12)}
    assert (page.next_line, page.next_column) == (5, 1)


@pytest.mark.parametrize("text", both(LINES, line_chars=10))
def test_the_rests_of_lines_above_begin_with_the_last(text: Text) -> None:
    page, total = along(text, 2, 4, 12, frame(line_chars=10), up=True)
    assert (total, page.numbers, page.lines) == (12, [3, 4], ["b" * 15, "c"])
    assert (page.next_line, page.next_column, page.until) == (1, 1, 2)


@pytest.mark.parametrize("up", [False, True])
@pytest.mark.parametrize("text", both("\n".join("x" * n for n in (40, 3, 95, 200, 11)), line_chars=10))
def test_following_rests_shows_each_character_once(text: Text, up: bool) -> None:
    lengths = {1: 40, 3: 95, 4: 200, 5: 11}
    shown = dict.fromkeys(lengths, 10)
    first, last, column = 1, 5, 11
    for _ in range(50):
        page, _ = along(text, first, last, column, frame(room=60, line_chars=10), up=up)
        assert weight(page) <= 60
        for number, line in zip(page.numbers, page.lines, strict=True):
            assert page.cuts[number].first == shown[number] + 1
            shown[number] += len(line)
        if page.next_column == 1:
            break
        assert page.next_line is not None
        column = page.next_column
        first, last = (first, page.next_line) if up else (page.next_line, last)
    assert shown == lengths
