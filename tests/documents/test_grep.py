"""Searching documents: what is found is what a read shows, at the place that is said."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from typing import Any

import pytest

from readroom.core.config import Settings
from readroom.core.errors import BadValue
from readroom.core.limits import Limits
from readroom.core.stores.base import Store
from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from tests.core.formats.packing import PACK
from tests.documents.reading.making import code, notebook, pdf, printed
from tests.laws.driving import STORES, Driver, StoreName, fact, stored
from tests.suites import daily

PAGES = [
    [f"page {page} line {line} {'needle' if line == page else 'hay'}" for line in range(1, 31)]
    for page in range(1, 26)
]
FILES = {
    "a.txt": b"needle in text\n",
    "m/book.pdf": pdf(PAGES),
    "m/broken.pdf": b"%PDF-1.7\nneedle",
    "n.ipynb": notebook(code("a = 'needle'", printed("hay\nneedle\n"))),
    "z.txt": b"no\nneedle\n",
}


@pytest.fixture(scope="module", params=STORES)
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    name: StoreName = request.param
    with stored(name, FILES) as found:
        yield found


def found(driver: Driver, **arguments: object) -> list[tuple[str, int | None, int]]:
    """File, part and line of every match, over all pages of the search."""
    return [
        (file["path"], line["part"], line["line"])
        for reply in driver.pages("grep_files", pattern="needle", documents=True, **arguments)
        for file in fact(reply, "files")
        for line in file["lines"]
        if line["match"]
    ]


WANTED = [
    ("a.txt", None, 1),
    *(("m/book.pdf", page, page) for page in range(1, 26)),
    ("n.ipynb", 1, 1),
    ("n.ipynb", 1, 4),
    ("z.txt", None, 2),
]


@daily(2, "limit", [3, 7, 100])
def test_every_match_is_found_once_with_its_page_and_line(store: Store, limit: int) -> None:
    driver = Driver(store)
    assert found(driver, limit=limit) == WANTED


def test_a_small_reply_continues_in_the_middle_of_a_document(store: Store) -> None:
    assert found(Driver(store, reply_bytes=2048), context=1) == WANTED


def test_the_place_that_is_said_is_read_as_it_was_found(store: Store) -> None:
    driver = Driver(store)
    reply = driver.call("grep_files", pattern="page 7 line 7 needle", path="m", documents=True)
    assert "\np7:7\tpage 7 line 7 needle\n" in reply.text
    call = re.search(r'read_file (\{"path":"m/book.pdf".*?\})', reply.text)
    assert call is not None
    assert call[1] == '{"path":"m/book.pdf","pages":"7","offset":7}'
    shown = driver.call("read_file", path="m/book.pdf", pages="7", offset=7)
    assert "\n7\tpage 7 line 7 needle\n" in shown.text


def test_files_and_counts_count_documents(store: Store) -> None:
    driver = Driver(store)
    counted = driver.call("grep_files", pattern="needle", documents=True, output="count")
    matches = {file["path"]: file["matches"] for file in fact(counted, "files")}
    assert matches == {"a.txt": 1, "m/book.pdf": 25, "n.ipynb": 2, "z.txt": 1}
    files = driver.call("grep_files", pattern="needle", documents=True, output="files")
    assert [file["path"] for file in fact(files, "files")] == list(matches)


def test_a_document_that_cannot_be_read_is_named(store: Store) -> None:
    reply = Driver(store).call("grep_files", pattern="needle", documents=True)
    (warning,) = fact(reply, "warnings")
    assert (warning["code"], "m/broken.pdf" in warning["detail"]) == ("unreadable", True)


def test_without_documents_they_are_not_looked_into(store: Store) -> None:
    reply = Driver(store).call("grep_files", pattern="needle", glob="*.pdf")
    assert fact(reply, "shown") == 0


def test_one_document_is_searched_by_name(store: Store) -> None:
    driver = Driver(store)
    assert found(driver, path="m/book.pdf", limit=10) == WANTED[1:26]


def test_a_deadline_says_how_to_go_on_and_nothing_is_lost() -> None:
    files = {"long.pdf": pdf([["needle"]] * 400)}
    with Workspace(MemoryStore(files), settings=Settings(limits=Limits())) as space:
        arguments: Any = {"pattern": "needle", "documents": True, "timeout_s": 0.2, "limit": 1000}
        places: list[int] = []
        for _ in range(100):
            reply = space.call("grep_files", arguments)
            places += [line["part"] for file in fact(reply, "files") for line in file["lines"]]
            following = fact(reply, "next")
            if following is None:
                break
            arguments = {**following["arguments"], "timeout_s": max(0.2, following["arguments"]["timeout_s"])}
        assert places == list(range(1, 401))


def test_an_order_that_needs_all_of_them_is_refused() -> None:
    with Workspace(MemoryStore(FILES)) as space, pytest.raises(BadValue):
        space.grep("needle", documents=True, sort="mtime")


def test_a_search_of_one_document_names_the_search_that_looks_into_it() -> None:
    machine = Driver(MemoryStore({"a.pdf": pdf([["the needle"]]), "b.so": b"\0\0\1needle\n"}))
    for path, argument in (("a.pdf", "documents"), ("b.so", "include")):
        reply = machine.call("grep_files", pattern="needle", path=path)
        following = fact(reply, "omitted")[0]["call"]
        assert argument in following["arguments"]
        assert argument in reply.text
        assert "needle" in machine.follow(following).text


@pytest.mark.parametrize("name", STORES)
def test_documents_that_are_compressed_are_searched_as_documents(name: StoreName) -> None:
    """Where compressed files are asked for, and alone by their path; the places are those of a read."""
    files = {
        "a.txt": b"hay\n",
        "b.pdf.gz": gzip.compress(FILES["m/book.pdf"]),
        "c.ipynb.xz": PACK["xz"](FILES["n.ipynb"]),
        "d.bin.gz": gzip.compress(bytes(range(256))),
        "e.xlsx.gz": gzip.compress(b"PK\3\4" + bytes(range(256))),
    }
    inside = [("b.pdf.gz", page, page) for page in range(1, 26)]
    cells = [("c.ipynb.xz", 1, 1), ("c.ipynb.xz", 1, 4)]
    with stored(name, files) as held:
        driver = Driver(held)
        assert found(driver, include=["compressed"], limit=7) == [*inside, *cells]
        assert found(driver, path="b.pdf.gz") == inside
        assert "page 9 line 9 needle" in driver.call("read_file", path="b.pdf.gz", pages="9", offset=9).text
        unasked = driver.call("grep_files", pattern="needle", path="b.pdf.gz")
        assert "To search it anyway: the same call with documents=true" in unasked.text
        refused = driver.call("grep_files", pattern="needle", path="e.xlsx.gz")
        assert fact(refused, "error")["next"]["arguments"]["documents"] is True
        driver.workspace.close()
