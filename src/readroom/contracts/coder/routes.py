"""The addresses of the contract `coder` over HTTP: `/api/v0/...`.

Each is a tool that is never offered to a model. Its reply is the body of the answer, or streams it; the
status is in the facts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from readroom.contracts.coder import editing, packing, read, uploads, words
from readroom.contracts.coder.editing import EDIT
from readroom.contracts.coder.words import RESPONSE_LINES, go_quoted, own_calls, present, spelled
from readroom.core.contracts.base import Sentences, Tool, Wording
from readroom.core.contracts.json_replies import NOTES, encoded
from readroom.core.contracts.native import facts as native_facts
from readroom.core.contracts.native import render as native_render
from readroom.core.errors import BadValue, ReadroomError
from readroom.core.quoting import quote
from readroom.core.values import Cap, EntryKind, Fact, ListRequest, ListResult, Reply, Result, changes
from readroom.core.values.files import BytesRequest, BytesResult, ResolveRequest, ResolveResult

LIST_BYTES = 1024 * 1024
"""A listing, which has no pages in this contract: some 8,000 names; the reply reports a cut."""

LIST_ENTRIES = 10_000
"""Names of one listing, so that short ones do not take longer to read than the reply."""

MAX_INTEGER = 2**63 - 1
"""Largest number in a query, as the original has it."""

MAX_QUERY_PARAMETERS = 100
"""Maximum query parameters that are examined; no address has a tenth of them."""

READ_LINES, READ_BYTES = "read-file-lines", "read-file"
WRITE, LIST, RESOLVE = "write-file", "list-directory", "resolve-path"

STATUS = "status"
"""The fact that is the status of an answer."""

_Count = Annotated[int, Meta(ge=0, le=MAX_INTEGER)]


class LinesQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The query of read-file-lines."""

    path: str
    offset: _Count = 0
    limit: _Count = 0
    max_file_size: _Count = read.FILE_BYTES
    max_line_bytes: _Count = read.LINE_BYTES
    max_response_lines: _Count = RESPONSE_LINES
    max_response_bytes: _Count = read.RESPONSE_BYTES


class BytesQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The query of read-file: bytes from an offset, which counts from 0; a limit of 0 means none."""

    path: str
    offset: _Count = 0
    limit: _Count = 0


class ResolveQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The query of resolve-path."""

    path: str


class WriteQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The query of write-file, and its body, here in base64."""

    path: str
    content: bytes


class ListBody(msgspec.Struct, frozen=True, kw_only=True):
    """The query of list-directory, or its body: parts of a path below the home folder or the root."""

    path: str = ""
    parts: list[str] = []
    relativity: str = ""


def routes_of(root: str) -> tuple[Tool, ...]:
    """The routes of a workspace that callers know by this root."""
    make = _Routes(root)
    reads = (make.read_lines(), make.read_bytes(), make.resolve(), make.list(), make.zip())
    return (*reads, make.write(), make.edit(), make.upload())


class _Routes:
    """Makes the routes of one root."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._calls = own_calls(root)

    def _tool(
        self,
        name: str,
        title: str,
        arguments: type[msgspec.Struct],
        to_request: Callable[[Any], Any],
        wording: Callable[[Any], Wording],
        **more: Any,
    ) -> Tool:
        return Tool(
            name=name,
            title=title,
            description=f"{title}.",
            arguments=arguments,
            to_request=to_request,
            wording=wording,
            render_error=read.capped(self._failed, ()),
            **more,
        )

    def _failed(self, text: str, error: ReadroomError) -> Reply:
        """A failure as the object that all but read-file-lines send."""

        def facts() -> dict[str, Fact]:
            return {**native_facts.of_error(error, self._calls, text), STATUS: words.status_of(error)}

        return replace(native_render.reply(encoded({"message": text}), facts), is_error=True)

    def _wording(
        self,
        render: Callable[[Result], tuple[dict[str, Fact], dict[str, Fact]]],
        tables: Sequence[Sentences],
        path: str = "",
    ) -> Wording:
        """Words results by an object and facts."""

        def reply(result: Result, cap: Cap) -> Reply:
            body, facts = render(result)
            return native_render.reply(encoded(body), lambda: {**facts, STATUS: 200})

        return Wording(reply, read.capped(self._failed, tables, path))

    # --- reading ------------------------------------------------------------------------------

    def read_lines(self) -> Tool:
        """GET read-file-lines."""
        form = read.CoderForm(self._root, chat=False)

        def bounds(arguments: LinesQuery) -> read.Bounds:
            return read.Bounds(
                arguments.max_file_size,
                arguments.max_line_bytes,
                arguments.max_response_lines,
                arguments.max_response_bytes,
            )

        tool = self._tool(
            READ_LINES,
            "Read numbered lines of a file",
            LinesQuery,
            lambda query: read.read_request(self._root, query.path, query.offset, query.limit, bounds(query)),
            lambda query: form.wording(query.path, query.offset),
            steps=lambda query: read.read_steps(self._root, query.offset, query.limit, bounds(query)),
        )
        return replace(tool, render_error=form.plainly)

    def read_bytes(self) -> Tool:
        """GET read-file."""

        def to_request(arguments: BytesQuery) -> BytesRequest:
            path = read.require_absolute(arguments.path, self._root)
            return BytesRequest(path, arguments.offset, arguments.limit or None)

        return self._tool(
            READ_BYTES,
            "Read the bytes of a file",
            BytesQuery,
            to_request,
            lambda query: Wording(_bytes, read.capped(self._failed, words.BYTES, query.path)),
        )

    def resolve(self) -> Tool:
        """GET resolve-path."""

        def to_request(arguments: ResolveQuery) -> ResolveRequest:
            return ResolveRequest(read.require_absolute(arguments.path, self._root))

        def render(result: Result) -> tuple[dict[str, Fact], dict[str, Fact]]:
            assert isinstance(result, ResolveResult)
            facts: dict[str, Fact] = {"path": result.path, "resolved": result.real}
            # A kept output is in no folder of the workspace.
            real = result.real if result.real.startswith("/") else spelled(result.real, self._root)
            return {"resolved_path": real}, facts

        def wording(arguments: ResolveQuery) -> Wording:
            return self._wording(render, words.RESOLVED, arguments.path)

        return self._tool(RESOLVE, "Resolve the links of a path", ResolveQuery, to_request, wording)

    def zip(self) -> Tool:
        """POST zip-files."""
        return self._tool(
            packing.ZIP,
            "Pack files into an archive",
            packing.ZipBody,
            lambda body: packing.request(body, self._root),
            lambda body: Wording(packing.packed, read.capped(self._failed, (words.SPENT, words.ANY))),
        )

    def list(self) -> Tool:
        """POST list-directory."""

        def to_request(arguments: ListBody) -> ListRequest:
            # Like the original, list everything that policy allows, including ignored files.
            return ListRequest(self._folder(arguments), include=frozenset({"ignored"}), limit=LIST_ENTRIES)

        def wording(arguments: ListBody) -> Wording:
            path = arguments.path or self._joined(arguments)
            return self._wording(partial(_listing, self._root, path), words.LISTED, path)

        title = "List a folder"
        more = {"reply_bytes": LIST_BYTES}
        return self._tool(LIST, title, ListBody, to_request, wording, **more)

    def _folder(self, arguments: ListBody) -> str:
        if arguments.path:
            return read.require_absolute(arguments.path, self._root)
        if arguments.relativity not in ("home", "root"):
            raise BadValue(
                "relativity", arguments.relativity, "is not known", "Send home or root, or a path."
            )
        return self._joined(arguments)

    def _joined(self, arguments: ListBody) -> str:
        # The home folder is the workspace: nothing outside of it is visible.
        above = self._root.rstrip("/") if arguments.relativity == "home" else ""
        return "/".join((above, *arguments.parts)) or "/"

    # --- changing -----------------------------------------------------------------------------

    def write(self) -> Tool:
        """POST write-file."""

        def to_request(arguments: WriteQuery) -> changes.WriteRequest:
            return changes.WriteRequest(
                read.require_absolute(arguments.path, self._root), "", None, data=arguments.content
            )

        def render(path: str, result: Result) -> tuple[dict[str, Fact], dict[str, Fact]]:
            assert isinstance(result, changes.WriteResult)
            return {"message": f"Successfully wrote to {go_quoted(path)}"}, native_facts.of_write(result)

        def wording(arguments: WriteQuery) -> Wording:
            return self._wording(partial(render, arguments.path), words.WRITTEN, arguments.path)

        more = {"read_only": False}
        return self._tool(WRITE, "Write a file", WriteQuery, to_request, wording, **more)

    def upload(self) -> Tool:
        """POST upload-chat-file."""
        return self._tool(
            uploads.UPLOAD,
            "Keep a file of a chat",
            uploads.UploadQuery,
            lambda query: uploads.request(query, self._root),
            lambda query: self._wording(partial(uploads.uploaded, self._root), uploads.tables(), query.name),
            read_only=False,
            idempotent=False,
        )

    def edit(self) -> Tool:
        """POST edit-files."""

        def wording(body: editing.EditBody) -> Wording:
            render = editing.diffs if body.include_diff else _without_diffs
            return self._wording(render, editing.tables(editing.joined(body, self._root)))

        return self._tool(
            EDIT,
            "Edit several files",
            editing.EditBody,
            lambda body: editing.request(body, self._root),
            wording,
            read_only=False,
            idempotent=False,
        )


