"""The block index: any line of any file, in any encoding, wherever the blocks fall."""

from __future__ import annotations

import hashlib
import random

import pytest

from readroom.core.deadline import Deadline
from readroom.core.errors import Cancelled, TimedOut
from readroom.core.limits import BLOCK_BYTES
from readroom.core.text.encodings import UTF8, Encoding, chars, decode, named
from readroom.core.text.line_index import (
    Counter,
    LineIndex,
    Pass,
    Shrunk,
    build_index,
    last_newline,
    measure_columns,
    nth_newline,
)
from readroom.core.values.files import Newline
from tests.core.text.held import HeldBytes
from tests.each import each

UTF16 = named("utf-16-le")
UTF16_BE = named("utf-16-be")
UTF32 = named("utf-32-le")
SHIFT_JIS = named("shift_jis")

every_encoding = pytest.mark.parametrize(
    "encoding", [UTF8, UTF16, UTF16_BE, UTF32, SHIFT_JIS, named("latin-1")], ids=lambda e: e.name
)
every_block = pytest.mark.parametrize("block_bytes", [4, 8, 12, 64, BLOCK_BYTES])


def index_of(data: bytes, encoding: Encoding = UTF8, block_bytes: int = BLOCK_BYTES) -> LineIndex:
    return build_index(HeldBytes(data), encoding, Deadline(), block_bytes)


def lines_of(data: bytes, encoding: Encoding = UTF8, block_bytes: int = BLOCK_BYTES) -> list[str]:
    """Every line by its own look-up."""
    held = HeldBytes(data)
    index = build_index(held, encoding, Deadline(), block_bytes)
    found = []
    for number in range(1, index.total_lines + 1):
        start = index.line_start(held, number)
        end, following = index.line_end(held, start)
        found.append(decode(data[start:end], encoding))
        if number < index.total_lines:
            assert following == index.line_start(held, number + 1)
        else:
            assert following == len(data)
    return found


@every_encoding
@every_block
def test_every_line_is_found_wherever_blocks_end(encoding: Encoding, block_bytes: int) -> None:
    text = "one\n\nthree\r\n" + "x" * 40 + "\n\r\nfive\rstill\n" + "last"
    wanted = ["one", "", "three", "x" * 40, "", "five\rstill", "last"]
    assert lines_of(text.encode(encoding.name), encoding, block_bytes) == wanted


@each(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"\n\n", ["", ""]),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\r\n", ["a"]),
        (b"a\r", ["a\r"]),
        (b"a\r\r\n", ["a\r"]),
        (b"\r\n\r\n", ["", ""]),
        ("a\x0cb\x0bc\x85d\u2028e\u2029f\x1cg\n".encode(), ["a\x0cb\x0bc\x85d\u2028e\u2029f\x1cg"]),
    ],
)
def test_only_line_feeds_end_lines(data: bytes, lines: list[str]) -> None:
    assert lines_of(data) == lines
    assert lines_of(data, block_bytes=1) == lines


@every_block
def test_a_unit_that_only_looks_like_a_newline_ends_no_line(block_bytes: int) -> None:
    """U+0A41 and U+410A hold the byte 0A, and so do two characters side by side."""
    text = "\u0a41\u410a\u0a0a\u000a\u0d0a\u0a0d end"
    for encoding in (UTF16, UTF16_BE, UTF32):
        assert lines_of(text.encode(encoding.name), encoding, block_bytes) == [
            "\u0a41\u410a\u0a0a",
            "\u0d0a\u0a0d end",
        ]


@pytest.mark.parametrize(("tail", "total"), [(b"\n", 1), (b"\x00", 1), (b"A", 1)])
def test_a_byte_after_the_last_whole_unit_is_part_of_a_line(tail: bytes, total: int) -> None:
    """U+4100 and the lone byte 0A together look like a big-endian newline one byte too early."""
    index = index_of("\u4100".encode("utf-16-be") + tail, UTF16_BE)
    assert index.total_lines == total


