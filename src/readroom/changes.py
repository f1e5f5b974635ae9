"""The values of a change to a file: what is asked for, what came of it, and how it differs.

Texts are characters; which bytes they become is the file's encoding and the line
ends at the place.  Lines are 1-based.  No I/O here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from readroom.limits import DIFF_CONTEXT, DIFF_LINE_CHARS
from readroom.notes import LineEnds, Warn


@dataclass(frozen=True, slots=True)
class DiffStyle:
    """Unchanged lines around a change, and characters of a line that are shown."""

    context: int = DIFF_CONTEXT
    line_chars: int = DIFF_LINE_CHARS


NATIVE_DIFF = DiffStyle()

ABSENT: Final = "absent"
"""The `expected_hash` of a file that is not there yet."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement: `old_text` stands exactly once in the file, or at least once with `replace_all`.

    With a `count` it has to be replaced exactly so often.
    """

    old_text: str
    new_text: str
    replace_all: bool = False
    count: int | None = None


@dataclass(frozen=True, slots=True)
class EditRequest:
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


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """A whole new content for one file; `expected_hash` is ABSENT for a file that must not exist yet.

    None is for contracts that have no hashes: whatever is there, or nothing, is replaced.
    `data` is written as it is instead of a content.
    """

    path: str
    content: str
    expected_hash: str | None
    encoding: str | None = None
    data: bytes | None = None


@dataclass(frozen=True, slots=True)
class Hunk:
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
        """The line above a hunk in a unified diff."""
        return f"@@ -{self.old_start},{self.old_count} +{self.new_start},{self.new_count} @@"


@dataclass(frozen=True, slots=True)
class Diff:
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


@dataclass(frozen=True, slots=True)
class EditResult:
    """What an edit did, or in a dry run would do.

    `content_hash` is that of the new state and None in a dry run; size, lines
    and the changed span are those of the new state in both.
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


@dataclass(frozen=True, slots=True)
class WriteResult:
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
