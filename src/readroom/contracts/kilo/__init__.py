"""The contract of Kilo Code: one tool, read_file, as documented.

A range comes first, then truncation of files above a threshold, then the whole file. `column` is our
addition: without it, the rest of a line that is longer than a reply could not be read.

Knows: the tool of its documentation, and where ours differs.
Does not know: the other contracts.
May be touched: freely, with its clauses.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from readroom.core.contracts import OwnSettings, Setup, json_replies
from readroom.core.contracts.base import Contract, Sentences, Tool, Wording, call_of, sentence
from readroom.core.contracts.native import facts as native_facts
from readroom.core.contracts.native import render as native_render
from readroom.core.errors import (
    BadPath,
    BadRange,
    BadValue,
    Binary,
    BudgetSpent,
    Denied,
    FailedError,
    NotAFile,
    NotFound,
    OutsideRoot,
    ReadroomError,
    WrongType,
)
from readroom.core.formats.kinds import suffix
from readroom.core.quoting import as_given, as_value, quote, shortened
from readroom.core.text.select import MARK_BYTES
from readroom.core.values import (
    Call,
    Cap,
    Kind,
    Measure,
    ReadMeasure,
    ReadRequest,
    ReadResult,
    Reply,
    Request,
    Result,
)
from readroom.core.values.files import Row
from readroom.core.values.options import ReadOptions
from readroom.core.values.steps import Steps, no_documents

REPLY_BYTES = 49_000
"""Text of a reply. Whole files are the default, so this is the maximum that generous MCP clients accept."""

NOTICE_BYTES = 640
"""Reserved in a reply for notices about omitted lines and definitions."""

NAME_BYTES = 200
"""Length of a file's name above its definitions; longer names are shortened in the middle."""

OUTLINE_BYTES = 6_000
"""Definitions of omitted lines: some 120, and an eighth of a reply at most."""

NEVER = -1
"""The threshold that no file exceeds, as Kilo Code writes it."""


class KiloSettings(OwnSettings, frozen=True):
    """Settings of Kilo Code, as values.

    Attributes:
        max_read_file_line: `maxReadFileLine`: files of more lines are truncated to so many if requested;
            -1 truncates none. The default is that of Kilo Code.
        auto_truncate: Whether calls truncate by default.
    """

    max_read_file_line: int = 500
    auto_truncate: bool = False


_STEPS = Steps(no_documents, expands=False)

_ALL = 2**53 - 1
"""More lines than any file has."""

_WHOLE = ReadOptions(line_chars=0, header=False, outline_bytes=OUTLINE_BYTES, flat="window", rests=False)
_RANGE = replace(_WHOLE, outline_bytes=0)
_TRUNCATED = replace(_WHOLE, flat="whole")


