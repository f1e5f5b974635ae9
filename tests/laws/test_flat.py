"""A document as one text: lines numbered through, no more extracted than is shown."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from readroom.contracts.kilo import made
from readroom.core.contracts import Setup
from readroom.core.contracts.base import Contract
from readroom.core.deadline import Deadline
from readroom.core.errors import BadDocument, BadRange, Cancelled, EncryptedDocument, TimedOut
from readroom.core.formats.kinds import recognise
from readroom.core.limits import Limits
from readroom.core.paths import WorkPath
from readroom.core.stores.base import Store
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Cap, ReadRequest, ReadResult, Request
from readroom.core.values.options import ReadOptions
from readroom.documents.limits import DOCUMENT_PATIENCE
from readroom.documents.reading.cache import DocumentCache
from readroom.documents.reading.flat import read_flat
from readroom.documents.reading.withheld import everything
from tests.documents.formats.packages import paragraph, word
from tests.documents.reading.making import code, markdown, notebook, pdf
from tests.hostile import office
from tests.suites import daily

CONTRACT: Contract = made(Setup())
FLAT = ReadOptions(line_chars=0, flat="window")
PAGES = [[f"page {page} line {line}" for line in range(1, 21)] for page in range(1, 201)]
BOOK = pdf(PAGES)
WHOLE = "\n\n".join("\n".join(page) for page in PAGES).split("\n")


class Reader:
    """Reads documents of one store, as the engine does."""

    def __init__(self, store: Store, tick_s: float = 0.0) -> None:
        """With `tick_s`, the clock goes on by that whenever it is looked at, and only then."""
        self.store = store
        self.room = DocumentCache()
        self.clock = itertools.count(0.0, tick_s).__next__ if tick_s else time.monotonic

    def read(
        self, path: str, *, size: int = 8000, options: ReadOptions = FLAT, **arguments: Any
    ) -> ReadResult:
        with self.store.open(WorkPath(path)) as source:
            found = recognise(path, source.read_at(0, 4096))
            assert found is not None
            request = ReadRequest(path, options=options, **arguments)
            asked = (Limits(), Cap(size, CONTRACT.measure), request, Deadline(clock=self.clock))
            return read_flat(self.room, source, found, *asked)

    def follow(self, request: ReadRequest) -> ReadResult:
        given = {name: getattr(request, name) for name in ("offset", "limit", "column", "options")}
        return self.read(request.path, **given)


@pytest.fixture(params=["memory", "local"])
def reader(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    files = {"a.pdf": BOOK, "long.docx": word(paragraph("wörd " * 4000) + paragraph("end")).getvalue()}
    if request.param == "memory":
        store: Store = MemoryStore(files)
    else:
        for name, data in files.items():
            (tmp_path / name).write_bytes(data)
        store = LocalStore(tmp_path)
    found = Reader(store)
    yield found
    found.room.close()


def test_pages_joined_are_the_whole_text(reader: Reader) -> None:
    result, found = reader.read("a.pdf"), list[str]()
    while True:
        assert result.start == len(found) + 1
        found += result.lines
        if result.next is None:
            break
        assert result.total_lines is None
        assert [(one.what, one.last) for one in result.omitted] == [("parts", len(PAGES))]
        result = reader.follow(result.next)
    assert found == WHOLE
    assert result.total_lines == len(WHOLE)
    assert not result.omitted


@daily(3, ("first", "count"), [(1, 1), (20, 3), (21, 1), (22, 1), (4198, 1), (4199, 9)])
def test_a_range_is_what_stands_there(reader: Reader, first: int, count: int) -> None:
    result = reader.read("a.pdf", offset=first, limit=count)
    assert (result.start, list(result.lines)) == (first, WHOLE[first - 1 : first - 1 + count])
    assert (result.next is None) == (first + count > len(WHOLE))


def test_no_more_parts_are_extracted_than_are_shown_and_none_twice(reader: Reader) -> None:
    reader.read("a.pdf", offset=1, limit=30)
    reading = reader.room
    whole = (Deadline(), everything)
    with reader.store.open(WorkPath("a.pdf")) as source, reading.open(source, "pdf", *whole) as opened:
        assert list(opened.counted) == [20, 21]
        reader.read("a.pdf", offset=4190)
        assert len(opened.counted) == 200
    assert reader.room.extracted == 200


def test_parts_that_are_not_kept_are_counted_once() -> None:
    reader = Reader(MemoryStore({"a.pdf": pdf(PAGES[:5])}))
    reader.room = DocumentCache(part_bytes=0)
    reader.read("a.pdf", offset=100)
    counted = reader.room.extracted
    reader.read("a.pdf", offset=100)
    assert reader.room.extracted == counted + 1
    reader.room.close()


def test_lines_that_are_not_there_are_refused_with_their_number(reader: Reader) -> None:
    with pytest.raises(BadRange) as caught:
        reader.read("a.pdf", offset=4200)
    assert caught.value.facts["total_lines"] == len(WHOLE)
    assert isinstance(caught.value.next, ReadRequest)
    assert reader.follow(caught.value.next).lines == [WHOLE[-1]]
    with pytest.raises(BadRange):
        reader.read("a.pdf", offset=1, column=100)


def test_a_long_line_is_cut_and_read_on_by_its_columns(reader: Reader) -> None:
    result = reader.read("long.docx", size=3000)
    assert result.next is not None
    assert (result.next.offset, list(result.lines)[1:]) == (2, [])
    assert reader.follow(result.next).lines == ["end"]
    found, rest = result.lines[0], result.omitted[-1].request
    while rest is not None:
        assert isinstance(rest, ReadRequest)
        more = reader.follow(rest)
        found, rest = found + more.lines[0], more.next
    assert found == ("wörd " * 4000).strip()


def test_out_of_time_the_same_call_goes_on_until_it_is_answered() -> None:
    hurried = Reader(MemoryStore({"a.pdf": BOOK}), tick_s=0.02 * DOCUMENT_PATIENCE)
    extracted = list[int]()
    following: Request | None = ReadRequest("a.pdf", offset=4190, options=FLAT)
    while following is not None:
        assert isinstance(following, ReadRequest)
        try:
            result = hurried.follow(following)
        except TimedOut as error:
            extracted.append(int(error.advice.split()[0].replace(",", "")))
            following = error.next
            continue
        following = result.next
    assert extracted == sorted(set(extracted))
    assert len(extracted) > 1
    assert result.lines[-1] == WHOLE[-1]
    hurried.room.close()


def test_what_cannot_be_shown_is_a_line_of_the_text() -> None:
    books = Reader(MemoryStore({"scan.pdf": pdf([["a"], [], ["b"]]), "empty.ipynb": notebook()}))
    assert list(books.read("scan.pdf").lines) == ["a", "", "[page 2 has no text]", "", "b"]
    nothing = books.read("empty.ipynb")
    assert (nothing.total_lines, list(nothing.lines), nothing.next) == (0, [], None)
    with pytest.raises(BadRange):
        books.read("empty.ipynb", offset=2)
    books.room.close()


def test_a_limit_for_texts_is_none_for_documents_in_a_binary_format() -> None:
    cells = notebook(markdown("a\nb"), code("c"))
    books = Reader(MemoryStore({"a.ipynb": cells, "a.pdf": pdf([["first", "second", "third"]])}))
    whole = replace(FLAT, flat="whole")
    assert list(books.read("a.pdf", offset=1, limit=1, options=whole).lines) == ["first", "second", "third"]
    assert list(books.read("a.ipynb", offset=1, limit=1, options=whole).lines) == ["a"]
    assert list(books.read("a.ipynb").lines) == ["a", "b", "", "c"]
    books.room.close()


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.pdf", b"%PDF-1.7\n" + bytes(100), BadDocument),
        ("a.docx", office.encrypted_docx(), EncryptedDocument),
        ("a.ipynb", b'{"cells": 3}', BadDocument),
    ],
)
def test_one_that_cannot_be_opened_says_why(name: str, data: bytes, kind: type[BadDocument]) -> None:
    books = Reader(MemoryStore({name: data}))
    with pytest.raises(kind):
        books.read(name)
    books.room.close()


def test_a_cancelled_read_ends() -> None:
    deadline = Deadline()
    deadline.cancel()
    store = MemoryStore({"a.pdf": BOOK})
    room = DocumentCache()
    with store.open(WorkPath("a.pdf")) as source:
        found = recognise("a.pdf", BOOK[:100])
        assert found is not None
        cap = Cap(8000, CONTRACT.measure)
        with pytest.raises(Cancelled):
            read_flat(room, source, found, Limits(), cap, ReadRequest("a.pdf", options=FLAT), deadline)
    room.close()
