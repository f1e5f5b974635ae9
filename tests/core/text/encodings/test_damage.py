"""Texts that are damaged, of two encodings or none: what they are taken for, and if a guess is called so."""

from __future__ import annotations

import array
import math
import random
from collections.abc import Callable, Mapping

import pytest

from readroom.core.text.encodings import detect, glued
from tests.core.text.encodings.languages import LEGACY, TEXTS
from tests.each import each

PAIR, HALF = b"\xed\xa0\xbd\xed\xb8\x80", b"\xed\xa0\xbd"


def _cut(data: bytes, at: int) -> bytes:
    """The text without one byte of a character."""
    inside = [number for number, byte in enumerate(data) if byte >= 0x80]
    return data[: inside[at % len(inside)]] + data[inside[at % len(inside)] + 1 :]


def _with(more: bytes) -> Callable[[bytes, int], bytes]:
    def put(data: bytes, at: int) -> bytes:
        at %= len(data)
        while at < len(data) and data[at] & 0xC0 == 0x80:
            at += 1
        return data[:at] + more + data[at:]

    return put


DAMAGES: Mapping[str, Callable[[bytes, int], bytes]] = {
    "a cut character": _cut,
    "an emoji as Java writes it": _with(PAIR),
    "half of one": _with(HALF),
    "a dash of cp1252": _with(b"\x96"),
    "a letter of latin-1": _with(b"\xe9"),
}


@each("damage", DAMAGES)
@each("language", TEXTS)
@each("lines", [3, 20])
def test_damaged_utf8_is_utf8(damage: str, language: str, lines: int) -> None:
    places = random.Random(1)
    for _ in range(5):
        data = TEXTS[language].encode() * lines
        for _ in range(lines // 3):
            data = DAMAGES[damage](data, places.randrange(len(data)))
        found = detect(data, complete=True)
        assert found is not None
        assert found.name == "utf-8"


@pytest.mark.parametrize(
    "data",
    [
        "Déploiement ".encode() + PAIR + b"\nok\n",
        "Déploiement ".encode() + HALF + b"\nok\n",
        b"na\xc3\xafve caf\xc3\xa9 \x96 dash\n" * 3 + b"end\n",
        "größe, Maß\n".encode() + "Straße\n".encode("latin-1"),
        b"name;" + PAIR + b"\n",
    ],
)
def test_short_texts_with_more_damage_are_utf8(data: bytes) -> None:
    found = detect(data, complete=True)
    assert found is not None
    assert found.name == "utf-8"


@each(("language", "encoding"), LEGACY)
def test_a_guess_of_a_long_text_is_sure(language: str, encoding: str) -> None:
    found = detect((TEXTS[language] * 9).encode(encoding), complete=True)
    assert found is not None
    assert found.sure


@pytest.mark.parametrize("data", [b"caf\xe9\n", b"\xa9 2020\n", b"\xc4\xe3\n"])
def test_a_guess_of_few_letters_is_called_one(data: bytes) -> None:
    found = detect(data, complete=True)
    assert found is not None
    assert not found.sure


def test_lines_of_utf8_in_a_text_of_latin_1_make_it_a_guess() -> None:
    data = "déjà vu à côté, naïve façade\n".encode("latin-1") * 4 + "perché così è già\n".encode()
    found = detect(data, complete=True)
    assert found is not None
    assert found.name == "cp1252"
    assert not found.sure


@each("encoding", ["utf-16-le", "utf-16-be"])
@each("language", TEXTS)
def test_utf16_without_a_mark_is_text(encoding: str, language: str) -> None:
    found = detect((TEXTS[language] * 2).encode(encoding), complete=True)
    assert found is not None
    assert found.name == encoding


def test_what_was_added_to_utf16_is_found() -> None:
    utf16 = detect("\ufeffa".encode("utf-16-le"), complete=True)
    assert utf16 is not None
    added = b"appended utf8 line\r\n".decode("utf-16-le")
    assert glued(["hello", f"x {added}"], utf16) == (1, 3)
    for text in TEXTS.values():
        assert glued([text], utf16) is None


def _sine(size: int, middle: int, height: int) -> list[int]:
    return [int(middle + height * math.sin(at / 9)) for at in range(size)]


_noise = random.Random(2)

BINARY = {
    **{f"{pattern!r}": pattern * 300 for pattern in (
        b"\0\xff", b"\xff\0", b"\0\1\2\xff", b"\1\x30\2\x30", b"\0\xff\1\xfe", b"\xff\xff\0\0", b"\0\xe9",
        b"\1\0\2\0", b"\4\4\5\4", b"\x80\x7f", b"\x80\x80\x81", b"\xaa\x55", b"\xf0\x0f",
    )},
    **{f"samples of 8 bits, {height}": bytes(_sine(8000, 128, height)) for height in (3, 10, 20, 40, 60, 90)},
    **{f"samples of 16 bits, {height}": array.array("h", _sine(4000, 0, height)).tobytes()
       for height in (100, 1000, 9000)},
    "pixels": bytes(_noise.randrange(100, 200) for _ in range(8000)),
    "a gradient": bytes((x + y) // 2 % 256 for y in range(100) for x in range(100)),
    "floats": array.array("f", [_noise.random() for _ in range(2000)]).tobytes(),
    "doubles": array.array("d", [_noise.random() for _ in range(2000)]).tobytes(),
    "short integers": array.array("h", range(4000)).tobytes(),
    "integers": array.array("i", range(4000)).tobytes(),
    "a bitmap": bytes(_noise.choice((0, 255, 0xF0, 0x0F)) for _ in range(4000)),
}  # fmt: skip


@each("name", BINARY)
def test_samples_pixels_and_numbers_are_no_text(name: str) -> None:
    assert detect(BINARY[name], complete=True) is None
