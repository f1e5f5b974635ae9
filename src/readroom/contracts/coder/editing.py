"""Edits of several files, as the address edit-files and the tools for models have them.

The request chooses between two generations of rules and words: edits with `search` alone get those of the
document that this contract began with, any `old_text` gets today's.

    search alone    one entry a file; a miss says that the search string is not found
    any old_text    entries of one path are joined; a miss says what is certain about it

Clients of today send both pairs, the older one as a copy or empty.  A copy that says something else is
refused: what the caller means cannot be known.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from readroom.contracts.coder import read, words
from readroom.contracts.coder.words import go_quoted, present
from readroom.core import errors, paths
from readroom.core.contracts.base import Sentences
from readroom.core.contracts.json_replies import NOTES
from readroom.core.contracts.native import render as native_render
from readroom.core.contracts.schema import EMPTY_TEXT
from readroom.core.errors import MissingArgument, ReadroomError
from readroom.core.quoting import as_given
from readroom.core.values import Fact, Result, changes

EDIT = "edit-files"

_EMPTY = Meta(extra=EMPTY_TEXT)


class Replacement(msgspec.Struct, frozen=True, kw_only=True):
    """One replacement of edit-files, with its texts under today's names, under the older ones, or both."""

    old_text: Annotated[str, _EMPTY] | None = None
    new_text: Annotated[str, _EMPTY] | None = None
    search: Annotated[str, _EMPTY] | None = None
    replace: Annotated[str, _EMPTY] | None = None
    replace_all: bool = False

    @property
    def is_todays(self) -> bool:
        """Whether today's pair counts; the older one does only where both texts of the other are empty."""
        todays, older = (self.old_text, self.new_text), (self.search, self.replace)
        return any(todays) or (not any(older) and todays != (None, None))

    @property
    def contradictions(self) -> Sequence[str]:
        """The fields that say different things, two and two; none if one pair is empty."""
        pairs = (
            ("old_text", self.old_text or "", "search", self.search),
            ("new_text", self.new_text or "", "replace", self.replace),
        )
        if not (self.old_text or self.new_text) or not (self.search or self.replace):
            return ()
        return [
            f"{go_quoted(name)} and {go_quoted(older)}"
            for name, text, older, other in pairs
            if other is not None and other != text
        ]

    def edit(self) -> changes.Edit:
        """The replacement that is meant."""
        if self.is_todays:
            return changes.Edit(self.old_text or "", self.new_text or "", self.replace_all)
        return changes.Edit(self.search or "", self.replace or "", self.replace_all)


class FileToEdit(msgspec.Struct, frozen=True, kw_only=True):
    """One file of edit-files."""

    path: str = ""
    edits: list[Replacement] = []


class EditBody(msgspec.Struct, frozen=True, kw_only=True):
    """The body of edit-files."""

    files: list[FileToEdit] = []
    include_diff: bool = False


def joined(body: EditBody, root: str) -> Sequence[FileToEdit]:
    """The files of a body, those of one path joined in order if the request is one of today."""
    if not any(edit.is_todays for file in body.files for edit in file.edits):
        return body.files
    by_path: dict[str, FileToEdit] = {}
    for file in body.files:
        key = _normal(file.path, root)
        known = by_path.get(key)
        by_path[key] = file if known is None else replace(known, edits=[*known.edits, *file.edits])
    return list(by_path.values())


def _normal(path: str, root: str) -> str:
    try:
        return paths.parse(path, (root,))
    except ReadroomError:
        return posixpath.normpath(path) if path else ""


def request(body: EditBody, root: str) -> changes.EditFilesRequest:
    """The canonical request. Raises MissingArgument."""
    if not body.files:
        raise MissingArgument(EDIT, "files")
    return changes.EditFilesRequest(tuple(_file(file, root) for file in joined(body, root)))


def _file(file: FileToEdit, root: str) -> changes.FileEdits:
    problem: ReadroomError | None = None
    try:
        if not file.path:
            raise MissingArgument(EDIT, "path")
        read.require_absolute(file.path, root)
        if not file.edits:
            raise MissingArgument(EDIT, "edits")
        for number, edit in enumerate(file.edits):
            if contradictions := edit.contradictions:
                differ = f"edits[{number}]: {', and '.join(contradictions)} differ"
                raise errors.UsageError(differ, 'Send "old_text" and "new_text" only.')
    except ReadroomError as error:
        problem = error
    return changes.FileEdits(file.path, tuple(edit.edit() for edit in file.edits), problem)


# -----------------------------------------------------------------------------
# The words of refusals.
# -----------------------------------------------------------------------------

_NAMED = 5
"""Lines that a hint names."""

_HINTS = 3
"""Miscounted characters that a refusal names."""


def _lacks(call: object, error: MissingArgument) -> str:
    return '"path" is required' if error.facts["argument"] == "path" else "must specify at least one edit"


_EITHER: Sentences = {
    errors.MissingArgument: _lacks,
    errors.Binary: (
        "edit {call.name}: file is binary, not text ({facts[media_type]}, {facts[size_bytes]} bytes)"
    ),
}

