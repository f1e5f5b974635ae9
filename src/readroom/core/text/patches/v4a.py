"""Read V4A patches, the form of Codex: sections for files, hunks without line numbers.

    *** Begin Patch
    *** Update File: PATH          or: Add File, Delete File
    *** Move to: PATH              optional
    @@ LINE                        optional; a line above the hunk, more of them narrow it further
     same line
    -old line
    +new line
    *** End of File                optional; the hunk ends with the file
    *** End Patch

Models wrap it in a here document or a fence, write an empty line for an empty line of context, and headings
of unified diffs: all of these have one meaning and are read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NoReturn

from readroom.core.errors import BadPatch
from readroom.core.text.patches.headings import HEADING
from readroom.core.values.patches import MARKS, FilePatch, PatchHunk, PatchLine

BEGIN: Final = "*** Begin Patch"
END: Final = "*** End Patch"
_END_OF_FILE: Final = "*** End of File"
_MOVE: Final = "*** Move to:"
_SECTION = re.compile(r"\*\*\* (Add|Delete|Update) File:(.*)")

FORM: Final = (
    "Send `*** Begin Patch`, sections of `*** Update File: PATH`, `*** Add File: PATH` or "
    "`*** Delete File: PATH`, and `*** End Patch`."
)


_BEGINS = re.compile(rf"^[ \t]*{re.escape(BEGIN)}[ \t\r]*$", re.MULTILINE)


def begin(text: str) -> int:
    """The index of the line that begins a patch; -1 if there is none."""
    match = _BEGINS.search(text)
    return -1 if match is None else match.start()


def read(text: str) -> list[FilePatch]:
    """The files of a patch, in its order. Raises BadPatch."""
    lines = text.split("\n")
    bare = [line.strip() for line in lines]
    begin = bare.index(BEGIN) if BEGIN in bare else -1
    end = len(bare) - 1 - bare[::-1].index(END) if END in bare else -1
    if begin < 0 or end < begin:
        missing = BEGIN if begin < 0 else END
        raise BadPatch("markers", f"has no line `{missing}`", FORM)
    reader = _SectionReader(lines, begin + 1, end)
    files = reader.files()
    if not files:
        raise BadPatch("empty", "changes no file", FORM)
    return files


def read_hunks(text: str) -> tuple[PatchHunk, ...]:
    """The hunks of one file, as hosted tools send them without the lines around. Raises BadPatch."""
    lines = _inner(text).split("\n")
    return _SectionReader(lines, 0, len(lines)).hunks()


def read_content(text: str) -> str:
    """The content of a new file, of which hosted tools send the lines with their marks. Raises BadPatch."""
    lines = _inner(text).split("\n")
    return _SectionReader(lines, 0, len(lines)).content()


def _inner(text: str) -> str:
    """The text without the line feed that ends its last line."""
    return text.removesuffix("\n").removesuffix("\r")


class _SectionReader:
    """Reads the lines from `at` to `end`."""

    def __init__(self, lines: Sequence[str], at: int, end: int) -> None:
        self._lines = lines
        self._at = at
        self._end = end

    def files(self) -> list[FilePatch]:
        files = []
        while self._at < self._end:
            line = self._line()
            section = _SECTION.fullmatch(line.rstrip())
            if section is None:
                if line.strip():
                    self._fail("is not a line of a section", FORM)
                self._at += 1
                continue
            path = section[2].strip()
            if not path:
                self._fail("names no file", "Write the path after the colon.")
            self._at += 1
            files.append(self._file(section[1], path))
        return files

    def _file(self, action: str, path: str) -> FilePatch:
        if action == "Add":
            return FilePatch(path, "add", content=self.content())
        if action == "Delete":
            return FilePatch(path, "delete")
        destination = None
        if self._at < self._end and self._line().startswith(_MOVE):
            destination = self._line().removeprefix(_MOVE).strip()
            if not destination:
                self._fail("names no file", "Write the new path after the colon.")
            self._at += 1
        section, hunks = self._at, self.hunks()
        if destination is None and not hunks:
            self._at = section - 1
            self._fail("has no hunks", "Send lines that begin with a blank, - or + below it.")
        return FilePatch(path, "update" if destination is None else "move", destination, hunks)

    def content(self) -> str:
        """The lines of a new file."""
        added: list[str] = []
        blank = False
        while self._at < self._end and not self._is_section():
            line = self._line()
            if line.strip() and (blank or not line.startswith("+")) and line.strip() != _END_OF_FILE:
                self._at -= blank
                self._fail("of a new file does not begin with +", "Begin each of its lines with +.")
            blank = not line.strip()
            if line.startswith("+"):
                added.append(f"{line[1:]}\n")
            self._at += 1
        return "".join(added)

    def hunks(self) -> tuple[PatchHunk, ...]:
        """The hunks up to the next section."""
        hunks = []
        while self._at < self._end and not self._is_section():
            hunk = self._hunk()
            if hunk is not None:
                hunks.append(hunk)
        return tuple(hunks)

    def _hunk(self) -> PatchHunk | None:
        anchors, first = self._anchors()
        lines: list[PatchLine] = []
        blank = 0
        while self._at < self._end and not self._is_section() and not self._line().startswith("@@"):
            line = self._line()
            if line.strip() == _END_OF_FILE:
                self._at += 1
                return PatchHunk(tuple(lines), first, anchors, at_end=True) if lines else None
            if line and line[0] not in MARKS:
                self._fail(
                    "begins with neither a blank, - nor +", "Begin each line of a hunk with one of them."
                )
            lines.append(PatchLine(line[:1] or " ", line[1:], None))
            blank = 0 if line else blank + 1
            self._at += 1
        if blank:
            # Empty lines without a mark in front of a section or at the end only set it apart.
            del lines[len(lines) - blank :]
        return PatchHunk(tuple(lines), first, anchors) if lines else None

    def _anchors(self) -> tuple[tuple[str, ...], int | None]:
        anchors, first = [], None
        while self._at < self._end and self._line().startswith("@@"):
            line = self._line()
            numbers = HEADING.match(line)
            if numbers is not None:
                first = int(numbers["old"])
            elif line[2:].strip(" @"):
                anchors.append(line[2:].removeprefix(" "))
            self._at += 1
        return tuple(anchors), first

    def _line(self) -> str:
        return self._lines[self._at].removesuffix("\r")

    def _is_section(self) -> bool:
        line = self._line()
        return line.startswith("*** ") and line.strip() != _END_OF_FILE

    def _fail(self, problem: str, advice: str) -> NoReturn:
        raise BadPatch("line", f"cannot be read: line {self._at + 1} {problem}", advice, line=self._at + 1)
