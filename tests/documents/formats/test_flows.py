"""OpenDocument texts and presentations, and RTF: what is shown, and how."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest

from readroom.documents.formats import Encrypted, Unit, rtf, sheets
from readroom.documents.formats.odf import odp
from readroom.documents.formats.odf import text as odt
from tests.documents.formats.packages import refused
from tests.each import each
from tests.hostile import letters
from tests.laws.planting_flows import OPEN_NAMES, p


def _text(body: str, **members: str) -> Sequence[str]:
    return odt.open_document(io.BytesIO(letters.open_text(body, **members))).part(1).lines


def _rtf(body: bytes) -> Sequence[str]:
    return rtf.read(rb"{\rtf1\ansi " + body + b"}").part(1).lines


def _item(words: str) -> str:
    return f"<text:list-item>{p(words)}</text:list-item>"


_NUMBERS = (
    '<text:list-style style:name="L"><text:list-level-style-number text:level="1" style:num-format="1" '
    'style:num-suffix="."/><text:list-level-style-number text:level="2" style:num-format="a" '
    'style:num-suffix=")"/></text:list-style>'
)


def _listed(body: str) -> Sequence[str]:
    styles = f"<office:document-styles {OPEN_NAMES}>{_NUMBERS}</office:document-styles>"
    return _text(body, **{"styles.xml": styles})


def test_headings_make_sections_and_an_outline() -> None:
    body = "".join(
        f'<text:h text:outline-level="{n}">{t}</text:h>{p(t)}' for n, t in ((1, "a"), (2, "b"), (1, "c"))
    )
    document = odt.open_document(io.BytesIO(letters.open_text(body)))
    assert document.titles == ["a", "c"]
    assert [(at.level, at.title, at.part) for at in document.contents] == [
        (1, "a", 1),
        (2, "b", 1),
        (1, "c", 2),
    ]
    assert document.part(1).lines == ["# a", "a", "", "## b", "b"]


def test_lists_are_numbered_as_their_style_says() -> None:
    inner = f"<text:list>{_item('x')}{_item('y')}</text:list>"
    entries = f"{_item('one')}<text:list-item>{p('two')}{inner}{p('still two')}</text:list-item>"
    assert _listed(f'<text:list text:style-name="L">{entries}</text:list>') == [
        "1. one", "2. two", "  a) x", "  b) y", "  still two",
    ]  # fmt: skip


def test_a_list_goes_on_where_it_says_so() -> None:
    first = f'<text:list text:style-name="L">{_item("a")}</text:list>'
    again = f'<text:list text:style-name="L" text:continue-numbering="true">{_item("b")}</text:list>'
    assert _listed(first + again + first) == ["1. a", "2. b", "1. a"]


def test_spaces_and_ends_of_lines_are_what_a_page_shows() -> None:
    assert _text("<text:p>  a \n b<text:s text:c='3'/>c<text:tab/>d<text:line-break/>e</text:p>") == [
        "a b   c\td",
        "e",
    ]


def test_notes_stand_at_the_end_of_their_section() -> None:
    note = f'<text:note text:note-class="footnote"><text:note-body>{p("said")}</text:note-body></text:note>'
    comment = f"<office:annotation><dc:creator>Ann</dc:creator>{p('why')}</office:annotation>"
    assert _text(p(f"x{note} y{comment}")) == ["x[^1] y[^c1]", "[^1]: said", "[^c1]: Ann: why"]


def test_rows_of_a_table_are_lines() -> None:
    row = "".join(f"<table:table-cell>{p(words)}</table:table-cell>" for words in ("a", "b"))
    rows = f"<table:table-row table:number-rows-repeated='2'>{row}</table:table-row>"
    assert _text(f"<table:table>{rows}</table:table>") == ["a | b", "a | b"]


def test_a_slide_has_its_title_first_and_its_notes_last() -> None:
    box = "<draw:frame{}><draw:text-box>{}</draw:text-box></draw:frame>"
    number = box.format(' presentation:class="page-number"', p("&lt;number&gt;"))
    notes = f"<presentation:notes>{box.format('', p('spoken'))}{number}</presentation:notes>"
    title = box.format(' presentation:class="title"', p("The title"))
    data = letters.open_text(
        f"<draw:page>{notes}{box.format('', p('text'))}{title}</draw:page>", kind="presentation"
    )
    document = odp.open_document(io.BytesIO(data))
    assert (document.unit, document.titles) == (Unit.SLIDE, ["The title"])
    assert document.part(1).lines == ["# The title", "text", "", "Notes:", "spoken"]


def test_a_flat_file_is_what_its_package_is() -> None:
    meta = '<office:meta><dc:title xmlns:dc="http://purl.org/dc/elements/1.1/">T</dc:title></office:meta>'
    master = (
        "<office:master-styles><style:master-page><style:header><text:p>top</text:p></style:header>"
        "</style:master-page></office:master-styles>"
    )
    part = odt.open_document(io.BytesIO(letters.flat(p("text"), beside=meta + master))).part(1)
    assert (part.lines, part.notes) == (["[header: top]", "text"], ["Not shown: 1 document property."])
    slide = f"<draw:page><draw:frame><draw:text-box>{p('text')}</draw:text-box></draw:frame></draw:page>"
    flat = b"\xef\xbb\xbf\n" + letters.flat(slide, kind="presentation")
    assert odp.open_document(io.BytesIO(flat)).part(1).lines == ["text"]
    other = refused(odt.open_document, io.BytesIO(b"<html><body/></html>"))
    assert other.advice == "Read it as plain text, with `encoding`."


def test_rows_of_a_chart_in_a_flat_sheet_are_not_rows_of_the_sheet() -> None:
    def row(text: str, inside: str = "") -> str:
        return f"<table:table-row><table:table-cell>{p(text)}{inside}</table:table-cell></table:table-row>"

    own = f"<table:table><table:table-rows>{row('of the chart')}</table:table-rows></table:table>"
    chart = f"<draw:frame><draw:object><office:document>{own}</office:document></draw:object></draw:frame>"
    groups = f"<table:table-row-group>{row('b')}</table:table-row-group>"
    sheet = f'<table:table table:name="s">{row("a", chart)}{groups}</table:table>'
    document = sheets.open_document(io.BytesIO(letters.flat(sheet, kind="spreadsheet")))
    assert (document.titles, document.part(1).lines) == (("s",), ["a", "b"])


def test_comments_on_a_slide_are_shown_in_both_forms_that_programs_write() -> None:
    said = "<dc:creator>Ann</dc:creator><dc:date>2024-01-02T03:04:05</dc:date><text:p>{}</text:p>"
    office = f"<office:annotation>{said.format('old')}</office:annotation>"
    extended = (
        '<o:annotation xmlns:o="http://openoffice.org/2009/office" '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/">{said.format("new")}</o:annotation>'
    )
    data = letters.open_text(f"<draw:page>{office}{extended}</draw:page>", kind="presentation")
    lines = odp.open_document(io.BytesIO(data)).part(1).lines
    assert lines == ["", "Comments:", "Ann: old", "Ann: new"]


@pytest.mark.parametrize("opener", [odt.open_document, odp.open_document])
def test_an_encrypted_one_is_told_from_a_damaged_one(opener: object) -> None:
    assert isinstance(refused(opener, io.BytesIO(letters.encrypted_odt())), Encrypted)  # type: ignore[arg-type]
    cut = letters.open_text(p("x"))[:-200]
    assert not isinstance(refused(opener, io.BytesIO(cut)), Encrypted)  # type: ignore[arg-type]


@each(
    ("body", "line"),
    [
        (rb"\ansicpg1251 \'cf\'f0\'e8\par", "При"),
        (rb"{\fonttbl{\f1\fcharset128 x;}}\f1 \'93\'fa\'96\'7b\par", "日本"),
        (rb"{\fonttbl{\f1\fcharset238 x;}{\f2\fcharset0 y;}}\f1 \'9c{\f2 \'9c}\'9c\par", "śœś"),
        (rb"\uc1\u8364?\u-10179?\u-8704?\par", "€😀"),
        (rb"\uc2\u26085\'93\'fab\par", "日b"),
        (rb"a\~b\_c\-d\emdash e{\*\unknown gone}\par", "a\u00a0b\u2011cd—e"),
        (rb"{\upr{ansi}{\*\ud uni}}\par", "uni"),
    ],
)
def test_bytes_of_rtf_are_read_in_the_encoding_of_their_font(body: bytes, line: str) -> None:
    assert _rtf(body) == [line]


@pytest.mark.parametrize(
    ("state", "line"),
    [
        (rb"\fftype2\ffres1\ffdefres0", "v end"),
        (rb"\fftype2\ffres25\ffdefres2", "d end"),
        (rb"\fftype2\ffres9", "end"),
    ],
)
def test_the_chosen_entry_of_a_list_in_a_form_of_rtf_is_shown(state: bytes, line: str) -> None:
    form = rb"{\*\formfield{" + state + rb"{\*\ffname N}{\*\ffl x}{\*\ffl v}{\*\ffl d}}}"
    field = rb"{\field{\*\fldinst { FORMDROPDOWN " + form + rb"}}{\fldrslt }}"
    assert _rtf(field + rb" end\par") == [line]
    part = rtf.read(rb"{\rtf1 " + field + rb"\par}").part(1)
    assert part.notes == ["Not shown: 2 unselected choices."]


@pytest.mark.parametrize(
    ("behind", "notes"),
    [(b"", []), (b"\0\r\n}\x1a", []), (rb" lost\par}", ["Not shown: 1 text after its end."])],
)
def test_what_stands_behind_the_end_of_rtf_is_counted(behind: bytes, notes: list[str]) -> None:
    part = rtf.read(rb"{\rtf1 text\par}" + behind).part(1)
    assert (part.lines, part.notes) == (["text"], notes)


def test_rtf_has_sections_notes_and_tables() -> None:
    data = (
        rb"{\rtf1{\stylesheet{\s1 heading 1;}{\s2\outlinelevel1 Sub;}}"
        rb"\pard\s1 One\par\pard a{\footnote note}\par"
        rb"\pard\s2 Sub\par\trowd\pard\intbl x\cell y\cell\row\pard\s1 Two\par\pard end\par}"
    )
    document = rtf.read(data)
    assert document.titles == ["One", "Two"]
    assert document.part(1).lines == ["# One", "a[^1]", "", "## Sub", "x | y", "[^1]: note"]


def test_what_follows_the_last_group_is_not_part_of_the_text() -> None:
    assert rtf.read(rb"{\rtf1 a\par}garbage{\rtf1 b}").part(1).lines == ["a"]


def test_a_file_that_is_not_rtf_is_refused() -> None:
    assert refused(rtf.open_document, io.BytesIO(b"plain")).problem == "it does not start like RTF"
