"""Whether an item of a book is a page, its content decides, whatever the book declares it to be."""

from __future__ import annotations

import base64
import io
from html import escape

import pytest

from readroom.documents.formats.epub import NO_TEXT, open_document
from tests.each import each
from tests.hostile import office

_TYPES = (
    "text/xml", "application/xml", "application/xhtml+xml; charset=utf-8", "text/html;charset=utf-8",
    "text/x-oeb1-document", "TEXT/HTML ; x=y", "image/jpeg", "application/octet-stream", "text/plain",
    "nonsense", "application/x-dtbook+xml", "",
)  # fmt: skip
_PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


def _book(media: str, name: str, content: str | bytes) -> io.BytesIO:
    package = (
        f'<package><manifest><item id="a" href="{name}" media-type="{escape(media)}"/></manifest>'
        '<spine><itemref idref="a"/></spine></package>'
    )
    return io.BytesIO(office.book({}, extra={"b/c.opf": package, f"b/{name}": content}))


@each("media", _TYPES)
@each("name", ["a.xhtml", "a.xml", "a"])
def test_a_page_is_shown_under_any_declaration(media: str, name: str) -> None:
    page = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body><p>WORDS</p></body></html>'
    part = open_document(_book(media, name, page)).part(1)
    assert (list(part.lines), list(part.notes)) == (["WORDS"], [])


@each("media", _TYPES)
def test_a_picture_is_none_under_any_declaration(media: str) -> None:
    part = open_document(_book(media, "a.xhtml", _PIXEL)).part(1)
    assert (list(part.lines), list(part.notes)) == ([], [NO_TEXT])


def test_a_page_that_is_a_drawing_shows_its_words() -> None:
    page = (
        '<?xml version="1.0"?><!DOCTYPE svg PUBLIC "a" "b"><svg xmlns="http://www.w3.org/2000/svg">'
        "<title>A map</title><g><text>North <tspan>Sea</tspan></text></g></svg>"
    )
    assert list(open_document(_book("image/svg+xml", "a.svg", page)).part(1).lines) == ["A map", "North Sea"]


def test_character_data_of_a_page_is_text() -> None:
    page = "<html><body><p><![CDATA[if a < b]]></p><!-- c --><?php 1 ?></body></html>"
    part = open_document(_book("application/xhtml+xml", "a.xhtml", page)).part(1)
    assert list(part.lines) == ["if a < b"]
    assert list(part.notes) == ["Not shown: 1 comment, 1 processing instruction."]


@pytest.mark.parametrize("media", ["text/xml", "application/x-dtbncx+xml; charset=utf-8", ""])
def test_contents_are_found_under_any_declaration(media: str) -> None:
    ncx = "<ncx><navPoint><navLabel><text>One</text></navLabel><content src='a.xhtml'/></navPoint></ncx>"
    package = (
        f'<package><manifest><item id="n" href="toc.ncx" media-type="{media}"/>'
        '<item id="a" href="a.xhtml" media-type="text/xml"/></manifest>'
        '<spine><itemref idref="a"/></spine></package>'
    )
    book = office.book({}, extra={"b/c.opf": package, "b/toc.ncx": ncx, "b/a.xhtml": "<p>WORDS</p>"})
    opened = open_document(io.BytesIO(book))
    assert list(opened.titles) == ["One"]
    assert list(opened.part(1).notes) == []
