"""A filled PDF form is read with what was filled in, at its place; labels of a chart are lines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from tests.documents.formats.pdf_pages import annotation, drawing, page, text

LABELS = (
    ("Name:", 50, 700), ("Country:", 50, 670), ("I agree", 65, 640), ("Food:", 50, 610),
    ("Signature:", 50, 580), ("Password:", 50, 550), ("The end", 50, 100),
)  # fmt: skip
BUTTON = "/AP<</N<</%s 20 0 R/Off 20 0 R>>>>"
FORM = page(
    b"".join(text(*label) for label in LABELS),
    {
        10: annotation("Widget", "/FT/Tx/T(name)/V(Jane Doe)/DA(/F 10 Tf 0 g)", (100, 695, 300, 715)),
        11: annotation(
            "Widget", "/FT/Ch/Ff 131072/T(c)/V(de)/Opt[[(de)(Germany)][(fr)(France)]]/DA(/F 10 Tf 0 g)",
            (100, 665, 300, 685),
        ),
        12: annotation("Widget", f"/FT/Btn/T(k)/V/Yes/AS/Yes{BUTTON % 'Yes'}", (50, 640, 60, 650)),
        13: b"<</FT/Btn/Ff 32768/T(r)/V/B/Kids[14 0 R 15 0 R]>>",
        14: annotation("Widget", f"/Parent 13 0 R/AS/Off{BUTTON % 'A'}", (100, 610, 110, 620)),
        15: annotation("Widget", f"/Parent 13 0 R/AS/B{BUTTON % 'B'}", (130, 610, 140, 620)),
        16: annotation("Widget", "/FT/Sig/T(s)/V 17 0 R/AP<</N 22 0 R>>", (110, 575, 310, 595)),
        17: b"<</Type/Sig/Filter/Adobe.PPKLite>>",
        18: annotation("Widget", "/FT/Tx/Ff 8192/T(p)/V(topsecret)/DA(/F 10 Tf 0 g)", (110, 545, 310, 565)),
        19: annotation("Widget", "/FT/Tx/F 2/T(h)/V(hiddenvalue)/DA(/F 10 Tf 0 g)", (110, 520, 310, 540)),
        20: drawing(""),
        21: drawing("PAID IN FULL"),
        22: drawing("Signed by Jane"),
        23: annotation("Text", "/T(Ann)/Contents(please check)", (300, 500, 320, 520)),
        24: annotation("FreeText", "/Contents(free words)/DA(/F 10 Tf 0 g)", (50, 450, 200, 470)),
        25: annotation("Stamp", "/AP<</N 21 0 R>>", (50, 300, 250, 320)),
        26: annotation(
            "Widget", "/FT/Tx/Ff 4096/T(m)/V(two\\rlines)/DA(/F 10 Tf 0 g)", (50, 200, 300, 280)
        ),
    },
    annotations=(10, 11, 12, 14, 15, 16, 18, 19, 23, 24, 25, 26),
    fields=(10, 11, 12, 13, 16, 18, 19, 26),
)  # fmt: skip
CHART = page(b"".join(text(str(2 * step), 50, 100 + 40 * step) for step in range(5)))


@pytest.fixture(scope="module")
def space() -> Iterator[Workspace]:
    with Workspace(MemoryStore({"form.pdf": FORM, "chart.pdf": CHART})) as found:
        yield found


def test_what_was_filled_in_stands_at_its_place(space: Workspace) -> None:
    lines = [line.partition("\t")[2] for line in space.read("form.pdf").text.split("\n") if "\t" in line]
    assert lines == [
        "Name: Jane Doe", "Country: Germany", "[x] I agree", "Food: ( ) (x)", "Signature: Signed by Jane",
        "Password:", "[note: Ann: please check]", "free words", "PAID IN FULL", "two", "lines", "The end",
    ]  # fmt: skip


def test_what_is_hidden_or_secret_is_counted(space: Workspace) -> None:
    reply = space.read("form.pdf")
    assert "1 unselected choice, 1 password, 1 hidden field or note, 1 digital signature." in reply.text
    assert "topsecret" not in reply.text
    assert "hiddenvalue" not in reply.text


def test_it_is_read_the_same_again(space: Workspace) -> None:
    first = space.call("read_file", {"path": "form.pdf"}).text
    assert space.call("grep_files", {"pattern": "PAID IN FULL", "documents": True}).facts["shown"] == 1
    assert space.call("read_file", {"path": "form.pdf"}).text == first
    assert "Signed by Jane" in first


@pytest.mark.parametrize("words", ["Jane Doe", "Germany", "please check", "PAID IN FULL", "Signed by Jane"])
def test_a_search_of_documents_finds_it(space: Workspace, words: str) -> None:
    reply = space.call("grep_files", {"pattern": words, "documents": True})
    assert "form.pdf" in reply.text
    assert words in reply.text


def test_labels_above_each_other_are_lines(space: Workspace) -> None:
    assert "1\t8\n2\t6\n3\t4\n4\t2\n5\t0\n" in space.read("chart.pdf").text
