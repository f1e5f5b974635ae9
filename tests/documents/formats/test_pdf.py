"""Text of PDF pages, compared with a second library; files of Debian's documentation, and generated ones.

What differs between two readers of PDF is white space, where words divided at line
ends are joined, ligatures, and on some pages the order of pieces.
"""

from __future__ import annotations

import io
import re
import unicodedata
from pathlib import Path

import pypdf
import pytest

from readroom.documents.formats import Document
from readroom.documents.formats.pdf import open_document
from tests.documents.formats.pdf_pages import page, text
from tests.documents.reading.making import pdf
from tests.suites import daily

REAL = [
    Path("/usr/share/doc/shared-mime-info/shared-mime-info-spec.pdf"),
    Path("/usr/share/doc/libtasn1-doc/libtasn1.pdf"),
]


def letters(text: str) -> str:
    """What of a text two readers agree on."""
    return re.sub(r"[\s\u00ad\u2010-]", "", unicodedata.normalize("NFKC", text))


def words(document: Document, number: int) -> str:
    return letters("\n".join(document.part(number).lines))


@daily(
    1,
    "path",
    [
        pytest.param(path, marks=pytest.mark.skipif(not path.exists(), reason=f"{path} is not installed"))
        for path in REAL
    ],
    ids=lambda path: path.stem,
)
def test_text_of_each_page_is_that_of_a_second_library(path: Path) -> None:
    second = pypdf.PdfReader(path)
    same = 0
    with path.open("rb") as file:
        document = open_document(file)
        assert len(document.titles) == len(second.pages)
        for number, page in enumerate(second.pages, 1):
            ours, theirs = words(document, number), letters(page.extract_text())
            assert abs(len(ours) - len(theirs)) <= 2
            assert sum(map(ours.count, set(ours))) - sum(map(theirs.count, set(ours))) <= 2
            same += ours == theirs
    assert same >= len(second.pages) // 2


def test_generated_pages_are_equal_line_by_line() -> None:
    pages = [
        [f"page {page}, line {line} (of {page * 3})" for line in range(page * 3)] for page in range(1, 15)
    ]
    data = pdf(pages)
    document, second = open_document(io.BytesIO(data)), pypdf.PdfReader(io.BytesIO(data))
    for number, lines in enumerate(pages, 1):
        assert document.part(number).lines == lines
        assert second.pages[number - 1].extract_text().strip().split("\n") == lines


def test_the_outline_names_pages() -> None:
    data = pdf([["x"]] * 3, outline=[("One", 1), ("Three", 3)])
    contents = open_document(io.BytesIO(data)).contents
    assert [(heading.level, heading.title, heading.part) for heading in contents] == [
        (1, "One", 1),
        (1, "Three", 3),
    ]


def test_only_the_pages_that_are_asked_for_are_read() -> None:
    class Counting(io.BytesIO):
        taken = 0

        def read(self, size: int | None = -1, /) -> bytes:
            found = super().read(size)
            self.taken += len(found)
            return found

        def readinto(self, buffer: object, /) -> int:
            count = super().readinto(buffer)  # type: ignore[arg-type]  # as the base class takes it
            self.taken += count
            return count

    file = Counting(pdf([[f"page {page} " * 20] * 50 for page in range(2000)]))
    size = len(file.getvalue())
    document = open_document(file)
    assert document.part(1234).lines[0].startswith("page 1233 ")
    assert 0 < file.taken < size // 10


@pytest.mark.parametrize(
    ("above", "below", "shown"),
    [
        ("a patient of type-", "2 came", "type-2"),
        ("read it in line-", "100 blandit", "line-100"),
        ("what divi-", "ded words mean", "divided"),
    ],
)
def test_a_hyphen_before_a_number_divides_no_word(above: str, below: str, shown: str) -> None:
    data = page(text(above, 72, 700) + text(below, 72, 688))
    assert shown in " ".join(open_document(io.BytesIO(data)).part(1).lines)
