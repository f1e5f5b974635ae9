"""readroom's own contract: short schemas, replies of one plain text part, with facts next to it.

Line numbers count from 1. Every conversation pays for descriptions, so they state only what a model cannot
guess; numbers come from the tables.

Knows: our own tools: arguments, headers, closing lines and facts.
Does not know: how a file is read or changed.
May be touched: freely; every conversation pays for every word of a description.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from readroom.core import limits, values
from readroom.core.contracts.base import Contract, Tool
from readroom.core.contracts.native import background as native_background
from readroom.core.contracts.native import changes as native_changes
from readroom.core.contracts.native import changes as native_command
from readroom.core.contracts.native import documents as native_documents
from readroom.core.contracts.native import outline as native_outline
from readroom.core.contracts.native import render as native_render
from readroom.core.contracts.native import search
from readroom.core.contracts.native import several as native_several
from readroom.core.contracts.native.calls import GREP, LIST, READ, to_call
from readroom.core.contracts.native.changes import EDIT_FILE, RUN_COMMAND, WRITE_FILE
from readroom.core.contracts.native.git import GIT_TOOL
from readroom.core.contracts.native.names import APPLY_PATCH, CHANGE_FILES
from readroom.core.contracts.native.render import entry_bytes, render_list
from readroom.core.contracts.schema import DIGITS, NEVER_ZERO, into
from readroom.core.errors import BadValue
from readroom.core.formats.kinds import default_lines
from readroom.core.policy.rules.terms import Terms
from readroom.core.text.select import MARK_BYTES
from readroom.core.values.changes import (
    ChangesResult,
    DeleteResult,
    EditFilesResult,
    EditResult,
    FolderResult,
    MoveResult,
    StatResult,
    TrashResult,
    WriteResult,
)
from readroom.core.values.commands import RunResult, StartedResult, WatchResult
from readroom.core.values.files import OUTLINES
from readroom.core.values.matches import UseKind

Globs = str | list[str]


PAGES = 'In documents: 3-5,9; "Sheet2!A1:F200"; cell 7; contents; users!id,name; schema'
"""How `pages` names parts, by an example of each."""


class ReadArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of read_file."""

    path: str
    offset: (
        Annotated[int, Meta(description="First line, from 1; negative counts from the end", extra=NEVER_ZERO)]
        | None
    ) = None
    limit: (
        Annotated[
            int, Meta(description="Maximum lines; negative: those ending at `offset`", extra=NEVER_ZERO)
        ]
        | None
    ) = None
    column: Annotated[
        int, Meta(ge=1, description="Start at this character of line `offset`", extra=NEVER_ZERO)
    ] = 1
    pages: Annotated[str, Meta(description=PAGES, extra=DIGITS)] | None = None
    symbol: Annotated[str, Meta(description="One definition, like Class.method")] | None = None
    view: values.ReadView = "text"
    known_hash: (
        Annotated[str, Meta(description="Earlier hash: an unchanged file is not sent again")] | None
    ) = None
    encoding: str | None = None


Cursor = Annotated[str, Meta(description="From a reply")]


GREP_MAX_CONTEXT = 50
"""Context lines on each side; more is a read."""


class GrepArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of grep_files."""

    pattern: Annotated[str, Meta(description="Regex, no lookaround or backreferences", extra=DIGITS)]
    path: str = "."
    glob: Annotated[Globs, Meta(description="Like *.py, src/** or !test_*")] | None = None
    type: Annotated[str, Meta(description="As in rg: py, js")] | None = None
    output: values.GrepOutput = "content"
    context: Annotated[int, Meta(ge=0, le=GREP_MAX_CONTEXT, description="Lines around matches")] | None = None
    before: Annotated[int, Meta(ge=0, le=GREP_MAX_CONTEXT, description="Lines before")] | None = None
    after: Annotated[int, Meta(ge=0, le=GREP_MAX_CONTEXT, description="Lines after")] | None = None
    ignore_case: bool = False
    multiline: bool = False
    fixed: Annotated[bool, Meta(description="Literal text")] = False
    include: Annotated[list[values.Include], Meta(description="Also search these files")] | None = None
    documents: Annotated[bool, Meta(description="Also PDF, Office, notebooks, mail")] = False
    sort: Annotated[values.GrepSort, Meta(description="Order of files")] | None = None
    symbols: Annotated[bool, Meta(description="Name the definition around each match")] = False
    kinds: Annotated[list[UseKind], Meta(description="Only these references")] | None = None
    limit: Annotated[int, Meta(ge=1, description="Maximum matches", extra=NEVER_ZERO)] | None = None
    cursor: Cursor | None = None
    timeout_s: Annotated[float, Meta(gt=0, le=limits.GREP_MAX_TIMEOUT_S, extra=NEVER_ZERO)] | None = None


class ListArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of list_directory."""

    path: str = "."
    glob: Globs | None = None
    depth: Annotated[int, Meta(ge=1, le=limits.LIST_MAX_DEPTH, extra=NEVER_ZERO)] = 1
    include: Annotated[list[values.ListInclude], Meta(description="Also show these")] | None = None
    sort: Annotated[values.ListSort, Meta(description="mtime: newest first")] = "name"
    limit: Annotated[int, Meta(ge=1, description="Maximum entries", extra=NEVER_ZERO)] | None = None
    cursor: Cursor | None = None


