"""Books: sections in the order of the spine, contents from the navigation or the NCX."""

from __future__ import annotations

import io

import pytest

from readroom.documents.formats import Encrypted, Heading, Unit, Unreadable
from readroom.documents.formats.epub import open_document
from tests.documents.formats.packages import refused, survives
from tests.hostile import office

CHAPTERS = {"z.xhtml": "<html><body><h1>First</h1><p>text</p></body></html>", "a b.xhtml": "<p>second"}


def test_sections_follow_the_spine_and_say_the_book_at_their_start() -> None:
    nav = (
        "<ol><li><a href='z.xhtml'>One</a><ol><li><a href='z.xhtml#x'>One point one</a></li></ol></li>"
        "<li><a href='a%20b.xhtml'>Two &amp; more</a></li><li><a href='gone.xhtml'>Gone</a></li></ol>"
    )
    opened = open_document(io.BytesIO(office.book(CHAPTERS, nav)))
    assert (opened.unit, list(opened.titles)) == (Unit.SECTION, ["One", "Two & more"])
    assert list(opened.contents) == [
        Heading(1, "One", 1), Heading(2, "One point one", 1), Heading(1, "Two & more", 2)
    ]  # fmt: skip
    assert [list(opened.part(number).lines) for number in (1, 2)] == [
        ["[title: A Book]", "[author: Ann, Ben]", "# First", "text"], ["second"]
    ]  # fmt: skip


def test_older_books_have_their_contents_in_the_ncx() -> None:
    ncx = (
        '<?xml version="1.0"?><!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://www.daisy.org/z.dtd">'
        "<ncx><navMap><navPoint><navLabel><text>One</text></navLabel><content src='z.xhtml'/>"
        "<navPoint><navLabel><text>Deep</text></navLabel><content src='a%20b.xhtml'/></navPoint>"
        "</navPoint></navMap></ncx>"
    )
    item = '<item id="n" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
    package = (
        f"<package><manifest>{item}<item id='z' href='z.xhtml'/><item id='a' href='a%20b.xhtml'/></manifest>"
        "<spine><itemref idref='z'/><itemref idref='lost'/><itemref idref='a'/></spine></package>"
    )
    opened = open_document(io.BytesIO(office.book(CHAPTERS, extra={"b/c.opf": package, "b/toc.ncx": ncx})))
    assert list(opened.contents) == [Heading(1, "One", 1), Heading(2, "Deep", 2)]
    assert list(opened.part(1).lines) == ["# First", "text"]


def test_a_missing_chapter_leaves_the_others_readable() -> None:
    opened = open_document(io.BytesIO(office.FILES["outside.epub"]()))
    for number in range(1, len(opened.items)):
        with pytest.raises(Unreadable, match=r"is missing|is damaged"):
            opened.part(number)


def test_encrypted_chapters_are_told_from_encrypted_fonts() -> None:
    for member, encrypted in (("b/z.xhtml", True), ("b/font.otf", False)):
        reference = f"<encryption><CipherReference URI='{member}'/></encryption>"
        data = office.book(CHAPTERS, extra={"META-INF/encryption.xml": reference})
        if encrypted:
            assert isinstance(refused(open_document, io.BytesIO(data)), Encrypted)
        else:
            assert survives(open_document, data) is None


@pytest.mark.parametrize("name", [name for name in office.FILES if name.endswith(".epub")])
def test_hostile_books_are_refused_with_advice(name: str) -> None:
    problem = survives(open_document, office.FILES[name]())
    assert problem is not None
    assert problem.advice


def test_a_book_cut_or_changed_anywhere_is_read_or_refused() -> None:
    whole = office.book(CHAPTERS, "<ol><li><a href='z.xhtml'>One</a></li></ol>")
    for size in range(0, len(whole), 7):
        assert survives(open_document, whole[:size]) is not None
    for at in range(0, len(whole), 7):
        survives(open_document, whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
