"""E-books (.epub): a section for each item of the spine, which is the reading order.

The table of contents is the navigation document, or the NCX of older books. Title and authors are at the
start of the first section. Chapters are HTML and become text as web pages do.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import BinaryIO
from urllib.parse import unquote

from lxml import etree
from msgspec import Struct

from readroom.core.limits import HEAD_BYTES
from readroom.core.text import encodings
from readroom.documents.formats import (
    Area,
    Encrypted,
    Heading,
    Part,
    Unit,
    Unreadable,
    archives,
    html,
    omission_note,
    sections,
    xml,
)
from readroom.documents.formats.archives import ANOTHER_COPY, Archive
from readroom.documents.formats.elements import Element, local
from readroom.documents.limits import CONTENTS_HEADINGS

CONTAINER = "META-INF/container.xml"
ENCRYPTION = "META-INF/encryption.xml"
_PAGES = frozenset(
    ("application/xhtml+xml", "text/html", "application/x-dtbook+xml", "text/x-oeb1-document", "")
)
_ANY_XML = frozenset(("text/xml", "application/xml"))
_PAGE_NAMES = (".xhtml", ".html", ".htm", ".xht")
_SVG_WORDS = frozenset(("text", "title", "desc"))
NO_TEXT = "It is not a page of text."

_DOCTYPE = re.compile(rb"<!DOCTYPE[^\[>]{0,500}>")
"""One without entities of its own, as many books have it."""

_SVG = re.compile(
    r"\ufeff?\s*(?:<\?[^>]*>\s*|<!--.*?-->\s*|<!DOCTYPE[^>]*>\s*)*<(?:\w+:)?svg[\s>]", re.DOTALL
)
"""A page that is a drawing."""

_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
"""Text of XHTML, which is a comment in HTML."""

_DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
_KNOWN = frozenset(("title", "creator", "language", "identifier", "date"))
"""Properties that are shown, and those that catalogues write."""

MAX_LEVEL = 9


class _Item(Struct, frozen=True):
    """A file of a book: its member, media type and purpose.

    Media types are wrong in many books: what is in the reading order is a page if its bytes are text.
    """

    member: str
    media: str
    properties: str

    @property
    def is_ncx(self) -> bool:
        """Whether it is the table of contents of an older book."""
        return self.media == "application/x-dtbncx+xml" or self.member.lower().endswith(".ncx")

    @property
    def is_page(self) -> bool:
        """Whether it is declared as a page of text."""
        if self.is_ncx:
            return False
        return self.media in _PAGES or (self.media in _ANY_XML and self.member.lower().endswith(_PAGE_NAMES))


class Book(Struct, frozen=True):
    """An opened book. `about` are lines with title and authors."""

    archive: Archive
    items: Sequence[_Item]
    contents: Sequence[Heading]
    titles: Sequence[str]
    about: Sequence[str]
    beside: Counter[str]
    unit: Unit = Unit.SECTION

    def part(self, number: int, area: Area | None = None) -> Part:
        """The section with this number. Raises Unreadable."""
        item = self.items[sections.checked(number, len(self.items), self.unit, area) - 1]
        about = list(self.about) if number == 1 else []
        beside = self.beside if number == 1 else Counter[str]()
        data = self.archive.read(item.member)
        if not _is_text(data):
            return Part(number, self.titles[number - 1], about, notes=[NO_TEXT, *omission_note(beside)])
        text = html.decoded(data)
        if _SVG.match(text) and (words := _svg_words(data)):
            return Part(number, self.titles[number - 1], [*about, *words], notes=omission_note(beside))
        page, blocks = html.read(_CDATA.sub(lambda match: escape(match[1]), text))
        lines = [*about, *html.lines_of(blocks)]
        return Part(number, self.titles[number - 1], lines, notes=html.notes(page.dropped + beside))


def _is_text(data: bytes) -> bool:
    head = data[:HEAD_BYTES]
    return (
        encodings.by_bom(data) is not None
        or encodings.detect(head, complete=len(data) == len(head)) is not None
    )


def _svg_words(data: bytes) -> list[str]:
    """The words of a page that is a drawing; none if it is broken."""
    try:
        root = xml.parse(_DOCTYPE.sub(b"", data, count=1), "page")
    except Unreadable:
        return []
    texts = (" ".join("".join(at.itertext()).split()) for at in root.iter() if local(at) in _SVG_WORDS)
    return [words for words in texts if words]


SPINE_ITEMS = 5_000
"""Files of a book in its reading order; a dictionary has some hundreds."""


def open_document(file: BinaryIO) -> Book:
    """The book in `file`. Raises Unreadable."""
    archive = archives.open_archive(file)
    rootfile = next((at for at in _root(archive, CONTAINER).iter() if local(at) == "rootfile"), None)
    if rootfile is None:
        raise Unreadable("it does not say which of its parts is the book", ANOTHER_COPY)
    name = rootfile.get("full-path", "")
    package = _root(archive, name)
    manifest = {
        at.get("id", ""): _Item(_member(name, at.get("href", "")), _media(at), at.get("properties", ""))
        for at in package.iter()
        if local(at) == "item"
    }
    refs = [at for at in package.iter() if local(at) == "itemref"]
    if len(refs) > SPINE_ITEMS:
        raise Unreadable(f"its spine has more than {SPINE_ITEMS:,} items", ANOTHER_COPY)
    items = [manifest[at.get("idref", "")] for at in refs if at.get("idref", "") in manifest]
    if not items:
        raise Unreadable("its spine names no part of the book", ANOTHER_COPY)
    _check_not_encrypted(archive, items)
    contents = _contents(archive, manifest, items)
    titles = {heading.part: heading.title for heading in reversed(contents)}
    return Book(
        archive,
        items,
        contents,
        [titles.get(at, "") for at in range(1, len(items) + 1)],
        _about(package),
        _beside(package, manifest, items),
    )


def _root(archive: Archive, name: str) -> Element:
    return xml.parse(_DOCTYPE.sub(b"", archive.read(name), count=1), name)


def _media(item: Element) -> str:
    """The media type of an item, without parameters such as a charset."""
    return str(item.get("media-type", "")).partition(";")[0].strip().lower()


def _member(base: str, link: str) -> str:
    """The member that a link inside the member `base` leads to."""
    folder = posixpath.dirname(base)
    return posixpath.normpath(posixpath.join("/", folder, unquote(link.partition("#")[0]))).lstrip("/")


def _about(package: Element) -> list[str]:
    lines = []
    for name, word in (("title", "title"), ("creator", "author")):
        texts = [" ".join((at.text or "").split()) for at in package.iter() if local(at) == name]
        if named := ", ".join(text for text in texts[:20] if text):
            lines.append(f"[{word}: {named}]")
    return lines


def _beside(package: Element, manifest: Mapping[str, _Item], items: Sequence[_Item]) -> Counter[str]:
    """Counts of content in no section: properties, pages outside of the reading order, videos."""
    read = {item.member for item in items}
    counts: Counter[str] = Counter()
    for item in manifest.values():
        if item.member in read:
            continue
        if item.is_page and "nav" not in item.properties.split():
            counts["page outside of the reading order"] += 1
        elif item.media.startswith(("audio/", "video/")) or item.media == "application/smil+xml":
            counts["film or sound"] += 1
    for at in package.iter():
        if at.tag.startswith(_DUBLIN_CORE) and local(at) not in _KNOWN and "".join(at.itertext()).strip():
            counts["document property"] += 1
    return counts


def _check_not_encrypted(archive: Archive, items: Sequence[_Item]) -> None:
    """Refuse a book whose pages are encrypted; fonts are, in many books that are not."""
    if ENCRYPTION not in archive.members:
        return
    members = {item.member for item in items}
    for at in _root(archive, ENCRYPTION).iter():
        if local(at) == "CipherReference" and _member("", at.get("URI", "")) in members:
            raise Encrypted("it is encrypted", "Ask for a copy without protection.")


def _contents(archive: Archive, manifest: Mapping[str, _Item], items: Sequence[_Item]) -> list[Heading]:
    """The entries that lead to a section; none when the book has no readable table of contents."""
    places: dict[str, int] = {}
    for number, item in enumerate(items, 1):
        places.setdefault(item.member, number)
    nav = next((item for item in manifest.values() if "nav" in item.properties.split()), None)
    ncx = next((item for item in manifest.values() if item.is_ncx), None)
    headings: list[Heading] = []
    for table, reader in ((nav, _nav), (ncx, _ncx)):
        if table is None or headings:
            continue
        try:
            for level, title, link in reader(archive, table.member):
                part = places.get(_member(table.member, link))
                if part is not None and title and len(headings) < CONTENTS_HEADINGS:
                    headings.append(sections.entry(level, title, part))
        except Unreadable:
            continue  # the chapters are there all the same
    return headings


def _nav(archive: Archive, member: str) -> Iterator[tuple[int, str, str]]:
    parser = etree.HTMLParser(encoding="utf-8", no_network=True)
    try:
        root = etree.fromstring(html.decoded(archive.read(member)).encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError:
        return
    for nav in () if root is None else root.iter("nav"):
        if "toc" in (nav.get("{http://www.idpf.org/2007/ops}type") or nav.get("epub:type") or "").split():
            yield from _walked(nav, "ol", "a")
            return


def _walked(nav: Element, holder: str, entry: str) -> Iterator[tuple[int, str, str]]:
    depth = 0
    for event, at in etree.iterwalk(nav, events=("start", "end")):
        if at.tag == holder:
            depth += 1 if event == "start" else -1
        elif at.tag == entry and event == "start":
            yield min(max(depth, 1), MAX_LEVEL), " ".join("".join(at.itertext()).split()), at.get("href", "")


def _ncx(archive: Archive, member: str) -> Iterator[tuple[int, str, str]]:
    depth = 0
    title = ""
    for event, at in etree.iterwalk(_root(archive, member), events=("start", "end")):
        name = local(at)
        if name == "navPoint":
            depth += 1 if event == "start" else -1
        elif name == "text" and event == "start" and depth:
            title = " ".join((at.text or "").split())
        elif name == "content" and event == "start" and depth:
            yield min(depth, MAX_LEVEL), title, at.get("src", "")
