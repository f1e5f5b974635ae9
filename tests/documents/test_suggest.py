"""Suggestions for paths into archives and parts of documents."""

from __future__ import annotations

import gzip

import pytest

from readroom.core.stores.memory import MemoryStore
from tests.core.engine.test_suggest import driver
from tests.documents.reading.making import code, notebook
from tests.hostile.containers import tarred, zipped
from tests.laws.driving import Driver, fact


def test_a_file_that_cannot_be_listed_is_to_be_read_where_it_can_be() -> None:
    machine = Driver(
        MemoryStore({"a.txt": b"text\n", "lib.so": bytes(range(256)), "x.gz": gzip.compress(b"text\n")})
    )
    for name in ("a.txt", "x.gz"):
        refusal = machine.call("list_directory", path=name)
        assert "text" in machine.follow(fact(refusal, "error")["next"]).text
    for path in ("lib.so", "lib.so!", "lib.so!/a.txt"):
        refusal = machine.call("list_directory", path=path)
        assert refusal.text == "lib.so is a file, not a folder. Only folders can be listed."
        assert fact(refusal, "error")["next"] is None


def test_pages_of_a_definition_are_left_out_of_code_and_kept_of_a_document() -> None:
    machine = driver()
    refusal = machine.call("read_file", path="src/evict.py", symbol="f", pages="1")
    assert fact(refusal, "error")["next"]["arguments"] == {"path": "src/evict.py", "symbol": "f"}
    refusal = machine.call("read_file", path="a.docx", symbol="Title", pages="1")
    assert fact(refusal, "error")["next"]["arguments"] == {"path": "a.docx", "pages": "1"}


@pytest.mark.parametrize("path", ["a.zip/m/x.txt", "a.zip!m/x.txt", "d/b.tar/x.txt"])
def test_a_path_into_an_archive_by_another_spelling_leads_to_its_listing(path: str) -> None:
    machine = Driver(
        MemoryStore({"a.zip": zipped({"m/x.txt": b"x\n"}), "d/b.tar": tarred({"x.txt": b"x\n"})})
    )
    error = fact(machine.call("read_file", path=path), "error")
    listing = machine.follow(error["next"])
    assert not listing.is_error
    assert "entries 1-1 of 1" in listing.text


def test_a_limit_that_counts_nothing_is_refused_with_one_that_does() -> None:
    machine = Driver(MemoryStore({"d.ipynb": notebook(code("x"))}))
    refused = machine.call("read_file", path="d.ipynb", limit=-1, pages="1")
    assert fact(refused, "error")["code"] == "bad_value"
    assert not machine.follow(fact(refused, "error")["next"]).is_error
