"""The two tools of the native contract that change files, and how their results are worded.

Both are destructive, for hosts that ask before such calls, and idempotent: a
call that is repeated finds the file in another state than it names, and changes
nothing.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import fields

from readroom.contracts.base import Tool
from readroom.contracts.native import facts as native_facts
from readroom.contracts.native.calls import EDIT, WRITE, closing, shown
from readroom.contracts.native.render import HASH_DIGITS, reply, short, warning_parts
from readroom.contracts.schema import EXPLAINED
from readroom.quoting import as_value, joined
from readroom.text.select import byte_size
from readroom.values import Cap, Fact, Reply
from readroom.values.changes import (
    ABSENT,
    DeleteResult,
    Edit,
    EditRequest,
    EditResult,
    FolderResult,
    MoveResult,
    NameResult,
    StatResult,
    TrashResult,
    WriteRequest,
    WriteResult,
)

Hash = Annotated[str, Meta(description="The file's hash, from a reply", extra=EXPLAINED)]


class EditItem(msgspec.Struct, frozen=True, kw_only=True):
    """One replacement of edit_file."""

    old_text: Annotated[str, Meta(description="As in the file, without line numbers; fits one place")]
    new_text: str
    replace_all: bool = False


class EditArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of edit_file."""

    path: str
    expected_hash: Hash
    edits: list[EditItem]
    dry_run: Annotated[bool, Meta(description="Only show the diff")] = False
    encoding: str | None = None


class WriteArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of write_file."""

    path: str
    content: str
    expected_hash: Annotated[
        str, Meta(description=f'"{ABSENT}" creates; the current hash replaces', extra=EXPLAINED)
    ]
    encoding: str | None = None


def _to_edit(arguments: EditArguments) -> EditRequest:
    edits = tuple(Edit(item.old_text, item.new_text, item.replace_all) for item in arguments.edits)
    return EditRequest(arguments.path, arguments.expected_hash, edits, arguments.dry_run, arguments.encoding)


def _to_write(arguments: WriteArguments) -> WriteRequest:
    return WriteRequest(arguments.path, arguments.content, arguments.expected_hash, arguments.encoding)


EDIT_FILE = Tool(
    name=EDIT,
    title="Edit a file",
    description=(
        "Replace texts in a file if it still has the expected hash. All edits are matched against the file "
        "as it is, and all are made or none. Encoding and line ends stay; shows the diff and the new hash."
    ),
    arguments=EditArguments,
    to_request=_to_edit,
    read_only=False,
    destructive=True,
    reports_progress=True,
)

WRITE_FILE = Tool(
    name=WRITE,
    title="Write a file",
    description="Create a file, with its folders, or replace all of its content.",
    arguments=WriteArguments,
    to_request=_to_write,
    read_only=False,
    destructive=True,
)


def render_edit(result: EditResult, cap: Cap) -> Reply:
    """The reply for an edit, whose diff was selected under `cap`."""
    header = (
        f"{short(result.path, cap)} | {_what(result)} | {_hash(result.content_hash or result.previous_hash)}"
    )
    body = f"{header}\n{result.diff.text}"
    parts = [*_left_out(result), *warning_parts(result.warnings)]
    if result.dry_run:
        parts.append("Dry run: nothing was changed.")
    text = body + closing(parts or ["end of diff"], cap.size - byte_size(body))
    return reply(text, partial(native_facts.of_edit, result))


def _what(result: EditResult) -> str:
    count = f"{result.replacements} replacement{'' if result.replacements == 1 else 's'}"
    first, last = min(result.first_line, result.last_line), result.last_line
    where = f"line {first}" if first == last else f"lines {first}-{last}"
    place = f"{count} in {where} of {result.total_lines}" if result.total_lines else f"{count}, now empty"
    cut = " (diff cut)" if result.diff.left_out else ""
    return f"{'dry run, ' if result.dry_run else ''}{place}{cut}"


def _left_out(result: EditResult) -> list[str]:
    parts = []
    for item in native_facts.omitted_hunks(result):
        count = result.diff.left_out
        text = f"{count} hunk{'' if count == 1 else 's'} in lines {item.first}-{item.last} not shown."
        parts.append(f"{text} Now there: {shown(item.request)}." if item.request else text)
    return parts


def render_write(result: WriteResult, cap: Cap) -> Reply:
    """The reply for a file that was written."""
    lines = f"{result.total_lines} line{'' if result.total_lines == 1 else 's'}"
    about = [
        short(result.path, cap),
        f"{'created' if result.previous_hash is None else 'replaced'}, {lines}",
        _hash(result.content_hash),
    ]
    if result.encoding != "utf-8" or result.bom:
        about.append(result.encoding + (" with BOM" if result.bom else ""))
    if result.ends.form == "crlf":
        about.append("CRLF")
    about += result.ends.unusual
    header = " | ".join(about)
    parts = [f"Folders made: {joined(result.folders)}."] if result.folders else []
    parts += warning_parts(result.warnings)
    text = f"{header}\n{closing(parts, cap.size - byte_size(header) - 1)}" if parts else header
    return reply(text, partial(native_facts.of_write, result))


def _hash(content_hash: str) -> str:
    return content_hash[: len("sha256:") + HASH_DIGITS]


# -----------------------------------------------------------------------------
# Deleting, moving and their like in native words, though no native tool does them.
#
# Other contracts have such tools; here is what stands in the ledger for their calls, what a
# hint that means one falls back to, and words for results that no other contract words.
# -----------------------------------------------------------------------------


def render_file_change(result: NameResult, cap: Cap) -> Reply:
    """The reply for a result: one line, and a second one for warnings."""
    header = f"{short(result.path, cap)} | {_kind(result, cap)}"
    parts = warning_parts(result.warnings)
    text = f"{header}\n{closing(parts, cap.size - byte_size(header) - 1)}" if parts else header
    return reply(text, partial(_facts, result))


def _kind(result: NameResult, cap: Cap) -> str:
    match result:
        case StatResult():
            return _stat(result)
        case DeleteResult():
            return "deleted" if result.entries == 1 else f"deleted, {result.entries:,} names"
        case FolderResult():
            return "folder created" if result.created else "folder was there already"
        case MoveResult():
            over = ", replacing a file" if result.replaced else ""
            return f"moved to {short(result.destination, cap)}{over}"
        case TrashResult():
            return f"moved to {short(result.trashed_to, cap)}"


def _stat(result: StatResult) -> str:
    if not result.exists or result.kind is None:
        return "not there"
    about = result.kind.value
    if about == "file":
        about += f", {result.size_bytes:,} bytes"
    return f"{about}, read-only" if result.read_only else about


def _facts(result: NameResult) -> dict[str, Fact]:
    facts: dict[str, Fact] = {}
    for field in fields(result):
        value = getattr(result, field.name)
        if field.name in _PATHS and value is not None:
            value = as_value(value)
        if field.name == "folders":
            value = [as_value(folder) for folder in value]
        if field.name != "warnings":
            facts[field.name] = value
    return {**facts, **native_facts.common((), None, result.warnings)}


_PATHS = ("path", "destination", "trashed_to", "target")
