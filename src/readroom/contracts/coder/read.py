"""Reads by lines for the contract `coder`: request, refusals, reply and facts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from readroom.contracts.coder import words
from readroom.contracts.coder.words import RESPONSE_LINES, own_calls, present
from readroom.core import values
from readroom.core.contracts.absolute import longest
from readroom.core.contracts.base import Sentences, Wording
from readroom.core.contracts.json_replies import encoded
from readroom.core.contracts.native import facts as native_facts
from readroom.core.contracts.native import outline as native_outline
from readroom.core.contracts.native import render as native_render
from readroom.core.errors import NotAbsolute, ReadroomError, TooMuch
from readroom.core.text.select import MARK_BYTES, MAX_CHAR_BYTES, byte_size
from readroom.core.values.files import Cut
from readroom.core.values.options import ReadOptions
from readroom.core.values.steps import Steps, TextUpTo

FILE_BYTES = 1024 * 1024
"""Largest file that is read whole."""

LINE_BYTES = 1024
"""Length at which a line is cut, between characters."""

RESPONSE_BYTES = 32 * 1024
"""The lines of one reply with their numbers and the line feeds between them; more is refused."""

MARK = "... [truncated]"
"""Follows a line that is cut."""

_ENVELOPE = 100
"""More than the names of the fields around an error."""

Fields: TypeAlias = dict[str, values.Fact]


class Bounds(Struct, frozen=True):
    """Bounds of one read; over HTTP a caller may choose others."""

    file_bytes: int = FILE_BYTES
    line_bytes: int = LINE_BYTES
    lines: int = RESPONSE_LINES
    bytes: int = RESPONSE_BYTES


def require_absolute(path: str, root: str) -> str:
    """The path. Raises NotAbsolute."""
    if not words.absolute(path):
        raise NotAbsolute(path, root)
    return path


def read_request(root: str, path: str, offset: int, limit: int, bounds: Bounds) -> values.ReadRequest:
    """The canonical read; 0 means that an argument was left out. Raises NotAbsolute."""
    options = ReadOptions(
        line_chars=0,
        line_bytes=bounds.line_bytes,
        keep_cr=True,
        header=False,
        outline_bytes=0,
        past_end="empty",
        rests=False,
    )
    # One line more than may be shown is enough to know that they are too many.
    lines = max(1, min(limit or bounds.lines, bounds.lines + 1))
    return values.ReadRequest(require_absolute(path, root), offset=offset or 1, limit=lines, options=options)


def read_steps(root: str, offset: int, limit: int, bounds: Bounds) -> Steps:
    """Steps that refuse to read a large file as a whole, or more than a reply shows."""
    most = None if offset or limit else bounds.file_bytes
    return Steps(TextUpTo(most), partial(_require_all, measure(root), bounds), expands=False, nul=False)


def _require_all(
    measured: values.Measure,
    bounds: Bounds,
    request: values.ReadRequest,
    result: values.ReadResult,
    cap: values.Cap,
) -> values.ReadResult:
    """The result, if it is complete and within the bounds. Raises TooMuch.

    Line by line, bytes are checked before lines: the bound that is exceeded first is named.
    """
    result = _without_wide_characters(result, bounds.line_bytes)
    room = min(bounds.bytes, cap.size - measured.frame(request.path))
    used = -1  # there is no line feed before the first
    for count, (number, line) in enumerate(enumerate(result.lines, result.start)):
        cut = result.cuts.get(number)
        used += byte_size(line) + measured.read.numbered(number) + (len(MARK) if cut else 0)
        if used > room or (cut is not None and _cut_for_the_reply(line, cut.last, cap, bounds)):
            raise _too_much(room, "bytes", count, request)
        if count == bounds.lines:
            raise _too_much(bounds.lines, "lines", count, request)
    if any(item.what == "lines" and item.reason == "reply_cap" for item in result.omitted):
        raise _too_much(room, "bytes", len(result.lines), request)
    return result


def _without_wide_characters(result: values.ReadResult, most: int) -> values.ReadResult:
    """The result with empty lines from the first whose first character alone exceeds a line's maximum.

    The selection has at least one character of each line, so that a caller who continues gets further;
    here there is no continuation.
    """
    wide = {n: line for n, line in enumerate(result.lines, result.start) if byte_size(line) > most}
    if not wide:
        return result
    cuts = {**result.cuts, **{n: Cut(1, 0, _chars(result, n, line)) for n, line in wide.items()}}
    kept = tuple(item for item in result.omitted if item.line not in wide)
    rests = (values.Omission("columns", 1, cuts[number].total, "line_cap", number) for number in wide)
    lines = ["" if number in wide else line for number, line in enumerate(result.lines, result.start)]
    return replace(result, lines=lines, cuts=cuts, omitted=(*kept, *rests))


def _chars(result: values.ReadResult, number: int, line: str) -> int:
    cut = result.cuts.get(number)
    return cut.total if cut else len(line)


def _cut_for_the_reply(line: str, chars: int, cap: values.Cap, bounds: Bounds) -> bool:
    """Whether a line was cut for lack of room, and not at the longest length of a line."""
    return chars < cap.size and byte_size(line) + MAX_CHAR_BYTES <= bounds.line_bytes


def _too_much(limit: int, unit: str, fitting: int, request: values.ReadRequest) -> TooMuch:
    following = replace(request, limit=fitting) if fitting else None
    return TooMuch(limit, unit, fitting=fitting, next_request=following)


def fields(result: values.ReadResult) -> Fields:
    """The fields of a read, without empty ones."""
    lines = [_numbered(result, number, line) for number, line in enumerate(result.lines, result.start)]
    if not lines and result.outline is not None:
        # The rest of a budget allows no more.
        lines = [native_outline.row_line(row) for row in result.outline.rows]
    return present(
        file_size=result.size_bytes,
        total_lines=result.total_lines,
        lines_read=len(result.lines),
        content="\n".join(lines),
    )


def _numbered(result: values.ReadResult, number: int, line: str) -> str:
    cut = result.cuts.get(number)
    return f"{number}\t{line}{MARK if cut is not None and cut.last < cut.total else ''}"


# --- replies ----------------------------------------------------------------------------------


class CoderForm:
    """One form of replies: how a read looks, and how a failure does.

    Args:
        root: Of the workspace, as callers know it.
        chat: For a chat loop: every field always, and failures as plain text.
    """

    def __init__(self, root: str, *, chat: bool) -> None:
        self._calls = own_calls(root)
        self._chat = chat

    def read(self, result: values.Result, cap: values.Cap) -> values.Reply:
        """The reply for a read. Raises TooMuch when its JSON is larger than the cap."""
        assert isinstance(result, values.ReadResult)
        reply_fields: Fields = {"success": True, **fields(result)}
        if self._chat:
            every: Fields = {"content": "", "file_size": 0, "lines_read": 0, "total_lines": 0}
            reply_fields = dict(sorted({**every, **fields(result)}.items()))
        text = encoded(reply_fields)
        size = byte_size(text)
        if size > cap.size:
            raise TooMuch(cap.size, "bytes", fitting=len(result.lines) * cap.size // size)
        return native_render.reply(text, partial(native_facts.of_read, result, self._calls))

    def failed(self, text: str, error: ReadroomError) -> values.Reply:
        """The reply for a failure in those words."""
        body = text if self._chat else encoded({"success": False, "error": text})

        def facts() -> Fields:
            return {**native_facts.of_error(error, self._calls, text), "status": words.lines_status(error)}

        return replace(native_render.reply(body, facts), is_error=True)

    def wording(self, path: str, offset: int) -> Wording:
        """The wording of a read of that path."""
        return Wording(self.read, capped(self.failed, words.LINES, path, offset))

    @property
    def without_path(self) -> Callable[[ReadroomError, values.Cap], values.Reply]:
        """The wording of the chat loop's failures before a path is known."""
        return capped(self.failed, words.CHAT)

    @property
    def plainly(self) -> Callable[[ReadroomError, values.Cap], values.Reply]:
        """The wording of failures without a known path."""
        return capped(self.failed, ())


