"""What became of what was read: quoted, edited or named afterwards, or never.

A line counts as used when the model later writes it (in an edit, a quotation, a command), names its
number with the file, or writes a word that stands in no other line of that result. The measure is
generous: what is told as unused was neither written nor named in any way a program can see.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from readroom.lens.normal_form import Finding, FindingKind
from readroom.lens.sessions import Result
from readroom.limits.lens import (
    HELD_LINES_OF_CALL,
    LINES_REMEMBERED,
    RESULT_CHARS,
    UNUSED_TOKENS,
    USED_SHARE,
    WATCHED_RESULTS,
    WHOLE_FILE_LINES,
)

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}")
_LEAST_LINE = 8
"""A shorter line (`}`, `else:`) is written by chance."""


class _Watched(msgspec.Struct):
    """A result that is watched: which lines and words of it come up later."""

    result: Result
    lines: dict[int, int]
    words: dict[int, int]
    count: int
    used: set[int]
    named: bool = False


class Use:
    """Whole files read for a few lines, and output nobody came back to."""

    def __init__(self) -> None:
        self._watched: list[_Watched] = []
        self._remembered = 0

    @property
    def left_out(self) -> int:
        """Large results that were not watched: whether they were used is not known."""
        return 0

    @property
    def held(self) -> int:
        """The lines and words that are waited for, and of whose results."""
        return self._remembered + len(self._watched) * HELD_LINES_OF_CALL

    def model(self, turn: int, text: str) -> None:
        """What the model writes uses what it read before."""
        if not self._watched:
            return
        lines = {hash(line.strip()) for line in text.split("\n") if len(line.strip()) >= _LEAST_LINE}
        words = set(map(hash, _WORD.findall(text)))
        for watched in self._watched:
            _mark(watched, lines, words, text)

    def attached(self, turn: int, text: str) -> None:
        """What a client attaches uses nothing."""

    def result(self, result: Result) -> None:
        """Watch a result that is big enough, while there is room."""
        seen = result.seen
        if result.tokens < UNUSED_TOKENS or seen.error or seen.kind in ("edit", "write", "agent", "list"):
            return
        if len(self._watched) >= WATCHED_RESULTS or self._remembered >= LINES_REMEMBERED:
            return
        lines: dict[int, int] = {}
        words: dict[int, int] = {}
        repeated: set[int] = set()
        # A word that also stands in the call is what the model knew before, and says nothing.
        known = set(map(hash, _WORD.findall(str(result.called.arguments)[:RESULT_CHARS])))
        rows = [line for run in seen.runs for line in run.lines] or seen.text.split("\n")
        for number, line in enumerate(rows):
            if len(line.strip()) >= _LEAST_LINE:
                lines[hash(line.strip())] = number
            for word in set(map(hash, _WORD.findall(line[:2000]))) - known - repeated:
                if word in words:
                    repeated.add(word)
                    del words[word]
                else:
                    words[word] = number
        self._remembered += len(lines) + len(words)
        self._watched.append(_Watched(result_of(result), lines, words, len(rows), set()))

    def findings(self, session: str) -> Iterator[Finding]:
        """What was never used, and what was used in small part."""
        for watched in self._watched:
            seen = watched.result.seen
            used = len(watched.used)
            whole = seen.kind in ("read", "command") and len(seen.runs) == 1 and seen.runs[0].first == 1
            lines = watched.count
            if not used and not watched.named:
                what = f"{watched.result.tokens:,} tokens nobody came back to"
                yield _finding(watched, "unused", watched.result.tokens, what)
            elif whole and seen.file and lines >= WHOLE_FILE_LINES and used < lines * USED_SHARE:
                tokens = round(watched.result.tokens * (1 - used / lines))
                what = f"{lines:,} lines read, {used:,} of them quoted, edited or named later"
                yield _finding(watched, "oversized", tokens, what)


def result_of(result: Result) -> Result:
    """A result without its texts: what is watched must not keep them in memory."""
    seen = result.seen
    runs = tuple(msgspec.structs.replace(run, lines=()) for run in seen.runs[:2])
    return msgspec.structs.replace(
        result,
        returned=msgspec.structs.replace(result.returned, text=""),
        called=msgspec.structs.replace(result.called, arguments={}),
        seen=msgspec.structs.replace(seen, runs=runs, text=""),
        whole="",
        again=[],
    )


def _mark(watched: _Watched, lines: set[int], words: set[int], text: str) -> None:
    watched.used.update(watched.lines[line] for line in lines & watched.lines.keys())
    watched.used.update(watched.words[word] for word in words & watched.words.keys())
    file = watched.result.seen.file
    if file and file in text:
        watched.named = True
        for number in re.findall(rf"{re.escape(file)}[:#]L?(\d+)", text[:100_000]):
            watched.used.add(int(number) - 1)


def _finding(watched: _Watched, kind: FindingKind, tokens: int, what: str) -> Finding:
    result = watched.result
    runs = result.seen.runs
    last = watched.count if runs else 0
    first = runs[0].first if runs else 0
    return Finding("", kind, result.number, result.turn, result.seen.file, first, last, tokens, 0, what)
