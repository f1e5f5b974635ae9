"""Presentations: what stands on each slide; compared with python-pptx, which does not read them here."""

from __future__ import annotations

import io

import pptx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pptx.util import Inches

from readroom.documents.formats import Heading, Unit
from readroom.documents.formats.pptx import open_document
from tests.documents.formats.packages import is_refused_or_says, survives
from tests.hostile import office

BOX = (Inches(1), Inches(1), Inches(2), Inches(1))
WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Cn", "Zl", "Zp")), min_size=1
).filter(lambda text: text.strip() == text and not {"\ufffe", "\uffff"} & set(text))


def _saved(deck: pptx.presentation.Presentation) -> io.BytesIO:
    file = io.BytesIO()
    deck.save(file)
    return file


def _text(body: str, placeholder: str = "") -> str:
    return f"<p:sp><p:nvSpPr><p:nvPr>{placeholder}</p:nvPr></p:nvSpPr><p:txBody>{body}</p:txBody></p:sp>"


def test_a_slide_has_its_title_its_texts_its_tables_and_its_notes() -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.add_textbox(*BOX).text_frame.text = "box\nline"
    slide.shapes.title.text = "The Title"
    body = slide.placeholders[1].text_frame
    body.text = "one"
    body.add_paragraph().text = "deeper"
    body.paragraphs[1].level = 1
    table = slide.shapes.add_table(2, 2, *BOX).table
    table.cell(0, 0).text, table.cell(1, 1).text = "a\nb", "d"
    slide.notes_slide.notes_text_frame.text = "say this"
    second = deck.slides.add_slide(deck.slide_layouts[6])
    second._element.set("show", "0")
    opened = open_document(_saved(deck))
    assert (opened.unit, list(opened.titles)) == (Unit.SLIDE, ["The Title", ""])
    assert list(opened.contents) == [Heading(1, "The Title", 1)]
    assert list(opened.part(1).lines) == [
        "# The Title", "- one", "  - deeper", "box", "line", "a / b |", " | d", "", "Notes:", "say this"
    ]  # fmt: skip
    assert (list(opened.part(2).lines), list(opened.part(2).notes)) == ([], ["This slide is hidden."])


def test_groups_pictures_charts_links_and_numbers_of_slides() -> None:
    def run(words: str) -> str:
        return f"<a:p><a:r><a:t>{words}</a:t></a:r></a:p>"

    tree = (
        f"<p:grpSp>{_text(run('in a group'))}<p:grpSp>{_text(run('deeper'))}</p:grpSp></p:grpSp>"
        "<p:pic><p:nvPicPr><p:cNvPr descr='A cat'/></p:nvPicPr></p:pic>"
        "<p:graphicFrame><a:graphic><a:graphicData><a:chart/></a:graphicData></a:graphic></p:graphicFrame>"
        + _text("<a:p><a:r><a:rPr><a:hlinkClick r:id='l'/></a:rPr><a:t>here</a:t></a:r>"
            "<a:br/><a:fld><a:t>5</a:t></a:fld></a:p>")
        + _text(run("17"), "<p:ph type='sldNum'/>")
    )  # fmt: skip
    link = '<Relationship Id="l" Type="x/hyperlink" Target="https://x.test/" TargetMode="External"/>'
    relations = f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{link}</Relationships>'
    data = office.slides(tree, {"ppt/slides/_rels/slide1.xml.rels": relations})
    assert list(open_document(io.BytesIO(data)).part(1).lines) == [
        "in a group", "deeper", "[picture: A cat]", "[chart]", "[here](https://x.test/)", "5"
    ]  # fmt: skip


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=4))
@settings(max_examples=7, deadline=None)
def test_any_text_is_on_its_slide_as_python_pptx_reads_it(written: list[tuple[str, str]]) -> None:
    deck = pptx.Presentation()
    for title, text in written:
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        slide.shapes.title.text = title
        slide.shapes.add_textbox(*BOX).text_frame.text = text
    file = _saved(deck)
    opened = open_document(file)
    for number, slide in enumerate(pptx.Presentation(file).slides, 1):
        title, text = (shape.text_frame.text for shape in slide.shapes)
        shown = opened.part(number)
        assert shown.title == " ".join(title.split())
        assert "\n".join(shown.lines[1:]) == text


@pytest.mark.parametrize("name", [name for name in office.FILES if name.endswith(".pptx")])
def test_hostile_presentations_are_refused_with_advice(name: str) -> None:
    problem = survives(open_document, office.FILES[name]())
    assert problem is not None
    assert problem.advice


def test_a_presentation_cut_or_changed_anywhere_is_read_or_refused() -> None:
    whole = office.slides(_text("<a:p><a:r><a:t>text</a:t></a:r></a:p>"))
    for size in range(0, len(whole), 7):
        assert is_refused_or_says(open_document, whole[:size])
    for at in range(0, len(whole), 7):
        survives(open_document, whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
