"""A search of documents continues after what it cannot finish, and names the search of just that."""

from __future__ import annotations

from readroom.core.limits import Limits
from readroom.core.stores.memory import MemoryStore
from tests.core.engine.grep.test_searches_go_on import beside, places, warned
from tests.documents.reading.making import code, notebook
from tests.each import each
from tests.hostile import office
from tests.laws.driving import Driver, fact

CHAPTERS = {"z.xhtml": "<p>gone</p>", "a b.xhtml": "<p>the needle</p>"}

LOST = "<spine><itemref idref='lost'/><itemref idref='a'/></spine>"

ITEMS = "<item id='lost' href='lost.xhtml'/><item id='a' href='a%20b.xhtml'/>"

BOOK = office.book(CHAPTERS, extra={"b/c.opf": f"<package><manifest>{ITEMS}</manifest>{LOST}</package>"})


@each("path", [".", "lost.epub"])
@each("output", ["content", "files", "count"])
def test_what_stands_behind_a_part_that_cannot_be_read_is_found(path: str, output: str) -> None:
    driver = Driver(MemoryStore({"lost.epub": BOOK}))
    reply = driver.call("grep_files", pattern="needle", path=path, documents=True, output=output)
    assert [file["matches"] for file in fact(reply, "files")] == [1]
    if output == "content":
        assert places(reply) == [("lost.epub", 2, 1)]
    assert "section 1 of lost.epub cannot be read: " in warned(reply)["unreadable"]
    assert "section 1 of lost.epub cannot be read: " in reply.text


def test_a_document_that_cannot_be_opened_in_time_is_not_called_unreadable() -> None:
    """And the call that is named gives it more time."""
    files = {"a.ipynb": notebook(code("needle")), "b.txt": b"needle\n"}
    driver = Driver(MemoryStore(files), limits=Limits(document_timeout_s=0.001))
    reply = driver.call("grep_files", pattern="needle", documents=True)
    assert places(reply) == [("b.txt", None, 1)]
    assert (fact(reply, "complete"), fact(reply, "reason")) == (False, "unfinished")
    assert warned(reply) == {"unfinished": "out of time, no error: a.ipynb: not opened in time"}
    (call,) = beside([reply])
    assert call["tool"] in reply.text
    assert places(driver.follow(call)) == [("a.ipynb", 1, 1)]


def test_a_long_document_is_searched_to_its_end_by_the_calls_that_are_named() -> None:
    cells = [code("needle" if number % 500 == 499 else "hay") for number in range(4000)]
    files = {"a.ipynb": notebook(*cells), "b.txt": b"needle\n"}
    driver = Driver(MemoryStore(files), limits=Limits(document_timeout_s=0.3))
    replies = list(driver.pages("grep_files", pattern="needle", documents=True))
    found = [place for reply in replies for place in places(reply)]
    for call in list(beside(replies)):
        first = driver.follow(call)
        found += [place for reply in [first, *driver.rest(first)] for place in places(reply)]
    cells_found = [("a.ipynb", part, 1) for part in range(500, 4001, 500)]
    assert sorted(found) == sorted([*cells_found, ("b.txt", None, 1)])


def test_a_sheet_goes_on_where_its_rows_were_left() -> None:
    """A page that ends within a sheet of several areas continues behind the row, not behind the sheet."""
    rows = "".join(
        f'<row r="{n}"><c t="str"><v>{"needle" if n % 900 == 0 else "hay"}</v></c></row>'
        for n in range(1, 5001)
    )
    driver = Driver(MemoryStore({"a.xlsx": office.workbook(rows)}))
    replies = driver.pages("grep_files", pattern="needle", documents=True, limit=2)
    wanted = [("a.xlsx", 1, row) for row in range(900, 5001, 900)]
    assert [place for reply in replies for place in places(reply)] == wanted
