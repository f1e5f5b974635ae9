"""Values of changes to files: requests, results and diffs.

Texts are characters; which bytes they become is the file's encoding and the line
ends at the place.  Lines are 1-based.  No I/O here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from readroom.limits import DIFF_CONTEXT, DIFF_LINE_CHARS
from readroom.values.files import EntryKind, LineEnds, Warn


class DiffStyle(Struct, frozen=True):
    """Unchanged lines around a change, and characters of a line that are shown."""

    context: int = DIFF_CONTEXT
    line_chars: int = DIFF_LINE_CHARS


NATIVE_DIFF = DiffStyle()

ABSENT: Final = "absent"
"""The `expected_hash` of a file that does not exist yet."""


class Edit(Struct, frozen=True):
    """One replacement: `old_text` stands exactly once in the file, or at least once with `replace_all`.

    With a `count` it has to be replaced exactly so often.
    """

    old_text: str
    new_text: str
    replace_all: bool = False
    count: int | None = None


class EditRequest(Struct, frozen=True):
    """Replacements in the state of a file that `expected_hash` names, made together or not at all.

    None names whatever state it is in, for contracts that have no hashes.  A file that would
    have more than `most_bytes` is refused.  With `lone_cr`, lines of a file without a line feed
    end at each CR, and so do those of the texts.
    """

    path: str
    expected_hash: str | None
    edits: tuple[Edit, ...]
    dry_run: bool = False
    encoding: str | None = None
    most_bytes: int | None = None
    diff: DiffStyle = NATIVE_DIFF
    lone_cr: bool = False


class WriteRequest(Struct, frozen=True):
    """A whole new content for one file; `expected_hash` is ABSENT for a file that must not exist yet.

    None is for contracts that have no hashes: whatever is there, or nothing, is replaced.
    `data` is written as it is instead of a content.
    """

    path: str
    content: str
    expected_hash: str | None
    encoding: str | None = None
    data: bytes | None = None


class Hunk(Struct, frozen=True):
    """Lines that differ, with some around them.

    Each line starts with its mark: " " in both, "-" before only, "+" after only,
    a backslash for a remark about the line above.  A count of 0 lines starts, as in
    a unified diff, at the line before.
    """

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: Sequence[str]

    @property
    def heading(self) -> str:
        """The line above a hunk, as `diff -u` prints it: where there is one line, its number is enough."""
        return f"@@ -{_place(self.old_start, self.old_count)} +{_place(self.new_start, self.new_count)} @@"


def _place(first: int, count: int) -> str:
    return str(first) if count == 1 else f"{first},{count}"


class Diff(Struct, frozen=True):
    """How two states of a text differ, as far as there was room.

    `left_out` hunks are not in `hunks`; they touch the lines `left_first` to
    `left_last` of the new text.
    """

    hunks: Sequence[Hunk] = ()
    left_out: int = 0
    left_first: int = 0
    left_last: int = 0

    @property
    def text(self) -> str:
        """The hunks as in a unified diff, without the two lines that name the files."""
        return "".join(f"{line}\n" for hunk in self.hunks for line in (hunk.heading, *hunk.lines))


class EditResult(Struct, frozen=True):
    """What an edit did, or in a dry run would do.

    `content_hash` is that of the new state and None in a dry run; size, lines
    and the changed span are those of the new state in both.  Where the end of a
    file went, `first_line` is where that began, and `last_line` the last there is.
    """

    path: str
    previous_hash: str
    content_hash: str | None
    size_bytes: int
    total_lines: int
    edits: int
    replacements: int
    first_line: int
    last_line: int
    encoding: str
    bom: bool
    diff: Diff
    dry_run: bool = False
    warnings: Sequence[Warn] = ()


class WriteResult(Struct, frozen=True):
    """What a write did.

    `previous_hash` is None for a file that was created; `folders` are those made for it.
    """

    path: str
    previous_hash: str | None
    content_hash: str
    size_bytes: int
    total_lines: int
    encoding: str
    bom: bool
    ends: LineEnds
    folders: Sequence[str] = ()
    warnings: Sequence[Warn] = ()


# -----------------------------------------------------------------------------
# The values of one call that edits several files: all of them or none. No I/O here.
# -----------------------------------------------------------------------------


class FileEdits(Struct, frozen=True):
    """Replacements in one file, each made in what the ones before it left.

    An old text that is not there exactly may be there nearly, see `text.nearly`.  `problem` is why
    the file cannot be meant at all; it is reported together with those of the others.
    """

    path: str
    edits: tuple[Edit, ...]
    problem: Exception | None = None


class EditFilesRequest(Struct, frozen=True):
    """Replacements in several files, which are all below `path`."""

    files: tuple[FileEdits, ...]
    dry_run: bool = False
    path: str = "."


class FileEdited(Struct, frozen=True):
    """What became of one file; `requested` is its path as the caller wrote it."""

    requested: str
    path: str
    previous_hash: str
    content_hash: str
    size_bytes: int
    replacements: int
    diff: Diff
    warnings: Sequence[Warn] = ()


class EditFilesResult(Struct, frozen=True):
    """What became of all of them, in the order they were asked for."""

    files: Sequence[FileEdited]
    dry_run: bool = False


# -----------------------------------------------------------------------------
# Requests and results for stat, delete and move.
#
# A link is treated as itself: deleting or moving it does not touch its target.
# No I/O here.
# -----------------------------------------------------------------------------


class StatRequest(Struct, frozen=True):
    """What is known of a name without reading it."""

    path: str


class DeleteRequest(Struct, frozen=True):
    """The removal of a file, a link or a folder.

    `recursive` lets a folder go with all that is in it.  With `expected_hash` a file has to be
    in the state of that hash.
    """

    path: str
    recursive: bool = False
    expected_hash: str | None = None


class MakeFolderRequest(Struct, frozen=True):
    """A folder, with those above it; one that exists stays as it is."""

    path: str


class MoveRequest(Struct, frozen=True):
    """Another name for a file, a link or a folder; `overwrite` lets a file take the place of a file.

    `destination` is the whole new name, never the folder to move into.
    """

    path: str
    destination: str
    overwrite: bool = False


class TrashRequest(Struct, frozen=True):
    """A move below the workspace's folder of things thrown away."""

    path: str


