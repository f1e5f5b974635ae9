"""Values of changes to files: requests, results and diffs.

Texts are characters; which bytes they become is the file's encoding and the line
ends at the place.  Lines are 1-based.  No I/O here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from readroom.core.limits import DIFF_CONTEXT, DIFF_LINE_CHARS
from readroom.core.values.files import EntryKind, LineEnds, Warn
from readroom.core.values.patches import Action, FilePatch


class DiffStyle(Struct, frozen=True):
    """Unchanged lines around a change, and characters of a line that are shown."""

    context: int = DIFF_CONTEXT
    line_chars: int = DIFF_LINE_CHARS


NATIVE_DIFF = DiffStyle()

ABSENT: Final = "absent"
"""The `expected_hash` of a file that does not exist yet."""


TOLD: Final = frozenset({"no_longer_parses", "cut_off", "placeholder", "shrunk"})
"""Codes of warnings about what a change may have broken."""

CELL: Final = 'Notebooks: 3; "after 3 markdown" inserts; "delete 3"; "move 3 after 5"; ... "keep outputs"'
"""How `cell` is used, by an example of each."""

Insert: TypeAlias = Literal["before", "after", "end"]


class Edit(Struct, frozen=True):
    """One replacement: `old_text` occurs exactly once in the file, or at least once with `replace_all`.

    With a `count` it must occur exactly that often.

    Attributes:
        old_text: What is replaced; empty if the place is named otherwise.
        new_text: What replaces it.
        replace_all: Every occurrence is meant.
        count: How many there must be.
        cell: The cell of a notebook that it is in, or that is changed whole (`text.edits.cell_forms`).
        lines: The first and last line that are replaced instead, whole.
        symbol: The definition whose lines are replaced instead, with its comments and decorators.
        insert: The text is inserted before or after that place, which stays, or at the end of the file.
        number: The position of the edit in the call, for sentences; None for that among those of its file.
    """

    old_text: str
    new_text: str
    replace_all: bool = False
    count: int | None = None
    cell: str | None = None
    lines: tuple[int, int] | None = None
    symbol: str | None = None
    insert: Insert | None = None
    number: int | None = None

    @property
    def is_placed(self) -> bool:
        """Whether its place is known without searching for a text."""
        return self.lines is not None or self.symbol is not None or self.insert == "end"


class Fit(Struct, frozen=True):
    """The text of a file that an old text means although it does not occur.

    Attributes:
        text: The first of the texts that fit, with line feeds as line ends.
        lines: Where the places that fit begin, from 1; more than one if it is not certain which is meant.
        how: In what the two texts are alike, in words.
        larger: Whether it is so much larger than the old text that it must be a mistake.
    """

    text: str
    lines: Sequence[int]
    how: str
    larger: bool = False


Lenient: TypeAlias = Callable[[str, str, Callable[[], None]], Fit | None]
"""A contract's way to find what an old text means in a text; the function is called often and may raise."""


class EditRequest(Struct, frozen=True):
    """Replacements in the state of a file that `expected_hash` names, made together or not at all.

    None accepts any state, for contracts without hashes.  A file that would exceed `most_bytes` is refused.
    With `lone_cr`, lines of a file without a line feed end at each CR, and so do those of the texts.
    `lenient` finds the old text of an edit that occurs nowhere and is not for every place.
    `by_cells`, a notebook is changed as its cells are read, unless an `encoding` is given; otherwise as the
    JSON that is stored.
    """

    path: str
    expected_hash: str | None
    edits: tuple[Edit, ...]
    dry_run: bool = False
    encoding: str | None = None
    most_bytes: int | None = None
    diff: DiffStyle = NATIVE_DIFF
    lone_cr: bool = False
    lenient: Lenient | None = None
    by_cells: bool = False


class WriteRequest(Struct, frozen=True):
    """A new content for one whole file; `expected_hash` is ABSENT for a file that must not exist yet.

    None is for contracts without hashes: an existing file, if any, is replaced.  `data` is written as it is
    instead of a content.  `numbered` gives other names of a new file, by number from 2 on, where the first
    are taken; then no folder above it may be a link.
    """

    path: str
    content: str
    expected_hash: str | None
    encoding: str | None = None
    data: bytes | None = None
    numbered: Callable[[int], str] | None = None


