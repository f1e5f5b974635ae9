"""The contract of Everruns: files as `/workspace/...`, offsets from 0, every result one JSON object.

A path, an offset and a limit are all that a read takes; `column` is ours, for the
rest of a line that alone is longer than a reply.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from functools import partial
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from readroom.changes import DiffStyle, Edit, EditRequest, EditResult, WriteRequest, WriteResult
from readroom.commands import RunResult
from readroom.contracts import envelope, everruns_found, everruns_names, everruns_run, everruns_text
from readroom.contracts.base import Contract, Tool, Wording
from readroom.contracts.everruns_calls import EDIT, GREP, LIST, READ, WRITE, to_call
from readroom.contracts.everruns_deviations import DEVIATIONS
from readroom.contracts.everruns_errors import render_error
from readroom.contracts.everruns_globs import globs
from readroom.contracts.everruns_kinds import manner_of
from readroom.contracts.everruns_paths import ROOT, required_path
from readroom.errors import BadValue, MissingArgument
from readroom.formats.kinds import default_lines
from readroom.limits import DIFF_HUNK_BYTES
from readroom.limits_everruns import (
    EVERRUNS_CONTENT_BYTES,
    EVERRUNS_CONTEXT,
    EVERRUNS_COUNT_S,
    EVERRUNS_DIFF_CONTEXT,
    EVERRUNS_GREP_BYTES,
    EVERRUNS_GREP_LIMIT,
    EVERRUNS_GREP_MOST,
    EVERRUNS_LIST_LIMIT,
    EVERRUNS_LIST_MOST,
    EVERRUNS_REPLY_BYTES,
)
from readroom.manner import SearchManner
from readroom.model import (
    Cap,
    GrepRequest,
    GrepResult,
    Kind,
    ListRequest,
    ListResult,
    ReadRequest,
    ReadResult,
    Reply,
    Result,
)
from readroom.moves import DeleteResult, StatResult

Offset = Annotated[int, Meta(ge=0)]

_BLOCK_BYTES = len('{"path":,"start_line":,"end_line":,"match_line_numbers":[,],"lines":[]},') + 3 * 12
_IS_MATCH_BYTES = len(',"is_match":false')
_NO_HASH = "sha256:" + "0" * 64
"""Stands for an expected hash that is none: no file has it, and so it is stale."""


class ReadArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of read_file."""

    path: Annotated[str, Meta(description="Like /workspace/src/main.rs")]
    offset: Annotated[int, Meta(ge=0, description="First line, from 0")] | None = None
    limit: Annotated[int, Meta(ge=1, description="Lines")] | None = None
    column: Annotated[int, Meta(ge=0, description="Characters of line `offset` to pass over")] = 0


class GrepArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of grep_files."""

    pattern: Annotated[str, Meta(description="Regular expression")]
    path: Annotated[str, Meta(description="Where to search")] = "/"
    path_pattern: Annotated[str, Meta(description="Glob, or a part of the path")] = ""
    before_context: Annotated[int, Meta(ge=0, le=EVERRUNS_CONTEXT)] = 0
    after_context: Annotated[int, Meta(ge=0, le=EVERRUNS_CONTEXT)] = 0
    offset: Annotated[int, Meta(ge=0, description="Matches to pass over")] = 0
    limit: Annotated[int, Meta(ge=1, le=EVERRUNS_GREP_MOST)] = EVERRUNS_GREP_LIMIT


class ListArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of list_directory."""

    path: str = "/"
    offset: Annotated[int, Meta(ge=0, description="Entries to pass over")] = 0
    limit: Annotated[int, Meta(ge=1, le=EVERRUNS_LIST_MOST)] = EVERRUNS_LIST_LIMIT


class EditItem(msgspec.Struct, frozen=True, kw_only=True):
    """One replacement."""

    old_text: str
    new_text: str


class EditArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of edit_file."""

    path: str
    expected_hash: Annotated[str, Meta(description="content_hash of the file as it was read")]
    edits: list[EditItem] = []
    old_text: Annotated[str, Meta(description="Instead of edits, for one")] | None = None
    new_text: str | None = None


class WriteArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of write_file."""

    path: str
    content: str
    encoding: Literal["text", "base64"] = "text"
    expected_hash: Annotated[str, Meta(description="Refuse if the file has changed since")] | None = None


# --- requests ----------------------------------------------------------------------------------


def _to_read(given: ReadArguments) -> ReadRequest:
    path = required_path(given.path, READ)
    manner = manner_of(path, whole=given.offset is None or given.limit is None)
    if given.column:
        return ReadRequest(path, (given.offset or 0) + 1, 1, given.column + 1, manner=manner)
    offset = None if given.offset is None else given.offset + 1
    return ReadRequest(path, offset, given.limit, manner=manner)


def _to_grep(given: GrepArguments) -> GrepRequest:
    around = given.before_context + given.after_context
    lines = 1 + around
    return GrepRequest(
        pattern=given.pattern,
        path=required_path(given.path, GREP),
        glob=globs(given.path_pattern),
        before=given.before_context,
        after=given.after_context,
        include=frozenset(("hidden",)),
        sort="path",
        limit=given.limit,
        skip=given.offset,
        manner=SearchManner(
            totals=True,
            count_s=EVERRUNS_COUNT_S,
            preview_chars=EVERRUNS_GREP_BYTES,
            flat=True,
            entry_bytes=_BLOCK_BYTES + lines * _IS_MATCH_BYTES if around else 0,
            most_bytes=EVERRUNS_GREP_BYTES,
        ),
    )


def _to_list(given: ListArguments) -> ListRequest:
    path = required_path(given.path, LIST)
    return ListRequest(path, include=frozenset(("ignored",)), limit=given.limit, skip=given.offset)


def _hash(given: str) -> str:
    """The expected hash; what is none is one that no file has."""
    text = given.strip()
    digits = text.removeprefix("sha256:")
    known = len(digits) == 64 and not set(digits.lower()) - set("0123456789abcdef")
    return text if known else _NO_HASH


def _to_edit(given: EditArguments) -> EditRequest:
    if not given.expected_hash.strip():
        raise MissingArgument(EDIT, "expected_hash")
    return EditRequest(
        required_path(given.path, EDIT),
        _hash(given.expected_hash),
        tuple(Edit(one.old_text, one.new_text) for one in _edits(given)),
        diff=DiffStyle(EVERRUNS_DIFF_CONTEXT, DIFF_HUNK_BYTES),
        lone_cr=True,
    )


def _edits(given: EditArguments) -> list[EditItem]:
    """All replacements; the one beside the list counts unless it is empty or in the list already."""
    found = list(given.edits)
    old, new = given.old_text, given.new_text
    if old and new is None:
        raise MissingArgument(EDIT, f"edits[{len(found)}].new_text")
    if old is None and new and not found:
        raise MissingArgument(EDIT, "edits[0].old_text")
    if old is not None and new is not None and (old or (new and not found)):
        item = EditItem(old_text=old, new_text=new)
        found += [] if item in found else [item]
    if not found:
        raise BadValue("edits", [], "is empty", "Send at least one edit with old_text and new_text.")
    return found


def _to_write(given: WriteArguments) -> WriteRequest:
    data = given.content.encode()
    if given.encoding == "base64":
        try:
            data = b64decode(given.content, validate=True)
        except (binascii.Error, ValueError):
            raise BadValue(
                "content", given.content[:80], "is no base64", "Encode it, or send it as text."
            ) from None
    expected = None if given.expected_hash is None else _hash(given.expected_hash)
    return WriteRequest(required_path(given.path, WRITE), "", expected, data=data)


# --- replies -----------------------------------------------------------------------------------