def test_a_mark_at_the_start_is_no_part_of_line_one() -> None:
    for data in (b"\xef\xbb\xbfab\n", "\ufeffab\n".encode("utf-16-le"), "\ufeffab\n".encode("utf-32-be")):
        from readroom.core.text.encodings import by_bom

        encoding = by_bom(data)
        assert encoding is not None
        assert lines_of(data, encoding) == ["ab"]


def test_a_file_that_is_only_a_mark_has_no_lines() -> None:
    assert index_of(b"\xef\xbb\xbf", Encoding("utf-8", b"\xef\xbb\xbf")).total_lines == 0


@each(
    ("data", "newline"),
    [
        (b"", "none"),
        (b"a", "none"),
        (b"a\r", "none"),
        (b"a\nb\n", "lf"),
        (b"a\r\nb\r\n", "crlf"),
        (b"a\r\nb", "crlf"),
        (b"a\r\nb\n", "mixed"),
        (b"a\rb\n", "lf"),
    ],
)
@each("block_bytes", [1, 2, 3, BLOCK_BYTES])
def test_the_form_of_line_ends_is_that_of_the_whole_file(
    data: bytes, newline: Newline, block_bytes: int
) -> None:
    assert index_of(data, UTF8, block_bytes).ends.form == newline


@every_encoding
def test_a_line_end_across_a_block_border_is_counted_once(encoding: Encoding) -> None:
    data = "abc\r\ndef\r\n".encode(encoding.name)
    for block_bytes in range(encoding.unit, len(data) + encoding.unit, encoding.unit):
        index = index_of(data, encoding, block_bytes)
        assert (index.ends.form, index.total_lines) == ("crlf", 2)


@each("size", [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, 5 * BLOCK_BYTES + 17, 13 * BLOCK_BYTES])
def test_the_hash_is_that_of_the_whole_file(size: int) -> None:
    data = random.Random(size).randbytes(size)
    index = index_of(data)
    assert index.sha256 == hashlib.sha256(data).hexdigest()
    assert index.size == size
    assert index.newlines[-1] == data.count(b"\n") if size else len(index.newlines) == 0


def test_any_line_of_a_large_file_costs_one_block() -> None:
    data = b"".join(b"line %d of the log\n" % number for number in range(1, 200_001))
    held = HeldBytes(data)
    index = build_index(held, UTF8, Deadline())
    held.reads.clear()
    start = index.line_start(held, 150_000)
    assert data[start : start + 19] == b"line 150000 of the "
    assert held.bytes_read <= BLOCK_BYTES


def test_the_end_of_a_line_of_many_blocks_is_found_by_the_index() -> None:
    data = b"short\n" + b"x" * (20 * BLOCK_BYTES) + b"\r\nlast\n"
    held = HeldBytes(data)
    index = build_index(held, UTF8, Deadline())
    held.reads.clear()
    assert index.line_end(held, 6) == (6 + 20 * BLOCK_BYTES, len(data) - 5)
    assert held.bytes_read <= 3 * BLOCK_BYTES


