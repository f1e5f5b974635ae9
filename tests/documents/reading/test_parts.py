"""Reading documents through the whole pipeline: what is shown, what is said of the rest, what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from readroom.core.config import Settings
from readroom.core.errors import BadDocument, BadRange, BadValue, EncryptedDocument, NoOutline
from readroom.core.limits import Limits
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from readroom.documents.reading.cache import DocumentCache
from tests.documents.reading.making import (
    assembled,
    code,
    displayed,
    markdown,
    notebook,
    pdf,
    png,
    printed,
)
from tests.hostile import office
from tests.laws.driving import fact

PDF = pdf(
    [[f"page {page} line {line}" for line in range(1, 41)] for page in range(1, 41)],
    outline=[("First", 1), ("Second", 20)],
)
NOTEBOOK = notebook(
    markdown("# Title\nwords"),
    code("print(1)", printed("".join(f"out {n}\n" for n in range(1, 51))), run=3),
    code("plot()", displayed(png(40, 20)), run=4),
    {"cell_type": "code", "source": 7, "outputs": "x"},
)
FILES = {
    "a.pdf": PDF,
    "b.ipynb": NOTEBOOK,
    "scan.pdf": pdf([["words"], [], ["more"]]),
    "broken.pdf": b"%PDF-1.7\n" + bytes(100),
    "empty.pdf": assembled({1: b"<</Type/Catalog/Pages 2 0 R>>", 2: b"<</Type/Pages/Count 0/Kids[]>>"}),
    "broken.ipynb": b'{"cells": [',
    "odd.ipynb": b'[{"cells": 1}]',
    "locked.docx": office.encrypted_docx(),
    "plain.txt": b"text\n",
}


@pytest.fixture(scope="module")
def space() -> Iterator[Workspace]:
    with Workspace(MemoryStore(FILES)) as found:
        yield found


def heads(reply: Reply) -> list[str]:
    return [line for line in reply.text.split("\n") if line.startswith("## ")]


def numbers(reply: Reply) -> list[int]:
    document: Any = reply.facts["document"]
    return [part["part"] for part in document["parts"]]


def follow(space: Workspace, call: Any) -> Reply:
    reply = space.call(call["tool"], call["arguments"])
    assert not reply.is_error, reply.text
    return reply


# --- what is shown -------------------------------------------------------------------------------


def test_a_document_starts_with_its_contents_and_its_first_whole_parts(space: Workspace) -> None:
    reply = space.read("a.pdf")
    lines = reply.text.split("\n")
    assert lines[0].startswith("a.pdf | pages 1-")
    assert lines[0].partition(" | sha256:")[0].endswith(" of 40 (more below)")
    assert lines[1:6] == [
        "contents:", "- First (page 1)", "- Second (page 20)", "## page 1 of 40", "1\tpage 1 line 1",
    ]  # fmt: skip
    last = numbers(reply)[-1]
    assert f"{40}\tpage {last} line 40" in lines
    assert fact(follow(space, fact(reply, "next")), "document")["parts"][0]["part"] == last + 1


def test_exactly_the_pages_that_are_asked_for_in_their_order(space: Workspace) -> None:
    reply = space.read("a.pdf", pages="9,3-4")
    assert heads(reply) == ["## page 9 of 40", "## page 3 of 40", "## page 4 of 40"]
    assert reply.text.endswith("[end of document]")
    assert (fact(reply, "truncated"), fact(reply, "kind")) == (False, "document")


def test_a_line_is_found_by_page_and_number(space: Workspace) -> None:
    reply = space.read("a.pdf", pages="7", offset=12, limit=2)
    assert "## page 7 of 40, lines 12-13 of 40\n12\tpage 7 line 12\n13\tpage 7 line 13\n[" in reply.text
    assert "14\tpage 7 line 14" in follow(space, fact(reply, "next")).text
    assert "40\tpage 7 line 40" in space.read("a.pdf", pages="7", offset=-1).text


def test_the_contents_can_be_read_alone(space: Workspace) -> None:
    assert "1\tFirst (page 1)\n2\tSecond (page 20)" in space.read("a.pdf", pages="contents").text


def test_the_outline_of_a_document_is_its_contents(space: Workspace) -> None:
    for view in ("outline", "full_outline"):
        assert space.read("a.pdf", view=view).text == space.read("a.pdf", pages="contents").text
    assert "Second (page 20)" in space.read("a.pdf", view="outline", offset=2).text
    with pytest.raises(NoOutline):
        space.read("a.pdf", symbol="Second")


def test_a_page_without_text_is_an_image(space: Workspace) -> None:
    reply = space.read("scan.pdf")
    assert "## page 2 of 3\n[no text; image 1 of this reply]\n## page 3 of 3\n1\tmore" in reply.text
    (image,) = reply.images
    assert (image.media_type, max(image.width, image.height)) == ("image/png", 1568)


def test_cells_show_their_run_their_output_and_its_images(space: Workspace) -> None:
    reply = space.read("b.ipynb")
    assert heads(reply) == [
        "## cell 1 of 4: markdown",
        "## cell 2 of 4: code [3], lines 1-22 of 52",
        "## cell 3 of 4: code [4]",
        "## cell 4 of 4: code",
    ]
    assert len(reply.images) == 1


def test_shortened_output_comes_with_the_call_that_shows_the_rest(space: Workspace) -> None:
    (left,) = fact(space.read("b.ipynb"), "omitted")
    assert (left["what"], left["part"], left["from"], left["to"], left["reason"]) == (
        "lines",
        2,
        23,
        52,
        "output",
    )
    assert "23\tout 21" in follow(space, left["call"]).text
    assert "52\tout 50" in space.read("b.ipynb", pages="cell 2").text


def test_a_notebook_with_an_encoding_is_its_json(space: Workspace) -> None:
    reply = space.read("b.ipynb", encoding="utf-8")
    assert '1\t{"cells": [' in reply.text
    assert fact(reply, "content_hash") == fact(space.read("b.ipynb"), "content_hash")


def test_a_known_document_gets_a_receipt(space: Workspace) -> None:
    known = fact(space.read("a.pdf", pages="1"), "content_hash")
    reply = space.read("a.pdf", known_hash=known)
    assert fact(reply, "not_modified") is True
    assert "not modified" in reply.text


def test_a_document_without_pages_says_so(space: Workspace) -> None:
    reply = space.call("read_file", {"path": "empty.pdf"})
    assert "0 pages" in reply.text or reply.facts["error"]


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "pages", "says"),
    [
        ("a.pdf", "39-60", "names page 60; a.pdf has 40 pages"),
        ("b.ipynb", "9", "names cell 9; b.ipynb has 4 cells"),
        ("a.pdf", "Intro", "holds 'Intro'"),
        ("a.pdf", "1!A1:B2", "has no sheets"),
    ],
)
def test_a_part_that_is_not_there_is_refused_with_what_is(
    space: Workspace, path: str, pages: str, says: str
) -> None:
    with pytest.raises(BadRange) as refused:
        space.read(path, pages=pages)
    assert says in str(refused.value)
    reply = space.call("read_file", {"path": path, "pages": pages})
    follow(space, reply.facts["error"]["next"])  # type: ignore[call-overload, index]  # a JSON value


def test_a_line_that_is_not_there_is_refused_with_what_is(space: Workspace) -> None:
    for arguments in ({"offset": 41}, {"offset": 2, "column": 99}):
        reply = space.call("read_file", {"path": "a.pdf", "pages": "7", **arguments})
        error: Any = reply.facts["error"]
        assert error["code"] == "bad_range"
        follow(space, error["next"])


@pytest.mark.parametrize(
    ("path", "problem"),
    [("broken.pdf", "damaged"), ("broken.ipynb", "not notebook JSON"), ("odd.ipynb", "no list of cells")],
)
def test_a_broken_document_says_what_is_wrong(space: Workspace, path: str, problem: str) -> None:
    with pytest.raises(BadDocument, match=problem):
        space.read(path)


def test_an_encrypted_document_says_so(space: Workspace) -> None:
    with pytest.raises(EncryptedDocument, match="encrypted"):
        space.read("locked.docx")


@pytest.mark.parametrize(
    "arguments", [{"path": "plain.txt", "pages": "2"}, {"path": "a.pdf", "encoding": "utf-8"}]
)
def test_an_argument_that_means_nothing_here_is_refused(space: Workspace, arguments: dict[str, str]) -> None:
    with pytest.raises(BadValue):
        space.perform("read_file", arguments)
    error: Any = space.call("read_file", arguments).facts["error"]
    follow(space, error["next"])


def test_a_slow_document_ends_with_an_error_that_names_the_time() -> None:
    limits = Limits(document_timeout_s=0.001)
    with Workspace(MemoryStore(FILES), settings=Settings(limits=limits)) as hurried:
        reply = hurried.call("read_file", {"path": "a.pdf"})
    assert reply.is_error


# --- what is kept --------------------------------------------------------------------------------


def test_parts_are_kept_by_content_whatever_the_name() -> None:
    with Workspace(MemoryStore({"a.pdf": PDF, "b.pdf": PDF})) as space:
        space.read("a.pdf", pages="3")
        room = space.engine.services.documents()
        assert isinstance(room, DocumentCache)
        room.close()
        assert "page 3 line 1" in space.read("b.pdf", pages="3").text
        assert room.extracted == 1
        assert not room.waiting


def test_a_process_waits_for_the_next_page_and_ends_with_the_workspace() -> None:
    with Workspace(MemoryStore({"a.pdf": PDF})) as space:
        space.read("a.pdf", pages="3")
        room = space.engine.services.documents()
        assert isinstance(room, DocumentCache)
        (first,) = room.waiting
        space.read("a.pdf", pages="5")
        (second,) = room.waiting
        assert first is second
    assert not first.alive


def test_a_changed_document_is_read_anew() -> None:
    store = MemoryStore({"a.pdf": pdf([["before"]])})
    with Workspace(store) as space:
        assert "before" in space.read("a.pdf").text
        store.put("a.pdf", pdf([["after"]]))
        assert "after" in space.read("a.pdf").text
