"""Accents that are drawn apart from their letters, as older fonts of TeX do, are on them in the text."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from unicodedata import normalize

import pytest

from readroom.core.stores.memory import MemoryStore
from readroom.documents.formats.pdf import open_document
from tests.documents.formats.pdf_pages import FONT, page
from tests.each import each
from tests.laws.driving import Driver

_ACCENTS = {
    "grave": "\u0300", "acute": "\u0301", "circumflex": "\u0302", "tilde": "\u0303", "macron": "\u0304",
    "breve": "\u0306", "dotaccent": "\u0307", "dieresis": "\u0308", "ring": "\u030a",
    "hungarumlaut": "\u030b",
    "caron": "\u030c", "cedilla": "\u0327", "ogonek": "\u0328",
}  # fmt: skip
_NAMES = [*_ACCENTS, "dotlessi"]
_WIDTHS = {
    **dict.fromkeys("aeouhndbpgAEL", 556), **dict.fromkeys("cszykv", 500), **dict.fromkeys("il", 222),
    **dict.fromkeys("r", 333), **dict.fromkeys("t ", 278), **dict.fromkeys("CNRSZTU", 722), "m": 833,
    "w": 722, "G": 778, "O": 778, "I": 278, "dotlessi": 278, "ogonek": 333, "caron": 333,
}  # fmt: skip
_SIZE = 12


def _words(text: str, order: str) -> bytes:
    """A page with the text, its accents drawn apart: before or after their letters, or after the line."""
    drawn, late = list[str](), list[str]()
    x = 72.0
    for letter in re.findall("[^\u0300-\u036f][\u0300-\u036f]*", text):
        base, *marks = list(normalize("NFD", letter))
        name = "dotlessi" if base == "i" and marks else base
        width = _WIDTHS.get(name, 556) * _SIZE / 1000
        glyphs = [_glyph(x, name)]
        for mark in marks:
            accent = next(name for name, one in _ACCENTS.items() if one == mark)
            raised = 2.5 if base.isupper() and mark not in "\u0327\u0328" else 0
            above = _glyph(x + width / 2 - 333 * _SIZE / 2000, accent, raised)
            (late if order == "late" else glyphs).insert(0 if order == "before" else 9, above)
        drawn += glyphs
        x += width
    return _page("".join([*drawn, *late]))


def _page(content: str) -> bytes:
    names = " ".join(f"/{name}" for name in _NAMES)
    encoding = f"<</Type/Encoding/Differences[1 {names}]>>"
    font = f"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding{encoding}>>"
    return page(content.encode("latin-1"), {FONT: font.encode()})


def _glyph(x: float, name: str, raised: float = 0) -> str:
    code = f"\\{_NAMES.index(name) + 1:03o}" if name in _NAMES else name
    return f"BT /F {_SIZE} Tf {x:.2f} {700 + raised:.2f} Td ({code}) Tj ET\n"


def _lines(data: bytes) -> Sequence[str]:
    return open_document(io.BytesIO(data)).part(1).lines


_COMPOSED = sorted(
    {
        letter
        for mark in _ACCENTS.values()
        for base in "aceilnorsuyzACEGILNORSUZ"
        if len(letter := normalize("NFC", base + mark)) == 1
    }
)


@each("order", ["before", "after", "late"])
@each(
    "text",
    [
        "Universit\u00e9 de Bordeaux", "Wst\u0119p do pracy", "na\u00efve gar\u00e7on",
        "\u00c9cole \u00e0 Orl\u00e9ans",
        "okre\u015blenie pyta\u0144 problem\u00f3w",
        "p\u0159\u00edli\u0161 \u017elu\u0165ou\u010dk\u00fd k\u016f\u0148",
        "\u0151s \u0171r", "\u0101\u0113\u012b", "\u0103\u0161\u017c",
    ],
)  # fmt: skip
def test_words_are_as_they_are_read(text: str, order: str) -> None:
    assert list(_lines(_words(text, order))) == [text]


@each("order", ["before", "after", "late"])
@each("letter", _COMPOSED)
def test_every_letter_has_its_accent(letter: str, order: str) -> None:
    assert list(_lines(_words(f"t{letter}t", order))) == [f"t{letter}t"]


@each("turn", ["1 0 0 1", "0 1 -1 0", "-1 0 0 -1", "0 -1 1 0"])
@each("rotated", [0, 90])
def test_words_that_are_turned_have_their_accents(turn: str, rotated: int) -> None:
    """As wide tables on pages of their own: the line is one piece, as TeX writes it."""
    acute = f"\\{_NAMES.index('acute') + 1:03o}"
    shown = f"[(Universit) -111.5 ({acute}) 444.5 (e)( et )-167({acute}) 500 (E)(cole)] TJ"
    data = _page(f"q {turn} 300 400 cm BT /F {_SIZE} Tf {shown} ET Q")
    data = data.replace(b"/Type/Page/", b"/Type/Page/Rotate %d/" % rotated)
    assert _lines(data) == ["Universit\u00e9 et \u00c9cole"]


@pytest.mark.parametrize("order", ["before", "after", "late"])
def test_a_search_finds_the_word(order: str) -> None:
    driver = Driver(MemoryStore({"a.pdf": _words("Universit\u00e9 de Bordeaux", order)}))
    reply = next(driver.pages("grep_files", path=".", pattern="Universit\u00e9", documents=True)).text
    assert reply.startswith("1 match")
    driver.workspace.close()


@pytest.mark.parametrize("order", ["before", "after"])
def test_a_letter_that_has_no_such_form_keeps_its_accent_after_it(order: str) -> None:
    assert list(_lines(_words("b\u0301", order))) == ["b\u0301"]


def test_accents_that_stand_alone_stay() -> None:
    content = "BT /F 12 Tf 72 700 Td (a ^ b ~ c \\001 d \\002 e) Tj ET"
    assert list(_lines(_page(content))) == ["a ^ b ~ c ` d \u00b4 e"]