def test_an_index_needs_seventeen_bytes_per_block() -> None:
    index = index_of(b"x\n" * (10 * BLOCK_BYTES // 2))
    assert len(index.newlines) == 10
    assert index.memory_bytes < 512 + 10 * 17 + 1


@every_encoding
@every_block
def test_columns_of_a_long_line_add_up(encoding: Encoding, block_bytes: int) -> None:
    text = "aé日".replace("é", "日" if encoding.name == "shift_jis" else "é") * 50
    if encoding.name == "iso8859-1":
        text = "aéz" * 50
    data = text.encode(encoding.name)
    columns = measure_columns(HeldBytes(data), 0, len(data), encoding, Deadline(), block_bytes)
    assert columns.chars[-1] == len(text)
    assert columns.starts[-1] == len(data)
    for start, before in zip(columns.starts, columns.chars, strict=True):
        assert chars(data[:start], encoding) == before
        assert decode(data[start:], encoding) == text[before:]


def test_columns_of_broken_bytes_are_counted_as_they_are_shown() -> None:
    data = b"ab\xff\xfe" * 20 + b"\xe6\x97"
    for block_bytes in (4, 5, 7, BLOCK_BYTES):
        columns = measure_columns(HeldBytes(data), 0, len(data), UTF8, Deadline(), block_bytes)
        assert columns.chars[-1] == len(decode(data, UTF8))


def test_columns_are_kept_for_a_bounded_number_of_lines() -> None:
    data = (b"y" * 10 + b"\n") * 200
    held = HeldBytes(data)
    index = build_index(held, UTF8, Deadline())
    for start in range(0, len(data), 11):
        assert index.columns_of(held, start, start + 10, Deadline()).chars[-1] == 10
    assert 1 < len(index.columns) < 100
    held.reads.clear()
    index.columns_of(held, len(data) - 11, len(data) - 1, Deadline())
    assert held.reads == []


def test_a_file_that_became_shorter_is_noticed() -> None:
    held = HeldBytes(b"x\n" * 1000, truncated_to=700)
    with pytest.raises(Shrunk):
        build_index(held, UTF8, Deadline())
    with pytest.raises(Shrunk):
        Pass(Counter(UTF8, BLOCK_BYTES), hashed=False).run(held, Deadline())
    whole = build_index(HeldBytes(b"x\n" * 1000), UTF8, Deadline())
    with pytest.raises(Shrunk):
        whole.line_start(held, 900)


def test_counting_alone_agrees_with_the_index() -> None:
    for data in (b"", b"a", b"a\n", b"a\nb", b"\n" * BLOCK_BYTES + b"x"):
        counting = Pass(Counter(UTF8, BLOCK_BYTES), hashed=False)
        counting.run(HeldBytes(data), Deadline())
        assert counting.count.total_lines == index_of(data).total_lines


def test_a_cancelled_pass_ends() -> None:
    deadline = Deadline()
    deadline.cancel()
    with pytest.raises(Cancelled):
        build_index(HeldBytes(b"x"), UTF8, deadline)


def test_a_pass_ends_at_its_time_limit() -> None:
    ticks = iter(range(100))
    deadline = Deadline(3, clock=lambda: float(next(ticks)))
    with pytest.raises(TimedOut):
        build_index(HeldBytes(b"x" * 64), UTF8, deadline, block_bytes=4)


def test_a_pass_reports_how_far_it_is() -> None:
    seen: list[tuple[int, int | None, str]] = []
    deadline = Deadline(progress=lambda *step: seen.append(step))
    build_index(HeldBytes(b"x" * 40), UTF8, deadline, block_bytes=4)
    assert seen == [(16, 40, "bytes"), (32, 40, "bytes"), (40, 40, "bytes")]


@pytest.mark.parametrize("encoding", [UTF8, UTF16, UTF32], ids=lambda e: e.name)
def test_the_nth_and_the_last_newline_of_a_block(encoding: Encoding) -> None:
    rng = random.Random(7)
    for length in (0, 1, 10, 2000, 5000):
        text = "".join(rng.choice("ab\u0a0a\n") for _ in range(length))
        block = text.encode(encoding.name)
        places = [i for i, char in enumerate(text) if char == "\n"]
        offsets = [len(text[:i].encode(encoding.name)) for i in places]
        for number in {1, 2, len(offsets) // 2, len(offsets)} - {0}:
            wanted = offsets[number - 1] if number <= len(offsets) else -1
            assert nth_newline(block, number, encoding) == wanted
        assert nth_newline(block, len(offsets) + 1, encoding) == -1
        assert last_newline(block, encoding) == (offsets[-1] if offsets else -1)