class Hunk(Struct, frozen=True):
    """Lines that differ, with some context.

    Each line starts with a mark: " " in both, "-" only before, "+" only after, a backslash for a remark
    about the line above.  As in a unified diff, a count of 0 lines starts at the line before.  The `section`
    says which part of a document has these lines.
    """

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: Sequence[str]
    section: str = ""

    @property
    def heading(self) -> str:
        """The line above a hunk, as `diff -u` prints it: where there is one line, its number is enough."""
        places = f"@@ -{_place(self.old_start, self.old_count)} +{_place(self.new_start, self.new_count)} @@"
        return f"{places} {self.section}" if self.section else places


def _place(first: int, count: int) -> str:
    return str(first) if count == 1 else f"{first},{count}"


class Diff(Struct, frozen=True):
    """The differences between two states of a text, as far as there was room.

    `left_out` hunks are not in `hunks`; they concern the lines `left_first` to `left_last` of the new text.
    """

    hunks: Sequence[Hunk] = ()
    left_out: int = 0
    left_first: int = 0
    left_last: int = 0

    @property
    def text(self) -> str:
        """The hunks as in a unified diff, without the two lines that name the files."""
        return "".join(f"{line}\n" for hunk in self.hunks for line in (hunk.heading, *hunk.lines))


class ChangedCells(Struct, frozen=True):
    """The first and the last changed cell of a notebook, by their numbers after the change, and their count.

    Where cells were only deleted, both are the number of the first.
    """

    first: int
    last: int
    total: int


class EditResult(Struct, frozen=True):
    """The effect of an edit, or its effect in a dry run.

    `content_hash` is the hash of the new state, None in a dry run; size, lines and the changed span are
    those of the new state in both cases.  If the end of a file was removed, `first_line` is where it began,
    and `last_line` is the new last line.  `matched` says how an old text was found that does not occur.
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
    matched: str = ""
    cells: ChangedCells | None = None


class WriteResult(Struct, frozen=True):
    """The result of a write.

    `previous_hash` is None for a new file, and `previous_lines` for one and for a file that was not text;
    `folders` are those that were created for it.
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
    previous_lines: int | None = None


# -----------------------------------------------------------------------------
# The values of one call that edits several files: all of them or none. No I/O here.
# -----------------------------------------------------------------------------


class FileEdits(Struct, frozen=True):
    """Replacements in one file, each applied to the result of the previous ones.

    An old text that does not occur exactly may match approximately, see `text.edits.lenient`.  `problem` says
    why the path cannot be used at all; it is reported together with the problems of the other files.
    """

    path: str
    edits: tuple[Edit, ...]
    problem: Exception | None = None


class Miscount(Struct, frozen=True):
    """One line of an old text that has a character more or less often than lines of the file, which equal it
    otherwise.

    `there` has for each of these lines how often the character is in it, and its number.
    """

    char: str
    count: int
    there: Sequence[tuple[int, int]]


class Slip(Struct, frozen=True):
    """Why an old text does not occur, as far as that is certain.

    Attributes:
        line_ends: Old and new text have different line ends, and those of the old one are not in the file.
        miscounts: Its lines that have one character too often or too rarely.
        swapped: Lines at which the new text begins, which is in the file instead.
    """

    line_ends: bool = False
    miscounts: Sequence[Miscount] = ()
    swapped: Sequence[int] = ()


class EditFilesRequest(Struct, frozen=True):
    """Changes of several files, which are all below `path`; those of a patch may name a file repeatedly."""

    files: tuple[FileEdits | FilePatch, ...]
    dry_run: bool = False
    path: str = "."
    diff: DiffStyle = NATIVE_DIFF


class FileEdited(Struct, frozen=True):
    """The outcome for one file; `requested` is its path as the caller wrote it.

    That of a move or a copy is where it came from; `path` is where it is now.  A new file has no previous
    hash, and a deleted one no hash and no size.  New and deleted files have no diff.
    """

    requested: str
    path: str
    previous_hash: str | None
    content_hash: str | None
    size_bytes: int
    replacements: int
    diff: Diff
    warnings: Sequence[Warn] = ()
    action: Action = "update"


