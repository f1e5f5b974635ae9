"""Letters of symbol fonts are shown as what they show, and ticks of checkboxes as their state."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest

from readroom.documents.formats import rtf, symbols
from readroom.documents.formats.doc import open_document as open_old
from readroom.documents.formats.docx import open_document
from readroom.documents.formats.odf import text as odt
from readroom.documents.formats.pptx import open_document as open_slides
from tests.documents.formats.compounds import Word
from tests.documents.formats.packages import NAMESPACES, word
from tests.each import each
from tests.hostile import letters, office
from tests.laws.planting_flows import OPEN_NAMES

_SHOWN = [
    ("Symbol", 0x62, "\u03b2"), ("Symbol", 0xB7, "\u2022"), ("Symbol", 0xA3, "\u2264"),
    ("symbol", 0x44, "\u0394"),
    ("Wingdings", 0xFC, "\u2714"), ("Wingdings", 0xFE, "\u2611"), ("Wingdings", 0xA8, "\u25fb"),
    ("Wingdings", 0xE0, "\u2192"), ("Wingdings", 0x4A, "\u263a"), ("Wingdings 2", 0x52, "\u2611"),
    ("Wingdings 3", 0x7D, "\u25b6"), ("Webdings", 0x61, "\u2714"),
]  # fmt: skip
every_sign = pytest.mark.parametrize(("font", "code", "shown"), _SHOWN)


def _docx(body: str, **parts: str) -> Sequence[str]:
    return open_document(word(body, parts)).part(1).lines


@every_sign
def test_a_sign_of_a_word_document(font: str, code: int, shown: str) -> None:
    for char in (f"F0{code:02X}", f"{code:02x}"):
        assert _docx(f'<w:p><w:r><w:sym w:font="{font}" w:char="{char}"/></w:r></w:p>') == [shown]
    fonts = f'<w:rPr><w:rFonts w:ascii="{font}" w:hAnsi="{font}"/></w:rPr>'
    assert _docx(f"<w:p><w:r>{fonts}<w:t>&#x{0xF000 + code:X};</w:t></w:r></w:p>") == [shown]


@every_sign
def test_a_sign_of_rich_text(font: str, code: int, shown: str) -> None:
    named = rf"{{\f7\fnil\fcharset2\fprq2{{\*\panose 05000000000000000000}}{font};}}"
    table = rf"{{\fonttbl{{\f0\fswiss Arial;}}{named}}}"
    for spelled in (rf"\'{code:02x}", rf"\u{0xF000 + code - 0x10000}?", rf"\u{code}?"):
        data = rf"{{\rtf1\ansi{table}\f0 a {{\f7 {spelled}}} b\par}}".encode()
        assert rtf.read(data).part(1).lines == [f"a {shown} b"]


@every_sign
def test_a_sign_of_a_slide(font: str, code: int, shown: str) -> None:
    for name, text in (("sym", f"&#x{0xF000 + code:X};"), ("latin", f"&#x{code:X};")):
        run = f'<a:r><a:rPr><a:{name} typeface="{font}"/></a:rPr><a:t>{text}</a:t></a:r>'
        tree = f"<p:sp><p:txBody><a:p>{run}<a:r><a:t>x</a:t></a:r></a:p></p:txBody></p:sp>"
        assert list(open_slides(io.BytesIO(office.slides(tree))).part(1).lines) == [f"{shown}x"]


@every_sign
def test_a_sign_of_an_open_document(font: str, code: int, shown: str) -> None:
    properties = f'<style:text-properties style:font-name="{font}"/>'
    style = f'<style:style style:name="S" style:family="text">{properties}</style:style>'
    styles = f"<office:document-styles {OPEN_NAMES}>{style}</office:document-styles>"
    body = f'<text:p>a <text:span text:style-name="S">&#x{0xF000 + code:X};</text:span> b</text:p>'
    data = letters.open_text(body, **{"styles.xml": styles})
    assert odt.open_document(io.BytesIO(data)).part(1).lines == [f"a {shown} b"]


@every_sign
def test_a_sign_of_an_old_word_document(font: str, code: int, shown: str) -> None:
    document = Word()
    document.fonts = ["Times New Roman", font]
    document.paragraph("a \x28 b")
    document.sign(1, 0xF000 + code)
    part = open_old(io.BytesIO(document.build())).part(1)
    assert (list(part.lines), list(part.notes)) == ([f"a {shown} b"], [])


def test_letters_of_other_fonts_stay_and_unknown_signs_have_a_name() -> None:
    assert symbols.shown("Arial", "ab\u00b7") == "ab\u00b7"
    assert symbols.shown("Symbol", "ab") == "\u03b1\u03b2"
    assert symbols.sign("MT Extra", 0xF041) == "[sign 41 of MT Extra]"
    assert symbols.sign("MT Extra", 0xE123) == "[sign E123 of MT Extra]"
    assert symbols.sign("Segoe UI Symbol", 0x2612) == "\u2612"
    assert _docx('<w:p><w:r><w:sym w:char="zz" w:font="Symbol"/><w:t>x</w:t></w:r></w:p>') == ["x"]


_SYMBOL = '<w:rPr><w:rFonts w:ascii="Symbol" w:hAnsi="Symbol"/></w:rPr>'


@each(
    ("paragraph", "run", "shown"),
    [
        ("P", "", "\u03b2"), ("Q", "", "\u03b2"), ("", '<w:rStyle w:val="C"/>', "\u03b2"),
        ("P", '<w:rFonts w:ascii="Arial"/>', "b"), ("P", '<w:rFonts w:asciiTheme="minorHAnsi"/>', "b"),
        ("P", '<w:rStyle w:val="A"/>', "b"), ("", "", "b"),
    ],
)  # fmt: skip
def test_a_style_may_have_a_symbol_font(paragraph: str, run: str, shown: str) -> None:
    arial = _SYMBOL.replace("Symbol", "Arial")
    styles = "".join(
        f'<w:style w:type="{kind}" w:styleId="{name}">{inside}</w:style>'
        for kind, name, inside in (
            ("paragraph", "P", _SYMBOL), ("paragraph", "Q", '<w:basedOn w:val="P"/>'),
            ("character", "C", _SYMBOL), ("character", "A", arial),
        )
    )  # fmt: skip
    about = f'<w:pPr><w:pStyle w:val="{paragraph}"/></w:pPr>' if paragraph else ""
    body = f"<w:p>{about}<w:r><w:rPr>{run}</w:rPr><w:t>b</w:t></w:r></w:p>"
    assert _docx(body, styles=f"<w:styles {NAMESPACES}>{styles}</w:styles>") == [shown]


@pytest.mark.parametrize("font", ["symbol", "wingdings", "webdings"])
def test_tables_have_a_sign_for_nearly_every_code(font: str) -> None:
    named = [code for code in range(0x21, 0x7F) if symbols.sign(font, code).startswith("[sign")]
    assert named == []
    signs = {symbols.sign(font, code) for code in range(0x20, 0x100)}
    assert not any("\ue000" <= sign <= "\uf7ff" for sign in signs)


_SIGN = '<w:r><w:sym w:font="Wingdings" w:char="F0FE"/></w:r>'
_TEXT = "<w:r><w:t>\u2612</w:t></w:r>"


@each("content", [_SIGN, _TEXT, f"{_TEXT}{_TEXT}"])
@each(
    ("state", "shown"),
    [
        ('<w14:checked w14:val="1"/>', "[x]"), ('<w14:checked w14:val="true"/>', "[x]"),
        ("<w14:checked/>", "[x]"),
        ('<w14:checked w14:val="0"/>', "[ ]"), ('<w14:checked w14:val="false"/>', "[ ]"), ("", "[ ]"),
    ],
)  # fmt: skip
def test_a_checkbox_says_its_state(state: str, shown: str, content: str) -> None:
    names = 'xmlns:w14="http://schemas.microsoft.com/office/word/2010/wordml"'
    control = f"<w:sdtPr><w14:checkbox {names}>{state}</w14:checkbox></w:sdtPr>"
    inside = f"<w:sdt>{control}<w:sdtContent>{content}</w:sdtContent></w:sdt>"
    inline = f"<w:p><w:r><w:t>agreed: </w:t></w:r>{inside}</w:p>"
    around = f"<w:sdt>{control}<w:sdtContent><w:p>{content}</w:p></w:sdtContent></w:sdt>"
    after = '<w:p><w:r><w:sym w:font="Wingdings" w:char="F0FC"/></w:r></w:p>'
    part = open_document(word(inline + around + after)).part(1)
    assert (list(part.lines), list(part.notes)) == ([f"agreed: {shown}", shown, "\u2714"], [])
