"""Several files in one native call: what edit_file means, and the words for what was made together.

An edit may name a file of its own, and new text alone makes a file that is absent.  Whatever a call
asks for is made together or not at all, and the reply has a line for each change.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from readroom.core.contracts.native import facts as native_facts
from readroom.core.contracts.native.calls import EDIT, closing
from readroom.core.contracts.native.render import reply, short, warning_parts
from readroom.core.contracts.native.words import (
    facts_of_name,
    hunks_left_out,
    name_changed,
    short_hash,
    what_changed,
)
from readroom.core.contracts.schema import DIGITS, EXPLAINED
from readroom.core.errors import BadValue, MissingArgument
from readroom.core.quoting import as_value, quote
from readroom.core.text.select import byte_size
from readroom.core.values import Cap, Fact, Reply, changes

Hash = Annotated[str, Meta(description="The file's hash, from a reply", extra=EXPLAINED)]


class EditItem(msgspec.Struct, frozen=True, kw_only=True):
    """One replacement of edit_file."""

    new_text: str
    old_text: Annotated[str, Meta(description="As in the file, without line numbers; must be unique")] = ""
    replace_all: bool = False
    lines: Annotated[str, Meta(description="Or 5-9", extra=DIGITS)] | None = None
    symbol: Annotated[str, Meta(description="Or a definition")] | None = None
    insert: Annotated[changes.Insert, Meta(description="Next to it; end: append")] | None = None
    path: str | None = None
    expected_hash: Annotated[str, Meta(description=f"Its hash; {changes.ABSENT}: new")] | None = None
    cell: Annotated[str, Meta(description=changes.CELL)] | None = None


class EditArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of edit_file."""

    edits: list[EditItem]
    path: str | None = None
    expected_hash: Hash | None = None
    dry_run: Annotated[bool, Meta(description="Only show the diff")] = False
    encoding: str | None = None


def to_edit(
    arguments: EditArguments,
) -> changes.EditRequest | changes.WriteRequest | changes.ChangesRequest:
    """A call of edit_file as a request: of one file, or of several that are changed together.

    Raises:
        MissingArgument: A file or its hash is not named.
        BadValue: Two hashes are named for one file, or lines are not a range.
    """
    groups: dict[str, list[changes.Edit]] = {}
    known: dict[str, str] = {}
    for number, item in enumerate(arguments.edits):
        path = item.path or arguments.path
        if path is None:
            raise MissingArgument(EDIT, "path", "")
        groups.setdefault(path, []).append(_edit(item, number))
        own = item.expected_hash or (arguments.expected_hash if path == arguments.path else None)
        if own is not None and known.setdefault(path, own) != own:
            raise BadValue(
                f"edits[{number}].expected_hash",
                own,
                f"contradicts {known[path]}, which the call names for {quote(path)} as well",
                "Send the hash of the file once.",
            )
    for path in groups:
        if path not in known:
            explained = "The file's hash, from a reply" if path == arguments.path else f"the hash of {path}"
            raise MissingArgument(EDIT, "expected_hash", explained)
    files = [
        _of_file(path, known[path], tuple(edits), arguments, alone=len(groups) == 1)
        for path, edits in groups.items()
    ]
    if len(files) == 1 and (isinstance(files[0], changes.EditRequest) or not arguments.dry_run):
        return files[0]
    if not files:
        return changes.EditRequest(
            arguments.path or ".",
            arguments.expected_hash,
            (),
            arguments.dry_run,
            arguments.encoding,
            by_cells=True,
        )
    return changes.ChangesRequest(tuple(files), arguments.dry_run)


def _edit(item: EditItem, number: int) -> changes.Edit:
    lines = None if item.lines is None else _lines(item.lines, f"edits[{number}].lines")
    return changes.Edit(
        item.old_text,
        item.new_text,
        item.replace_all,
        lines=lines,
        symbol=item.symbol,
        insert=item.insert,
        number=number,
        cell=item.cell,
    )


_LINES = re.compile(r"\s*(\d{1,15})\s*(?:[-\u2013:,]\s*(\d{1,15})\s*)?")


def _lines(text: str, name: str) -> tuple[int, int]:
    found = _LINES.fullmatch(text)
    if found is None:
        raise BadValue(name, text, "is not a line or a range of lines", "Send it as 5 or 5-9.")
    first = int(found[1])
    return first, int(found[2] or first)


def _is_new_text(edit: changes.Edit) -> bool:
    """Whether an edit has a text for a new file and no place in an old one."""
    places = (edit.old_text, edit.lines, edit.symbol, edit.cell)
    return edit.insert in (None, "end") and not any(places)


