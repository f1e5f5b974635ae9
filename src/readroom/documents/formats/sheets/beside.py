"""Content of an .xlsx sheet other than cells: comments are shown, everything else is counted."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from xml.sax.saxutils import unescape

from readroom.documents.formats import Unreadable, macros, ooxml, told
from readroom.documents.formats.elements import Element, local
from readroom.documents.formats.ooxml import Package
from readroom.documents.formats.page_ranges import MAX_COLUMNS, MAX_ROWS, column_number
from readroom.documents.formats.sheets import cells
from readroom.documents.formats.sheets.cells import Comments

_PLACE = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7})\Z")
_STAND_IN = "tc="
"""Author of the comment that replaces a thread for programs that do not know threads."""

_HEADERS = re.compile(rb"<(?:\w+:)?((?:odd|even|first)(?:Header|Footer))\s*>\s*([^<\s][^<]*)")
_LISTS = re.compile(rb"<(?:\w+:)?dataValidation(?=[\s>])[^>]*>(?:\s*<(?:\w+:)?formula1\s*>([^<]*)<)?")
_LINKS = re.compile(rb"<(?:\w+:)?hyperlink(?=[\s/])([^>]*)>")
_ATTRIBUTE = re.compile(rb"""(?:\w+:)?(id|ref|location|sqref)\s*=\s*["']([^"']*)["']""")
_LAID_OUT = re.compile(r'&(?:"[^"]*"|K[0-9A-F]{6}|\d+|[BIUESXY])')
_THIRDS = re.compile(r"&[LCR]")
_COLUMNS = re.compile(rb"<(?:\w+:)?col(?=\s)[^>]*>")
_HIDDEN = re.compile(rb"""\shidden\s*=\s*["'](?:1|true)["']""")
_SPAN = re.compile(rb"""\s(min|max)\s*=\s*["'](\d{1,5})["']""")

_RELATED = {
    "pivotTable": "pivot table",
    "control": "form control",
    "ctrlProp": "form control",
    "queryTable": "query",
    "slicer": "slicer",
}
"""Parts that a sheet refers to, and their names."""

_EMBEDDED = ("oleObject", "package")
"""Relations to objects of other programs."""

_DRAWN = {"pic": "picture", "graphicFrame": "chart or diagram", "contentPart": "drawing"}

_OF_WORKBOOK = {
    "externalLink": "link to another workbook",
    ooxml.MACROS: macros.KIND,
    "pivotCacheDefinition": "pivot cache",
    "connections": "data connection",
    "xmlMaps": "XML map",
}


def comments(package: Package, member: str) -> Comments:
    """The comments on cells of a sheet."""
    by_place: defaultdict[tuple[int, int], list[tuple[str, str]]] = defaultdict(list)
    threads = package.related(member, "threadedComment")
    people = _people(package) if threads else {}
    for part in threads:
        for element in _elements(package, part):
            place = _placed(element.get("ref", ""))
            if local(element) == "threadedComment" and place is not None:
                text = "".join(at.text or "" for at in element if local(at) == "text")
                by_place[place].append((people.get(element.get("personId", ""), ""), text))
    for part in package.related(member, "comments"):
        root = package.beside(part)
        for place, author, text in () if root is None else _notes(root):
            if not (author.startswith(_STAND_IN) and place in by_place):
                by_place[place].append(("" if author.startswith(_STAND_IN) else author, text))
    return {place: cells.comment(texts) for place, texts in by_place.items()}


def _elements(package: Package, part: str) -> Iterator[Element]:
    """The elements in the root of a part; none if it cannot be read."""
    root = package.beside(part)
    yield from () if root is None else root


def _notes(root: Element) -> Iterator[tuple[tuple[int, int], str, str]]:
    authors = [element.text or "" for element in root.iter() if local(element) == "author"]
    for element in root.iter():
        place = _placed(element.get("ref", "")) if local(element) == "comment" else None
        if place is None:
            continue
        author = element.get("authorId", "")
        known = author.isascii() and author.isdecimal() and len(author) < 7 and int(author) < len(authors)
        yield place, authors[int(author)] if known else "", ooxml.text_of(element, "t")


def _people(package: Package) -> Mapping[str, str]:
    names = {}
    for part in package.related(package.main, "person"):
        for element in _elements(package, part):
            names[element.get("id", "")] = element.get("displayName", "")
    return names


def _placed(reference: str) -> tuple[int, int] | None:
    """Row and column of a cell; None if it is not one."""
    match = _PLACE.match(reference)
    if match is None:
        return None
    row, column = int(match[2]), column_number(match[1])
    return (row, column) if 0 < row <= MAX_ROWS and column <= MAX_COLUMNS else None


def hidden_columns(head: bytes) -> int:
    """Columns that a sheet hides, from the XML before its rows."""
    hidden = 0
    for column in _COLUMNS.findall(head):
        if _HIDDEN.search(column):
            span = {name: int(number) for name, number in _SPAN.findall(column)}
            first, last = span.get(b"min", 1), min(span.get(b"max", 1), MAX_COLUMNS)
            hidden += max(0, last - first + 1)
    return hidden


def counts(package: Package, member: str, tail: bytes) -> Counter[str]:
    """Counts of hidden content other than cells; `tail` is the XML after the rows."""
    counter: Counter[str] = Counter()
    relations = package.relations(member)
    for name, words in _HEADERS.findall(tail):
        counter[told("header or footer", f"{name.decode()}: {_printed(words)}")] += 1
    for match in _LISTS.finditer(tail):
        place = _attributes(match[0]).get("sqref", "")
        counter[told("list of allowed values", f"{place}: {_words(match[1] or b'')}")] += 1
    for about in map(_attributes, _LINKS.findall(tail)):
        relation = relations.get(about.get("id", ""))
        target = "" if relation is None else relation.target
        target += f"#{about['location']}" if about.get("location") else ""
        counter[told("link target", f"{about.get('ref', '')}: {target}" if target else "")] += 1
    for relation in relations.values():
        if relation.kind in _EMBEDDED:
            counter[ooxml.told_embedded(package, relation)] += 1
        elif relation.kind in _RELATED:
            counter[told(_RELATED[relation.kind], ooxml.inside(relation))] += 1
    for part in package.related(member, "drawing"):
        counter += _drawn(package, part)
    return counter


def _words(data: bytes) -> str:
    return unescape(data.decode("utf-8", "replace"), {"&quot;": '"', "&apos;": "'"})


def _attributes(tag: bytes) -> dict[str, str]:
    return {name.decode(): _words(value) for name, value in _ATTRIBUTE.findall(tag)}


def _printed(data: bytes) -> str:
    """A header or footer without its codes for fonts; left, middle and right are apart."""
    thirds = (" ".join(third.split()) for third in _THIRDS.split(_LAID_OUT.sub("", _words(data))))
    return " | ".join(filter(None, thirds))


def _drawn(package: Package, part: str) -> Counter[str]:
    counter: Counter[str] = Counter()
    try:
        root = package.root(part)
    except Unreadable:
        return Counter({"drawing that cannot be read": 1})
    for element in root.iter():
        name = local(element)
        if name in _DRAWN:
            counter[_DRAWN[name]] += 1
        elif name == "sp" and (words := ooxml.text_of(element, "t")).strip():
            counter[told("text box", words)] += 1
        elif name == "cNvPr" and (element.get("descr") or element.get("title")):
            words = "; ".join(filter(None, (element.get("title"), element.get("descr"))))
            counter[told("alternative text", words)] += 1
    return counter


def of_workbook(package: Package) -> Counter[str]:
    """Counts of hidden content outside of sheets."""
    counter = ooxml.beside_of(package, _OF_WORKBOOK)
    for at in package.root(package.main).iter():
        if local(at) == "definedName":
            counter[told("defined name", f"{at.get('name', '')} = {at.text or ''}")] += 1
    return counter + ooxml.properties(package)
