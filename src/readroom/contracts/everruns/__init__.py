"""The contract of Everruns: paths under `/workspace`, offsets from 0, results as JSON objects.

A read takes a path, an offset and a limit; `column` is our addition, for a line that alone is longer than a
reply.

Knows: the tools of its documentation, and where ours differ.
Does not know: the other contracts.
May be touched: freely, with its clauses.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from readroom.contracts.everruns import command as everruns_command
from readroom.contracts.everruns import render as everruns_render
from readroom.contracts.everruns.render import with_notes
from readroom.contracts.everruns.requests import (
    CONTENT_BYTES,
    CONTEXT,
    DELETE,
    EDIT,
    GREP,
    GREP_BYTES,
    GREP_MOST,
    LINES,
    LIST,
    LIST_MOST,
    READ,
    REPLY_BYTES,
    ROOT,
    SEARCHED,
    STAT,
    WHOLE,
    WRITE,
    globs,
    options_of,
    required_path,
    shown,
    to_call,
    work_path,
)
from readroom.contracts.everruns.words import render_error
from readroom.core.contracts import json_replies
from readroom.core.contracts.base import Contract, Tool, Wording
from readroom.core.contracts.native import facts as native_facts
from readroom.core.contracts.schema import EMPTY_TEXT, OFFERED, UNLISTED
from readroom.core.errors import BadValue, MissingArgument
from readroom.core.formats.kinds import default_lines
from readroom.core.limits import DIFF_HUNK_BYTES, VALUE_CHARS
from readroom.core.policy.rules.terms import Terms
from readroom.core.quoting import as_value
from readroom.core.values import (
    Cap,
    EntryKind,
    Fact,
    GrepRequest,
    GrepResult,
    Kind,
    ListRequest,
    ListResult,
    ReadRequest,
    ReadResult,
    Reply,
    Request,
    Result,
)
from readroom.core.values.changes import (
    DeleteRequest,
    DeleteResult,
    DiffStyle,
    Edit,
    EditRequest,
    EditResult,
    StatRequest,
    StatResult,
    WriteRequest,
    WriteResult,
)
from readroom.core.values.commands import RunResult
from readroom.core.values.options import SearchOptions

HUNKS_BYTES = 2 * REPLY_BYTES
"""Hunks that an edit selects: the beginning of a long one is shown, if it was selected."""

GREP_LIMIT = 200
"""Matches of one search when the call does not say."""

COUNT_S = 2.0
"""Time for counting the matches after those that are shown: some 3,000 files. More are not counted."""

LIST_LIMIT = 200
"""Entries of one listing when the call does not say."""

DIFF_CONTEXT = 2
"""Unchanged lines around a change in it."""

# -----------------------------------------------------------------------------
# The tools stat_file and delete_file.
# -----------------------------------------------------------------------------


class NameArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of stat_file."""

    path: str


class DeleteArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of delete_file."""

    path: str
    recursive: Annotated[bool, Meta(description="Delete a directory with all that it holds")] = False


def render_stat(result: StatResult, cap: Cap) -> Reply:
    """The reply of stat_file."""
    path = shown(result.path)
    fields: dict[str, Fact] = {"path": path}
    if result.exists:
        fields |= {
            "name": as_value(result.path.rpartition("/")[2])
            if result.path != "."
            else path.rpartition("/")[2],
            "exists": True,
            "is_directory": result.kind is EntryKind.FOLDER,
            "is_readonly": result.read_only,
            "size_bytes": result.size_bytes,
            "created_at": native_facts.timestamp(result.created_ns),
            "updated_at": native_facts.timestamp(result.mtime_ns),
        }
    else:
        fields["exists"] = False
    return json_replies.reply(with_notes(fields, result.warnings), partial(_facts, result))


def render_delete(result: DeleteResult, cap: Cap) -> Reply:
    """The reply of delete_file."""
    fields: dict[str, Fact] = {"path": shown(result.path), "deleted": True}
    return json_replies.reply(with_notes(fields, result.warnings), partial(_facts, result))


def _facts(result: StatResult | DeleteResult) -> dict[str, Fact]:
    return {"path": as_value(result.path), **native_facts.common((), None, result.warnings, to_call)}


_BLOCK_BYTES = len('{"path":,"start_line":,"end_line":,"match_line_numbers":[,],"lines":[]},') + 3 * 12
_IS_MATCH_BYTES = len(',"is_match":false')
_NO_HASH = "sha256:" + "0" * 64
"""Replaces an expected hash that is not a hash: no file has it, so the edit is stale."""


def at_most(number: int) -> Meta:
    """The mark of a number from 1: the schema says how large it can be, and a larger one counts as that."""
    return Meta(ge=1, extra_json_schema={"maximum": number})


class EverrunsRead(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of read_file."""

    path: Annotated[str, Meta(description="Like /workspace/src/main.rs")]
    offset: Annotated[int, Meta(ge=0, description="First line, from 0")] | None = None
    limit: Annotated[int, Meta(ge=1, description="Lines")] | None = None
    column: Annotated[int, Meta(ge=0, description="Characters of line `offset` to skip")] = 0


