"""Replies of opencode's tools."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from readroom.contracts.opencode.names import Names
from readroom.contracts.opencode.requests import (
    CONTENT_BYTES,
    FOUND,
    LINE_UNITS,
    PDF,
    ReadArguments,
    binary,
    first_line,
    to_call,
    wanted,
)
from readroom.core.contracts import json_replies
from readroom.core.contracts.absolute import longest
from readroom.core.contracts.native import facts as native_facts
from readroom.core.contracts.native import render as native_render
from readroom.core.errors import BadRange
from readroom.core.quoting import quote
from readroom.core.text.select import byte_size
from readroom.core.values import (
    Call,
    Cap,
    EntryKind,
    Fact,
    GrepFile,
    GrepLine,
    GrepResult,
    Kind,
    ListEntry,
    ListMeasure,
    ListResult,
    Measure,
    ReadMeasure,
    ReadRequest,
    ReadResult,
    Reply,
    Request,
    SearchMeasure,
)
from readroom.core.values.changes import EditResult, WriteResult
from readroom.core.values.files import Attachment

_FRAME_BYTES = 400
"""The words around a path, and the sentence at the end of a reply."""

_CUT = "... (line truncated to {} chars)"
_CUT_GREP = "..."
_HALF = "\ufffd"
"""The first half of a surrogate pair, as it arrives where it is sent."""
_MARK_BYTES = len(_CUT.format(LINE_UNITS))
_LABEL = "50 KB"

_EDITED = "Edit applied successfully."
_WRITTEN = "Wrote file successfully."
_NOTHING = "No files found"


def measure(names: Names) -> Measure:
    """The size of what the replies add."""
    root = longest(names.root)

    def frame(path: str) -> int:
        return _FRAME_BYTES + 2 * (root + len(path.encode("utf-8", "replace")))

    return Measure(
        frame=frame,
        read=ReadMeasure(
            numbered=lambda number: len(str(number)) + len(": \n"),
            outlined=lambda row: _FRAME_BYTES,
            mark_bytes=_MARK_BYTES,
        ),
        search=SearchMeasure(
            file=lambda file: len(names.shown(file.path).encode("utf-8", "replace")) + len("\n:\n"),
            line=lambda line: len(f"  Line {line.number}: {_CUT_GREP}\n") + byte_size(line.text),
        ),
        list=ListMeasure(lambda entry: byte_size(entry.path) + len("/\n")),
    )


class Replies(Struct, frozen=True):
    """The wording of results.

    Attributes:
        names: How files are called.
        kilo: Whether it is that of Kilo 7.
    """

    names: Names
    kilo: bool

    def call(self, request: Request) -> Call | None:
        """The call for a request; None if there is none."""
        return to_call(self.names, request)

    # --- read ---------------------------------------------------------------------------------

    def fit(self, arguments: ReadArguments, request: ReadRequest, result: ReadResult, cap: Cap) -> ReadResult:
        """As many of the lines as one read may show. Raises Binary, BadRange."""
        if result.raw is not None and not result.raw.startswith(PDF):
            raise binary(result.path, result.raw, result.size_bytes)
        first = first_line(arguments)
        if not result.lines:
            if result.total_lines == 0 and first > 1:
                raise BadRange("", "", total_lines=0)
            return result
        result = replace(result, lines=[self._line(line, result, at) for at, line in enumerate(result.lines)])
        if not wanted(arguments, kilo=self.kilo):
            return replace(result, start=0, lines=(), cuts={}, next=request)
        return json_replies.fitted(result, replace(cap, size=CONTENT_BYTES), _content_bytes)

    def _line(self, line: str, result: ReadResult, at: int) -> str:
        cut = result.cuts.get(result.start + at)
        shown, units = beginning(line, LINE_UNITS)
        if cut is None and len(shown) == len(line):
            return line
        if units == LINE_UNITS - 1 and len(shown) < len(line) and not self.kilo:
            shown, units = shown + _HALF, LINE_UNITS
        return shown + _CUT.format(units)

    def read(self, arguments: ReadArguments, result: ReadResult | ListResult, cap: Cap) -> Reply:
        """The reply for a file or a folder."""
        if isinstance(result, ListResult):
            return self._folder(arguments, result)
        if result.kind is Kind.IMAGE or result.raw is not None:
            return self._file(result)
        rows = [f"{number}: {line}" for number, line in enumerate(result.lines, result.start)]
        path = self.names.shown(result.path)
        text = f"<path>{path}</path>\n<type>file</type>\n<content>\n" + "\n".join(rows)
        text += f"\n\n{self._end(arguments, result, cap)}\n</content>"
        return native_render.reply(text, partial(native_facts.of_read, result, self.call))

    def _file(self, result: ReadResult) -> Reply:
        facts = partial(native_facts.of_read, result, self.call)
        if result.image is not None:
            return native_render.reply("Image read successfully", facts, (result.image,))
        pdf = Attachment(result.raw or b"", "application/pdf", self.names.value(result.path))
        return replace(native_render.reply("PDF read successfully", facts), attached=(pdf,))

    def _end(self, arguments: ReadArguments, result: ReadResult, cap: Cap) -> str:
        """The sentence about what is not shown."""
        total = result.total_lines
        if result.next is None:
            return f"(End of file - total {total} lines)"
        first = first_line(arguments)
        last = first + len(result.lines) - 1
        shown, more = f"Showing lines {first}-{last}", f"Use offset={last + 1} to continue."
        full = any(item.what == "lines" and item.reason == "reply_cap" for item in result.omitted)
        if full and (cap.lines is None or len(result.lines) < cap.lines):
            most = min(cap.size, CONTENT_BYTES)
            label = _LABEL if most == CONTENT_BYTES else f"{most // 1024} KB"
            return f"(Output capped at {label}. {shown}. {more})"
        return f"({shown}. {more})" if total is None else f"({shown} of {total}. {more})"

    def _folder(self, arguments: ReadArguments, result: ListResult) -> Reply:
        first = first_line(arguments)
        entries = result.entries if wanted(arguments, kilo=self.kilo) else ()
        rows = [self._entry(entry) for entry in entries]
        total, beyond = result.total, first + len(rows)
        end = f"({total} entries)"
        if beyond - 1 < total:
            end = (
                f"(Showing {len(rows)} of {total} entries. "
                f"Use 'offset' parameter to read beyond entry {beyond})"
            )
        path = self.names.shown(result.request.path)
        text = "\n".join(
            [f"<path>{path}</path>", "<type>directory</type>", "<entries>", "\n".join(rows), f"\n{end}",
             "</entries>"]
        )  # fmt: skip
        return native_render.reply(text, partial(native_facts.of_list, result, self.call))

    def _entry(self, entry: ListEntry) -> str:
        name = quote(entry.path)
        return f"{name}/" if EntryKind.FOLDER in (entry.kind, entry.leads_to) else name

    # --- searches -----------------------------------------------------------------------------

    def glob(self, result: ListResult, cap: Cap) -> Reply:
        """The reply for the names of files."""
        facts = partial(native_facts.of_list, result, self.call)
        rows = [self.names.below(result.request.path, entry.path) for entry in result.entries]
        more = len(rows) >= FOUND or result.next is not None or not result.total_known

        def text(count: int) -> str:
            cut = more or count < len(rows)
            note = (
                f"(Results are truncated: showing first {count} results. "
                "Consider using a more specific path or pattern.)"
            )
            return "\n".join([*(rows[:count] or [_NOTHING]), *(["", note] if cut else [])])

        return native_render.reply(_fitting(text, len(rows), cap), facts)

    def grep(self, result: GrepResult, cap: Cap) -> Reply:
        """The reply for matching lines."""
        facts = partial(native_facts.of_grep, result, self.call)
        if not result.files:
            return native_render.reply(_NOTHING, facts)
        more = result.shown >= FOUND or not result.complete
        heading = f"Found {result.shown} matches{' (more matches available)' if more else ''}"
        rows = [heading]
        for at, file in enumerate(result.files):
            rows += ([""] if at else []) + self._matches(file)
        if more:
            rows += ["", "(Results truncated. Consider using a more specific path or pattern.)"]
        return native_render.reply("\n".join(rows), facts)

    def _matches(self, file: GrepFile) -> list[str]:
        return [
            f"{self.names.shown(file.path)}:",
            *(f"  Line {line.number}: {_match(line)}" for line in file.lines),
        ]

    # --- changes ------------------------------------------------------------------------------

    def edit(self, result: EditResult | WriteResult, cap: Cap) -> Reply:
        """The reply for an edit, or for a file that one made."""
        if isinstance(result, WriteResult):
            return native_render.reply(_EDITED, partial(native_facts.of_write, result))
        text = _EDITED
        if result.matched:
            first, last = min(result.first_line, result.last_line), result.last_line
            where = f"line {first}" if first == last else f"lines {first}-{last}"
            text += f"\n\noldString did not occur exactly and was matched with {result.matched}. See {where}."
        return native_render.reply(text, partial(_edit_facts, result))

    def write(self, result: WriteResult, cap: Cap) -> Reply:
        """The reply for a file that was written."""
        return native_render.reply(_WRITTEN, partial(native_facts.of_write, result))


def _edit_facts(result: EditResult) -> dict[str, Fact]:
    facts = native_facts.of_edit(result)
    return {**facts, "matched": result.matched} if result.matched else facts


def _fitting(text: Callable[[int], str], count: int, cap: Cap) -> str:
    """The text with as many rows as the reply holds."""
    if byte_size(text(count)) <= cap.size:
        return text(count)
    return text(json_replies.largest(count - 1, lambda number: byte_size(text(number)) <= cap.size))


def _content_bytes(result: ReadResult) -> int:
    """Bytes of the lines and of the line feeds between them."""
    return sum(map(byte_size, result.lines)) + max(0, len(result.lines) - 1)


def _match(line: GrepLine) -> str:
    """A line, with its line end if it is whole."""
    shown, units = beginning(line.text, LINE_UNITS)
    return line.text if units == _units(line.text) else shown + _CUT_GREP


def beginning(text: str, units: int) -> tuple[str, int]:
    """The longest beginning of so many units of UTF-16, without half of a pair, and how many it has."""
    if len(text) * 2 <= units or (text.isascii() and len(text) <= units):
        return text, _units(text)
    shown = text[:units]
    size = _units(shown)
    while size > units:
        shown = shown[: len(shown) - max(1, (size - units) // 2)]
        size = _units(shown)
    return shown, size


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text) + sum(char > "\uffff" for char in text)
