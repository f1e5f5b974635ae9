"""Later use of lines: quoted, edited or named later, shown again, or never used.

A line counts as used if the model later writes it (in an edit, a quotation, a command), names its number with
the file, names the file in which a search found it, or writes a word that is in no other line of that result.
The measure is generous: an unused line was neither written nor named in any way that a program can detect.

Failed edits and their retries, searches that flood, and lines shown again, in view or after a
compaction removed them, are also wasted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec.structs import replace

from readroom.core.rows import Finding, FindingKind
from readroom.core.text.tokens import estimate
from readroom.lens.findings import Listing, excerpt, finding_about
from readroom.lens.limits import HELD_LINES_OF_CALL, RESULT_CHARS, Bounds
from readroom.lens.normal_form import Lines, counted
from readroom.lens.sessions import Result

FLOOD_TOKENS = 4_000
"""A search result with more tokens than this flooded: five times the size of the median useful search."""

UNUSED_TOKENS = 1_000
"""A result below this is too small to count as unused or as larger than needed."""

WHOLE_FILE_LINES = 100
"""A whole file of fewer lines is rightly read whole."""

USED_SHARE = 0.1
"""A whole file was read for a few lines when less than this share of it was quoted, edited or named."""


_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}")
LEAST_LINE_CHARS = 8
"""A shorter line (`}`, `else:`) may be written by chance."""


class _Watched(msgspec.Struct):
    """A watched result: the lines, counted from 0, that were used later.

    `lines` are the first and the last line of its file, 0 if it shows other files or none; `whole`: the file
    was asked for without a range.
    """

    result: Result
    count: int
    lines: tuple[int, int]
    whole: bool
    used: set[int]
    named: bool = False


_NUMBER_BITS = 20
"""Bits for the number of a line in its result, below those for the number of the result."""


class _Index:
    """Places of texts by their hashes: the watched result, and the line."""

    def __init__(self) -> None:
        self._places: dict[int, int | list[int]] = {}

    def add(self, key: int, watched: int, number: int) -> None:
        """Note where a text is."""
        place = watched << _NUMBER_BITS | number
        before = self._places.get(key)
        if before is None:
            self._places[key] = place
        elif isinstance(before, list):
            before.append(place)
        else:
            self._places[key] = [before, place]

    def of(self, keys: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Results and lines that have one of these texts."""
        for key in keys:
            known = self._places.get(key)
            if known is not None:
                for place in known if isinstance(known, list) else (known,):
                    yield place >> _NUMBER_BITS, place & ((1 << _NUMBER_BITS) - 1)