class EverrunsGrep(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of grep_files."""

    pattern: Annotated[str, Meta(description="Regular expression")]
    path: Annotated[str, Meta(description="Where to search")] = "/"
    path_pattern: Annotated[str, Meta(description="Glob, or a part of the path")] = ""
    before_context: Annotated[int, Meta(ge=0, le=CONTEXT)] = 0
    after_context: Annotated[int, Meta(ge=0, le=CONTEXT)] = 0
    offset: Annotated[int, Meta(ge=0, description="Matches to skip")] = 0
    limit: Annotated[int, at_most(GREP_MOST)] = GREP_LIMIT


class EverrunsList(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of list_directory."""

    path: str = "/"
    offset: Annotated[int, Meta(ge=0, description="Entries to skip")] = 0
    limit: Annotated[int, at_most(LIST_MOST)] = LIST_LIMIT


class EverrunsEditItem(msgspec.Struct, frozen=True, kw_only=True):
    """One replacement."""

    old_text: str
    new_text: str


class EverrunsEdit(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of edit_file."""

    path: str
    expected_hash: Annotated[str, Meta(description="content_hash of the file as it was read")]
    edits: Annotated[list[EverrunsEditItem], Meta(extra=OFFERED)] = []
    old_text: Annotated[str, Meta(extra=UNLISTED), Meta(extra=EMPTY_TEXT)] | None = None
    new_text: Annotated[str, Meta(extra=UNLISTED), Meta(extra=EMPTY_TEXT)] | None = None


class EverrunsWrite(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of write_file."""

    path: str
    content: str
    encoding: Literal["text", "base64"] = "text"
    expected_hash: Annotated[str, Meta(description="Refuse if the file has changed since")] | None = None


# --- requests ----------------------------------------------------------------------------------


def _to_read(arguments: EverrunsRead) -> ReadRequest:
    path = required_path(arguments.path, READ)
    options = options_of(path)
    if arguments.column:
        return ReadRequest(path, (arguments.offset or 0) + 1, 1, arguments.column + 1, options=options)
    offset = None if arguments.offset is None else arguments.offset + 1
    return ReadRequest(path, offset, arguments.limit, options=options)


def _to_grep(arguments: EverrunsGrep) -> GrepRequest:
    around = arguments.before_context + arguments.after_context
    lines = 1 + around
    return GrepRequest(
        pattern=arguments.pattern,
        path=work_path(arguments.path) or ".",
        glob=globs(arguments.path_pattern),
        before=arguments.before_context,
        after=arguments.after_context,
        include=SEARCHED,
        sort="path",
        limit=min(arguments.limit, GREP_MOST),
        skip=arguments.offset,
        options=SearchOptions(
            count_s=COUNT_S,
            preview_chars=GREP_BYTES,
            entry_bytes=_BLOCK_BYTES + lines * _IS_MATCH_BYTES if around else 0,
        ),
    )


def _to_list(arguments: EverrunsList) -> ListRequest:
    path = work_path(arguments.path) or "."
    limit = min(arguments.limit, LIST_MOST)
    return ListRequest(path, include=frozenset(("ignored",)), limit=limit, skip=arguments.offset)


def _hash(expected: str) -> str:
    """The expected hash; anything else becomes a hash that no file has."""
    text = expected.strip().lower()
    digits = text.removeprefix("sha256:")
    return text if len(digits) == 64 and not set(digits) - set("0123456789abcdef") else _NO_HASH


def _to_edit(arguments: EverrunsEdit) -> EditRequest:
    if not arguments.expected_hash.strip():
        raise MissingArgument(EDIT, "expected_hash")
    return EditRequest(
        required_path(arguments.path, EDIT),
        _hash(arguments.expected_hash),
        tuple(Edit(edit.old_text, edit.new_text) for edit in _edits(arguments)),
        diff=DiffStyle(DIFF_CONTEXT, DIFF_HUNK_BYTES),
        lone_cr=True,
    )


def _edits(arguments: EverrunsEdit) -> list[EverrunsEditItem]:
    """All replacements without repeats; one that stands outside the list comes first, unless it is empty."""
    edits = [*_outside(arguments), *arguments.edits]
    if not edits:
        raise BadValue("edits", [], "is empty", "Send at least one edit with old_text and new_text.")
    return list(dict.fromkeys(edits))


def _outside(arguments: EverrunsEdit) -> Sequence[EverrunsEditItem]:
    """The replacement in the older form, beside the list."""
    old, new = arguments.old_text, arguments.new_text
    if not old and not new:
        return ()
    if old is None or new is None:
        raise MissingArgument(EDIT, "old_text" if old is None else "new_text")
    if not old:
        raise BadValue("old_text", "", "is empty", "Send the text to be replaced.")
    for at, edit in enumerate(arguments.edits):
        if edit.old_text == old and edit.new_text != new:
            problem = f"is also that of edits[{at}], whose new_text is another"
            raise BadValue("old_text", old[:VALUE_CHARS], problem, "Send one of the two.")
    return (EverrunsEditItem(old_text=old, new_text=new),)


def _to_write(arguments: EverrunsWrite) -> WriteRequest:
    data = arguments.content.encode()
    if arguments.encoding == "base64":
        try:
            data = b64decode(arguments.content, validate=True)
        except (binascii.Error, ValueError):
            raise BadValue(
                "content", arguments.content[:80], "is not valid base64", "Encode it, or send it as text."
            ) from None
    expected = None if arguments.expected_hash is None else _hash(arguments.expected_hash)
    return WriteRequest(required_path(arguments.path, WRITE), "", expected, data=data)


# --- replies -----------------------------------------------------------------------------------


_RENDER: Mapping[type, Callable[[Any, Cap], Reply]] = {
    ReadResult: everruns_render.render,
    GrepResult: everruns_render.render_grep,
    ListResult: everruns_render.render_list,
    EditResult: everruns_render.render_edit,
    WriteResult: everruns_render.render_write,
    StatResult: render_stat,
    DeleteResult: render_delete,
    RunResult: everruns_command.render,
}


def _render(result: Result, cap: Cap) -> Reply:
    return _RENDER[type(result)](result, cap)


def _word_edit(arguments: EverrunsEdit) -> Wording:
    texts = {f"old_text.{at}": edit.old_text for at, edit in enumerate(_edits(arguments))}
    texts["expected_hash"] = arguments.expected_hash.strip()
    return Wording(_render, partial(render_error, tool=EDIT, texts=texts))


def _word_write(arguments: EverrunsWrite) -> Wording:
    texts = {"expected_hash": (arguments.expected_hash or "").strip()}
    return Wording(_render, partial(render_error, tool=WRITE, texts=texts))


def _tool(
    name: str,
    title: str,
    description: str,
    arguments: type[msgspec.Struct],
    to_request: Callable[[Any], Request],
    **more: Any,
) -> Tool:
    words = partial(render_error, tool=name)
    return Tool(name, title, description, arguments, to_request, render_error=words, **more)


_TOOLS = (
    _tool(
        READ,
        "Read a file",
        "Read a file as numbered lines (N|text), an image as an image, other binary as base64. "
        f"Shows {default_lines(Kind.TEXT)} lines (logs: the last {default_lines(Kind.LOG)}; "
        f"CSV: {default_lines(Kind.CSV)} with the header; minified: {default_lines(Kind.MINIFIED)}) "
        f"and at most {CONTENT_BYTES:,} bytes; while truncated, follow truncation.resume_hint.",
        EverrunsRead,
        _to_read,
        wording=lambda given: Wording(partial(everruns_render.render, limit=given.limit), render_error),
        steps=lambda given: WHOLE if given.offset is None or given.limit is None else LINES,
    ),
    _tool(
        GREP,
        "Search file contents",
        "Search files by a regular expression: lines with paths and numbers, or blocks with context. "
        "Honours ignore files.",
        EverrunsGrep,
        _to_grep,
    ),
    _tool(
        LIST,
        "List a directory",
        "List files and directories with their sizes.",
        EverrunsList,
        _to_list,
    ),
    _tool(
        EDIT,
        "Edit a file",
        "Replace texts that occur exactly once in the file, all or none. "
        "Rejected when the file has changed since expected_hash was read.",
        EverrunsEdit,
        _to_edit,
        read_only=False,
        idempotent=False,
        wording=_word_edit,
        reply_bytes=HUNKS_BYTES,
    ),
    _tool(
        WRITE,
        "Write a file",
        "Create a file or replace all of it; directories above it are made.",
        EverrunsWrite,
        _to_write,
        read_only=False,
        wording=_word_write,
    ),
    _tool(
        STAT,
        "Facts of a file",
        "Whether a file or directory exists, its size, times and whether it is read-only.",
        NameArguments,
        lambda given: StatRequest(required_path(given.path, STAT)),
    ),
    _tool(
        DELETE,
        "Delete a file",
        "Delete a file or directory; recursive for a directory that is not empty.",
        DeleteArguments,
        lambda given: DeleteRequest(required_path(given.path, DELETE), given.recursive),
        read_only=False,
        idempotent=False,
    ),
)

EVERRUNS = Contract(
    name="everruns",
    title="Everruns",
    instructions=(
        f"Files are below {ROOT}. Find with grep_files or list_directory, then read the part you need with "
        "read_file. edit_file needs the content_hash of the last read."
    ),
    tools=_TOOLS,
    reply_bytes=REPLY_BYTES,
    measure=replace(everruns_render.MEASURE, output=everruns_command.MEASURE),
    render=_render,
    render_error=render_error,
    to_call=to_call,
    commands=(everruns_command.BASH,),
    remark=json_replies.remark,
    terms=Terms(outputs=True),
)
