"""Arguments of the editor and of apply_patch, the requests that they mean, and calls for requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from readroom.contracts.text_editor.names import EditorNames
from readroom.core.contracts import OwnSettings
from readroom.core.contracts.base import call_of
from readroom.core.contracts.native.calls import write_text
from readroom.core.contracts.schema import EMPTY_TEXT
from readroom.core.errors import BadRange, BadValue, MissingArgument, ReadroomError
from readroom.core.text import patches
from readroom.core.text.patches.fitting import parted
from readroom.core.values import Call, ListRequest, ReadRequest, Request
from readroom.core.values.changes import (
    ABSENT,
    DiffStyle,
    Edit,
    EditFilesRequest,
    EditRequest,
    Fit,
    WriteRequest,
)
from readroom.core.values.history import UndoRequest
from readroom.core.values.options import ReadOptions
from readroom.core.values.patches import AT_LINE, LENIENT, FilePatch, PatchHunk, PatchLine

EDITOR, OLDER, PATCH = "str_replace_based_edit_tool", "str_replace_editor", "apply_patch"

VIEW_CHARACTERS = 16_000
"""Characters of a view, as in the reference, if the setting does not say."""

SNIPPET_LINES = 4
"""Lines around a change that its reply shows."""

LEVELS = 2
"""Levels of a directory that are viewed."""

_SEEN = ("!**/.*", "!**/.*/**")
"""No hidden names."""

_ALL = 2**53 - 1
"""More lines than any file has."""

_LINE_CHARS = 2000
"""Characters of a line in a snippet."""

TO_THE_END: Final = -1
"""The second number of a view_range that means the last line."""

STYLE = DiffStyle(SNIPPET_LINES, _LINE_CHARS)

WHOLE = ReadOptions(line_chars=0, header=False, outline_bytes=0, past_end="refused", rests=False)


class EditorSettings(OwnSettings, frozen=True):
    """The options that a client states.

    Attributes:
        max_characters: Characters of a view.
    """

    max_characters: int = VIEW_CHARACTERS


_RANGE = Meta(description="For view: first and last line, from 1; -1 is the end", min_length=2, max_length=2)


class EditorArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of both names of the editor."""

    command: str
    path: Annotated[str, Meta(description="Absolute path")]
    view_range: Annotated[list[int], _RANGE] | None = None
    file_text: Annotated[str, Meta(description="For create", extra=EMPTY_TEXT)] | None = None
    old_str: Annotated[str, Meta(description="For str_replace: must occur once", extra=EMPTY_TEXT)] | None = (
        None
    )
    new_str: Annotated[str, Meta(description="For str_replace; empty deletes", extra=EMPTY_TEXT)] | None = (
        None
    )
    insert_line: Annotated[int, Meta(description="For insert: line to insert after; 0 is the top")] | None = (
        None
    )
    insert_text: Annotated[str, Meta(description="For insert", extra=EMPTY_TEXT)] | None = None


class PresentArguments(EditorArguments, frozen=True, kw_only=True):
    """Arguments of str_replace_based_edit_tool."""

    command: Literal["view", "create", "str_replace", "insert"]


class OlderArguments(EditorArguments, frozen=True, kw_only=True):
    """Arguments of str_replace_editor: new_str is also what is inserted."""

    command: Literal["view", "create", "str_replace", "insert", "undo_edit"]


