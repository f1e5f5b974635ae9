"""Values of patches: what a unified diff or a V4A patch says about each file.  No I/O here.

Both forms are read into these (`text.patches`), and a batch of edits applies them (`engine.edit.batch`).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

Action: TypeAlias = Literal["add", "delete", "update", "move", "copy"]
"""What becomes of a file; a move and a copy may change it as well."""

MARKS = " -+"
"""The marks of lines: in both states, only in the old one, only in the new one."""


class PatchLine(Struct, frozen=True):
    """A line of a hunk without its mark; `end` is its line end, "" if the last line of the file has none.

    In a V4A patch lines have no ends: `end` is None.
    """

    mark: str
    text: str
    end: str | None = "\n"


class PatchHunk(Struct, frozen=True):
    """Lines to be found in a file, and what they become.

    Attributes:
        lines: Its lines, in order.
        first: The number of its first old line, from 1, as its heading says; None if that names none. If it
            has no old lines, that of the line after which its new ones stand, 0 for the beginning.
        anchors: Lines after the last of which it stands, each within the part that the one before begins.
        at_end: It stands at the end of the file.
    """

    lines: tuple[PatchLine, ...]
    first: int | None = None
    anchors: tuple[str, ...] = ()
    at_end: bool = False

    @property
    def old(self) -> list[PatchLine]:
        """Its lines in the old state."""
        return [line for line in self.lines if line.mark != "+"]

    @property
    def new(self) -> list[PatchLine]:
        """Its lines in the new state."""
        return [line for line in self.lines if line.mark != "-"]


class Fitting(Struct, frozen=True):
    """How much the lines of a hunk may differ from those of the file.

    Attributes:
        steps: How many of these ways are tried, in this order: each line equal; equal but for white space
            at its end; but for white space at both ends; and but for typographic quotes, dashes and spaces.
            The first way in which a hunk fits decides, and in that it must fit at one place only.
        adds_at_end: A hunk of new lines alone is put at the end of the file; otherwise it is refused.
        adds_at_line: One that names a line is put after that.
    """

    steps: int = 1
    adds_at_end: bool = False
    adds_at_line: bool = False


EXACT = Fitting()
"""Each line is equal; only kinds of line ends may differ."""

LENIENT = Fitting(steps=4, adds_at_end=True)
"""The ways of Codex and its likes."""


AT_LINE = Fitting(adds_at_line=True)
"""For an insertion, of which the caller says the line."""


class FilePatch(Struct, frozen=True):
    """What a patch says about one file.

    Attributes:
        path: The file; that of a move or a copy is where its content comes from.
        action: What becomes of it.
        destination: The new name of a move or a copy.
        hunks: The changes of its content.
        content: The content of an added file, in full.
        fitting: How much the lines may differ.
        overwrites: Whether an added or moved file may replace one that is there.
        unsupported: What the patch asks for that is never done, in words; "" if all of it can be.
        problem: Why its path cannot be used at all.
        raw: The patch came as bytes, which are those of the file, whatever its encoding.
    """

    path: str
    action: Action = "update"
    destination: str | None = None
    hunks: tuple[PatchHunk, ...] = ()
    content: str | None = None
    fitting: Fitting = EXACT
    overwrites: bool = False
    unsupported: str = ""
    problem: Exception | None = None
    raw: bool = False
