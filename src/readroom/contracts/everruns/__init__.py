"""The contract of Everruns: paths under `/workspace`, offsets from 0, results as JSON objects.

A read takes a path, an offset and a limit; `column` is our addition, for a line that alone is longer than a
reply.  Where its document and its source of today differ, the request chooses: see `command`.

Knows: the tools of its documentation, and where ours differ.
Does not know: the other contracts.
May be touched: freely, with its clauses.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from readroom.contracts.everruns import arguments as given
from readroom.contracts.everruns import changes, many, reads, searches
from readroom.contracts.everruns import command as everruns_command
from readroom.contracts.everruns.measure import measure
from readroom.contracts.everruns.names import KEPT, ROOT, Names
from readroom.contracts.everruns.requests import (
    BATCH_BYTES,
    BATCH_LEAST,
    BATCH_MOST,
    CONTENT_BYTES,
    DELETE,
    EDIT,
    GREP,
    GREP_BYTES,
    GREP_MOST,
    LINES,
    LIST,
    LIST_MOST,
    READ,
    READ_MANY,
    REPLY_BYTES,
    SEARCHED,
    STAT,
    WHOLE,
    WRITE,
    calls,
    options_of,
)
from readroom.contracts.everruns.words import render_error
from readroom.core.contracts import OwnSettings, Setup, json_replies
from readroom.core.contracts.base import Contract, Tool, Wording
from readroom.core.contracts.schema import schema
from readroom.core.errors import BadValue, MissingArgument
from readroom.core.formats.kinds import default_lines
from readroom.core.limits import DIFF_HUNK_BYTES, VALUE_CHARS
from readroom.core.paths import OUTPUTS
from readroom.core.policy.rules.terms import Terms
from readroom.core.values import (
    Cap,
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
from readroom.core.values.steps import Steps

HUNKS_BYTES = 2 * REPLY_BYTES
"""Hunks that an edit selects: the beginning of a long one is shown, if it was selected."""

COUNT_S = 2.0
"""Time for counting the matches after those that are shown: some 3,000 files. More are not counted."""

DIFF_CONTEXT = 2
"""Unchanged lines around a change in it."""

_BLOCK_BYTES = len('{"path":,"start_line":,"end_line":,"match_line_numbers":[,],"lines":[]},') + 3 * 12
_IS_MATCH_BYTES = len(',"is_match":false')
_NO_HASH = "sha256:" + "0" * 64
"""Replaces an expected hash that is not a hash: no file has it, so the edit is stale."""


class EverrunsSettings(OwnSettings, frozen=True):
    """The settings of the contract: the root as it is shown; `/workspace` means it all the same."""

    display_root: str = ROOT


class RootedTool(Tool, frozen=True):
    """A tool whose schema says the root as it is shown."""

    root: str = ROOT

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""
        plain = schema(self.arguments)
        rooted: dict[str, Any] = plain if self.root == ROOT else _rooted(plain, self.root)
        return rooted


def _rooted(value: Any, root: str) -> Any:
    if isinstance(value, str):
        return value.replace(ROOT, root)
    if isinstance(value, Mapping):
        return {name: _rooted(inner, root) for name, inner in value.items()}
    return [_rooted(inner, root) for inner in value] if isinstance(value, list) else value


# --- requests ----------------------------------------------------------------------------------


def _to_read(names: Names, arguments: given.Read) -> ReadRequest:
    path = names.required_path(arguments.path, READ)
    options = options_of(path)
    if arguments.column:
        return ReadRequest(path, (arguments.offset or 0) + 1, 1, arguments.column + 1, options=options)
    offset = None if arguments.offset is None else arguments.offset + 1
    return ReadRequest(path, offset, arguments.limit, options=options)


def _to_grep(names: Names, arguments: given.Grep) -> GrepRequest:
    around = arguments.before_context + arguments.after_context
    lines = 1 + around
    return GrepRequest(
        pattern=arguments.pattern,
        path=names.work_path(arguments.path) or ".",
        glob=names.globs(arguments.path_pattern),
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


def _to_list(names: Names, arguments: given.List) -> ListRequest:
    path = names.work_path(arguments.path) or "."
    limit = min(arguments.limit, LIST_MOST)
    return ListRequest(path, include=frozenset(("ignored",)), limit=limit, skip=arguments.offset)


def _hash(expected: str) -> str:
    """The expected hash; anything else becomes a hash that no file has."""
    text = expected.strip().lower()
    digits = text.removeprefix("sha256:")
    return text if len(digits) == 64 and not set(digits) - set("0123456789abcdef") else _NO_HASH


def _to_edit(names: Names, arguments: given.Edit) -> EditRequest:
    if not arguments.expected_hash.strip():
        raise MissingArgument(EDIT, "expected_hash")
    return EditRequest(
        names.required_path(arguments.path, EDIT),
        _hash(arguments.expected_hash),
        tuple(Edit(edit.old_text, edit.new_text) for edit in _edits(arguments)),
        diff=DiffStyle(DIFF_CONTEXT, DIFF_HUNK_BYTES),
        lone_cr=True,
    )


def _edits(arguments: given.Edit) -> list[given.EditItem]:
    """All replacements without repeats; one that stands outside the list comes first, unless it is empty."""
    edits = [*_outside(arguments), *arguments.edits]
    if not edits:
        raise BadValue("edits", [], "is empty", "Send at least one edit with old_text and new_text.")
    return list(dict.fromkeys(edits))


def _outside(arguments: given.Edit) -> Sequence[given.EditItem]:
    """The replacement in the older form, outside the list."""
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
    return (given.EditItem(old_text=old, new_text=new),)


def _to_write(names: Names, arguments: given.Write) -> WriteRequest:
    data = arguments.content.encode()
    if arguments.encoding == "base64":
        try:
            data = b64decode(arguments.content, validate=True)
        except (binascii.Error, ValueError):
            raise BadValue(
                "content", arguments.content[:80], "is not valid base64", "Encode it, or send it as text."
            ) from None
    expected = None if arguments.expected_hash is None else _hash(arguments.expected_hash)
    return WriteRequest(names.required_path(arguments.path, WRITE), "", expected, data=data)


# --- replies -----------------------------------------------------------------------------------


_RENDER: Mapping[type, Callable[[Names, Any, Cap], Reply]] = {
    ReadResult: reads.render,
    GrepResult: searches.render_grep,
    ListResult: searches.render_list,
    EditResult: changes.render_edit,
    WriteResult: changes.render_write,
    StatResult: changes.render_stat,
    DeleteResult: changes.render_delete,
    RunResult: everruns_command.render,
}


def render(names: Names, result: Result, cap: Cap) -> Reply:
    """The reply for a result."""
    return _RENDER[type(result)](names, result, cap)


class _Tools(Struct, frozen=True):
    """The tools of one workspace."""

    names: Names

    def tool(
        self,
        name: str,
        title: str,
        description: str,
        arguments: type[msgspec.Struct],
        to_request: Callable[[Names, Any], Request],
        **more: Any,
    ) -> Tool:
        words = partial(render_error, self.names, tool=name)
        return RootedTool(
            name,
            title,
            description,
            arguments,
            partial(to_request, self.names),
            **{"render_error": words, "wording": partial(self.wording, name), **more},
            root=self.names.root,
        )

    def wording(self, tool: str, arguments: Any) -> Wording:
        """The wording of a call about a path."""
        names = self.names.of_call(arguments.path)
        return Wording(partial(render, names), partial(render_error, names, tool=tool))

    def of_read(self, arguments: given.Read) -> Wording:
        names = self.names.of_call(arguments.path)
        return Wording(partial(reads.render, names, limit=arguments.limit), partial(render_error, names))

    def of_many(self, arguments: given.ReadMany) -> Wording:
        words = partial(render_error, self.names, tool=READ_MANY)
        return Wording(partial(many.render, self.names, arguments), words)

    def of_edit(self, arguments: given.Edit) -> Wording:
        texts = {f"old_text.{at}": edit.old_text for at, edit in enumerate(_edits(arguments))}
        texts["expected_hash"] = arguments.expected_hash.strip()
        return self._with_texts(EDIT, texts)

    def of_write(self, arguments: given.Write) -> Wording:
        return self._with_texts(WRITE, {"expected_hash": (arguments.expected_hash or "").strip()})

    def _with_texts(self, tool: str, texts: Mapping[str, str]) -> Wording:
        words = partial(render_error, self.names, tool=tool, texts=texts)
        return Wording(partial(render, self.names), words)

    def every(self) -> tuple[Tool, ...]:
        return (
            self.tool(
                READ,
                "Read a file",
                "Read a file as numbered lines (N|text), an image as an image, other binary as base64. "
                f"Shows {default_lines(Kind.TEXT)} lines (logs: the last {default_lines(Kind.LOG)}; "
                f"CSV: {default_lines(Kind.CSV)} with the header; minified: {default_lines(Kind.MINIFIED)}) "
                f"and at most {CONTENT_BYTES:,} bytes; while truncated, follow truncation.resume_hint.",
                given.Read,
                _to_read,
                wording=self.of_read,
                steps=_steps,
            ),
            self.tool(
                READ_MANY,
                "Read several files",
                f"Read {BATCH_LEAST} to {BATCH_MOST} files in order, each as {READ} does, with its result or "
                "error; images are named, not shown.",
                given.ReadMany,
                many.to_request,
                wording=self.of_many,
                steps=_steps,
                reply_bytes=BATCH_BYTES,
            ),
            self.tool(
                GREP,
                "Search file contents",
                "Search files by a regular expression: lines with paths and numbers, or blocks with context. "
                "Honours ignore files.",
                given.Grep,
                _to_grep,
            ),
            self.tool(
                LIST,
                "List a directory",
                "List files and directories with their sizes.",
                given.List,
                _to_list,
            ),
            self.tool(
                EDIT,
                "Edit a file",
                "Replace texts that occur exactly once in the file, all or none. "
                "Rejected when the file has changed since expected_hash was read.",
                given.Edit,
                _to_edit,
                read_only=False,
                idempotent=False,
                wording=self.of_edit,
                reply_bytes=HUNKS_BYTES,
            ),
            self.tool(
                WRITE,
                "Write a file",
                "Create a file or replace all of it; directories above it are made.",
                given.Write,
                _to_write,
                read_only=False,
                wording=self.of_write,
            ),
            self.tool(
                STAT,
                "Facts of a file",
                "Whether a file or directory exists, its size, times and whether it is read-only.",
                given.Name,
                lambda names, asked: StatRequest(names.required_path(asked.path, STAT)),
            ),
            self.tool(
                DELETE,
                "Delete a file",
                "Delete a file or directory; recursive for a directory that is not empty.",
                given.Delete,
                lambda names, asked: DeleteRequest(names.required_path(asked.path, DELETE), asked.recursive),
                read_only=False,
                idempotent=False,
            ),
        )


def _steps(arguments: given.Read | given.ReadMany) -> Steps:
    return WHOLE if arguments.offset is None or arguments.limit is None else LINES


def made(setup: Setup) -> Contract:
    """The record for a workspace."""
    own = setup.own if isinstance(setup.own, EverrunsSettings) else EverrunsSettings()
    names = Names(own.display_root)
    return Contract(
        name="everruns",
        title="Everruns",
        instructions=(
            f"Files are below {names.root}. Find with grep_files or list_directory, then read the part you "
            "need with read_file. edit_file needs the content_hash of the last read."
        ),
        tools=_Tools(names).every(),
        reply_bytes=REPLY_BYTES,
        measure=measure(names, everruns_command.MEASURE),
        render=partial(render, names),
        render_error=partial(render_error, names),
        to_call=calls(names),
        commands=(everruns_command.bash(names),),
        remark=json_replies.remark,
        tell=json_replies.remark,
        terms=Terms(outputs=(OUTPUTS[1:], KEPT)),
    )