class EditFilesResult(Struct, frozen=True):
    """The results of all of them, in the order they were asked for."""

    files: Sequence[FileEdited]
    dry_run: bool = False


# -----------------------------------------------------------------------------
# Requests and results for stat, delete and move.
#
# A link is treated as itself: deleting or moving it does not touch its target.
# No I/O here.
# -----------------------------------------------------------------------------


class StatRequest(Struct, frozen=True):
    """Facts about a name without reading it."""

    path: str


class DeleteRequest(Struct, frozen=True):
    """The removal of a file, a link or a folder.

    `recursive` allows removing a folder with its content.  With `expected_hash` a file must be in the state
    of that hash.  Among the changes of one call a file needs a hash, and a folder that is not empty needs
    `entries`, the number of names in it at any depth.
    """

    path: str
    recursive: bool = False
    expected_hash: str | None = None
    entries: int | None = None


class MakeFolderRequest(Struct, frozen=True):
    """A folder, with those above it; one that exists stays as it is."""

    path: str


class MoveRequest(Struct, frozen=True):
    """A new name for a file, a link or a folder; with `overwrite` a file may replace a file.

    `destination` is the complete new name, not the folder to move into.  For `expected_hash` and `entries`
    see DeleteRequest.
    """

    path: str
    destination: str
    overwrite: bool = False
    expected_hash: str | None = None
    entries: int | None = None


class CopyRequest(Struct, frozen=True):
    """A copy of a file, or of a folder with everything in it, under a name that is free.

    For `expected_hash` and `entries` see DeleteRequest.
    """

    path: str
    destination: str
    expected_hash: str | None = None
    entries: int | None = None


class TrashRequest(Struct, frozen=True):
    """A move below the workspace's folder of things thrown away."""

    path: str


NameRequest: TypeAlias = StatRequest | DeleteRequest | MakeFolderRequest | MoveRequest | TrashRequest


class StatResult(Struct, frozen=True):
    """Facts about a name, also that it does not exist.

    A link is described by its target, if that may be seen, and `target` is the real name; any other link is
    described as itself, with kind LINK.  Times are nanoseconds since the epoch, None if the store does not
    know them.  `read_only` means that the mode lets no user write.
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
    """The removed entry: `entries` names, those in a folder included."""

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
    """The entry with a new name. `replaced`: a file gave up its place; `folders` were made for it."""

    path: str
    destination: str
    kind: EntryKind = EntryKind.FILE
    replaced: bool = False
    folders: Sequence[str] = ()
    warnings: Sequence[Warn] = ()


class CopyResult(Struct, frozen=True):
    """The copied entry: `entries` names, those in a folder included; `folders` were made for it."""

    path: str
    destination: str
    kind: EntryKind = EntryKind.FILE
    entries: int = 1
    folders: Sequence[str] = ()
    warnings: Sequence[Warn] = ()


class TrashResult(Struct, frozen=True):
    """The entry that was thrown away, and the name under which it can be found and moved back."""

    path: str
    trashed_to: str
    kind: EntryKind = EntryKind.FILE
    warnings: Sequence[Warn] = ()


NameResult: TypeAlias = StatResult | DeleteResult | FolderResult | MoveResult | TrashResult


# -----------------------------------------------------------------------------
# Changes of several files in one call: all of them or none.
# -----------------------------------------------------------------------------

FileChange: TypeAlias = (
    EditRequest | WriteRequest | DeleteRequest | MoveRequest | CopyRequest | MakeFolderRequest
)
FileResult: TypeAlias = EditResult | WriteResult | DeleteResult | MoveResult | CopyResult | FolderResult


class ChangesRequest(Struct, frozen=True):
    """Changes that are made together, each of other names, all below `path`."""

    changes: tuple[FileChange, ...]
    dry_run: bool = False
    path: str = "."


class ChangesResult(Struct, frozen=True):
    """The results of all of them, in the order they were asked for."""

    results: Sequence[FileResult]
    dry_run: bool = False
    warnings: Sequence[Warn] = ()
