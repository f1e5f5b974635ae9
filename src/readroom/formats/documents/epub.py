"""E-books (.epub): a section for each item of the spine, which is the reading order.

The table of contents is the navigation document, or the NCX of older books. Title and authors are at the
start of the first section. Chapters are HTML and become text as web pages do.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO
from urllib.parse import unquote

from lxml import etree
from msgspec import Struct

from readroom.formats.documents import (
    Area,
    Encrypted,
    Heading,
    Part,
    Unit,
    Unreadable,
    archives,
    beside_note,
    html,
    sections,
    xml,
)
from readroom.formats.documents.archives import ANOTHER_COPY, Archive
from readroom.formats.documents.elements import Element, local
from readroom.limits.documents import CONTENTS_HEADINGS, SPINE_ITEMS

CONTAINER = "META-INF/container.xml"
ENCRYPTION = "META-INF/encryption.xml"
PAGES = frozenset(("application/xhtml+xml", "text/html", "application/x-dtbook+xml", ""))
NO_TEXT = "It is not a page of text."

_DOCTYPE = re.compile(rb"<!DOCTYPE[^\[>]{0,500}>")
"""One without entities of its own, as many books have it."""

_DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
_KNOWN = frozenset(("title", "creator", "language", "identifier", "date"))
"""Properties that are shown, and those that catalogues write."""

MAX_LEVEL = 9


class _Item(Struct, frozen=True):
    """A file of a book: its member, media type and purpose."""

    member: str
    media: str
    properties: str


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
        if item.media not in PAGES:
            return Part(number, self.titles[number - 1], about, notes=[NO_TEXT, *beside_note(beside)])
        page, blocks = html.read(html.decoded(self.archive.read(item.member)))
        lines = [*about, *html.lines_of(blocks)]
        return Part(number, self.titles[number - 1], lines, notes=html.notes(page.dropped + beside))


def open_document(file: BinaryIO) -> Book:
    """The book in `file`. Raises Unreadable."""
    archive = archives.open_archive(file)
    rootfile = next((at for at in _root(archive, CONTAINER).iter() if local(at) == "rootfile"), None)
    if rootfile is None:
        raise Unreadable("it does not say which of its parts is the book", ANOTHER_COPY)
    name = rootfile.get("full-path", "")
    package = _root(archive, name)
    manifest = _manifest(package, name)
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


def _manifest(package: Element, name: str) -> Mapping[str, _Item]:
    return {
        at.get("id", ""): _Item(
            _member(name, at.get("href", "")), at.get("media-type", "").lower(), at.get("properties", "")
        )
        for at in package.iter()
        if local(at) == "item"
    }


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
    """What is in no section: properties, pages outside of the reading order, videos."""
    read = {item.member for item in items}
    counts: Counter[str] = Counter()
    for item in manifest.values():
        if item.member in read:
            continue
        if item.media in PAGES and "nav" not in item.properties.split():
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
    ncx = next((item for item in manifest.values() if item.media == "application/x-dtbncx+xml"), None)
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