_SEARCH: Sentences = {
    errors.NoMatch: (
        "edit {call.name}: search string not found in file. Verify the search string matches the file "
        "content exactly, including whitespace and indentation"
    ),
    errors.ManyMatches: (
        "edit {call.name}: search string matches {facts[count]} occurrences (expected exactly 1). Include "
        "more surrounding context to make the match unique, or set replace_all to true"
    ),
    errors.BadValue: (
        "edit {call.name}: search string must not be empty; include the text you want to match"
    ),
}


def _not_found(call: Any, error: errors.NoMatch) -> str:
    content = "including whitespace and indentation"
    if error.slip.line_ends:
        content = "including whitespace, indentation, and line endings"
    found = f"old_text not found in file. Verify that old_text matches the file content exactly, {content}"
    return ". ".join((f"edit {call.name}: {found}", *_hints(error.slip)))


def _hints(slip: changes.Slip) -> Iterable[str]:
    for miscount in slip.miscounts[:_HINTS]:
        named = f"{go_quoted(miscount.char)} (U+{ord(miscount.char):04X})"
        there = _first(f"{count} at line {line}" for count, line in miscount.there)
        yield f"Your old_text has {miscount.count} {named}; the file has {there}"
    if len(slip.miscounts) > _HINTS:
        yield f"and {len(slip.miscounts) - _HINTS} more"
    if slip.swapped:
        lines = _first(map(str, slip.swapped))
        yield f'Did you swap "old_text" and "new_text"? Your new_text string appears at line {lines}'


def _first(places: Iterable[str]) -> str:
    """The first places, and how many there are besides."""
    listed = list(places)
    left = len(listed) - _NAMED
    return ", ".join(listed[:_NAMED]) + (f" and {left} more" if left > 0 else "")


_OLD_TEXT: Sentences = {
    errors.NoMatch: _not_found,
    errors.ManyMatches: (
        "edit {call.name}: old_text matches {facts[count]} occurrences (expected exactly 1). Include more "
        "surrounding context to make the match unique, or set replace_all to true"
    ),
    errors.BadValue: "edit {call.name}: old_text must not be empty; include the text you want to match",
}

_OTHER: Sequence[Sentences] = (words.OPEN, words.ANY, {ReadroomError: "edit {call.name}: {error}"})


def _twice(call: object, error: errors.SameFile) -> str:
    also = "" if error.path == error.other else f" aliases {go_quoted(error.other)} (same real file)"
    combine = 'combine edits into a single entry\'s "edits" list'
    return f"duplicate file path {go_quoted(error.path)}{also}: {combine}"


def tables(files: Sequence[FileToEdit]) -> Sequence[Sentences]:
    """The sentences for an edit of these files: each edit is spoken of in its own words."""
    todays = {file.path: [edit.is_todays for edit in file.edits] for file in files}

    def worded(path: str, error: ReadroomError) -> str:
        own = _OLD_TEXT if _is_todays(error, todays.get(path, ())) else _SEARCH
        return words.words(error, (words.SPENT, _EITHER, own, *_OTHER), path)

    def each(call: object, error: errors.EditsFailed) -> str:
        return "\n".join(worded(path, inner) for path, inner in error.failures)

    missing = "must specify at least one file"
    return ({errors.EditsFailed: each, errors.SameFile: _twice, errors.MissingArgument: missing},)


def _is_todays(error: ReadroomError, edits: Sequence[bool]) -> bool:
    """Whether the edit that failed is one of today."""
    if isinstance(error, errors.NoMatch | errors.ManyMatches):
        return any(edits[error.edit : error.edit + 1])
    if isinstance(error, errors.BadValue):
        number = error.argument.removeprefix("edits[").partition("]")[0]
        return any(edits[int(number) : int(number) + 1]) if number.isdigit() else any(edits)
    return any(edits)


# -----------------------------------------------------------------------------
# The results.
# -----------------------------------------------------------------------------


def diffs(result: Result) -> tuple[dict[str, Fact], dict[str, Fact]]:
    """The diffs of all files with notes on what is left out of them; and the facts."""
    assert isinstance(result, changes.EditFilesResult)
    files: list[Fact] = []
    facts: list[Fact] = []
    for file in result.files:
        diff = file.diff.text
        name = as_given(file.requested)
        head = f"--- {name}\n+++ {name}\n" if diff else ""
        files.append({"path": file.requested, "diff": head + diff})
        facts.append(
            {
                "path": file.path,
                "previous_hash": file.previous_hash,
                "content_hash": file.content_hash,
                "replacements": file.replacements,
                "hunks_left_out": file.diff.left_out,
                "warnings": [{"code": note.code, "detail": note.detail} for note in file.warnings],
            }
        )
    left = sum(file.diff.left_out for file in result.files)
    hunks = "hunk is" if left == 1 else "hunks are"
    notes: list[Fact] = [f"{left} {hunks} left out of the diffs."] if left else []
    for file in result.files:
        told = native_render.warning_parts([note for note in file.warnings if note.code in changes.TOLD])
        notes += [f"{file.requested}: {note}" for note in told]
    return {"files": files, **present(**{NOTES: notes})}, {"files": facts}
