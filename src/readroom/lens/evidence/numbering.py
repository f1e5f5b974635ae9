"""Lines of files in texts of tools: numbered, with a stated range, grouped by file, or in a diff."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, pairwise

import msgspec


class Run(msgspec.Struct, frozen=True):
    """Consecutive lines of a file as the model saw them; `partial`: the last one was cut inside."""

    file: str
    first: int
    lines: tuple[str, ...]
    partial: bool = False

    @property
    def last(self) -> int:
        """The number of its last line."""
        return self.first + len(self.lines) - 1


_NUMBERED = re.compile(r"^ {0,12}(\d{1,9})(\t|→|: |:(?=$)|\|| \|(?: |$)|:)(.*)$")
_MATCH_CUT = re.compile(
    r" ?(?:\.\.\. \[truncated\]|\.\.\. \(line truncated to \d+ chars\)|\[\+[\d,]+ chars\]"
    r"|\[line truncated\])\s*$"
)
"""Marks at the end of a line that was cut."""

WIDE_CHARS = 2_000
"""A longer line counts as a number of characters and not as a line shown whole."""


def numbered(text: str, file: str) -> list[Run]:
    """The runs of numbered lines in a text, with the separator that numbers most of them."""
    rows = text.split("\n")
    separator = _separator(rows)
    if separator is None:
        return []
    runs: list[Run] = []
    first = 0
    texts: list[str] = []
    for row in rows:
        match = _NUMBERED.match(row)
        if match and match[2].strip() == separator.strip() and texts and int(match[1]) == first + len(texts):
            texts.append(match[3])
            continue
        if texts:
            runs.append(_run(file, first, texts))
            texts = []
        if match and match[2].strip() == separator.strip():
            first, texts = int(match[1]), [match[3]]
    if texts:
        runs.append(_run(file, first, texts))
    return [run for run in runs if run.first > 0]


def _separator(rows: list[str]) -> str | None:
    """The separator with which most lines count on; None if no separator does."""
    counts: dict[str, int] = {}
    before: dict[str, int] = {}
    numbers = 0
    for row in rows:
        match = _NUMBERED.match(row)
        if not match:
            continue
        numbers += 1
        mark = match[2].strip() or match[2]
        if before.get(mark) == int(match[1]) - 1 or mark not in before:
            counts[mark] = counts.get(mark, 0) + 1
        before[mark] = int(match[1])
    if not counts:
        return None
    best = max(counts, key=lambda mark: counts[mark])
    filled = sum(1 for row in rows if row.strip())
    return best if counts[best] * 2 >= min(numbers, filled) and counts[best] * 3 >= filled else None


def _run(file: str, first: int, texts: list[str]) -> Run:
    cut = bool(_MATCH_CUT.search(texts[-1]))
    if cut:
        texts = [*texts[:-1], _MATCH_CUT.sub("", texts[-1])]
    return Run(file, first, tuple(texts), cut)


def plain(text: str, file: str, first: int) -> Run | None:
    """A text without numbers as lines from `first` on."""
    if not text:
        return None
    rows = text.split("\n")
    if rows[-1] == "":
        rows.pop()
    return _run(file, first, rows) if rows else None


_STATED = re.compile(r"[Ss]howing lines (\d+)-(\d+) of (\d+)(?: total)?")
_UPDATED = re.compile(r"Showing lines (\d+)-(\d+) of (\d+) from the edited file:\n+---\n+")
_CONTENT = re.compile(r"\n--- FILE CONTENT[^\n]*---\n|\A[^\n]*\n\n---\n\n")


class Stated(msgspec.Struct, frozen=True):
    """The range that a text states before its content."""

    first: int
    last: int
    total: int
    body: str


def stated(text: str) -> Stated | None:
    """The range and the content of a text that says "Showing lines A-B of N", without numbers."""
    match = _UPDATED.search(text)
    if match:
        return Stated(int(match[1]), int(match[2]), int(match[3]), text[match.end() :])
    match = _STATED.search(text, 0, 2000)
    content = _CONTENT.search(text, 0, 4000)
    if not match or not content:
        return None
    return Stated(int(match[1]), int(match[2]), int(match[3]), text[content.end() :])


_TOTALS = (
    re.compile(r"\[Showing lines \d+-\d+ of (\d+)()\. Use start_line"),  # of Cline
    re.compile(r"\[Showing lines \d+-\d+ of (\d+)( \(|\.)"),  # of pi, which counts likewise
    re.compile(r"lines \d+-\d+ of (\d+)( total)?"),
    re.compile(r"End of file - total (\d+) lines()"),
    re.compile(r"\((\d+) lines total\)()"),
)


def total_lines(text: str) -> int | None:
    """The number of lines in the file, if a text states it near its start or end."""
    for pattern in _TOTALS:
        match = pattern.search(text, 0, 2000) or pattern.search(text, max(0, len(text) - 2000))
        if match:
            # Clients that say "of N total" count the empty text after the final newline as a line.
            return max(1, int(match[1]) - bool(match[2]))
    return None


_PATH_MATCH = re.compile(r"^(?P<path>[^\s:][^:\n]{0,1000}):(?P<number>\d{1,9}):(?P<text>.*)$")
_AROUND = re.compile(r"-(\d{1,9})-")
_LINE = re.compile(r"^\s{0,8}(?:L|Line )?(\d{1,9})(?::|-|\t|-\t)(.*)$")


def matches(text: str, folder: str, single: str = "") -> Iterator[Run]:
    """Every line of a search result: `path:N:text`, or lines under a heading with the name of the file.

    `single` is the file of a search in one file, whose lines have no path.
    """
    heading = single
    indented = bool(_OF_COPILOT.match(text))
    rows = text.split("\n")
    if any(_PLACE.match(row) and _NEAR.match(after) for row, after in pairwise(rows)):
        yield from _of_cline(rows)
        return
    matched = [match for match in map(_PATH_MATCH.match, rows) if match and not match["path"].isdigit()]
    paths = {match["path"] for match in matched}
    for row in rows:
        match = None if single and row[:1].isdigit() else _PATH_MATCH.match(row)
        if match and not match["path"].isdigit():
            if _around(row, paths - {match["path"]}):
                continue  # a line near a match of one file, or a match in another
            yield Run(match["path"], int(match["number"]), (match["text"],))
            continue
        line = _LINE.match(row)
        if line and heading:
            yield Run(heading, int(line[1]), (_without_lead(row, line, indented),))
            continue
        around = _around(row, paths) if heading == "" else []
        if around:
            yield from around if len(around) == 1 else ()
            continue
        heading = _heading(row, folder) or (heading if row.strip() in ("", "--") or single else "")


_PLACE = re.compile(r"^([^\s:][^:\n]{0,1000}):\d{1,9}:\d{1,9}$")
_NEAR = re.compile(r"^[ >] {0,8}(\d{1,9}): (.*)$")


def _of_cline(rows: list[str]) -> Iterator[Run]:
    """Matches under their place, `path:line:column`, with the lines around them."""
    heading = ""
    for row in rows:
        if place := _PLACE.match(row):
            heading = place[1]
        elif heading and (line := _NEAR.match(row)):
            yield Run(heading, int(line[1]), (line[2],))


_ADDED = re.compile(r"^\+(\d{1,9}): (.*)$", re.MULTILINE)


def added(text: str, file: str) -> Iterator[Run]:
    """The new lines in Cline's answer to an edit, each with its number."""
    yield from (Run(file, int(line[1]), (line[2],)) for line in _ADDED.finditer(text))


