"""Read unified diffs, of git and plain ones.

Text around the diffs is passed over: a message, a summary, a signature.  A hunk ends where the
numbers of lines in its heading say.  Models miscount, so where other lines of the hunk follow, or a heading
comes before, what is there counts; only at the end of a patch fewer lines than its heading says are refused,
since the patch may have been cut there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.errors import BadPatch
from readroom.core.text.patches.headings import HEADING
from readroom.core.text.patches.names import ABSENT, of_git, of_header, stripped
from readroom.core.values.patches import MARKS, Action, FilePatch, PatchHunk, PatchLine

FORM: Final = (
    "Send a diff as `diff -u` or `git diff` writes it: `--- a/PATH`, `+++ b/PATH`, `@@ -1,3 +1,4 @@`."
)

_LINK, _SUBMODULE = "120000", "160000"
_FILE_MODES: Final = ("100644", "100664")
_NO_NEWLINE: Final = "\\ "
_SIGNATURE: Final = "-- "
_BINARY = re.compile(r"Binary files (.+) and (.+) differ\r?")


def read(text: str) -> list[FilePatch]:
    """The files of a diff, in its order. Raises BadPatch."""
    files = _DiffReader(_lines(text)).files()
    if not files:
        raise BadPatch("empty", "changes no file", FORM)
    return files


def start(text: str) -> int:
    """The index of the first line that only a unified diff has; -1 if there is none."""
    match = _STARTS.search(text)
    return -1 if match is None else match.start()


_STARTS = re.compile(r"^(?:diff --git |--- .*\n\+\+\+ |@@ -\d|Binary files .* differ\r?$)", re.MULTILINE)


def _lines(text: str) -> list[str]:
    """The lines of a diff; those of a diff that came with CR LF line ends without their CR."""
    lines = text.split("\n")
    headings = [line for line in lines if HEADING.match(line) or line.startswith(("diff --git ", "--- "))]
    if headings and all(line.endswith("\r") for line in headings):
        return [line.removesuffix("\r") for line in lines]
    return lines


class _Header(Struct):
    """The facts in the lines above the hunks of a file say."""

    old: str | None = None
    new: str | None = None
    moved_from: str | None = None
    moved_to: str | None = None
    copies: bool = False
    created: bool = False
    deleted: bool = False
    unsupported: str = ""

    def refuse(self, what: str) -> None:
        """Note the first thing that is never done."""
        self.unsupported = self.unsupported or what


class _DiffReader:
    """Reads a diff, line by line."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._at = 0
        # A message above the diffs of git may quote lines of others.
        self._of_git_only = any(line.startswith("diff --git ") for line in lines)

    def files(self) -> list[FilePatch]:
        files = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.startswith("diff --git "):
                files.append(self._of_git())
            elif self._is_plain() and (self._has_hunk() or not self._of_git_only):
                header = _Header()
                self._names(header)
                files.append(self._file(header))
            elif binary := _BINARY.fullmatch(line):
                old, new = stripped(binary[1], binary[2])
                files.append(FilePatch(new or old or ABSENT, unsupported="binary content"))
                self._at += 1
            elif HEADING.match(line):
                self._fail("is a hunk of no file", "Write `--- a/PATH` and `+++ b/PATH` above it.")
            else:
                self._at += 1
        return files

    def _is_plain(self) -> bool:
        """Whether two lines with the names of a file begin here."""
        if not self._lines[self._at].startswith("--- ") or self._at + 1 == len(self._lines):
            return False
        return self._lines[self._at + 1].startswith("+++ ")

    def _has_hunk(self) -> bool:
        return self._at + 2 < len(self._lines) and self._lines[self._at + 2].startswith("@@")

    # --- the lines above the hunks --------------------------------------------------------------

    def _of_git(self) -> FilePatch:
        header = _Header()
        both = of_git(self._lines[self._at].removeprefix("diff --git "))
        if both is not None:
            header.old = header.new = both
        self._at += 1
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if self._is_plain():
                self._names(header)
                break
            rule = next((rule for rule in _EXTENDED if line.startswith(rule)), None)
            if rule is None:
                break
            _EXTENDED[rule](header, line.removeprefix(rule))
            self._at += 1
        if header.unsupported.startswith("binary"):
            self._skip_binary()
        return self._file(header)

    def _skip_binary(self) -> None:
        while self._at < len(self._lines) and not self._lines[self._at].startswith("diff --git "):
            self._at += 1

    def _names(self, header: _Header) -> None:
        old = of_header(self._lines[self._at].removeprefix("--- "))
        new = of_header(self._lines[self._at + 1].removeprefix("+++ "))
        header.old, header.new = stripped(old, new)
        if old == new == ABSENT:
            self._fail("names no file", "Write its path in one of the two lines.")
        header.created = header.created or old == ABSENT
        header.deleted = header.deleted or new == ABSENT
        self._at += 2

    def _file(self, header: _Header) -> FilePatch:
        start = self._at
        path = header.moved_from or (header.new if header.created else header.old)
        if path is None:
            self._at = max(0, start - 1)
            self._fail("names no file", "Write `--- a/PATH` and `+++ b/PATH` above its hunks.")
        if not header.created and not header.deleted and header.moved_from is None and header.new:
            path = header.new  # a plain diff may name a copy as the old file
        hunks = tuple(self._hunks(path))
        made = FilePatch(path, _action(header), header.moved_to, hunks, unsupported=header.unsupported)
        if made.action == "update" and not hunks and not header.unsupported:
            self._at = max(0, start - 1)
            self._fail(f"is followed by no hunk for {path}", "Write a line `@@ -1,3 +1,4 @@` and the lines.")
        if not header.created:
            return made
        if any(line.mark != "+" for hunk in hunks for line in hunk.lines):
            self._at = start
            self._fail(f"begins a new file {path} with lines that it had before", "Begin each with +.")
        return replace(made, content=_content(hunks), hunks=())

    # --- hunks --------------------------------------------------------------------------------------

    def _hunks(self, path: str) -> list[PatchHunk]:
        hunks: list[PatchHunk] = []
        while self._at < len(self._lines):
            if not self._lines[self._at].startswith("@@"):
                break
            heading = HEADING.match(self._lines[self._at])
            self._at += 1
            if heading is None:  # models that do not know the numbers leave them out
                hunks.append(PatchHunk(tuple(self._uncounted())))
                continue
            counts = int(heading["old_count"] or 1), int(heading["new_count"] or 1)
            lines = self._hunk(path, len(hunks) + 1, *counts)
            old = [line for line in lines if line.mark != "+"]
            first = int(heading["old"])
            # Counts that do not fit make a heading of 0 lines a claim about nothing.
            hunks.append(PatchHunk(tuple(lines), None if old and not first else first))
        return hunks

    def _hunk(self, path: str, number: int, old: int, new: int) -> list[PatchLine]:
        """The lines of a hunk whose heading says so many old and new lines."""
        start = self._at
        lines = self._counted(old, new)
        if lines is None:
            self._at = start
            lines = self._uncounted()
            if self._is_cut(lines, old, new):
                self._fail_cut(path, number, start, lines)
        return lines

    def _counted(self, old: int, new: int) -> list[PatchLine] | None:
        """The lines if they are as many as the heading says; else None."""
        lines: list[PatchLine] = []
        while old > 0 or new > 0:
            if self._at == len(self._lines):
                return None
            line = self._line()
            if line is None or (not self._lines[self._at] and self._at + 1 == len(self._lines)):
                return None
            old -= line.mark != "+"
            new -= line.mark != "-"
            lines.append(line)
            self._at += 1
            self._without_newline(lines)
        following = self._lines[self._at : self._at + 1]
        if old or new or (following and _continues(following[0]) and not self._is_plain()):
            return None
        return lines

    def _uncounted(self) -> list[PatchLine]:
        """The lines up to something that is none of a hunk."""
        lines: list[PatchLine] = []
        while self._at < len(self._lines):
            line = self._line()
            if line is None or self._is_plain() or self._lines[self._at] == _SIGNATURE:
                break
            lines.append(line)
            self._at += 1
            self._without_newline(lines)
        # Empty lines at the end are none of the hunk: they set it apart.
        while lines and lines[-1] == PatchLine(" ", "") and not self._lines[self._at - 1]:
            lines.pop()
            self._at -= 1
        return lines

    def _line(self) -> PatchLine | None:
        """The line here, if it can be one of a hunk."""
        line = self._lines[self._at]
        mark = line[:1] or " "  # mailers and models drop the blank of an empty line
        if mark not in MARKS:
            return None
        text = line[1:]
        if text.endswith("\r"):
            return PatchLine(mark, text[:-1], "\r\n")
        return PatchLine(mark, text)

    def _without_newline(self, lines: list[PatchLine]) -> None:
        """Take in the remark that the line above has no line end."""
        if self._at < len(self._lines) and self._lines[self._at].startswith(_NO_NEWLINE) and lines:
            last = lines[-1]
            text = f"{last.text}\r" if last.end == "\r\n" else last.text
            lines[-1] = replace(last, text=text, end="")
            self._at += 1

    def _is_cut(self, lines: Sequence[PatchLine], old: int, new: int) -> bool:
        """Whether the patch ends before the hunk does."""
        if any(self._lines[self._at :]):
            return False
        had = _counts(lines)
        return had[0] < old or had[1] < new

    def _fail_cut(self, path: str, number: int, start: int, lines: Sequence[PatchLine]) -> NoReturn:
        old, new = _counts(lines)
        heading = HEADING.match(self._lines[start - 1])
        assert heading is not None
        right = f"@@ -{heading['old']},{old} +{heading['new']},{new} @@"
        raise BadPatch(
            "cut",
            f"ends inside hunk {number} of {path}: its heading says more lines than there are",
            f"Send the rest as well; if nothing is missing, the heading is `{right}`.",
            line=start,
        )

    def _fail(self, problem: str, advice: str) -> NoReturn:
        raise BadPatch("line", f"cannot be read: line {self._at + 1} {problem}", advice, line=self._at + 1)


