"""HTML as text: sections between headings of the top level.

Headings begin with `#`, list items with `-` or their number, cells are separated by ` | `, short link targets
are shown, and preformatted text stays as it is. Style sheets are not evaluated: what they hide is shown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO

from lxml import etree
from msgspec import Struct

from readroom.core.limits import HEAD_BYTES
from readroom.core.text import encodings
from readroom.documents.formats import Part, Unreadable, charsets, css, omission_note, sections, tables, told
from readroom.documents.formats.formulas import FormulaParts
from readroom.documents.formats.sections import Sections

# -----------------------------------------------------------------------------
# The text of HTML as blocks, written down while the parser of lxml goes over it.
#
# No tree is made, so that neither depth nor size of a page can exhaust a memory.
# Scripts, styles and what a page hides by attribute are counted, not shown.
# -----------------------------------------------------------------------------

HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCK_NAMES = """
    address article aside blockquote body caption center dd details dialog dir div dl dt fieldset
    figcaption figure footer form header hgroup hr legend li main menu nav ol optgroup option p pre section
    summary table tbody textarea tfoot thead title tr ul
"""
BLOCKS = frozenset(_BLOCK_NAMES.split()) | frozenset(HEADINGS)
"""Elements that begin and end a line."""

UNSHOWN = {
    "script": "script or style",
    "style": "script or style",
    "template": "template",
    "noscript": "text without scripts",
    "svg": "drawing",
    "canvas": "drawing",
    "iframe": "frame",
    "object": "embedded object",
    "audio": "film or sound",
    "video": "film or sound",
    "datalist": "list of suggestions",
}
"""Elements whose text a page does not show, or only if something fails, and their names."""

_TOLD = frozenset(("title", "aria-label", "aria-description", "placeholder", "summary", "label"))
"""Attributes with words that a page shows on demand."""

_ABOUT = frozenset(("description", "keywords", "author", "og:title", "og:description", "twitter:description"))
_FIELDS = frozenset(("checkbox", "radio"))

_FORMULAS = frozenset(("math", "m:math", "mml:math"))
_SPACES = re.compile(r"[ \t\n\r\f]+")

MAX_INDENT = 10
"""Nested lists that are indented; deeper ones are indented like the tenth."""

MAX_TABLES = 6
"""Tables in tables; the cells of deeper ones are lines, or every level would copy all text below it."""

FEED_BYTES = 64 * 1024


class HtmlBlock(Struct, frozen=True):
    """A line or, of preformatted text, several; `level` of a heading from 1, 0 for all else."""

    level: int
    lines: tuple[str, ...]


class _Table(Struct):
    """A table that is being written: the blocks around it wait for its rows."""

    outer: list[HtmlBlock]
    cells: list[list[HtmlBlock]]


class HtmlPage:
    """A target of lxml's parser that collects the text of a page."""

    def __init__(self) -> None:
        self.title = ""
        self.dropped: Counter[str] = Counter()
        self._blocks: list[HtmlBlock] = []
        self._words: list[str] = []
        self._open: list[str] = []
        self._silent = 0
        self._pre = 0
        self._lists: list[int] = []
        self._label = ""
        self._link: tuple[int, str] | None = None
        self._tables: list[_Table] = []
        self._unnested = 0
        self._formula: FormulaParts | None = None
        self._sheet = css.Sheet()
        self._rules: list[str] | None = None

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""
        if self._silent or self._is_silent(tag, attributes):
            self._silent += 1
            self._rules = [] if tag == "style" else None
            return
        if self._formula is not None and tag in BLOCKS:
            self._formula_end()  # it was never closed
        if self._formula is None and tag in _FORMULAS:
            self._formula = FormulaParts()
        if self._formula is not None:
            self._formula.start(tag.rpartition(":")[2], attributes)
            return
        if tag in BLOCKS:
            self._flush()
        if attributes:
            self._attributes(tag, attributes)
        if tag == "br":
            self._words.append("\n" if self._pre else "\v")
        elif tag in ("img", "area"):
            self._picture(attributes.get("alt", "").strip())
        elif tag == "input":
            self._input(attributes)
        elif tag == "pre":
            self._pre += 1
        elif tag in ("ul", "ol", "menu", "dir"):
            start = attributes.get("start", "")
            number = int(start) if start.isascii() and start.isdecimal() and len(start) < 7 else 1
            self._lists.append(number if tag == "ol" else 0)
        elif tag == "li":
            self._item()
        elif tag == "a" and self._link is None:
            self._link = len(self._words), attributes.get("href", "")
        elif tag in ("table", "tr", "td", "th"):
            self._table(tag)

    def end(self, tag: str) -> None:
        """An element ends; the parser ends all that it began."""
        if self._silent:
            self._silent -= 1
            if self._rules is not None:
                self._sheet.add("".join(self._rules))
                self._rules = None
            return
        if self._formula is not None:
            self._formula.end()
            if not self._formula.depth:
                self._formula_end()
            return
        if tag == "a" and self._link is not None:
            at, target = self._link
            words = "".join(self._words[at:])
            self.dropped[told("link target", target)] += sections.is_lost(words, target)
            self._words[at:] = [sections.link(words, target)]
            self._link = None
        if tag == "title" and not self.title:
            self.title = " ".join("".join(self._words).split())
            self._words = []
        if tag in HEADINGS:
            self._heading(HEADINGS[tag])
        if tag in BLOCKS:
            self._flush()
        if tag == "pre" and self._pre:
            self._pre -= 1
        elif tag in ("ul", "ol", "menu", "dir") and self._lists:
            self._lists.pop()
        elif tag in ("table", "tr", "td", "th"):
            self._table_end(tag)

    def data(self, text: str) -> None:
        """Text between tags."""
        if self._rules is not None:
            self._rules.append(text)
        elif self._formula is not None and not self._silent:
            self._formula.text(text)
        elif not self._silent:
            self._words.append(text if self._pre else _SPACES.sub(" ", text))

    def _formula_end(self) -> None:
        if self._formula is not None:
            self._words.append(self._formula.written())
            self._formula = None

    def comment(self, text: str) -> None:
        """A comment, which a page does not show; the parser takes declarations and instructions for some."""
        if not text.startswith("?"):
            self.dropped[told("comment", text)] += 1
        elif not text.startswith(("?xml ", "?xml\n", "?xml\t")):
            self.dropped[told("processing instruction", text)] += 1

    def close(self) -> Sequence[HtmlBlock]:
        """The blocks of the page."""
        self._formula_end()
        self._flush()
        while self._tables:
            self._table_end("table")
        return self._blocks

    def _is_silent(self, tag: str, attributes: Mapping[str, str]) -> bool:
        if tag in UNSHOWN:
            self.dropped[UNSHOWN[tag]] += 1
        elif "hidden" in attributes or self._sheet.hides(tag, attributes):
            self.dropped["hidden element"] += 1
        else:
            return False
        return True

    def _attributes(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Count content by attributes."""
        for name in _TOLD & attributes.keys():
            self.dropped[told("title or label", attributes[name])] += bool(attributes[name].strip())
        if tag == "meta":
            name = attributes.get("name") or attributes.get("property", "")
            words = f"{name}: {attributes.get('content', '')}"
            self.dropped[told("document property", words)] += name.lower() in _ABOUT
        elif tag == "option" and "selected" in attributes:
            self._words.append("(x) ")

    def _picture(self, description: str) -> None:
        if description:
            self._words.append(sections.picture(description))
        else:
            self.dropped["picture without description"] += 1

    def _input(self, attributes: Mapping[str, str]) -> None:
        """A field of a form: its value, or whether it is ticked."""
        kind, value = attributes.get("type", "text").lower(), attributes.get("value", "").strip()
        if kind in _FIELDS:
            mark = "x" if "checked" in attributes else " "
            self._words.append(f"[{mark}] " if kind == "checkbox" else f"({mark}) ")
            self.dropped[told("value of a button", value)] += bool(value)
        elif kind == "image":
            self._picture(attributes.get("alt", "").strip())
        elif value and kind in ("hidden", "password"):
            words = f"{attributes.get('name', '')}={value}"
            self.dropped[told("hidden element", words) if kind == "hidden" else "password"] += 1
        elif value:
            self._words.append(f"[{value}] ")

    def _item(self) -> None:
        number = self._lists[-1] if self._lists else 0
        self._label = f"{number}. " if number else "- "
        if number:
            self._lists[-1] += 1

    def _heading(self, level: int) -> None:
        words = " ".join("".join(self._words).split())
        self._words, self._link = [], None
        if words:
            self._blocks.append(HtmlBlock(level, (f"{'#' * level} {self._label}{words}",)))
            self._label = ""

    def _flush(self) -> None:
        """End the line."""
        if not self._words:
            return
        text = "".join(self._words)
        self._words, self._link = [], None
        if self._pre:
            lines_of = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n").split("\n")
        else:
            lines_of = [" ".join(_SPACES.sub(" ", line).split(" ")).strip() for line in text.split("\v")]
            lines_of = [line for line in lines_of if line]
        if not "".join(lines_of).strip():
            return
        indent = "  " * min(max(0, len(self._lists) - 1), MAX_INDENT)
        inner = indent + ("  " if self._lists else "")
        first = f"{indent}{self._label}{lines_of[0]}" if self._label else f"{inner}{lines_of[0]}"
        self._blocks.append(HtmlBlock(0, (first, *(f"{inner}{line}" for line in lines_of[1:]))))
        self._label = ""

    def _table(self, tag: str) -> None:
        if tag == "table":
            if len(self._tables) >= MAX_TABLES:
                self._unnested += 1
                return
            self._tables.append(_Table(self._blocks, []))
            self._blocks = []
        elif self._unnested or not self._tables:
            self._flush()
        elif tag == "tr":
            self._row()
        else:
            self._flush()
            self._tables[-1].cells.append(self._blocks)
            self._blocks = []

    def _table_end(self, tag: str) -> None:
        self._flush()
        if tag == "table" and self._unnested:
            self._unnested -= 1
        elif tag in ("tr", "table") and self._tables and not self._unnested:
            self._row()
            if tag == "table":
                table = self._tables.pop()
                table.outer.extend(self._blocks)
                self._blocks = table.outer

    def _row(self) -> None:
        """Write the waiting cells: `cells[0]` is the text before the first."""
        table = self._tables[-1]
        if not table.cells:
            return
        before, *cells = [*table.cells, self._blocks]
        table.cells = []
        self._blocks = before
        written = tables.row([[(block.level, block.lines) for block in cell] for cell in cells])
        self._blocks += [HtmlBlock(level, tuple(lines_of)) for level, lines_of in written]


def read(text: str) -> tuple[HtmlPage, Sequence[HtmlBlock]]:
    """The head and the blocks of a page."""
    page = HtmlPage()
    parser = etree.HTMLParser(target=page, encoding="utf-8", huge_tree=True)
    data = text.replace("\0", "").encode("utf-8", "replace")
    blocks: Sequence[HtmlBlock] = ()
    try:
        for at in range(0, len(data), FEED_BYTES):
            parser.feed(data[at : at + FEED_BYTES])
        blocks = parser.close()
    except etree.XMLSyntaxError:
        blocks = page.close()  # it has no element
    return page, blocks


def notes(dropped: Counter[str]) -> list[str]:
    """A sentence that counts what is not shown of a page; empty if all is shown."""
    return omission_note(dict(sorted(dropped.items())))


def lines_of(blocks: Sequence[HtmlBlock]) -> Iterator[str]:
    """The lines of blocks, an empty one before each heading but the first."""
    started = False
    for block in blocks:
        if block.level and started:
            yield ""
        started = True
        yield from block.lines


_META = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w:.-]{1,40})""", re.IGNORECASE)
_XML = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w:.-]{1,40})""")


HTML_BYTES = 12 * 1024 * 1024
"""A page that is read as one; 30 MB/s are read. The longest standards on one page have 12 MB."""


def open_document(file: BinaryIO) -> Sections:
    """The page in `file`. Raises Unreadable."""
    data = file.read(HTML_BYTES + 1)
    if len(data) > HTML_BYTES:
        raise Unreadable(
            f"it is a page of more than {HTML_BYTES:,} bytes", "Read it as plain text, without `pages`."
        )
    page, blocks = read(decoded(data))
    parts: list[Part] = []
    headings = []
    for number, span in enumerate(sections.spans([block.level for block in blocks]), 1):
        group = blocks[span.start : span.stop]
        title = group[0].lines[0].lstrip("#").strip() if group and group[0].level else ""
        lines = list(lines_of(group))
        headings += [sections.entry(block.level, block.lines[0], number) for block in group if block.level]
        parts.append(Part(number, title, lines))
    first = parts[0]
    if page.title and page.title not in (heading.title for heading in headings[:1]):
        first = Part(1, first.title, [f"[title: {page.title}]", *first.lines])
    parts[0] = Part(1, first.title, first.lines, notes=notes(page.dropped))
    return Sections(parts, sections.bounded(headings))


def decoded(data: bytes) -> str:
    """The text of a page, decoded by its byte order mark, its declaration, or detection."""
    encoding = (
        encodings.by_bom(data)
        or _declared(data)
        or encodings.detect(data[:HEAD_BYTES], complete=len(data) <= HEAD_BYTES)
    )
    if encoding is None:
        return data.decode("utf-8", "replace")
    return encodings.decode(data, encoding).removeprefix("\ufeff")


META_BYTES = 2048
"""Bytes that are searched for a declared encoding. The standard has 1,024; some put long comments before."""


def _declared(data: bytes) -> encodings.Encoding | None:
    match = _META.search(data[:META_BYTES]) or _XML.search(data[:META_BYTES])
    if match is None:
        return None
    name = match[1].decode("ascii", "replace").lower()
    if name.startswith(("utf-16", "utf-32")):
        name = "utf-8"  # it could not be read as ASCII so far
    if name in ("utf-8", "utf8") and not _is_utf8(data):
        return None
    try:
        return encodings.named(charsets.codec_name(name))
    except encodings.UnknownEncoding:
        return None


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
