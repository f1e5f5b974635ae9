"""Formulas say in a line what they say on the page: of Office, RTF, MathML in OpenDocument and in HTML."""

from __future__ import annotations

import io

from lxml import etree

from readroom.documents.formats import docx, html, pptx, rtf
from readroom.documents.formats.formulas import FORMULA_ELEMENTS, FormulaParts, formula
from tests.documents.formats.packages import text_of, word
from tests.each import each
from tests.hostile import office

_M = "http://schemas.openxmlformats.org/officeDocument/2006/math"


def _r(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


def _said(name: str, **values: str) -> str:
    inside = "".join(f'<m:{key} m:val="{value}"/>' for key, value in values.items())
    return f"<m:{name}>{inside}</m:{name}>"


_SQUARE = f"<m:sSup><m:e>{_r('b')}</m:e><m:sup>{_r('2')}</m:sup></m:sSup>"
_OFFICE = [
    (f"<m:rad>{_said('radPr', degHide='1')}<m:deg/><m:e>{_SQUARE}{_r('-4ac')}</m:e></m:rad>", "√(b^2-4ac)"),
    (f"<m:rad><m:deg>{_r('3')}</m:deg><m:e>{_r('x')}</m:e></m:rad>", "√[3](x)"),
    (
        f"<m:nary>{_said('naryPr', chr='∑')}<m:sub>{_r('k=0')}</m:sub><m:sup>{_r('n')}</m:sup>"
        f"<m:e>{_r('x')}</m:e></m:nary>",
        "∑_(k=0)^n x",
    ),
    (f"<m:nary><m:sub/><m:sup/><m:e>{_r('f')}</m:e></m:nary>", "∫ f"),
    (f"{_r('f')}<m:d><m:e>{_r('x')}</m:e><m:e>{_r('y')}</m:e></m:d>", "f(x|y)"),
    (f"<m:d>{_said('dPr', begChr='[', endChr='', sepChr=';')}<m:e>{_r('x')}</m:e></m:d>", "[x"),
    (
        f"<m:f>{_said('fPr', type='noBar')}<m:num>{_r('n')}</m:num><m:den>{_r('k')}</m:den></m:f>",
        "n¦k",
    ),
    (f"<m:f><m:num>{_r('(a)(b)')}</m:num><m:den>{_r('(a-b)')}</m:den></m:f>", "((a)(b))/(a-b)"),
    (f"<m:func><m:fName>{_r('sin')}</m:fName><m:e>{_r('x')}</m:e></m:func>", "sin x"),
    (f"<m:limLow><m:e>{_r('lim')}</m:e><m:lim>{_r('x→1')}</m:lim></m:limLow>", "lim_(x→1)"),
    (
        "<m:m>"
        + "".join(f"<m:mr><m:e>{_r(a)}</m:e><m:e>{_r(b)}</m:e></m:mr>" for a, b in ("12", "34"))
        + "</m:m>",
        "1, 2; 3, 4",
    ),
    (f"<m:acc><m:e>{_r('a')}</m:e></m:acc><m:bar>{_said('barPr', pos='top')}<m:e>{_r('xy')}</m:e></m:bar>",
     "a\u0302 \u0305xy"),
    (f"<m:sPre><m:sub>{_r('1')}</m:sub><m:sup>{_r('2')}</m:sup><m:e>{_r('H')}</m:e></m:sPre>", "_1^2H"),
]  # fmt: skip


@each(("inside", "line"), _OFFICE)
def test_formulas_of_office_keep_roots_sums_brackets_and_powers(inside: str, line: str) -> None:
    body = f"<m:oMath>{inside}</m:oMath>"
    assert formula(etree.fromstring(f'<x xmlns:m="{_M}">{body}</x>')) == line
    assert text_of(docx.open_document(word(f"<w:p>{body}</w:p>"))) == [line]


def test_formulas_of_slides_are_those_of_documents() -> None:
    maths = (
        '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><mc:Choice>'
        '<a14:m xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main">'
        f'<m:oMathPara xmlns:m="{_M}"><m:oMath>{_SQUARE}</m:oMath></m:oMathPara></a14:m></mc:Choice>'
        "<mc:Fallback><a:r><a:t>picture of it</a:t></a:r></mc:Fallback></mc:AlternateContent>"
    )
    shape = (
        '<p:sp><p:nvSpPr><p:cNvPr id="2" name="x"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/>'
        f"<p:txBody><a:p>{maths}</a:p></p:txBody></p:sp>"
    )
    assert pptx.open_document(io.BytesIO(office.slides(shape))).part(1).lines == ["b^2"]


@each(
    ("inside", "line"),
    [
        (rb"{\mrad{\mradPr{\mdegHide on}}{\mdeg}{\me{\mr\mscr0\msty2 b-4}}}", "√(b-4)"),
        (rb"{\mnary{\mnaryPr{\mchr \u8721?}}{\msub{\mr k}}{\msup{\mr n}}{\me{\mr x}}}", "∑_k^n x"),
        (rb"{\md{\mdPr{\mbegChr [}{\mendChr ]}}{\me{\mr x}}}", "[x]"),
        (rb"{\mf{\mnum{\mr a+b}}{\mden{\mr 2}}}", "(a+b)/2"),
        (rb"{\msSup{\msSupPr{\mctrlPr\f1 }}{\me{\mr x}}{\msup{\mr 2}}}", "x^2"),
        (rb"{\mr x{\v unseen}}", "x"),
    ],
)
def test_formulas_of_rtf_are_those_of_office(inside: bytes, line: str) -> None:
    data = rb"{\rtf1 a {\*\moMathPara{\*\moMath " + inside + rb"}} b\par}"
    assert rtf.read(data).part(1).lines == [f"a {line} b"]


_MATHML = [
    ("<msqrt><msup><mi>b</mi><mn>2</mn></msup><mo>-</mo><mn>4</mn></msqrt>", "√(b^2-4)"),
    ("<mroot><mi>x</mi><mn>3</mn></mroot>", "√[3](x)"),
    ("<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac>", "(a+b)/2"),
    (
        "<munderover><mo>∑</mo><mrow><mi>k</mi><mo>=</mo><mn>0</mn></mrow><mi>n</mi></munderover><mi>k</mi>",
        "∑_(k=0)^nk",
    ),
    ('<mfenced open="[" separators=";,"><mi>a</mi><mi>b</mi><mi>c</mi></mfenced>', "[a;b,c)"),
    ("<mi>f</mi><mo>\u2061</mo><mo>(</mo><mi>x</mi><mo>)</mo>", "f(x)"),
    ('<mover accent="true"><mi>x</mi><mo>\u0302</mo></mover>', "x\u0302"),
    ("<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr></mtable>", "1, 2"),
    ('<semantics><mi>x</mi><annotation encoding="TeX">\\x</annotation></semantics>', "x"),
]


@each(("inside", "line"), _MATHML)
def test_formulas_of_mathml_are_the_same_in_pages_and_documents(inside: str, line: str) -> None:
    assert formula(etree.fromstring(f"<math>{inside}</math>")) == line
    page = f"<p>a <math>{inside}</math> b</p>".encode()
    assert html.open_document(io.BytesIO(page)).part(1).lines == [f"a {line} b"]


def test_a_formula_that_is_never_closed_does_not_swallow_the_page() -> None:
    page = b"<p>a <math><mi>x</mi><p>next</p><h1>One</h1><p>text</p>"
    assert html.open_document(io.BytesIO(page)).part(1).lines == ["a x", "next", "", "# One", "text"]


def test_of_a_formula_without_end_the_rest_is_its_letters() -> None:
    parts = FormulaParts()
    parts.start("msqrt", {})
    for _ in range(FORMULA_ELEMENTS + 5):
        parts.start("mi", {})
        parts.text("x")
        parts.end()
    parts.end()
    written = parts.written()
    assert (parts.depth, written.count("x"), written[:2]) == (0, FORMULA_ELEMENTS + 5, "√(")
    deep = FormulaParts()
    for _ in range(5_000):
        deep.start("mrow", {})
    deep.text("y")
    assert deep.written() == "y"