def _around(row: str, paths: set[str]) -> list[Run]:
    """A row as a line near a match, `path-N-text`, for each way to read it as one of these files."""
    numbers = ((number, row[: number.start()]) for number in islice(_AROUND.finditer(row), _NUMBERS_OF_ROW))
    return [Run(path, int(number[1]), (row[number.end() :],)) for number, path in numbers if path in paths]


_NUMBERS_OF_ROW = 20


_OF_COPILOT = re.compile(r"\A\[grep content: \d+ match(?:es)? across ")
_COUNTED = re.compile(r" \(\d{1,9} match\(es\)\)(?=:$)")


def _without_lead(row: str, line: re.Match[str], indented: bool) -> str:
    # In `L8:     # TODO`, `  Line 8:     # TODO` and, of Copilot, `  8:     # TODO` the first blank after the
    # colon is not the file's.
    named = indented or row.lstrip().startswith(("L", "Line "))
    return line[2][1:] if named and line[2].startswith(" ") else line[2]


def _heading(row: str, folder: str) -> str:
    name = row.removeprefix("File: ").rstrip()
    if row.startswith("File: "):
        return f"{folder.rstrip('/')}/{name}" if folder and not name.startswith(("/", folder)) else name
    if counted := _COUNTED.search(row):
        name = f"{folder.rstrip('/')}/{row[: counted.start()]}" if folder else row[: counted.start()]
        return name if len(name) <= 1000 else ""
    name = name.removesuffix(":")
    looks = 0 < len(name) <= 1000 and not name.startswith((" ", "[", "(")) and " " not in name.strip()
    return name if looks and ("/" in name or "." in name) else ""


_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")


def diff(text: str, file: str) -> Iterator[Run]:
    """The lines of the new side that a unified diff shows."""
    first = 0
    texts: list[str] = []
    name = file
    for row in text.split("\n"):
        hunk = _HUNK.match(row)
        if hunk or row.startswith(("+++ ", "diff --git ")):
            if texts:
                yield Run(name, first, tuple(texts))
            texts = []
            first = int(hunk[1]) if hunk else 0
            if row.startswith("+++ "):
                name = file or row[4:].split("\t")[0].removeprefix("b/")
        elif first and row[:1] in (" ", "+"):
            texts.append(row[1:])
        elif first and not row.startswith(("-", "\\")):
            if texts:
                yield Run(name, first, tuple(texts))
            texts, first = [], 0
    if texts:
        yield Run(name, first, tuple(texts))