def _counts(lines: Sequence[PatchLine]) -> tuple[int, int]:
    return sum(line.mark != "+" for line in lines), sum(line.mark != "-" for line in lines)


def _continues(line: str) -> bool:
    """Whether a line looks like one of a hunk; not the signature of a mail."""
    return line != "" and line[0] in MARKS and line != _SIGNATURE


def _action(header: _Header) -> Action:
    if header.moved_from is not None and header.moved_to is not None:
        return "copy" if header.copies else "move"
    return "add" if header.created else "delete" if header.deleted else "update"


def _content(hunks: Sequence[PatchHunk]) -> str:
    return "".join(f"{line.text}{line.end}" for hunk in hunks for line in hunk.new)


# --- the extended lines of git --------------------------------------------------------------------


def _made(header: _Header, mode: str) -> None:
    header.created = True
    _of_mode(header, mode, "a new file of mode")


def _removed(header: _Header, mode: str) -> None:
    header.deleted = True
    if mode.strip() in (_LINK, _SUBMODULE):
        _of_mode(header, mode, "")


def _of_mode(header: _Header, mode: str, otherwise: str) -> None:
    mode = mode.strip()
    if mode == _LINK:
        header.refuse("a symbolic link")
    elif mode == _SUBMODULE:
        header.refuse("a submodule")
    elif mode not in _FILE_MODES:
        header.refuse(f"{otherwise} {mode}")


