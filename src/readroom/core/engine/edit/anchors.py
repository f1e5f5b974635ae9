"""The place of an edit that names it: lines, a definition, or the end of the file.

All of these are exact because the hash of the call names the state that they are about.  A definition is
replaced with the comments and decorators above it, and refused where its end is not certain.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.engine.services import Services
from readroom.core.limits import HEAD_BYTES
from readroom.core.limits.outline import OUTLINE_BYTES
from readroom.core.quoting import quote
from readroom.core.stores.base import Source
from readroom.core.text.edits import ByteSpan, Change, at_span
from readroom.core.text.encodings import Encoding, decode
from readroom.core.text.line_index import LineIndex
from readroom.core.values import ReadRequest
from readroom.core.values.changes import Edit
from readroom.core.values.files import Item, Outline, Row, rows

_PLACES = ("old_text", "lines", "symbol")


def searched(edit: Edit) -> Edit:
    """An edit that is found by its old text, with an insertion written as a replacement."""
    if edit.is_placed:
        return edit
    if edit.insert == "before":
        return replace(edit, new_text=edit.new_text + edit.old_text, insert=None)
    if edit.insert == "after":
        return replace(edit, new_text=edit.old_text + edit.new_text, insert=None)
    return edit


def require_one_place(edit: Edit, name: str) -> None:
    """Raise BadValue unless an edit names exactly one place; `name` is what the call calls it."""
    named = [place for place in _PLACES if getattr(edit, place)]
    if edit.insert == "end":
        if named:
            raise errors.BadValue(name, named[0], 'contradicts insert="end"', f"Leave {named[0]} out.")
    elif not named:
        raise errors.BadValue(
            f"{name}.old_text",
            "",
            "is empty",
            'Send the text to be replaced, or lines, or symbol; insert="end" appends, and write_file fills '
            "an empty file.",
        )
    elif len(named) > 1:
        both = " and ".join(named)
        raise errors.BadValue(name, both, f"has {both}, which both name its place", "Send one of them.")
    if edit.cell and (edit.is_placed or edit.insert):
        raise errors.BadValue(name, "cell", "names a cell and another place", "Leave one of them out.")
    if edit.replace_all and edit.is_placed:
        raise errors.BadValue(f"{name}.replace_all", True, "is about old_text", "Leave it out.")
    if edit.insert is not None and not edit.new_text:
        raise errors.BadValue(f"{name}.new_text", "", "is empty", "Send the text to be inserted.")


class Anchors:
    """The places of the edits of one opened file."""

    def __init__(
        self,
        services: Services,
        request: ReadRequest,
        source: Source,
        encoding: Encoding,
        index: LineIndex,
        deadline: Deadline,
    ) -> None:
        """`request` reads the file as the caller does; `index` has its lines and its hash."""
        self._services = services
        self._request = request
        self._source = source
        self._encoding = encoding
        self._index = index
        self._deadline = deadline
        self._outline: Outline | None = None

    def change(self, edit: Edit, name: str) -> Change:
        """An edit as a change of its place.

        Raises:
            BadRange: The file has no such lines.
            UnknownSymbol, Ambiguous, UncertainSymbol, NoOutline: The definition is not there, or not exactly.
        """
        if edit.insert == "end":
            return self._at(self._source.size, self._source.size, edit.new_text)
        first, last = self._lines(edit, name)
        start, end = self._start(first), self._start(last + 1)
        if edit.insert == "before":
            end, last = start, first
        elif edit.insert == "after":
            start, first = end, last + 1
        return self._at(start, end, self._whole(edit.new_text, start, end), first)

    def _at(self, start: int, end: int, text: str, line: int | None = None) -> Change:
        """The change of a span, which begins in a line; None for the end of the file."""
        total = self._index.total_lines
        if line is None or line > total:
            line = max(1, total + self._is_ended(start))
        old = decode(self._source.read_at(start, end - start), self._encoding)
        return at_span(old, text, ByteSpan(start, end, line))

    def _is_ended(self, at: int) -> bool:
        """Whether a line ends just before a byte."""
        unit = self._encoding.unit
        before = self._source.read_at(max(0, at - unit), min(at, unit))
        return before == self._encoding.newline

    def _whole(self, text: str, start: int, end: int) -> str:
        """A text that stands for whole lines: it ends as the lines of the place do."""
        size, is_ended = self._source.size, end == 0 or self._is_ended(end)
        if start == end == size and size > len(self._encoding.bom) and not is_ended:
            return f"\n{text.removesuffix(chr(10))}"
        if end == size and not is_ended:
            return text
        return text if not text or text.endswith("\n") else f"{text}\n"

    def _start(self, line: int) -> int:
        """The byte where a line begins, or the end of the file after its last."""
        if line > self._index.total_lines:
            return self._source.size
        return self._index.line_start(self._source, line)

    def _lines(self, edit: Edit, name: str) -> tuple[int, int]:
        if edit.symbol is not None:
            item = self._definition(edit.symbol)
            return item.start, item.end
        assert edit.lines is not None
        first, last = edit.lines
        total = self._index.total_lines
        if not 1 <= first <= last <= total:
            raise errors.BadRange(
                f"{name}.lines {first}-{last} is not in {quote(self._request.path)}, which has {total} lines",
                "Send lines as first-last, as its read numbers them.",
                total_lines=total,
                next_request=self._request,
            )
        return first, last

    # --- definitions --------------------------------------------------------------------------

    def _definition(self, symbol: str) -> Item:
        from readroom.core.outline import look_up

        outline = self._outlined()
        found = look_up(outline, symbol)
        request = replace(self._request, symbol=symbol)
        if len(found.rows) > 1:
            first = replace(request, offset=found.rows[0].item.start)
            ambiguous = errors.Ambiguous(request, found.rows, next_request=first)
            ambiguous.advice = "Send its qualified name, or the lines of the one you mean."
            raise ambiguous
        if not found.rows:
            raise errors.UnknownSymbol(
                request, found.near, next_request=replace(self._request, view="outline")
            )
        row = found.rows[0]
        self._require_certain(outline, row, request)
        return row.item

    def _require_certain(self, outline: Outline, row: Row, request: ReadRequest) -> None:
        item = row.item
        problem = ""
        if not item.certain or row.is_run:
            problem = "it is not certain where it ends"
        elif any(item.start <= first <= item.end for first, _ in outline.errors):
            problem = "it does not parse"
        elif _shares_a_line(outline, item):
            problem = "another definition has one of its lines"
        if problem:
            lines = ReadRequest(request.path, offset=item.start, limit=item.end - item.start + 1)
            raise errors.UncertainSymbol(
                request.path, row.name, item.start, item.end, problem, next_request=lines
            )

    def _outlined(self) -> Outline:
        if self._outline is not None:
            return self._outline
        from readroom.core.outline import Unparsable, build, can_outline
        from readroom.core.outline.languages import language_of

        plain = ReadRequest(self._request.path, encoding=self._request.encoding)
        size, bom = self._source.size, len(self._encoding.bom)
        if size > OUTLINE_BYTES:
            problem = f"it is larger than {OUTLINE_BYTES:,} bytes"
            raise errors.NoOutline(plain.path, problem, next_request=plain)
        text = decode(self._source.read_at(bom, size - bom), self._encoding).replace("\r\n", "\n")
        name = language_of(self._source.real, text[:HEAD_BYTES])
        if name is None or not can_outline(name):
            raise errors.NoOutline(plain.path, "no grammar knows its language", next_request=plain)
        outline = self._services.outlines.get(name, self._encoding.name, self._index.sha256)
        if outline is None:
            try:
                outline = build(text, name, self._deadline)
            except Unparsable as problem:
                raise errors.NoOutline(plain.path, str(problem), next_request=plain) from None
            self._services.outlines.put(outline, self._encoding.name, self._index.sha256)
        self._outline = outline
        return outline


def _shares_a_line(outline: Outline, item: Item) -> bool:
    """Whether lines of a definition also belong to one that neither contains it nor is in it."""
    for row in rows(outline.items):
        other = row.item
        apart = other.end < item.start or other.start > item.end
        inside = item.start <= other.start and other.end <= item.end
        around = other.start <= item.start and item.end <= other.end
        if other is not item and not apart and not (inside or around):
            return True
        if other is not item and inside and around and not _is_in(item, other) and not _is_in(other, item):
            return True
    return False


def _is_in(item: Item, above: Item) -> bool:
    return any(member is item or _is_in(item, member) for member in above.members)


def name_of(edits: Sequence[Edit], number: int) -> str:
    """The name that the call has for one of the edits of a file."""
    own = edits[number].number
    return f"edits[{number if own is None else own}]"
