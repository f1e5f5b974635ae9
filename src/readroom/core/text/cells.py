"""The cells of a notebook as spans of its bytes, and the bytes of changed, added and moved cells.

Only the values that change are written again, in the style of the file; every other byte stays.  A cell has
the number that a read shows.

Knows: the JSON of notebooks of format 3 and 4.
Does not know: files, and what a call asks for.
May be touched: with the round trips through nbformat; what it writes is a user's file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import Any

import msgspec
from msgspec import Struct

from readroom.core.deadline import Deadline
from readroom.core.text.edits.diff import common_end, common_start

_STRING = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_BRACKET = re.compile(_STRING + rb"|[{}\[\]]", re.DOTALL)
_PLAIN = re.compile(rb"[^\s,\]}]+")
_BLANK = re.compile(rb"\s*")

_IDS = (4, 5)
"""The version of the format since which cells have ids."""

CODE = "code"
KINDS = (CODE, "markdown", "raw")
_ID_DIGITS = 8


class Span(Struct, frozen=True):
    """Bytes `start` to `end`."""

    start: int
    end: int


class Cell(Struct, frozen=True):
    """A cell: its bytes, its members by name, and its source.

    `array` is the number of the list that it is in: format 3 has several.
    """

    span: Span
    array: int
    members: Mapping[str, Span]
    kind: str
    source: str
    outputs: int = 0

    @property
    def source_name(self) -> str:
        """The member that holds the source."""
        return "source" if "source" in self.members else "input"


class Notebook(Struct, frozen=True):
    """The cells of a notebook in order, the spans of the lists they are in, and the version of its format.

    `language` is that of its kernel, if it says so.
    """

    data: bytes
    cells: Sequence[Cell]
    arrays: Sequence[Span]
    version: tuple[int, int]
    language: str | None = None


class Replacement(Struct, frozen=True):
    """Bytes to write instead of a span."""

    span: Span
    data: bytes


def parsed(data: bytes, deadline: Deadline) -> Notebook | None:
    """The cells of a notebook; None if the bytes are none that can be changed by cells.

    Raises:
        TimedOut, Cancelled: From the deadline.
    """
    if not _is_json(data):
        return None
    top = _BLANK.match(data).end()  # type: ignore[union-attr]  # matches anything
    if data[top : top + 1] != b"{":
        return None
    members = dict(_members(data, top))
    arrays = _arrays(data, members)
    if arrays is None:
        return None
    cells = [
        _cell(data, span, number)
        for number, array in enumerate(arrays)
        for span in _checked(_elements(data, array.start), deadline)
    ]
    version = _number(data, members, "nbformat"), _number(data, members, "nbformat_minor")
    return Notebook(data, cells, arrays, version, _language_of(_value(data, members.get("metadata"))))


def _language_of(metadata: object) -> str | None:
    """The language that the metadata of a notebook or of a cell name."""
    places = (
        *(("language_info", "name"), ("kernelspec", "language")),
        *(("vscode", "languageId"), ("dotnet_interactive", "language"), ("polyglot_notebook", "kernelName")),
    )
    for outer, inner in places:
        named = metadata.get(outer) if isinstance(metadata, dict) else None
        found = named.get(inner) if isinstance(named, dict) else None
        if isinstance(found, str):
            return found
    return None


def language_in(book: Notebook, cell: Cell | None) -> str | None:
    """The language of a code cell, or of a new one; None if it is unknown."""
    if cell is None:
        return book.language or (_language(book) if book.version[0] < 4 else None)
    own = _value(book.data, cell.members.get("language"))
    said = _language_of(_value(book.data, cell.members.get("metadata")))
    return own if isinstance(own, str) else said or book.language


def _is_json(data: bytes) -> bool:
    try:
        data.decode()
        msgspec.json.decode(data, type=msgspec.Raw)
    except msgspec.DecodeError:
        return _is_odd_json(data)
    except (UnicodeDecodeError, RecursionError):
        return False
    return True


def _is_odd_json(data: bytes) -> bool:
    """Whether it has what only other programs take for JSON: NaN, or half of a surrogate pair."""
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def _checked(spans: Iterator[Span], deadline: Deadline) -> Iterator[Span]:
    for span in spans:
        deadline.check()
        yield span


def _arrays(data: bytes, members: Mapping[str, Span]) -> list[Span] | None:
    """The lists of cells, as a read takes them."""
    own = members.get("cells")
    if own is not None and data[own.start : own.start + 1] == b"[":
        return [own]
    sheets = members.get("worksheets")
    if sheets is None or data[sheets.start : sheets.start + 1] != b"[":
        return None
    objects = (dict(_members(data, span.start)) for span in _elements(data, sheets.start))
    found = (each.get("cells") for each in objects)
    return [span for span in found if span is not None and data[span.start : span.start + 1] == b"["]


def _cell(data: bytes, span: Span, array: int) -> Cell:
    members = dict(_members(data, span.start))
    named = members.get("source", members.get("input"))
    kind = _value(data, members.get("cell_type"))
    outputs = members.get("outputs")
    count = sum(1 for _ in _elements(data, outputs.start)) if outputs is not None else 0
    return Cell(
        span, array, members, kind if isinstance(kind, str) else "", _text(_value(data, named)), count
    )


def _number(data: bytes, members: Mapping[str, Span], name: str) -> int:
    value = _value(data, members.get(name))
    return value if isinstance(value, int) else 0


def _value(data: bytes, span: Span | None) -> Any:
    return None if span is None else json.loads(data[span.start : span.end])


def _text(value: object) -> str:
    """A source, which may be a list of lines."""
    if isinstance(value, str):
        return value
    return "".join(piece for piece in value if isinstance(piece, str)) if isinstance(value, list) else ""


# --- JSON that is known to be valid ---------------------------------------------------------------


def _end_of(data: bytes, at: int) -> int:
    """The end of the value that begins at a byte."""
    if data[at : at + 1] not in (b"{", b"["):
        found = (_BRACKET if data[at : at + 1] == b'"' else _PLAIN).match(data, at)
        return at if found is None else found.end()
    depth = 0
    for token in _BRACKET.finditer(data, at):
        mark = token[0]
        depth += (mark in (b"{", b"[")) - (mark in (b"}", b"]"))
        if not depth:
            return token.end()
    return len(data)


def _after_blanks(data: bytes, at: int) -> int:
    found = _BLANK.match(data, at)
    return at if found is None else found.end()


def _members(data: bytes, at: int) -> Iterator[tuple[str, Span]]:
    """The names and values of an object; nothing for another value."""
    if data[at : at + 1] != b"{":
        return
    at = _after_blanks(data, at + 1)
    while data[at : at + 1] == b'"':
        end = _end_of(data, at)
        name = json.loads(data[at:end])
        start = _after_blanks(data, _after_blanks(data, end) + 1)
        end = _end_of(data, start)
        yield name, Span(start, end)
        at = _after_blanks(data, end)
        if data[at : at + 1] == b",":
            at = _after_blanks(data, at + 1)


def _elements(data: bytes, at: int) -> Iterator[Span]:
    """The values of a list; nothing for another value."""
    if data[at : at + 1] != b"[":
        return
    at = _after_blanks(data, at + 1)
    while data[at : at + 1] not in (b"]", b""):
        end = _end_of(data, at)
        yield Span(at, end)
        at = _after_blanks(data, end)
        if data[at : at + 1] == b",":
            at = _after_blanks(data, at + 1)


# -----------------------------------------------------------------------------
# The bytes of what changes.
# -----------------------------------------------------------------------------


class Style(Struct, frozen=True):
    """How a notebook is written: the blanks before its cells, their members and the lines of a source.

    `comma` and `colon` have their blanks; `ascii` escapes every other letter; `lists` has sources by lines.
    """

    cell: bytes
    member: bytes
    line: bytes
    comma: bytes
    colon: bytes
    ascii: bool
    lists: bool


def style_of(book: Notebook) -> Style:
    """The style of a notebook, by its first cell, or by its first member if it has no cell."""
    data = book.data
    top = _after_blanks(data, 0)
    outer = data[top + 1 : _after_blanks(data, top + 1)]
    unit = outer.lstrip(b"\r\n") if b"\n" in outer else b""
    cell = outer + unit if b"\n" in outer else b""
    member = cell + unit if cell else b""
    first = next((one for one in book.cells if one.members), None)
    colon = b": " if re.search(rb'":[ \t]', data) else b":"
    blank = b"" if cell or not re.search(_STRING + rb",[ ]", data[: 64 * 1024]) else b" "
    if first is not None:
        array = book.arrays[first.array]
        cell = data[array.start + 1 : _after_blanks(data, array.start + 1)]
        member = data[first.span.start + 1 : _after_blanks(data, first.span.start + 1)]
        unit = member[len(cell) :] if member.startswith(cell) else unit
    values = (
        data[one.members[one.source_name].start] for one in book.cells if one.source_name in one.members
    )
    lists = next((value == ord("[") for value in values), True)
    escaped = data.isascii() and rb"\u" in data
    return Style(cell, member, member + unit if member else b"", b"," + blank, colon, escaped, lists)


def encoded(source: str, style: Style, *, lists: bool) -> bytes:
    """A source as JSON."""
    if not lists:
        return _quoted(source, style)
    quoted = [_quoted(line, style) for line in _lines(source)]
    if not quoted:
        return b"[]"
    return b"[" + style.line + (style.comma + style.line).join(quoted) + style.member + b"]"


def _lines(source: str) -> list[str]:
    """Lines end in line feeds alone, as nbformat splits what has no others."""
    return re.findall(r"[^\n]*\n|[^\n]+", source)


def _quoted(text: str, style: Style) -> bytes:
    try:
        return json.dumps(text, ensure_ascii=style.ascii).encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which the file has as an escape
        return json.dumps(text).encode()


def with_source(book: Notebook, cell: Cell, source: str, style: Style) -> Replacement | None:
    """The source of a cell written again; lines that stay keep their bytes. None if it has no source."""
    span = cell.members.get(cell.source_name)
    if span is None:
        return None
    data = book.data
    elements = list(_elements(data, span.start))
    if data[span.start : span.start + 1] != b"[" or not elements:
        lists = data[span.start : span.start + 1] == b"["
        return Replacement(span, encoded(source, style, lists=lists))
    old = [_value(data, each) for each in elements]
    if not all(isinstance(each, str) for each in old):
        return Replacement(span, encoded(source, style, lists=True))
    new = _lines(source)
    head = common_start(old, new)
    tail = common_end(old, new, head)
    if not new:
        return Replacement(span, b"[]")
    opening = data[span.start + 1 : elements[0].start]
    between = next((data[a.end : b.start] for a, b in pairwise(elements)), style.comma + opening)
    pieces = [data[each.start : each.end] for each in elements[:head]]
    pieces += [_quoted(line, style) for line in new[head : len(new) - tail]]
    pieces += [data[each.start : each.end] for each in elements[len(elements) - tail :] if tail]
    closing = data[elements[-1].end : span.end]
    return Replacement(span, b"[" + opening + between.join(pieces) + closing)


def without_outputs(book: Notebook, cell: Cell) -> list[Replacement]:
    """The outputs and the number of the run of a cell written again as none."""
    none = []
    for name, empty in (("outputs", b"[]"), ("execution_count", b"null"), ("prompt_number", b"null")):
        span = cell.members.get(name)
        if span is not None and (name != "outputs" or cell.outputs):
            none.append(Replacement(span, empty))
    return [each for each in none if book.data[each.span.start : each.span.end] != each.data]


def new_cell(book: Notebook, kind: str, source: str, style: Style, taken: set[str]) -> bytes:
    """A cell that is not there yet; its id becomes one of those `taken`."""
    is_old = book.version[0] < 4
    parts: dict[str, bytes] = {"cell_type": _quoted(kind, style), "metadata": b"{}"}
    name = "source"
    if kind == CODE:
        parts["outputs"] = b"[]"
        if is_old:
            name = "input"
            parts |= {"language": _quoted(_language(book), style), "collapsed": b"false"}
        else:
            parts["execution_count"] = b"null"
    if book.version >= _IDS:
        parts["id"] = _quoted(_new_id(f"{kind} {source}", taken), style)
    parts[name] = encoded(source, style, lists=style.lists)
    named = [_quoted(key, style) + style.colon + parts[key] for key in sorted(parts)]
    return b"{" + style.member + (style.comma + style.member).join(named) + style.cell + b"}"


def ids_of(book: Notebook) -> set[str]:
    """The ids of its cells."""
    found = (_value(book.data, cell.members.get("id")) for cell in book.cells)
    return {each for each in found if isinstance(each, str)}


def _language(book: Notebook) -> str:
    found = (_value(book.data, cell.members.get("language")) for cell in book.cells)
    return next((each for each in found if isinstance(each, str)), "python")


def _new_id(text: str, taken: set[str]) -> str:
    """An id that no cell has; the same for the same call."""
    number = 0
    while True:
        made = sha256(f"{number} {text}".encode("utf-8", "replace")).hexdigest()[:_ID_DIGITS]
        if made not in taken:
            taken.add(made)
            return made
        number += 1


def arranged(book: Notebook, array: int, cells: Sequence[bytes], style: Style) -> Replacement:
    """The content of a list of cells, written from these."""
    data, span = book.data, book.arrays[array]
    old = [cell.span for cell in book.cells if cell.array == array]
    if not cells:
        return Replacement(Span(span.start + 1, span.end - 1), b"")
    if not old:
        outer = style.cell[: len(style.cell) - (len(style.member) - len(style.cell))]
        joined = (style.comma + style.cell).join(cells)
        return Replacement(Span(span.start + 1, span.end - 1), style.cell + joined + outer)
    between = next((data[a.end : b.start] for a, b in pairwise(old)), style.comma + style.cell)
    return Replacement(Span(old[0].start, old[-1].end), between.join(cells))


def replaced(data: bytes, start: int, end: int, changes: Sequence[Replacement]) -> bytes:
    """Bytes `start` to `end` with the changes inside of them made; the changes are in order."""
    pieces = list[bytes]()
    for change in changes:
        pieces += [data[start : change.span.start], change.data]
        start = change.span.end
    return b"".join((*pieces, data[start:end]))
