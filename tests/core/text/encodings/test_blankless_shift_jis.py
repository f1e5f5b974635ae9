"""Japanese without blanks: the place to cut is found in one look, and is a border of characters."""

from __future__ import annotations

import pytest

from readroom.core.text.encodings import chars, decode, named, prefix


@pytest.mark.parametrize("name", ["shift_jis", "euc_jp", "gb18030", "big5"])
def test_a_cut_falls_between_characters(name: str) -> None:
    encoding = named(name)
    text = "日本文字漢字" * 20
    data = text.encode(name)
    for size in range(1, len(data)):
        end = prefix(data[:size], encoding)
        assert size - end < 4
        assert text.startswith(decode(data[:end], encoding))


def test_half_a_character_alone_is_held_back() -> None:
    encoding = named("shift_jis")
    assert prefix("日".encode("shift_jis")[:1], encoding) == 0
    assert chars(b"", encoding) == 0