class EditorPatch(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of apply_patch: a patch, or one operation of a hosted tool."""

    input: Annotated[str, Meta(description="V4A patch, from `*** Begin Patch` to `*** End Patch`")] | None = (
        None
    )
    operation: (
        Annotated[
            dict[str, str],
            Meta(description="Instead: type (create_file, update_file, delete_file), path, diff"),
        ]
        | None
    ) = None


Arguments: TypeAlias = EditorArguments | EditorPatch


# -----------------------------------------------------------------------------
# The editor.
# -----------------------------------------------------------------------------


def to_request(names: EditorNames, tool: str, arguments: EditorArguments) -> Request:
    """The request for a call of the editor. Raises BadValue, BadRange, MissingArgument, NotAbsolute."""
    path = names.meant(arguments.path)
    return _COMMANDS[arguments.command](tool, path, arguments)


def _view(tool: str, path: str, arguments: EditorArguments) -> Request:
    if arguments.view_range is None:
        return ReadRequest(path, 1, _ALL, options=WHOLE)
    first, last = arguments.view_range
    if first < 1:
        return ReadRequest(path, _ALL, 1, options=WHOLE)  # its refusal tells how many lines there are
    if last != TO_THE_END and last < first:
        raise BadRange("", "", next_request=ReadRequest(path, options=WHOLE))
    limit = _ALL if last == TO_THE_END else last - first + 1
    return ReadRequest(path, first, limit, options=WHOLE)


def _create(tool: str, path: str, arguments: EditorArguments) -> Request:
    return WriteRequest(path, _required(tool, "file_text", arguments.file_text), ABSENT)


def _str_replace(tool: str, path: str, arguments: EditorArguments) -> Request:
    old, new = _required(tool, "old_str", arguments.old_str), arguments.new_str or ""
    if not old:
        raise BadValue("old_str", "", "is empty", "Send the text to be replaced.")
    if old == new:
        raise BadValue("new_str", new, "is the same as old_str", "Send another text.")
    return EditRequest(path, None, (Edit(old, new),), diff=STYLE, lenient=fit)


def _insert(tool: str, path: str, arguments: EditorArguments) -> Request:
    line = arguments.insert_line
    if line is None:
        raise MissingArgument(tool, "insert_line", "")
    older = tool == OLDER
    pair = arguments.insert_text, arguments.new_str
    if None not in pair and pair[0] != pair[1]:
        raise BadValue("insert_text", pair[0], "and new_str differ", "Send one of them.")
    text = pair[0] if pair[0] is not None else pair[1]
    text = _required(tool, "new_str" if older else "insert_text", text)
    added = parted(text) or parted("\n")
    hunk = PatchHunk(tuple(PatchLine("+", one.text, None) for one in added), line)
    return EditFilesRequest((FilePatch(path, hunks=(hunk,), fitting=AT_LINE),), diff=STYLE)


def _undo_edit(tool: str, path: str, arguments: EditorArguments) -> Request:
    # A created file stays, as in the reference.
    return UndoRequest(path=path, own=True, rights=frozenset(("edit",)))


_COMMANDS: dict[str, Callable[[str, str, EditorArguments], Request]] = {
    "view": _view,
    "create": _create,
    "str_replace": _str_replace,
    "insert": _insert,
    "undo_edit": _undo_edit,
}


def _required(tool: str, name: str, value: str | None) -> str:
    if value is None:
        raise MissingArgument(tool, name, "")
    return value


def listing(arguments: EditorArguments, request: ReadRequest) -> ListRequest:
    """The listing that a view of a directory means. Raises BadValue."""
    if arguments.view_range is not None:
        raise BadValue("view_range", arguments.view_range, "is for files", "Leave it out.")
    return ListRequest(request.path, glob=_SEEN, depth=LEVELS, include=frozenset(("ignored",)))


# --- what an old_str means ------------------------------------------------------------------------


def fit(text: str, old: str, check: Callable[[], None]) -> Fit | None:
    """An old_str that was copied from a view, where tabs are blanks, or with blanks around it."""
    check()
    return _with_tabs(text, old) or _stripped(text, old)


def _with_tabs(text: str, old: str) -> Fit | None:
    lines, wanted = text.split("\n"), old.expandtabs().split("\n")
    if "\t" not in text or len(wanted) > len(lines):
        return None
    expanded = [line.expandtabs() for line in lines]
    starts, offset = [], 0
    for line in lines:
        starts.append(offset)
        offset += len(line) + 1
    places: list[tuple[int, int, int]] = []
    for at in range(len(lines) - len(wanted) + 1):
        span = _span(expanded[at : at + len(wanted)], lines[at : at + len(wanted)], wanted)
        if span is not None:
            places.append((at + 1, starts[at] + span[0], starts[at + len(wanted) - 1] + span[1]))
    if not places:
        return None
    return Fit(text[places[0][1] : places[0][2]], [place[0] for place in places], "tabs as blanks")


def _span(expanded: list[str], lines: list[str], wanted: list[str]) -> tuple[int, int] | None:
    """The start of the wanted text in the first of these lines and its end in the last; None without."""
    if len(wanted) == 1:
        start = expanded[0].find(wanted[0])
        end = start + len(wanted[0])
        if start < 0 or expanded[0].find(wanted[0], start + 1) >= 0:
            return None
    else:
        start, end = len(expanded[0]) - len(wanted[0]), len(wanted[-1])
        inner = expanded[1:-1] == wanted[1:-1]
        if start < 0 or not (
            expanded[0].endswith(wanted[0]) and expanded[-1].startswith(wanted[-1]) and inner
        ):
            return None
    first, last = _column(lines[0], start), _column(lines[-1], end)
    return None if first is None or last is None else (first, last)


def _column(line: str, width: int) -> int | None:
    """The characters of a line that take so many columns; None if that is inside a tab."""
    if "\t" not in line:
        return width
    return next((at for at in range(len(line) + 1) if len(line[:at].expandtabs()) == width), None)


def _stripped(text: str, old: str) -> Fit | None:
    inner = old.strip()
    if not inner or inner == old:
        return None
    at = text.find(inner)
    lines: list[int] = []
    while at >= 0 and len(lines) < 10:
        lines.append(text.count("\n", 0, at) + 1)
        at = text.find(inner, at + 1)
    return Fit(inner, lines, "blanks around it ignored") if lines else None


# -----------------------------------------------------------------------------
# Patches.
# -----------------------------------------------------------------------------


def to_patch(names: EditorNames, arguments: EditorPatch) -> EditFilesRequest:
    """The request for a patch. Raises BadPatch, BadValue, MissingArgument."""
    if arguments.operation is not None and arguments.input is not None:
        raise BadValue("operation", "", "and input cannot both be sent", "Send one of them.")
    if arguments.operation is not None:
        files = [_hosted(arguments.operation)]
    elif arguments.input is None:
        raise MissingArgument(PATCH, "input", "")
    else:
        files = list(patches.read(arguments.input, "v4a"))
    return EditFilesRequest(tuple(_placed(names, file) for file in files))


def _hosted(operation: dict[str, str]) -> FilePatch:
    kind, path = operation.get("type", ""), operation.get("path")
    if kind not in patches.OPERATIONS:
        raise BadValue("operation.type", kind, "is no operation", f"Use {', '.join(patches.OPERATIONS)}.")
    if not path:
        raise MissingArgument(PATCH, "operation.path", "")
    diff = operation.get("diff")
    if diff is None and kind != "delete_file":
        raise MissingArgument(PATCH, "operation.diff", "")
    return patches.hosted(patches.OPERATIONS[kind], path, diff)


def _placed(names: EditorNames, file: FilePatch) -> FilePatch:
    """The file with paths of the workspace; those of a patch may be relative."""
    try:
        path, to = _relative(names, file.path), file.destination
        to = None if to is None else _relative(names, to)
    except ReadroomError as problem:
        return replace(file, problem=problem)
    return replace(file, path=path, destination=to, fitting=LENIENT)


def _relative(names: EditorNames, path: str) -> str:
    return names.meant(path) if path.startswith("/") else path


# -----------------------------------------------------------------------------
# The call for a request.
# -----------------------------------------------------------------------------


def to_call(names: EditorNames, request: Request) -> Call | None:
    """The call for `request`, as far as this contract can express it; None if it cannot."""
    path = names.value(request.path)
    match request:
        case ReadRequest() if request.column == 1 and request.pages is None and request.symbol is None:
            return call_of(EDITOR, command="view", path=path, view_range=_range_of(request))
        case ListRequest() if request.cursor is None:
            return call_of(EDITOR, command="view", path=path)
        case WriteRequest() if request.data is None and request.expected_hash == ABSENT:
            return call_of(EDITOR, command="create", path=path, file_text=write_text(request)[0])
        case EditRequest() if len(request.edits) == 1 and not request.edits[0].replace_all:
            edit = request.edits[0]
            return call_of(
                EDITOR, command="str_replace", path=path, old_str=edit.old_text, new_str=edit.new_text
            )
    return None


def _range_of(request: ReadRequest) -> list[int] | None:
    first, limit = request.offset or 1, request.limit
    if first < 1:
        return None
    if limit is None or limit >= _ALL:
        return None if first == 1 else [first, TO_THE_END]
    return [first, first + limit - 1]