def _to_read(arguments: ReadArguments) -> values.ReadRequest:
    request = values.ReadRequest(  # written out, as every read passes here
        arguments.path,
        arguments.offset,
        arguments.limit,
        arguments.column,
        arguments.known_hash,
        arguments.encoding,
        arguments.pages,
        symbol=arguments.symbol,
        view=arguments.view,
    )
    if arguments.symbol is None and arguments.view not in OUTLINES:
        return request
    return native_outline.checked(request)


def _to_grep(arguments: GrepArguments) -> values.GrepRequest:
    around = arguments.context or 0
    request = into(
        values.GrepRequest,
        arguments,
        glob=_globs(arguments.glob),
        before=arguments.before or around,
        after=arguments.after or around,
        include=frozenset(arguments.include or ()),
        kinds=tuple(dict.fromkeys(arguments.kinds or ())),
    )
    if request.kinds and request.output == "content":
        request = replace(request, output="references")
    if request.kinds and request.output != "references":
        raise BadValue(
            "kinds",
            list(request.kinds),
            "are of references, which are not counted or listed by file",
            'Send output="references".',
            next_request=replace(request, output="references"),
        )
    within = "documents" if arguments.documents else "archives" if "archives" in request.include else ""
    if within and arguments.sort not in (None, "path"):
        raise BadValue(
            "sort",
            arguments.sort,
            f"cannot be combined with {within}, which are searched in path order",
            "Leave it out.",
            next_request=replace(request, sort=None),
        )
    return request


def _to_list(arguments: ListArguments) -> values.ListRequest:
    include = frozenset(arguments.include or ())
    return into(values.ListRequest, arguments, glob=_globs(arguments.glob), include=include)


def _globs(globs: Globs | None) -> tuple[str, ...]:
    if globs is None:
        return ()
    return (globs,) if isinstance(globs, str) else tuple(globs)


READ_FILE = Tool(
    name=READ,
    title="Read a file",
    description=(
        "Read text (numbered lines), an image, a document (PDF, Office, EPUB, notebook, mail), a database or "
        "table; lib.zip!/inner/path is a member of an archive. "
        "Shows at most "
        f"{default_lines(values.Kind.TEXT)} lines (logs: the last {default_lines(values.Kind.LOG)}; "
        f"CSV: {default_lines(values.Kind.CSV)}); the last line names what was left out "
        'and the next call. For code, start with view="outline" (signatures, lines), then read a symbol.'
    ),
    arguments=ReadArguments,
    to_request=_to_read,
)

GREP_FILES = Tool(
    name=GREP,
    title="Search file contents",
    description=(
        "Search file contents; hidden, ignored and binary files and archives need `include`. "
        'output="references": `pattern` is a name, shown by definition, call, import.'
    ),
    arguments=GrepArguments,
    to_request=_to_grep,
)

LIST_DIRECTORY = Tool(
    name=LIST,
    title="List a folder",
    description=(
        "List a folder or archive: `bytes<TAB>name`, folders end in /. The first line gives the "
        "date of files listed without one."
    ),
    arguments=ListArguments,
    to_request=_to_list,
)


_RENDERED: Mapping[type[values.Result], Callable[[Any, values.Cap], values.Reply]] = {
    values.ReadResult: native_render.render_read,
    values.GrepResult: search.render_grep,
    values.FindResult: search.render_find,
    values.ListResult: render_list,
    EditResult: native_changes.render_edit,
    WriteResult: native_changes.render_write,
    ChangesResult: native_several.render_changes,
    EditFilesResult: native_several.render_patched,
    RunResult: native_command.render,
    WatchResult: native_background.render,
    StartedResult: native_background.render_list,
    **dict.fromkeys(
        (StatResult, DeleteResult, FolderResult, MoveResult, TrashResult), native_changes.render_file_change
    ),
}
"""No tool of this contract yields others."""


def _render(result: values.Result, cap: values.Cap) -> values.Reply:
    if isinstance(result, values.ReadResult) and result.document is not None:
        return native_documents.render(result, result.document, cap)
    return _RENDERED[type(result)](result, cap)


MEASURE = values.Measure(
    frame=native_render.frame_bytes,
    read=values.ReadMeasure(native_render.number_bytes, native_outline.row_bytes, MARK_BYTES),
    parts=values.PartsMeasure(native_documents.heading_bytes, native_documents.part_bytes),
    search=values.SearchMeasure(search.file_bytes, search.line_bytes),
    find_tokens=search.find_tokens,
    list=values.ListMeasure(entry_bytes),
    output=values.OutputMeasure(native_render.number_bytes),
)
"""The bytes that native rendering adds to content."""


NATIVE = Contract(
    name="native",
    title="readroom",
    instructions=(
        "Find with find_relevant (a question), grep_files (exact text) or list_directory, then read the part "
        "you need with read_file. "
        "The first and last line of each reply say what it left out and the next call."
    ),
    tools=(
        READ_FILE,
        GREP_FILES,
        search.FIND_RELEVANT,
        LIST_DIRECTORY,
        EDIT_FILE,
        WRITE_FILE,
        CHANGE_FILES,
        APPLY_PATCH,
        GIT_TOOL,
    ),
    reply_bytes=limits.REPLY_BYTES,
    raisable=True,
    terms=Terms(archives=True),
    measure=MEASURE,
    render=_render,
    render_error=native_render.render_error,
    to_call=to_call,
    commands=(RUN_COMMAND, native_background.CHECK_COMMAND),
    tell=native_render.told,
    by_lines=True,
)
