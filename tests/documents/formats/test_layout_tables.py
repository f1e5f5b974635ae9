"""Text that stands in tables is readable to its end, in every kind of document."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence

import docx
import pptx
import pytest
from pptx.util import Inches

from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from tests.documents.formats.packages import paragraph, word, zipped
from tests.laws.driving import Driver, fact
from tests.suites import daily

WORDS = 19_585
PARAGRAPHS = [
    " ".join(f"word{number}" for number in range(start, min(start + 60, WORDS)))
    for start in range(0, WORDS, 60)
]
SIDE = ["Menu", "Home", "About us"]


def article_docx(cells: Sequence[Sequence[str]]) -> bytes:
    document = docx.Document()
    document.add_paragraph("Before the table.")
    table = document.add_table(1, len(cells))
    for cell, paragraphs in zip(table.rows[0].cells, cells, strict=True):
        for text in paragraphs:
            cell.add_paragraph(text)
    document.add_paragraph("Behind the table.")
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def article_html(cells: Sequence[Sequence[str]]) -> str:
    inside = "".join(f"<td>{''.join(f'<p>{text}</p>' for text in cell)}</td>" for cell in cells)
    return (
        '<html xmlns="http://www.w3.org/1999/xhtml"><body><p>Before the table.</p>'
        f"<table><tr>{inside}</tr></table><p>Behind the table.</p></body></html>"
    )


def article_epub(cells: Sequence[Sequence[str]]) -> bytes:
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container><rootfile full-path="b.opf"/></container>',
            "b.opf": '<package><manifest><item id="c" href="c.xhtml" media-type="application/xhtml+xml"/>'
            '</manifest><spine><itemref idref="c"/></spine></package>',
            "c.xhtml": article_html(cells),
        }
    ).getvalue()


def article_pptx(cells: Sequence[Sequence[str]]) -> bytes:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    frame = slide.shapes.add_table(1, len(cells), Inches(1), Inches(1), Inches(5), Inches(5))
    for cell, paragraphs in zip(frame.table.rows[0].cells, cells, strict=True):
        cell.text = "\n".join(paragraphs)
    file = io.BytesIO()
    presentation.save(file)
    return file.getvalue()


LAYOUTS = {
    "frame": [PARAGRAPHS],
    "side": [SIDE, PARAGRAPHS],
    "spacer": [[], PARAGRAPHS, []],
}
ARTICLES: dict[str, Callable[[Sequence[Sequence[str]]], bytes]] = {
    "docx": article_docx,
    "html": lambda cells: article_html(cells).encode(),
    "epub": article_epub,
    "pptx": article_pptx,
}
NAMES = [f"{layout}.{kind}" for layout in LAYOUTS for kind in ARTICLES]


def article(name: str) -> bytes:
    layout, kind = name.split(".")
    return ARTICLES[kind](LAYOUTS[layout])


def numbered(text: str) -> list[str]:
    """The lines of the document in a reply."""
    return re.findall(r"^\d+\t(.*)$", text, re.MULTILINE)


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    found = Driver(MemoryStore({name: article(name) for name in NAMES}))
    yield found
    found.workspace.close()


@daily(3, "name", NAMES)
def test_an_article_in_a_table_is_readable_to_its_end(driver: Driver, name: str) -> None:
    lines: list[str] = []
    for reply in driver.pages("read_file", path=name, pages="1-"):
        assert [item for item in fact(reply, "omitted") if item["what"] == "columns"] == []
        lines += numbered(reply.text)
    assert [line.strip(" |") for line in lines if "word" in line] == PARAGRAPHS
    if not name.startswith("spacer"):
        assert all(any(side in line for line in lines) for side in (SIDE if name.startswith("side") else []))


def test_a_simple_table_is_a_line_for_each_row() -> None:
    document = docx.Document()
    table = document.add_table(2, 3)
    for row, cells in enumerate((("Name", "Old\n(EUR)", "New"), ("a", "", "5"))):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    file = io.BytesIO()
    document.save(file)
    with Workspace(MemoryStore({"a.docx": file.getvalue()})) as space:
        assert "1\tName | Old / (EUR) | New\n2\ta |  | 5\n" in space.read("a.docx").text


def test_a_row_of_long_cells_says_where_each_begins() -> None:
    with Workspace(
        MemoryStore({"a.docx": article_docx([["left " * 30, "second"], ["right " * 30]])})
    ) as space:
        text = space.read("a.docx").text
    lines = [line.strip() for line in numbered(text)]
    left, right = ("left " * 30).strip(), ("right " * 30).strip()
    assert lines == ["Before the table.", "|-", f"| {left}", "second", f"| {right}", "Behind the table."]


def test_all_bodies_of_a_document_are_shown() -> None:
    file = word(f"{paragraph('the first body')}</w:body><w:body>{paragraph('the second body')}")
    with Workspace(MemoryStore({"a.docx": file.getvalue()})) as space:
        assert "1\tthe first body\n2\tthe second body\n" in space.read("a.docx").text