NameRequest: TypeAlias = StatRequest | DeleteRequest | MakeFolderRequest | MoveRequest | TrashRequest


class StatResult(Struct, frozen=True):
    """What is known of a name; of one that nothing has, that it is not there.

    Of a link it is what the link leads to, when that may be seen, and `target` is its real name;
    of any other link the link itself, of kind LINK.  Times are nanoseconds since the epoch,
    None where the store does not know them.  `read_only` says that the mode lets no user write.
    """

    path: str
    exists: bool
    kind: EntryKind | None = None
    size_bytes: int = 0
    mtime_ns: int | None = None
    changed_ns: int | None = None
    created_ns: int | None = None
    mode: int | None = None
    read_only: bool = False
    target: str | None = None
    warnings: Sequence[Warn] = ()


class DeleteResult(Struct, frozen=True):
    """What was removed: `entries` names, those in a folder included."""

    path: str
    kind: EntryKind = EntryKind.FILE
    entries: int = 1
    warnings: Sequence[Warn] = ()


class FolderResult(Struct, frozen=True):
    """A folder that is there. `folders` are those that were made; `created` is false when it was there."""

    path: str
    created: bool = True
    folders: Sequence[str] = ()
    warnings: Sequence[Warn] = ()


class MoveResult(Struct, frozen=True):
    """What has a new name. `replaced` says that a file gave up its place; `folders` were made for it."""

    path: str
    destination: str
    kind: EntryKind = EntryKind.FILE
    replaced: bool = False
    folders: Sequence[str] = ()
    warnings: Sequence[Warn] = ()


class TrashResult(Struct, frozen=True):
    """What was thrown away, and the name under which it can be found and moved back."""

    path: str
    trashed_to: str
    kind: EntryKind = EntryKind.FILE
    warnings: Sequence[Warn] = ()


NameResult: TypeAlias = StatResult | DeleteResult | FolderResult | MoveResult | TrashResult
