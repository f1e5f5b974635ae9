"""Documents, images and binary files in the contract of kilo."""

from __future__ import annotations

import re
from typing import Any

import pytest

from readroom.core.workspace import Workspace
from tests.contracts.kilo.calling import call, numbered, read, refused, room
from tests.documents.formats.packages import paragraph, word
from tests.documents.reading.making import code, markdown, notebook, pdf, png, printed
from tests.laws.driving import fact

PAGES = [[f"page {page} line {line}" for line in range(1, 31)] for page in range(1, 101)]

DOCUMENTS: dict[str, bytes | str] = {
    "a.pdf": pdf(PAGES),
    "a.docx": word("".join(paragraph(f"paragraph {number}") for number in range(1, 8))).getvalue(),
    "a.ipynb": notebook(
        markdown("# Title\nwords"), code("x = 1\nprint(x)", printed("1\n"), run=1), code("y")
    ),
    "bad.ipynb": '{"cells": [\n',
    "scan.pdf": pdf([["words"], []]),
    "broken.pdf": b"%PDF-1.7\n" + bytes(100),
    "a.xlsx": b"PK\3\4" + b"xl/" * 30,
    "a.bin": bytes(range(256)),
    "noname": bytes(range(256)),
    "a.gz": b"\x1f\x8b\x08" + bytes(40),
    "a.png": png(40, 20),
}


@pytest.fixture(scope="module")
def documents() -> Any:
    with room(DOCUMENTS, max_read_file_line=2) as space:
        yield space


@pytest.mark.clause("kilo.returns.documents", "kilo.process.formats", "kilo.default.extractors")
@pytest.mark.clause("kilo.notebook_lines", "kilo.numbered_twice")
def test_documents_are_one_text_with_lines_numbered_through(documents: Workspace) -> None:
    assert read(documents, "a.pdf", start_line=30, end_line=33) == (
        "30 | page 1 line 30\n31 | \n32 | page 2 line 1\n33 | page 2 line 2"
    )
    assert read(documents, "a.docx") == numbered(1, 7, "paragraph {}")
    expected = ["# Title", "words", "", "x = 1", "print(x)", "", "y"]
    assert read(documents, "a.ipynb") == "\n".join(f"{n} | {line}" for n, line in enumerate(expected, 1))


@pytest.mark.clause("kilo.truncate.not_binary")
def test_only_documents_that_are_texts_are_truncated(documents: Workspace) -> None:
    assert read(documents, "a.docx", auto_truncate=True) == numbered(1, 7, "paragraph {}")
    assert read(documents, "a.ipynb", auto_truncate=True) == (
        "1 | # Title\n2 | words\n[... truncated 5 lines ...]\n"
        "[File truncated: showing 2 of 7 total lines. Use start_line=3 to read more.]"
    )
    assert read(documents, "a.pdf", auto_truncate=True).startswith(numbered(1, 30, "page 1 line {}"))


def test_a_long_document_is_read_to_its_end_by_its_own_hints(documents: Workspace) -> None:
    reply, found = call(documents, "a.pdf"), list[str]()
    while True:
        found += [line for line in reply.text.split("\n") if re.match(r"\d+ \| ", line)]
        if fact(reply, "next") is None:
            break
        assert "[... truncated ...]" in reply.text
        reply = call(documents, **fact(reply, "next")["arguments"])
    whole = "\n\n".join("\n".join(page) for page in PAGES).split("\n")
    assert found == [f"{number} | {line}" for number, line in enumerate(whole, 1)]


def test_what_of_a_document_has_no_text_is_said(documents: Workspace) -> None:
    assert read(documents, "scan.pdf") == "1 | words\n2 | \n3 | [page 2 has no text]"
    assert refused(documents, "broken.pdf").startswith(
        "Error reading file: broken.pdf (pdf) cannot be read: "
    )
    assert read(documents, "bad.ipynb") == '1 | {"cells": ['
    assert refused(documents, "a.docx", start_line=8) == (
        "Error: start_line 8 is past the end of 'a.docx', which has 7 lines. Use a start_line from 1 to 7."
    )


@pytest.mark.clause("kilo.binary")
@pytest.mark.parametrize("name", ["a.xlsx", "a.bin", "a.gz", "noname"])
def test_other_binary_files_are_refused_by_their_type(documents: Workspace, name: str) -> None:
    ending = f".{name.rpartition('.')[2]}" if "." in name else "application/octet-stream"
    expected = f"Error reading file: Cannot read text for file type: {ending}"
    for options in ({}, {"start_line": 1}, {"auto_truncate": True}):
        assert refused(documents, name, **options) == expected


def test_an_image_is_shown(documents: Workspace) -> None:
    reply = call(documents, "a.png")
    assert re.fullmatch(r"Image file \(\d+ KB\)", reply.text)
    assert [image.media_type for image in reply.images] == ["image/png"]