class Use(Listing):
    """Whole files read for a few lines, and output that was never used."""

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._bounds = bounds
        self._watched: list[_Watched] = []
        self._lines = _Index()
        self._words = _Index()
        self._paths = _Index()
        self._files: dict[str, list[int]] = {}
        self._remembered = 0

    @property
    def held(self) -> int:
        return self._remembered + len(self._watched) * HELD_LINES_OF_CALL

    def model(self, text: str) -> None:
        """Record uses of earlier results in the model's text."""
        if not self._watched:
            return
        lines = {hash(line.strip()) for line in text.split("\n") if len(line.strip()) >= LEAST_LINE_CHARS}
        words = set(map(hash, _WORD.findall(text)))
        paths = {hash(path) for token in _PATH.findall(text) for path in _ends(token)}
        for places in (self._lines.of(lines), self._words.of(words), self._paths.of(paths)):
            for watched, number in places:
                self._watched[watched].used.add(number)
        for file, results in self._files.items():
            if file in text:
                self._name(file, results, text)

    def _name(self, file: str, results: Iterable[int], text: str) -> None:
        numbers = re.findall(rf"{re.escape(file)}[:#]L?(\d{{1,9}})", text[:100_000])
        for result in results:
            watched = self._watched[result]
            watched.named = True
            watched.used.update(int(number) - 1 for number in numbers)

    def result(self, result: Result) -> None:
        """Watch a result that is big enough, while there is room."""
        seen = result.seen
        if result.tokens < UNUSED_TOKENS or seen.error or seen.kind in ("edit", "write", "agent", "list"):
            return
        if len(self._watched) >= self._bounds.watched or self._remembered >= self._bounds.lines:
            return
        lines: dict[int, int] = {}
        words: dict[int, int] = {}
        repeated: set[int] = set()
        # A word of the call itself was known before.
        known = set(map(hash, _WORD.findall(str(result.called.arguments)[:RESULT_CHARS])))
        rows = [line for run in seen.runs for line in run.lines] or seen.text.split("\n")
        for number, line in enumerate(rows):
            if len(line.strip()) >= LEAST_LINE_CHARS:
                lines[hash(line.strip())] = number
            for word in set(map(hash, _WORD.findall(line[:2000]))) - known - repeated:
                if word in words:
                    repeated.add(word)
                    del words[word]
                else:
                    words[word] = number
        watched = _Watched(result_of(result), len(rows), _span(result), _is_whole(result), set())
        self._watch(watched, lines, words, _files(result))

    def _watch(
        self, watched: _Watched, lines: Mapping[int, int], words: Mapping[int, int], paths: Mapping[int, int]
    ) -> None:
        at = len(self._watched)
        for index, texts in ((self._lines, lines), (self._words, words), (self._paths, paths)):
            for key, number in texts.items():
                index.add(key, at, number)
        if watched.result.seen.file:
            self._files.setdefault(watched.result.seen.file, []).append(at)
        self._remembered += len(lines) + len(words) + len(paths)
        self._watched.append(watched)

    def findings(self) -> Iterator[Finding]:
        """Results that were never used, or only in small part."""
        for watched in self._watched:
            seen = watched.result.seen
            used = len(watched.used)
            lines = watched.count
            tokens = watched.result.tokens
            if not used and not watched.named:
                what = f"{tokens:,} tokens never used afterwards"
                yield finding_about(watched.result, "unused", tokens, what, lines=watched.lines)
            elif watched.whole and seen.file and lines >= WHOLE_FILE_LINES and used < lines * USED_SHARE:
                tokens = round(tokens * (1 - used / lines))
                what = f"{lines:,} lines read, {used:,} of them quoted, edited or named later"
                yield finding_about(watched.result, "oversized", tokens, what, lines=watched.lines)


_PATH = re.compile(r"[^\s\"'`:;,()<>|&=*]{3,300}")
"""A possible path in the model's text."""

_PATH_DEPTH = 12


def _ends(token: str) -> Iterator[str]:
    """A path, and its rest after each of its first folders: it may be absolute."""
    path = token.replace("\\", "/")
    for _ in range(_PATH_DEPTH):
        yield path
        path = path.partition("/")[2]
        if not path:
            return


def _files(result: Result) -> dict[int, int]:
    """The files in the result of a search, each with its first line there: opening one uses it."""
    files: dict[int, int] = {}
    number = 0
    for run in result.seen.runs:
        if run.file != result.seen.file:
            files.setdefault(hash(run.file), number)
        number += len(run.lines)
    return files


def result_of(result: Result) -> Result:
    """A result without its texts, so that watching it does not keep them in memory."""
    seen = result.seen
    return replace(
        result, returned=replace(result.returned, text=""),
        called=replace(result.called, arguments={}),
        seen=replace(seen, runs=(), wide=(), text=""), whole="", again=[],
    )  # fmt: skip


def _span(result: Result) -> tuple[int, int]:
    """The first and the last line of its file that a result shows."""
    runs = result.seen.runs
    if not runs or any(run.file != result.seen.file for run in runs):
        return 0, 0
    return min(run.first for run in runs), max(run.last for run in runs)


def _is_whole(result: Result) -> bool:
    """Whether a read began at the first line and had no end."""
    seen = result.seen
    if len(seen.runs) != 1 or seen.runs[0].first != 1:
        return False
    if seen.kind == "read":
        return seen.cut_by != "arguments"
    return bool(seen.printed.file) and seen.printed.pieces[0].count is None


