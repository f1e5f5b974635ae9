"""Whole files as UTF-8, and which of them no mark announces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.limits import BLOCK_BYTES
from readroom.core.text.encodings import Encoding, detect, is_wide_unmarked, named, to_utf8
from tests.core.text.held import HeldBytes
from tests.each import each


@each("name", ["cp1252", "utf-16-le", "utf-16-be", "utf-32-le", "cp932"])
@each("shift", [0, 1, 2, 3])
def test_a_character_or_line_end_on_the_border_of_two_blocks_is_whole(name: str, shift: int) -> None:
    encoding = named(name)
    char = "é" if name == "cp1252" else "表"
    unit = len("x".encode(name))
    text = "x" * (BLOCK_BYTES // unit - 2 + shift) + f"{char}\r\n{char}\r\r\n\r"
    shown = to_utf8(HeldBytes(text.encode(name)), encoding, keep_cr=False).decode()
    assert shown == text.replace("\r\n", "\n")
    assert to_utf8(HeldBytes(text.encode(name)), encoding, keep_cr=True).decode() == text


@given(st.binary(max_size=40), st.sampled_from(["utf-16-le", "utf-32-be", "cp932", "gb18030", "cp1252"]))
def test_bytes_that_are_no_characters_are_shown_as_such(data: bytes, name: str) -> None:
    to_utf8(HeldBytes(data), named(name), keep_cr=True).decode()


def test_a_mark_is_no_character() -> None:
    marked = Encoding("utf-16-le", b"\xff\xfe", 2)
    assert to_utf8(HeldBytes("\ufefffoo".encode("utf-16-le")), marked, keep_cr=False) == b"foo"


@each("name", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-32"])
@each(
    "text",
    [
        "plain text\n",
        "текст и текст\n",
        "日本語の文章です。\n",
        "smile 😀 again",
        "Ā\n",
        "한국어 문장",
        "עברית טקסט",
    ],
)
def test_wide_text_without_a_usual_mark_is_told_from_its_beginning(name: str, text: str) -> None:
    data = (text * 3).encode(name)
    found = detect(data, complete=True)
    assert found is not None
    assert is_wide_unmarked(data, found) is (found.unit > 1)


@pytest.mark.parametrize("data", ["abc\n".encode("utf-16"), b"plain text\n", b"\x7fELF\x02\x01\x01\x00", b""])
def test_what_is_known_otherwise_is_not(data: bytes) -> None:
    assert not is_wide_unmarked(data, detect(data, complete=True))