def _render(result: Result, cap: Cap, *, limit: int | None = None) -> Reply:
    match result:
        case ReadResult():
            return everruns_text.render(result, cap, limit)
        case GrepResult():
            return everruns_found.render_grep(result, cap)
        case ListResult():
            return everruns_found.render_list(result, cap)
        case EditResult():
            return everruns_found.render_edit(result, cap)
        case StatResult():
            return everruns_names.render_stat(result)
        case DeleteResult():
            return everruns_names.render_delete(result)
        case RunResult():
            return everruns_run.render(result, cap)
        case WriteResult():
            return everruns_found.render_write(result, cap)
        case _:
            raise AssertionError(result)


def _word_read(given: ReadArguments) -> Wording:
    return Wording(partial(_render, limit=given.limit), render_error)


def _word_edit(given: EditArguments) -> Wording:
    texts = {f"old_text.{at}": one.old_text for at, one in enumerate(given.edits)}
    texts.setdefault(f"old_text.{len(texts)}", given.old_text or "")
    texts["expected_hash"] = given.expected_hash.strip()
    return Wording(_render, partial(render_error, tool=EDIT, given=texts))


def _word_write(given: WriteArguments) -> Wording:
    texts = {"expected_hash": (given.expected_hash or "").strip()}
    return Wording(_render, partial(render_error, tool=WRITE, given=texts))


READ_FILE = Tool(
    name=READ,
    title="Read a file",
    description=(
        "Read a file as numbered lines (N|text), an image as an image, other binary as base64. "
        f"Shows {default_lines(Kind.TEXT)} lines (logs: the last {default_lines(Kind.LOG)}; "
        f"CSV: {default_lines(Kind.CSV)} with the header; minified: {default_lines(Kind.MINIFIED)}) "
        f"and at most {EVERRUNS_CONTENT_BYTES:,} bytes; while truncated, follow truncation.resume_hint."
    ),
    arguments=ReadArguments,
    to_request=_to_read,
    reports_progress=True,
    wording=_word_read,
)

GREP_FILES = Tool(
    name=GREP,
    title="Search file contents",
    description=(
        "Search files by a regular expression: lines with paths and numbers, or blocks with context. "
        "Honours ignore files."
    ),
    arguments=GrepArguments,
    to_request=_to_grep,
    reports_progress=True,
    render_error=partial(render_error, tool=GREP),
)

LIST_DIRECTORY = Tool(
    name=LIST,
    title="List a directory",
    description="List files and directories with their sizes.",
    arguments=ListArguments,
    to_request=_to_list,
    reports_progress=True,
    render_error=partial(render_error, tool=LIST),
)

EDIT_FILE = Tool(
    name=EDIT,
    title="Edit a file",
    description=(
        "Replace texts that stand exactly once in the file, all or none. "
        "Rejected when the file has changed since expected_hash was read."
    ),
    arguments=EditArguments,
    to_request=_to_edit,
    read_only=False,
    destructive=True,
    idempotent=False,
    render_error=partial(render_error, tool=EDIT),
    wording=_word_edit,
)

WRITE_FILE = Tool(
    name=WRITE,
    title="Write a file",
    description="Create a file or replace all of it; directories above it are made.",
    arguments=WriteArguments,
    to_request=_to_write,
    read_only=False,
    destructive=True,
    render_error=partial(render_error, tool=WRITE),
    wording=_word_write,
)

EVERRUNS = Contract(
    name="everruns",
    title="Everruns",
    instructions=(
        f"Files are below {ROOT}. Find with grep_files or list_directory, then read the part you need with "
        "read_file. edit_file needs the content_hash of the last read."
    ),
    tools=(
        READ_FILE,
        GREP_FILES,
        LIST_DIRECTORY,
        EDIT_FILE,
        WRITE_FILE,
        everruns_names.STAT_FILE,
        everruns_names.DELETE_FILE,
    ),
    reply_bytes=EVERRUNS_REPLY_BYTES,
    measure=everruns_text.MEASURE,
    render=_render,
    render_error=render_error,
    to_call=to_call,
    commands=(everruns_run.BASH,),
    remark=envelope.remark,
    deviations=DEVIATIONS,
    holds_outputs=True,
)