def capped(
    make: Callable[[str, ReadroomError], values.Reply],
    tables: Sequence[Sentences],
    path: str = "",
    offset: int = 0,
) -> Callable[[ReadroomError, values.Cap], values.Reply]:
    """Words failures within the cap: only monstrous names ever reach it."""

    def render(error: ReadroomError, cap: values.Cap) -> values.Reply:
        text = words.words(error, tables, path, offset)
        most = cap.size - _ENVELOPE
        while True:
            reply = make(text, error)
            if byte_size(reply.text) <= cap.size or most <= 0:
                return reply
            text = text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore")
            most //= 2

    return render


# -----------------------------------------------------------------------------
# The bytes that replies of the contract `coder` add to content.
# -----------------------------------------------------------------------------

_ENTRY = len(encoded({"name": "", "absolute_path_string": "/", "is_dir": False})) + len(",")

_FIELDS = 400
"""Maximum size of the fields around lines or entries, with a note on omissions."""


def _json_bytes(text: str) -> int:
    return len(encoded({"": text}).encode()) - len('{"":""}')


def measure(root: str) -> values.Measure:
    """Size of numbers and line feeds of lines, and of listed entries; nothing around them.

    `root` precedes the path of every entry.
    """
    before = longest(root) - 1

    def frame(path: str) -> int:
        # The names of the fields, and twice the path of a folder.
        return _FIELDS + 2 * (before + _json_bytes(path))

    def listed(entry: values.ListEntry) -> int:
        # It has its name twice; the path of its folder is counted with its own.
        return _ENTRY + before + 2 * _json_bytes(entry.path)

    read = values.ReadMeasure(
        lambda number: len(str(number)) + len("\t\n"), native_outline.row_bytes, MARK_BYTES
    )
    return values.Measure(frame, read, list=values.ListMeasure(listed))
