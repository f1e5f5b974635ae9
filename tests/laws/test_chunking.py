"""Law 4, a cut is invisible: however the bytes are chunked on their way in, the selection is the same."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from readroom.core.deadline import Deadline
from readroom.core.text.encodings import Encoding, by_bom, decode, named
from readroom.core.text.line_index import LineIndex, build_index
from readroom.core.text.select import Frame, IndexedText, Text, WholeText, along, backward, forward
from tests.core.text.held import HeldBytes
from tests.laws.texts import split, texts

CODECS = ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "latin-1", "shift_jis", "gb18030"]

blocks = st.sampled_from([4, 8, 12, 16, 36, 64, 256, 4096])
"""Block sizes: a multiple of four holds whole code units of every encoding."""


@st.composite
def files(draw: st.DrawFn) -> tuple[bytes, Encoding]:
    """Bytes and the encoding they are read in: mostly what was written, sometimes broken, sometimes noise."""
    codec = draw(st.sampled_from(CODECS))
    data = draw(texts).encode(codec, "ignore")
    if draw(st.booleans()):
        marked = ("\ufeff".encode(codec, "ignore")) + data
        data = marked if by_bom(marked) else data
    kind = draw(st.sampled_from(["whole", "whole", "torn", "noise"]))
    if kind == "torn" and data:
        at = draw(st.integers(0, len(data)))
        data = data[:at] + draw(st.binary(max_size=5)) + data[at:]
    elif kind == "noise":
        data = draw(st.binary(max_size=300))
    encoding = by_bom(data)
    if encoding is None or encoding.name[:6] != codec[:6]:
        encoding = named(codec)
    return data, encoding


def large(data: bytes, encoding: Encoding, block_bytes: int, chunk_bytes: int, head: int) -> IndexedText:
    held = HeldBytes(data)
    index = build_index(held, encoding, Deadline(), block_bytes)
    return IndexedText(held, index, head, Deadline(), chunk_bytes)


def small(data: bytes, encoding: Encoding) -> WholeText:
    return WholeText(decode(data[len(encoding.bom) :], encoding))


@given(files(), blocks)
def test_the_index_knows_what_the_whole_text_knows(file: tuple[bytes, Encoding], block_bytes: int) -> None:
    data, encoding = file
    index: LineIndex = build_index(HeldBytes(data), encoding, Deadline(), block_bytes)
    text = small(data, encoding)
    assert (index.total_lines, index.ends) == (text.total_lines, text.ends)
    assert index.sha256 == hashlib.sha256(data).hexdigest()


@given(texts)
def test_lines_are_what_the_definition_says(text: str) -> None:
    found = WholeText(text)
    assert list(found.lines(1, found.total_lines)) == split(text)


@given(files(), blocks, blocks, st.integers(1, 50), st.integers(-10, 600), st.data())
def test_a_large_file_shows_the_same_pages_as_a_small_one(
    file: tuple[bytes, Encoding], block: int, chunk: int, line_chars: int, room: int, data: st.DataObject
) -> None:
    whole = small(*file)
    pieces = large(*file, block, chunk, line_chars)
    frame = Frame(room, line_chars, lambda number: len(str(number)) + 2)
    if not whole.total_lines:
        return
    first = data.draw(st.integers(1, whole.total_lines), label="first")
    last = data.draw(st.integers(first, whole.total_lines), label="last")
    assert forward(pieces, first, last, frame) == forward(whole, first, last, frame)
    assert backward(pieces, first, last, frame) == backward(whole, first, last, frame)


@given(files(), blocks, blocks, st.integers(1, 20), st.integers(1, 400), st.data())
def test_a_large_file_shows_the_same_columns_as_a_small_one(
    file: tuple[bytes, Encoding], block: int, chunk: int, head: int, room: int, data: st.DataObject
) -> None:
    whole = small(*file)
    pieces = large(*file, block, chunk, head)
    if not whole.total_lines:
        return
    frame = Frame(room, head, lambda number: len(str(number)) + 2)
    line = data.draw(st.integers(1, whole.total_lines), label="line")
    column = data.draw(st.integers(1, 1 + along(whole, line, line, 1, frame)[1]), label="column")
    assert along(pieces, line, line, column, frame) == along(whole, line, line, column, frame)


@given(files(), blocks, blocks, st.integers(1, 30), st.integers(-10, 200))
def test_pages_and_their_columns_show_everything_once(
    file: tuple[bytes, Encoding], block: int, chunk: int, line_chars: int, room: int
) -> None:
    """Law 2 in the pure layer, where every text, encoding and room is cheap to try."""
    text = large(*file, block, chunk, line_chars)
    frame = Frame(room, line_chars, lambda number: len(str(number)) + 2)
    whole = small(*file)
    wanted = list(whole.lines(1, whole.total_lines))
    assert _shown(text, frame) == wanted


def _shown(text: Text, frame: Frame) -> list[str]:
    found: list[str] = []
    first: int | None = 1 if text.total_lines else None
    while first is not None:
        page = forward(text, first, text.total_lines, frame)
        assert page.start == first == len(found) + 1
        found += page.lines
        for number, cut in page.cuts.items():
            assert (cut.first, cut.last) == (1, len(found[number - 1]))
            found[number - 1] += _rest(text, number, cut.last + 1, frame)
            assert len(found[number - 1]) == cut.total
        first = page.next_line
    return found


def _rest(text: Text, line: int, column: int, frame: Frame) -> str:
    found = ""
    while True:
        page, _ = along(text, line, line, column, frame)
        assert page.lines[0]
        found += page.lines[0]
        if page.next_column == 1:
            return found
        assert page.next_column == column + len(page.lines[0])
        column = page.next_column