class FailedEdits(Listing):
    """Failed edits; consecutive failures on a file are one finding."""

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._open: dict[str, int] = {}

    def result(self, result: Result) -> None:
        """Look at an edit, made by a tool or by `apply_patch` in a command."""
        seen = result.seen
        written = str(result.called.arguments)
        edits = seen.kind in ("edit", "write") or (seen.kind == "command" and "*** Begin Patch" in written)
        if not edits:
            return
        cost = result.tokens + estimate(written)
        files = (seen.file, *seen.more_files)
        if not seen.error:
            for file in files:
                self._open.pop(file, None)
            return
        index = next((self._open[file] for file in files if file in self._open), None)
        if index is not None:
            before = self._rows[index]
            tries = int(before.what.split(" ", 1)[0]) + 1
            self._rows[index] = replace(
                before, tokens=before.tokens + cost, what=f"{tries} failed edits in a row"
            )
            return
        quoted = excerpt(seen.text.strip())
        if self._add(finding_about(result, "failed-edits", cost, "1 failed edit", quoted=quoted)):
            self._open |= dict.fromkeys(files, len(self._rows) - 1)


class Floods(Listing):
    """Searches whose result is longer than a search should be."""

    def result(self, result: Result) -> None:
        """Look at the size of a search's or a listing's result."""
        seen = result.seen
        files = len({run.file for run in seen.runs})
        searched = seen.kind in ("search", "list") or (seen.kind == "command" and files > 3)
        if searched and result.tokens > FLOOD_TOKENS:
            lines = sum(len(run.lines) for run in seen.runs) or seen.text.count("\n") + 1
            of = f" of {counted(files, 'file')}" if files else ""
            what = f"{counted(lines, 'line')}{of} in one result"
            self._add(finding_about(result, "floods", result.tokens - FLOOD_TOKENS, what))


_NAMED = 5
"""How many separate places are named."""

_LEAST_LINES = 3
"""Fewer lines in a row are no repetition: a file that is read after a search repeats its matches."""


class Repeats(Listing):
    """Unchanged lines shown again, while in view or after a compaction."""

    def result(self, result: Result) -> None:
        """Record the lines that the session remembers."""
        texts = {
            (run.file, number): line
            for run in result.seen.runs
            for number, line in enumerate(run.lines, run.first)
        }
        by_file: dict[tuple[str, str], list[Lines]] = {}
        for span in result.again:
            if span.again and span.last - span.first + 1 >= _LEAST_LINES:
                by_file.setdefault((span.file, span.again), []).append(span)
        for (file, again), spans in by_file.items():
            self._add(_repeated(result, file, again, spans, texts))


def _which(spans: list[Lines]) -> str:
    """The places of lines that are not all lines from the first to the last."""
    if len(spans) == 1:
        return ""
    named = ", ".join(
        f"{span.first}-{span.last}" if span.last > span.first else str(span.first) for span in spans[:_NAMED]
    )
    return f": {named}" + (f" and {len(spans) - _NAMED:,} more places" if len(spans) > _NAMED else "")


def _repeated(
    result: Result, file: str, again: str, spans: list[Lines], texts: dict[tuple[str, int], str]
) -> Finding:
    count = sum(span.last - span.first + 1 for span in spans)
    lines = [texts.get((file, number), "") for span in spans for number in range(span.first, span.last + 1)]
    text = "\n".join(lines)
    # In our own ledger only the tokens of the whole reply are known.
    total = sum(span.last - span.first + 1 for span in result.again)
    tokens = estimate(text) if text.strip() else round(result.tokens * count / max(1, total))
    kind: FindingKind = "repeated" if again == "in view" else "reread"
    what = f"{count:,} unchanged lines shown again while in view{_which(spans)}"
    if kind == "reread":
        what = f"{count:,} lines read again after a compaction{_which(spans)}"
    first, last = min(span.first for span in spans), max(span.last for span in spans)
    return finding_about(result, kind, tokens, what, file=file, lines=(first, last))