# --- results ----------------------------------------------------------------------------------


def _bytes(result: Result, cap: Cap) -> Reply:
    assert isinstance(result, BytesResult)
    facts: dict[str, Fact] = {
        "path": result.path,
        "size_bytes": result.size_bytes,
        "first_byte": result.first,
        "bytes": result.count,
        STATUS: 200,
    }
    return replace(native_render.reply("", lambda: facts), stream=result.stream)


def _listing(root: str, path: str, result: Result) -> tuple[dict[str, Fact], dict[str, Fact]]:
    assert isinstance(result, ListResult)
    folder = spelled(result.request.path, root)
    entries = sorted(
        result.entries,
        key=lambda entry: (entry.kind is not EntryKind.FOLDER, entry.path.encode("utf-8", "surrogateescape")),
    )
    contents: list[Fact] = [
        {
            "name": entry.path,
            "absolute_path_string": spelled(entry.path, folder),
            "is_dir": entry.kind is EntryKind.FOLDER,
        }
        for entry in entries
    ]
    left: list[Fact] = []
    if result.reason is not None:
        left.append(f"The listing is cut: {len(entries)} of {result.total} entries are shown.")
    if result.denied:
        more = "more is" if result.denied == 1 else "more are"
        left.append(f"{result.denied} {more} not shown: denied by policy.")
    fields: dict[str, Fact] = {
        "absolute_path": [part for part in folder.split("/") if part],
        "absolute_path_string": folder,
        "contents": contents,
    }
    return {**fields, **present(**{NOTES: left})}, native_facts.of_list(result)


def _without_diffs(result: Result) -> tuple[dict[str, Fact], dict[str, Fact]]:
    return {}, editing.diffs(result)[1]


# -----------------------------------------------------------------------------
# Queries of addresses as coder's agent parses them: every problem is named at once.
# -----------------------------------------------------------------------------

_INTEGER = re.compile(r"[+-]?[0-9]+")


def parsed(
    query: bytes,
    numbers: Sequence[str],
    *,
    required: Sequence[str] = ("path",),
    texts: Sequence[str] = ("path",),
    uuids: Sequence[str] = (),
) -> tuple[dict[str, str | int], dict[str, str]]:
    """The values of a query, and its problems by parameter.

    Args:
        query: As in the address, with its escapes; bytes that are not UTF-8 are kept.
        numbers: Parameters that are whole numbers, not negative.
        required: Those that may not be missing or empty.
        texts: Parameters that are texts.
        uuids: Texts that are UUIDs.
    """
    parameters = _given(query)
    problems: dict[str, str] = {}
    values: dict[str, str | int] = {}
    for name in texts:
        if not parameters.get(name):
            if name in required:
                problems[name] = "is required and cannot be empty"
        elif name in uuids and uploads.chat_of(parameters[name]) is None:
            problems[name] = "must be a valid uuid"
        else:
            values[name] = (_sendable if name == "path" else _readable)(parameters[name])
    for name in numbers:
        # An empty one counts as not given.
        if parameters.get(name):
            problem = _problem(parameters[name])
            if problem is None:
                values[name] = int(parameters[name])
            else:
                problems[name] = f"must be a valid 64-bit positive integer: {problem}"
    for name in parameters:
        if name not in (*texts, *numbers):
            problems[name] = "is not a valid query param"
    return values, problems


def _given(query: bytes) -> Mapping[str, str]:
    """The first value of each parameter."""
    pairs = parse_qsl(
        query.decode("latin-1"), keep_blank_values=True, encoding="utf-8", errors="surrogateescape"
    )
    first_values: dict[str, str] = {}
    for name, value in pairs[:MAX_QUERY_PARAMETERS]:
        first_values.setdefault(name, value)
    return first_values


def _sendable(path: str) -> str:
    """A path; quoted as in replies if it has bytes that are not characters."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return quote(path)
    return path


def _readable(text: str) -> str:
    """A text that is no path, with U+FFFD for bytes that are not characters."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _problem(text: str) -> str | None:
    if not _INTEGER.fullmatch(text):
        return f"parsing {go_quoted(text)}: invalid syntax"
    if len(text) > len(str(MAX_INTEGER)) + 1 or abs(int(text)) > MAX_INTEGER:
        return f"parsing {go_quoted(text)}: value out of range"
    return "value is negative" if int(text) < 0 else None
