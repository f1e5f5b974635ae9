"""Word documents: what stands in them, in order; compared with python-docx, which does not read them here."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

import docx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.documents.formats import Area, Heading, Unit, Unreadable
from readroom.documents.formats.archives import open_archive
from readroom.documents.formats.docx import open_document
from readroom.documents.formats.sections import Sections
from readroom.documents.formats.xml import XML_TAGS
from tests.documents.formats.packages import (
    NAMESPACES,
    is_refused_or_says,
    paragraph,
    refused,
    survives,
    text_of,
    word,
    zipped,
)
from tests.hostile import office
from tests.suites import daily

WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Cn", "Zl", "Zp")), min_size=1
).filter(lambda text: text.strip() == text and "\ufffe" not in text and "\uffff" not in text)


def _saved(document: docx.document.Document) -> io.BytesIO:
    file = io.BytesIO()
    document.save(file)
    return file


def _opened(document: docx.document.Document) -> Sections:
    opened = open_document(_saved(document))
    assert isinstance(opened, Sections)
    return opened


def _list_level(level: int, form: str, text: str) -> str:
    return (
        f'<w:lvl w:ilvl="{level}"><w:start w:val="1"/>'
        f'<w:numFmt w:val="{form}"/><w:lvlText w:val="{text}"/></w:lvl>'
    )


def _item(text: str, level: int, list_id: int = 1) -> str:
    return paragraph(text, f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{list_id}"/></w:numPr>')


def test_paragraphs_headings_and_tables_come_in_the_order_of_the_document() -> None:
    document = docx.Document()
    document.add_heading("Report", 0)
    document.add_paragraph("First line\nsecond line\tafter a tab")
    document.add_heading("Results", 2)
    table = document.add_table(2, 3)
    table.cell(0, 0).text, table.cell(0, 1).text, table.cell(0, 2).text = "Name", "Old", "New"
    table.cell(1, 0).text, table.cell(1, 2).text = "a\nb", "5"
    document.add_paragraph("The end.")
    assert text_of(_opened(document)) == [
        "# Report", "First line", "second line\tafter a tab", "", "## Results",
        "Name | Old | New", "a / b |  | 5", "The end.",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["page", "column", "textWrapping"])
def test_words_on_two_pages_or_in_two_columns_are_on_two_lines(kind: str) -> None:
    body = f'<w:p><w:r><w:t>Michigan</w:t><w:br w:type="{kind}"/><w:t>Population</w:t></w:r></w:p>'
    assert text_of(open_document(word(body))) == ["Michigan", "Population"]


def test_a_section_begins_at_every_heading_of_the_top_level() -> None:
    document = docx.Document()
    document.add_paragraph("Before.")
    for chapter in ("One", "Two"):
        document.add_heading(chapter, 1)
        document.add_heading(f"{chapter}.1", 2)
        document.add_paragraph(f"Text of {chapter}.")
    opened = _opened(document)
    assert (opened.unit, opened.titles) == (Unit.SECTION, ["", "One", "Two"])
    assert list(opened.part(3).lines) == ["# Two", "", "## Two.1", "Text of Two."]
    assert list(opened.contents) == [
        Heading(1, "One", 2), Heading(2, "One.1", 2), Heading(1, "Two", 3), Heading(2, "Two.1", 3)
    ]  # fmt: skip


def test_a_single_title_does_not_keep_the_chapters_together() -> None:
    document = docx.Document()
    for text, level in (("Book", 1), ("A", 2), ("B", 2)):
        document.add_heading(text, level)
        document.add_paragraph(f"in {text}")
    assert _opened(document).titles == ["Book", "A", "B"]


def test_headings_are_known_by_outline_level_in_any_language() -> None:
    style = (
        '<w:style w:type="paragraph" w:styleId="{}"><w:name w:val="{}"/><w:basedOn w:val="{}"/>{}</w:style>'
    )
    styles = (
        style.format("berschrift1", "Überschrift 1", "", '<w:pPr><w:outlineLvl w:val="0"/></w:pPr>')
        + style.format("Eigene", "Eigene", "berschrift1", "")
        + style.format("H2", "heading 2", "", "")
    )
    body = (
        paragraph("A", '<w:pStyle w:val="Eigene"/>') + paragraph("B", '<w:pStyle w:val="H2"/>')
        + paragraph("C", '<w:outlineLvl w:val="2"/>')
        + paragraph("D", '<w:pStyle w:val="H2"/><w:outlineLvl w:val="9"/>')
    )  # fmt: skip
    opened = open_document(word(body, {"styles": f"<w:styles {NAMESPACES}>{styles}</w:styles>"}))
    assert text_of(opened) == ["# A", "", "## B", "", "### C", "D"]


def test_lists_have_their_labels_and_their_depth() -> None:
    levels = (
        _list_level(0, "decimal", "%1.") + _list_level(1, "lowerLetter", "%2)")
        + _list_level(2, "upperRoman", "%1.%2.%3") + _list_level(3, "bullet", "\uf0b7")
    )  # fmt: skip
    numbering = (
        f'<w:numbering {NAMESPACES}><w:abstractNum w:abstractNumId="7">{levels}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>'
        '<w:num w:numId="2"><w:abstractNumId w:val="7"/>'
        '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num></w:numbering>'
    )
    body = "".join(
        _item(text, level, number)
        for text, level, number in (
            ("a", 0, 1), ("b", 1, 1), ("c", 1, 1), ("d", 2, 1),
            ("e", 3, 1), ("f", 0, 1), ("g", 1, 1), ("h", 0, 2),
        )
    )  # fmt: skip
    assert text_of(open_document(word(body, {"numbering": numbering}))) == [
        "1. a", "  a) b", "  b) c", "    1.b.I d", "      - e", "2. f", "  a) g", "1. h"
    ]  # fmt: skip


def test_links_have_their_target_where_it_says_more_than_the_words() -> None:
    link = (
        '<w:p><w:r><w:t xml:space="preserve">see </w:t></w:r>'
        '<w:hyperlink r:id="{}"><w:r><w:t>{}</w:t></w:r></w:hyperlink></w:p>'
    )
    body = link.format("a", "the page") + link.format("b", "https://b.test/") + link.format("gone", "nothing")
    links = "".join(
        f'<Relationship Id="{name}" Type="x/hyperlink" Target="https://{name}.test/" TargetMode="External"/>'
        for name in "ab"
    )
    assert text_of(open_document(word(body, links=links))) == [
        "see [the page](https://a.test/)", "see https://b.test/", "see nothing"
    ]  # fmt: skip


def test_tracked_changes_show_what_is_inserted_and_count_what_is_deleted() -> None:
    run = "<w:r><w:t>{}</w:t></w:r>"
    body = (
        f"<w:p>{run.format('old ')}<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        f"<w:ins>{run.format('new')}</w:ins><w:r><w:rPr><w:vanish/></w:rPr><w:t>secret</w:t></w:r></w:p>"
    )
    part = open_document(word(body)).part(1)
    assert (list(part.lines), list(part.notes)) == (
        ["old new"],
        ["Not shown: 1 hidden text, 1 tracked deletion."],
    )


def test_notes_and_comments_stand_at_the_end_of_their_section() -> None:
    body = (
        '<w:p><w:r><w:t>said</w:t><w:footnoteReference w:id="2"/><w:endnoteReference w:id="3"/></w:r>'
        '<w:r><w:commentReference w:id="0"/></w:r></w:p>'
    )
    note = '<w:{0}s {1}><w:{0} w:id="{2}" w:author="{3}">{4}</w:{0}></w:{0}s>'
    parts = {
        "footnotes": note.format("footnote", NAMESPACES, 2, "", paragraph(" one") + paragraph("two")),
        "endnotes": note.format("endnote", NAMESPACES, 3, "", paragraph("three")),
        "comments": note.format("comment", NAMESPACES, 0, "Ann", paragraph("why?")),
    }
    assert text_of(open_document(word(body, parts))) == [
        "said[^2][^e3][^c0]", "[^2]: one", "  two", "[^e3]: three", "[^c0]: Ann: why?"
    ]  # fmt: skip


def test_a_note_is_shown_once_and_what_items_repeat_is_bounded() -> None:
    opened = open_document(io.BytesIO(office.FILES["repeating.docx"]()))
    lines = text_of(opened)
    assert sum(map(len, lines)) < 1_400_000
    assert [line for line in opened.part(4).lines if line.startswith("[^1]:")] == ["[^1]: (see above)"]


def test_a_mark_without_its_note_says_so() -> None:
    body = '<w:p><w:r><w:t>said</w:t><w:footnoteReference w:id="2"/></w:r></w:p>'
    assert text_of(open_document(word(body))) == ["said[^2]", "[^2]: (missing)"]


def test_text_boxes_come_once_after_their_paragraph_and_pictures_by_their_description() -> None:
    box = f"<w:txbxContent>{paragraph('in the box')}</w:txbxContent>"
    body = (
        "<w:p><w:r><w:t>before</w:t></w:r><w:r><mc:AlternateContent>"
        "<mc:Choice Requires='wps'><w:drawing><wp:inline>"
        f"<wps:txbx>{box}</wps:txbx></wp:inline></w:drawing></mc:Choice>"
        f"<mc:Fallback><w:pict><v:textbox>{box}</v:textbox></w:pict></mc:Fallback></mc:AlternateContent></w:r>"
        "<w:r><w:drawing><wp:inline><wp:docPr id='1' descr='A  cat'/><a:blip/></wp:inline></w:drawing></w:r>"
        "</w:p>"
    )
    assert text_of(open_document(word(body))) == ["before[picture: A cat]", "in the box"]


def test_headers_and_footers_stand_once_at_the_start() -> None:
    document = docx.Document()
    document.add_heading("A", 1)
    document.add_section()
    document.add_heading("B", 1)
    document.sections[0].header.paragraphs[0].text = "Confidential"
    document.sections[1].header.is_linked_to_previous = False
    document.sections[1].header.paragraphs[0].text = "Confidential"
    document.sections[0].footer.paragraphs[0].text = "Page 1"
    opened = _opened(document)
    assert [list(opened.part(number).lines) for number in (1, 2)] == [
        ["[header: Confidential]", "[footer: Page 1]", "# A"], ["# B"]
    ]  # fmt: skip


def test_merged_cells_are_shown_once_and_a_frame_is_plain_text() -> None:
    document = docx.Document()
    table = document.add_table(2, 3)
    table.cell(0, 0).merge(table.cell(1, 0)).text = "tall"
    table.cell(0, 1).merge(table.cell(0, 2)).text = "wide"
    table.cell(1, 2).text = "x"
    document.add_table(1, 1).cell(0, 0).text = "one\ntwo"
    document.add_table(1, 2).cell(0, 1).text = "next"
    assert text_of(_opened(document)) == ["tall | wide", " |  | x", "one", "two", " | next"]


def test_formulas_are_their_letters() -> None:
    def run(text: str) -> str:
        return f"<m:r><m:t>{text}</m:t></m:r>"

    formula = (
        f"<m:oMath>{run('y=')}<m:f><m:num>{run('a+b')}</m:num><m:den>{run('2')}</m:den></m:f>"
        f"<m:sSup><m:e>{run('x')}</m:e><m:sup>{run('2')}</m:sup></m:sSup></m:oMath>"
    )
    assert text_of(open_document(word(f"<w:p>{formula}</w:p>"))) == ["y=(a+b)/2x^2"]


@pytest.mark.parametrize(
    "content_type", ["document.macroEnabled.main", "template.main", "template.macroEnabledTemplate.main"]
)
def test_macro_documents_and_templates_are_read(content_type: str) -> None:
    document = docx.Document()
    document.add_paragraph("text")
    members = {}
    with zipfile.ZipFile(_saved(document)) as archive:
        for name in archive.namelist():
            members[name] = archive.read(name).replace(b"document.main", content_type.encode())
    assert text_of(open_document(zipped(members))) == ["text"]


def test_the_strict_variant_is_read() -> None:
    members: dict[str, str | bytes] = {}
    archive = open_archive(word(paragraph("text", '<w:outlineLvl w:val="0"/>')))
    for name in archive.members:
        members[name] = (
            archive.read(name)
            .replace(b"http://schemas.openxmlformats.org/wordprocessingml/2006/main", b"http://purl.oclc.org/ooxml/wordprocessingml/main")
            .replace(b"http://schemas.openxmlformats.org/officeDocument/2006/", b"http://purl.oclc.org/ooxml/officeDocument/")
        )  # fmt: skip
    assert text_of(open_document(zipped(members))) == ["# text"]


def test_a_part_that_does_not_exist_says_how_many_there_are() -> None:
    opened = open_document(word(paragraph("text")))
    for number in (0, 2):
        with pytest.raises(Unreadable, match=f"it has no section {number}") as caught:
            opened.part(number)
        assert caught.value.advice == "It has 1; they are numbered from 1."
    with pytest.raises(Unreadable, match="a section has no rows and columns"):
        opened.part(1, Area())


def test_an_empty_document_is_one_empty_section() -> None:
    assert [list(open_document(word("")).part(1).lines)] == [[]]


@given(
    st.lists(st.tuples(WORDS, st.sampled_from(["Normal", "Heading 1", "Heading 3", "List Bullet", "table"])))
)
@settings(max_examples=20, deadline=None)
def test_any_text_comes_in_order_as_python_docx_reads_it(written: Sequence[tuple[str, str]]) -> None:
    document = docx.Document()
    for text, style in written:
        if style == "table":
            document.add_table(1, 2).cell(0, 1).text = text
        else:
            document.add_paragraph(text, style)
    file = _saved(document)
    expected = []
    for block in docx.Document(file).iter_inner_content():
        expected.append(block.text if hasattr(block, "text") else block.cell(0, 1).text)
    shown = [line.lstrip("#-| ") for line in text_of(open_document(file)) if line]
    assert [" ".join(text.split()) for text in shown] == [
        " ".join(text.lstrip("#-| ").split()) for text in expected if text
    ]


@daily(4, "name", [name for name in office.FILES if name.endswith((".docx", ".doc"))])
def test_hostile_documents_are_read_or_refused_with_advice(name: str) -> None:
    problem = survives(open_document, office.FILES[name]())
    assert (problem is None) == (name in office.READABLE)
    assert problem is None or problem.advice


def test_a_text_of_too_many_tags_is_refused_before_it_is_parsed() -> None:
    members = office.word_members(b"<w>" + b"<p/>" * XML_TAGS + b"</w>")
    problem = refused(open_document, zipped(members, zipfile.ZIP_STORED)).problem
    assert problem == "its part word/document.xml has 1,000,002 tags, more than the limit of 1,000,000"


def test_encrypted_and_old_documents_say_what_to_ask_for() -> None:
    assert refused(open_document, io.BytesIO(office.encrypted_docx())).problem == "it is encrypted"
    damaged = refused(open_document, io.BytesIO(office.old_doc()))
    assert "damaged" in damaged.problem
    unknown = refused(open_document, io.BytesIO(office.ole("Contents")))
    assert unknown.problem == "it is a binary file of an older office program"


def test_a_document_cut_anywhere_is_refused_or_read_with_a_note() -> None:
    document = docx.Document()
    document.add_paragraph("text")
    whole = _saved(document).getvalue()
    for size in range(0, len(whole), 997):
        assert is_refused_or_says(open_document, whole[:size])


def test_a_document_changed_anywhere_is_read_or_refused() -> None:
    whole = word(paragraph("text") * 3, {"styles": f"<w:styles {NAMESPACES}/>"}).getvalue()
    for at in range(0, len(whole), 3):
        survives(open_document, whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
