"""A format is one row and one module: every way to look at files takes it by these alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from readroom.core.formats.registry import added
from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from tests.documents.toy import MAGIC, TOY, sample
from tests.laws.driving import Driver, fact

BOOK = sample(("Harbour", "Ships wait here.\nA lantern burns."), ("Market", "Fish and figs."))
FILES = {"book.toy": BOOK, "under/another.name": BOOK, "notes.txt": b"a lantern on land\n"}


@pytest.fixture
def driver() -> Iterator[Driver]:
    with added(TOY):
        yield Driver(MemoryStore(FILES))


@pytest.mark.parametrize("path", ["book.toy", "under/another.name"])
def test_it_is_read_part_by_part(driver: Driver, path: str) -> None:
    whole = driver.call("read_file", path=path)
    assert "A lantern burns." in whole.text
    assert "Fish and figs." in whole.text
    second = driver.call("read_file", path=path, pages="2")
    assert "Fish and figs." in second.text
    assert "lantern" not in second.text
    assert fact(second, "document")["format"] == "toy"


def test_its_outline_is_its_contents(driver: Driver) -> None:
    outline = driver.call("read_file", path="book.toy", view="outline")
    assert "Harbour (page 1)" in outline.text
    assert "Market (page 2)" in outline.text


def test_a_search_says_the_page(driver: Driver) -> None:
    found = driver.call("grep_files", pattern="lantern", documents=True)
    assert {file["path"] for file in fact(found, "files")} == set(FILES)
    ranked = driver.call("find_relevant", query="where does the lantern burn", documents=True)
    assert "book.toy" in ranked.text


def test_a_search_without_documents_says_what_it_left_out(driver: Driver) -> None:
    found = driver.call("grep_files", pattern="figs")
    assert "book.toy" in found.text
    assert "documents" in found.text


def test_a_damaged_one_says_what_to_do(driver: Driver) -> None:
    with Workspace(MemoryStore({"empty.toy": MAGIC})) as space:
        refused = space.call("read_file", {"path": "empty.toy"})
    assert refused.is_error
    assert "(toy) cannot be read: it has no pages" in refused.text
    assert "Ask for another copy." in refused.text


def test_without_its_row_it_is_a_binary_file() -> None:
    refused = Driver(MemoryStore(FILES)).call("read_file", path="book.toy")
    assert refused.is_error
    assert "binary" in refused.text