def _of_file(
    path: str, known: str, edits: tuple[changes.Edit, ...], arguments: EditArguments, *, alone: bool
) -> changes.EditRequest | changes.WriteRequest:
    if known == changes.ABSENT and all(map(_is_new_text, edits)):
        content = "".join(edit.new_text for edit in edits)
        return changes.WriteRequest(path, content, changes.ABSENT, arguments.encoding)
    if alone:
        edits = tuple(replace(edit, number=None) for edit in edits)
    return changes.EditRequest(
        path, known, edits, alone and arguments.dry_run, arguments.encoding, by_cells=True
    )


# -----------------------------------------------------------------------------
# The replies.
# -----------------------------------------------------------------------------


def render_changes(result: changes.ChangesResult, cap: Cap) -> Reply:
    """The reply for several changes: a line for each, and below those of edits their diffs."""
    count = len(result.results)
    what = f"{count} change{'' if count == 1 else 's'}"
    rows = [f"dry run, {what}" if result.dry_run else f"{what} made"]
    parts: list[str] = []
    for done in result.results:
        rows.append(_one_line(done, cap, dry_run=result.dry_run))
        if isinstance(done, changes.EditResult):
            rows += _rows(done.diff)
            parts += hunks_left_out(done)
        parts += [f"{short(done.path, cap)}: {part}" for part in warning_parts(done.warnings)]
    parts += warning_parts(result.warnings)
    if result.dry_run:
        parts.append("Dry run: nothing was changed.")
    body = "\n".join(rows)
    text = f"{body}\n{closing(parts or ['end of changes'], cap.size - byte_size(body) - 1)}"
    return reply(text, partial(_facts_of_changes, result))


def render_patched(result: changes.EditFilesResult, cap: Cap) -> Reply:
    """The reply for a patch, worded as several changes."""
    count = len(result.files)
    what = f"{count} change{'' if count == 1 else 's'}"
    rows, parts = [f"dry run, {what}" if result.dry_run else f"{what} made"], []
    for file in result.files:
        path = short(file.path, cap)
        done = _ACTIONS[file.action]
        if file.action in ("move", "copy"):
            path, done = short(file.requested, cap), f"{done} {path}"
        known = "" if file.content_hash is None else f" | {short_hash(file.content_hash)}"
        rows.append(f"{path} | {done}{known}")
        rows += _rows(file.diff)
        if file.diff.left_out:
            parts.append(f"{path}: {file.diff.left_out} hunks not shown.")
        parts += [f"{path}: {part}" for part in warning_parts(file.warnings)]
    if result.dry_run:
        parts.append("Dry run: nothing was changed.")
    body = "\n".join(rows)
    text = f"{body}\n{closing(parts or ['end of changes'], cap.size - byte_size(body) - 1)}"
    return reply(text, partial(_facts_of_patch, result))


_ACTIONS = {
    "add": "created",
    "update": "changed",
    "delete": "deleted",
    "move": "moved to",
    "copy": "copied to",
}
"""The words for what a patch did."""


def _rows(diff: changes.Diff) -> list[str]:
    return [row for hunk in diff.hunks for row in (hunk.heading, *hunk.lines)]


def _facts_of_patch(result: changes.EditFilesResult) -> dict[str, Fact]:
    files = [
        {
            **native_facts.named(file, "action", "previous_hash", "content_hash", "size_bytes"),
            "path": as_value(file.path),
            "requested": as_value(file.requested),
        }
        for file in result.files
    ]
    warnings = [warning for file in result.files for warning in file.warnings]
    return {"changes": list(files), "dry_run": result.dry_run, **native_facts.common((), None, warnings)}


def _one_line(done: changes.FileResult, cap: Cap, *, dry_run: bool) -> str:
    path = short(done.path, cap)
    match done:
        case changes.EditResult():
            known = short_hash(done.content_hash or done.previous_hash)
            return (
                f"{path} | {what_changed(replace(done, dry_run=False))} | {'was ' if dry_run else ''}{known}"
            )
        case changes.WriteResult():
            lines = f"{done.total_lines} line{'' if done.total_lines == 1 else 's'}"
            what = "created" if done.previous_hash is None else "replaced"
            return f"{path} | {what}, {lines} | {short_hash(done.content_hash)}"
        case changes.CopyResult():
            return f"{path} | copied to {short(done.destination, cap)}"
        case _:
            return f"{path} | {name_changed(done, cap)}"


def _facts_of_changes(result: changes.ChangesResult) -> dict[str, Fact]:
    return {
        "changes": [_facts_of_change(done) for done in result.results],
        "dry_run": result.dry_run,
        **native_facts.common((), None, result.warnings),
    }


def _facts_of_change(done: changes.FileResult) -> dict[str, Fact]:
    if isinstance(done, changes.EditResult):
        return native_facts.of_edit(done)
    if isinstance(done, changes.WriteResult):
        return native_facts.of_write(done)
    return facts_of_name(done)