def _changed_mode(header: _Header, mode: str) -> None:
    _of_mode(header, mode, "a change of the mode to")
    header.refuse(f"a change of the mode to {mode.strip()}")


def _old_mode(header: _Header, mode: str) -> None:
    if mode.strip() in (_LINK, _SUBMODULE):
        _of_mode(header, mode, "")


def _index(header: _Header, rest: str) -> None:
    mode = rest.rpartition(" ")[2].strip()
    if mode in (_LINK, _SUBMODULE):
        _of_mode(header, mode, "")


def _from(header: _Header, name: str, *, copies: bool) -> None:
    header.moved_from, header.copies = of_header(name), copies


def _to(header: _Header, name: str) -> None:
    header.moved_to = of_header(name)


def _nothing(header: _Header, rest: str) -> None:
    pass


_EXTENDED: dict[str, Callable[[_Header, str], None]] = {
    "old mode ": _old_mode,
    "new mode ": _changed_mode,
    "new file mode ": _made,
    "deleted file mode ": _removed,
    "index ": _index,
    "similarity index ": _nothing,
    "dissimilarity index ": _nothing,
    "rename from ": lambda header, name: _from(header, name, copies=False),
    "rename old ": lambda header, name: _from(header, name, copies=False),
    "rename to ": _to,
    "rename new ": _to,
    "copy from ": lambda header, name: _from(header, name, copies=True),
    "copy to ": _to,
    "GIT binary patch": lambda header, rest: header.refuse("binary content"),
    "Binary files ": lambda header, rest: header.refuse("binary content"),
}
"""The meaning of each of them; after them come the names, or the next file."""