class KiloRead(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of read_file."""

    path: str
    start_line: Annotated[int, Meta(ge=1, description="First line, from 1")] | None = None
    end_line: Annotated[int, Meta(ge=1, description="Last line, inclusive")] | None = None
    auto_truncate: bool | None = None
    column: Annotated[int, Meta(ge=1, description="First character to show of a cut line")] = 1


def _request(setup: KiloSettings, arguments: KiloRead) -> ReadRequest:
    """The request for a call: the first strategy that applies."""
    start, end = arguments.start_line, arguments.end_line
    if arguments.column > 1:
        return _rest_of_line(arguments)
    if start is not None or end is not None:
        first = start or 1
        if end is not None and first > end:
            raise BadRange(
                f"start_line ({first}) must be less than or equal to end_line ({end})",
                f"Use an end_line of {first} or more, or a start_line from 1 to {end}.",
                next_request=ReadRequest(arguments.path, end, first - end + 1, options=_RANGE),
            )
        return ReadRequest(arguments.path, first, _ALL if end is None else end - first + 1, options=_RANGE)
    truncates = setup.auto_truncate if arguments.auto_truncate is None else arguments.auto_truncate
    if truncates and setup.max_read_file_line != NEVER:
        return ReadRequest(arguments.path, 1, setup.max_read_file_line, options=_TRUNCATED)
    return ReadRequest(arguments.path, 1, _ALL, options=_WHOLE)


def _rest_of_line(arguments: KiloRead) -> ReadRequest:
    line, end = arguments.start_line or 1, arguments.end_line
    rest = ReadRequest(arguments.path, line, 1, arguments.column, options=_RANGE)
    if end not in (None, line):
        raise BadValue(
            "column",
            arguments.column,
            "is a place in one line",
            "Name that line with start_line, and no other with end_line.",
            next_request=rest,
        )
    return rest


def _wording(call: KiloRead) -> Wording:
    """The words for one call, which repeat its path and its lines."""
    return Wording(partial(render, call), partial(render_error, call))


def _tool(setup: KiloSettings) -> Tool:
    threshold = setup.max_read_file_line
    truncates = (
        ""
        if threshold == NEVER
        else f" With auto_truncate{' (the default)' if setup.auto_truncate else ''}, files of more "
        f"than {threshold} lines show the first {threshold}, and line ranges of definitions in the rest."
    )
    return Tool(
        name=READ,
        title="Read a file",
        description=(
            "Read a file with line numbers (`1 | text`); PDF, DOCX and IPYNB as text. Whole, or the lines "
            f"from start_line to end_line.{truncates} The end of a reply says what it leaves out."
        ),
        arguments=KiloRead,
        to_request=partial(_request, setup),
        wording=_wording,
        steps=lambda _: _STEPS,
    )


def made(setup: Setup) -> Contract:
    """The contract for a workspace with that setup."""
    own = setup.own if isinstance(setup.own, KiloSettings) else KiloSettings()
    unknown = _wording(KiloRead(path=""))
    return Contract(
        name="kilo",
        title="Kilo Code",
        instructions="read_file shows files with line numbers; where it cuts, it says the next start_line.",
        tools=(_tool(own),),
        reply_bytes=REPLY_BYTES,
        raisable=True,
        measure=MEASURE,
        render=unknown.render,
        render_error=unknown.render_error,
        to_call=bounded_call,
        by_lines=True,
    )


# -----------------------------------------------------------------------------
# Replies: a line without a number is ours.  What is left out is said after the lines, with
# the call that shows it, and then the definitions in it.
# -----------------------------------------------------------------------------

READ = "read_file"


def to_call(request: Request, last: int | None = None) -> Call | None:
    """The call that shows it; None if there is none.

    Args:
        request: A read of lines, or anything else.
        last: The last requested line; None if that is the end of the file.
    """
    if not isinstance(request, ReadRequest) or request.view != "text" or request.symbol is not None:
        return None
    first = request.offset
    if request.pages is not None or (first or 1) < 1:
        return None
    ends = request.column == 1 and first is not None and last is not None and last >= first
    return call_of(
        READ,
        path=as_value(request.path),
        start_line=first,
        column=request.column if request.column > 1 else None,
        end_line=last if ends else None,
    )


def bounded_call(request: Request) -> Call | None:
    """The call for a request by itself, which ends where its lines end; None if there is none."""
    last = None
    if isinstance(request, ReadRequest) and request.offset is not None and request.limit is not None:
        last = request.offset + request.limit - 1
    return to_call(request, last)


MEASURE = Measure(
    frame=lambda path: NOTICE_BYTES + NAME_BYTES,
    read=ReadMeasure(
        numbered=lambda number: len(str(number)) + len(" | \n"),
        outlined=lambda row: len(_row(row).encode("utf-8", "replace")) + 1,
        mark_bytes=MARK_BYTES,
    ),
)
"""Size of what the rendering below adds."""


def render(call: KiloRead, result: Result, cap: Cap) -> Reply:
    """The reply for a result that was selected under `cap`."""
    assert isinstance(result, ReadResult)
    images = (result.image,) if result.image is not None else ()
    facts = partial(native_facts.of_read, result, partial(to_call, last=call.end_line))
    return native_render.reply(_text(call, result, cap), facts, images)


def _text(call: KiloRead, result: ReadResult, cap: Cap) -> str:
    if result.kind is Kind.IMAGE:
        return f"Image file ({_kilobytes(result.size_bytes)} KB)"
    if not result.lines and result.total_lines == 0 and not result.omitted and result.outline is None:
        return "File is empty"
    rows = [f"{number} | {line}" for number, line in enumerate(result.lines, result.start)]
    return "\n".join([*rows, *_rest_of_lines(result), *_rest(call, result), *_definitions(result, cap)])


def _kilobytes(size: int) -> int:
    """Rounded as the original does, a half upwards."""
    return (size + 512) // 1024


def _rest_of_lines(result: ReadResult) -> list[str]:
    """The note on a line that is too long for a reply."""
    return [
        f"[Line {number} is cut: showing characters {cut.first}-{cut.last} of {cut.total}. "
        f"Use start_line={number} and column={cut.last + 1} to read more.]"
        for number, cut in result.cuts.items()
        if cut.last < cut.total
    ]


def _rest(call: KiloRead, result: ReadResult) -> list[str]:
    """The note on requested lines that are not shown."""
    following, total = result.next, result.total_lines
    if not result.lines and result.outline is None:
        return [f"[... truncated {total} lines ...]" if total else "[... truncated ...]"]
    if following is None or following.column > 1 or not result.lines:
        return []
    first = following.offset or 1
    if call.end_line is not None and first > call.end_line:
        return []
    last = call.end_line if total is None else min(total, call.end_line or total)
    # It is too large, takes too long, is in a language that has no grammar here, or there are none.
    missing = not _is_range(call) and result.kind is Kind.SOURCE and result.outline is None
    unlisted = ["[No definitions are listed for the rest of this file.]"] if missing else []
    gap = "[... truncated ...]" if last is None else f"[... truncated {last - first + 1} lines ...]"
    to = "" if call.end_line is None else f" and end_line={call.end_line}"
    more = f"Use start_line={first}{to} to read more."
    return [gap, f"[File truncated: {_showing(call, result)}. {more}]", *unlisted]


def _is_range(call: KiloRead) -> bool:
    return call.start_line is not None or call.end_line is not None


def _showing(call: KiloRead, result: ReadResult) -> str:
    total = result.total_lines
    if _is_range(call) or result.start > 1:
        of = "" if total is None else f" of {total} total lines"
        return f"showing lines {result.start}-{result.end}{of}"
    return f"showing {result.end} of {'an unknown number of' if total is None else total} total lines"


def _definitions(result: ReadResult, cap: Cap) -> list[str]:
    """Definitions in lines that are not shown."""
    outline = result.outline
    if outline is None:
        return []
    name = shortened(result.path.rpartition("/")[2], min(NAME_BYTES, cap.size // 8))
    more = f"[{outline.left_out} more definitions are not listed.]"
    rows = [f"# {name}", *map(_row, outline.rows), *([more] if outline.left_out else [])]
    return ["", *rows] if result.lines else rows


def _row(row: Row) -> str:
    return f"{row.item.start}--{row.item.end} | {'  ' * row.depth}{row.item.signature}"


# -----------------------------------------------------------------------------
# How the contract kilo words failures; three of the sentences are those of its documentation.
# -----------------------------------------------------------------------------

_IGNORE_FILE = ".kilocodeignore"
_NUMBERS = frozenset({"start_line", "end_line", "auto_truncate", "column"})
_PATH_SHARE = 4
"""A path takes at most this part of the sentence about it."""


class _FailedRead(Struct, frozen=True):
    """Facts about a call for sentences."""

    path: str
    start_line: int | None


def render_error(call: KiloRead, error: ReadroomError, cap: Cap) -> Reply:
    """The reply for a failure of a call; its path is empty if it is unknown."""
    path = as_given(call.path or str(error.facts.get("path", "")), cap.size // _PATH_SHARE)
    words = sentence(error, _FailedRead(path, call.start_line), _SENTENCES)
    text = json_replies.short(words, cap.size)
    facts = partial(native_facts.of_error, error, partial(to_call, last=call.end_line), text)
    return replace(native_render.reply(text, facts), is_error=True)


def _file_type(call: _FailedRead, error: Binary) -> str:
    """With the suffix of its name, or else its kind by bytes."""
    ending = suffix(error.path)
    kind = quote(f".{ending}") if ending else error.media_type
    return f"Error reading file: Cannot read text for file type: {kind}"


def _denied(call: _FailedRead, error: Denied) -> str:
    source = str(error.facts["source"])
    rules = f"{_IGNORE_FILE} rules"
    if source.partition(":")[0] != _IGNORE_FILE:
        rules = f"the rule {error.facts['rule']!r} of {source} ({error.facts['reason']})"
    return f"Error: Access denied to file '{call.path}' due to {rules}."


def _not_a_file(call: _FailedRead, error: NotAFile) -> str:
    kind = error.facts["what"]
    what = f"{kind}. Only regular files can be read."
    if kind == "folder":
        what = "directory. Give the path of a file; other tools list directories."
    return f"Error: Cannot read '{call.path}' because it is a {what}"


def _past_end(call: _FailedRead, error: BadRange) -> str | None:
    total = error.facts.get("total_lines")
    if total is None or "total_columns" in error.facts:
        return None
    first = "line" if call.start_line is None else f"start_line {call.start_line}"
    lines, advice = f"has {total} line{'' if total == 1 else 's'}", f"Use a start_line from 1 to {total}."
    if not total:
        lines, advice = "is empty", "Leave out start_line and end_line."
    return f"Error: {first} is past the end of '{call.path}', which {lines}. {advice}"


def _number(call: _FailedRead, error: BadValue | WrongType) -> str | None:
    name = error.facts.get("argument")
    return f"Error: Invalid {name} value: {error}" if name in _NUMBERS else None


_SENTENCES: Sentences = {
    NotFound: "Error: File not found at path '{call.path}'.",
    Denied: _denied,
    OutsideRoot: "Error: Access denied to file '{call.path}': it is outside the workspace ({facts[how]}).",
    NotAFile: _not_a_file,
    Binary: _file_type,
    BadRange: _past_end,
    # The tools that may still work are not those of this contract.
    BudgetSpent: "Error: {error.message}. Work with what you have seen, or ask the user for more.",
    BadPath: "Error: {error.message}. Give a path relative to the workspace root.",
    BadValue: _number,
    WrongType: _number,
    FailedError: "Error reading file: {error}",
    ReadroomError: "Error: {error}",
}
