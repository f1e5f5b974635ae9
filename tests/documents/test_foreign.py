"""Our own samples that are sound are sound to other programs, which find in them what we planted."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import docx
import openpyxl
import pptx
import py7zr
from odf import teletype
from odf.opendocument import load

from tests.each import each
from tests.hostile import sevens
from tests.hostile.documents import FILES
from tests.laws.planting import SLIDES, WORD, mark
from tests.laws.planting_flows import OPEN_SLIDES, OPEN_TEXT
from tests.laws.planting_sheets import OPEN_SHEETS, WORKBOOK
from tests.suites import whole

pytestmark = whole


def _word(data: bytes) -> str:
    found = docx.Document(io.BytesIO(data))
    cells = (cell.text for table in found.tables for row in table.rows for cell in row.cells)
    return "\n".join([*(one.text for one in found.paragraphs), *cells])


def _slides(data: bytes) -> str:
    found = pptx.Presentation(io.BytesIO(data))
    return "\n".join(
        shape.text_frame.text for slide in found.slides for shape in slide.shapes if shape.has_text_frame
    )


def _workbook(data: bytes) -> str:
    found = openpyxl.load_workbook(io.BytesIO(data))
    rows = (row for sheet in found.worksheets for row in sheet.iter_rows(max_row=100, max_col=100))
    return "\n".join(str(cell.value) for row in rows for cell in row if cell.value is not None)


def _open_document(data: bytes) -> str:
    return str(teletype.extractText(load(io.BytesIO(data)).body))


READERS: Mapping[str, Callable[[bytes], str]] = {
    "docx": _word,
    "pptx": _slides,
    "xlsx": _workbook,
    "odt": _open_document,
    "odp": _open_document,
    "ods": _open_document,
}


PLAIN = {
    "a.docx": "body",
    "a.pptx": "body",
    "a.xlsx": "cell",
    "text.odt": "paragraph",
    "slides.odp": "text",
    "a.ods": "cell",
}
"""A place in each whose word every program reads."""

UNSOUND = {
    ("a.docx", "second body"),
    ("a.xlsx", "pivot table"),  # openpyxl would have a cache for it
}


def opened(name: str, data: bytes) -> str:
    """The text that a program finds which is not ours."""
    return READERS[name.rpartition(".")[2]](data)


@contextmanager
def refusing(unlike: dict[str, str], name: str) -> Iterator[None]:
    """Note why a file is not opened, and continue."""
    try:
        yield
    except Exception as problem:
        unlike[name] = repr(problem)[:300]


SOUND = {
    "nested.docx": "words",
    "office-circular-styles.docx": "text",
    "office-repeating.docx": "a",
    "office-backward-rows.xlsx": "50",
    "office-corners.xlsx": "first",
    "letters-circular-styles.odt": "words",
    "letters-deep-lists.odt": "words",
    "letters-nested-tables.odt": "words",
    "office-endless.ods": "",
}
"""Hostile files that are sound and only large, deep or circular, with a word that is in them."""


def test_planted_documents_are_opened_by_other_programs() -> None:
    unlike: dict[str, str] = {}
    for kind in (WORD, SLIDES, WORKBOOK, OPEN_TEXT, OPEN_SLIDES, OPEN_SHEETS):
        shown = PLAIN[kind.name]
        for place in kind.places:
            if (kind.name, place) in UNSOUND:
                continue
            with refusing(unlike, f"{kind.name} {place}"):
                assert mark(shown) in opened(kind.name, kind.make(dict.fromkeys([shown, place])))
    assert unlike == {}


def test_hostile_documents_that_are_sound_are_opened_by_other_programs() -> None:
    unlike: dict[str, str] = {}
    for name, word in SOUND.items():
        with refusing(unlike, name):
            assert word in opened(name, FILES[name]())
    assert unlike == {}


MEMBERS = {"a.txt": b"a line\n" * 100, "b/c.bin": bytes(range(256)) * 9, "d.txt": b"x"}


@each("data", [*(sevens.sevened(MEMBERS, method) for method in sevens.METHODS), sevens.encoded(MEMBERS)])
def test_archives_of_7z_are_unpacked_by_another_program(data: bytes, tmp_path: Path) -> None:
    with py7zr.SevenZipFile(io.BytesIO(data)) as archive:
        assert set(archive.namelist()) == set(MEMBERS)
        archive.extractall(tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in MEMBERS} == MEMBERS
