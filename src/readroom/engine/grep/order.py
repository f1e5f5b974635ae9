"""Orders of a search other than by path: newest first, most relevant first.

All candidates have to be known first.  Relevance looks at the matching lines of
a file: how many different words of the pattern they hold (more first), how few
lines lie from the first to the last of the nearest place that holds them all
(fewer first), how many lines match (more first), and then the path.  `fixed` text
of several words still means exactly that text, so there every file holds all
words, and the number of matches decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import TypeAlias, final

from readroom.deadline import Deadline
from readroom.engine.cursors import GrepPlace, path_key
from readroom.engine.grep.lines import Searched, Text, preview
from readroom.engine.grep.scope import join_below
from readroom.errors import ReadroomError, TimedOut
from readroom.limits import GREP_RANKED_FILES, GREP_RANKED_LINES, HEAD_BYTES, PREVIEW_CHARS
from readroom.limits.outline import GREP_SYMBOLS_S, OUTLINE_BYTES
from readroom.outline.languages import language_of
from readroom.paths import WorkPath
from readroom.policy.guard import Guard
from readroom.stores.base import Folder
from readroom.text.encodings import decode
from readroom.values import EntryKind, Stat
from readroom.values.files import Row, rows

Ranked: TypeAlias = tuple[GrepPlace, str]

UNRANKED = (1, 0, 0)
"""Behind every file that was looked into."""


def by_age(guard: Guard, top: WorkPath, files: Iterable[str]) -> Iterator[Ranked]:
    """The place of each file when the newest come first; files that are gone have none."""
    for folder, group in groupby(files, key=lambda path: path.rpartition("/")[0]):
        try:
            opened = guard.open_folder(join_below(top, folder))
        except ReadroomError:
            continue
        with opened:
            for path in group:
                stat = _stat(opened, path.rpartition("/")[2])
                if stat is not None and stat.kind is EntryKind.FILE:
                    yield GrepPlace((-stat.mtime_ns,), path_key(path)), path


def _stat(folder: Folder, name: str) -> Stat | None:
    try:
        return folder.stat(name)
    except ReadroomError:
        return None


def by_relevance(files: Iterable[str], judge: Callable[[str], tuple[int, ...] | None]) -> Iterator[Ranked]:
    """The place of each file when the most relevant come first; files without a match have none.

    Args:
        files: In path order.
        judge: The relevance of a file, which it opens and searches; None without a match.
    """
    ranked = 0
    for path in files:
        if ranked < GREP_RANKED_FILES:
            rank = judge(path)
            if rank is None:
                continue
            ranked += 1
        else:
            rank = UNRANKED
        yield GrepPlace(rank, path_key(path)), path


def relevance(searched: Searched, words: Sequence[str]) -> tuple[int, int, int] | None:
    """The rank of a file by its first matching lines, smaller being better; None without a match."""
    lines: list[tuple[int, frozenset[str]]] = []
    for hit in islice(searched.hits, GREP_RANKED_LINES):
        text = preview(searched.text, hit, PREVIEW_CHARS).text.casefold()
        lines.append((hit.number, frozenset(word for word in words if word in text)))
    if not lines:
        return None
    covered: frozenset[str] = frozenset().union(*(words_there for _, words_there in lines))
    return -len(covered), _nearest(lines, covered), -len(lines)


def _nearest(lines: Sequence[tuple[int, frozenset[str]]], covered: frozenset[str]) -> int:
    """The fewest lines from one matching line to another between which all covered words stand."""
    best = lines[-1][0] - lines[0][0]
    for at, (first, _) in enumerate(lines):
        missing = set(covered)
        for last, words in lines[at:]:
            missing -= words
            if not missing:
                best = min(best, last - first)
                break
    return best


# -----------------------------------------------------------------------------
# In which definition a found line stands.
#
# An outline is made of the very text that was searched.  All of them together may
# take a small part of the search's time; what stands in files after that is not said.
# -----------------------------------------------------------------------------


@final
class Symbols:
    """The definitions of the files of one search. `gave_up` says that time did not suffice for all."""

    def __init__(self, deadline: Deadline) -> None:
        left = deadline.remaining
        self._deadline = deadline.within(GREP_SYMBOLS_S if left is None else min(GREP_SYMBOLS_S, left / 2))
        self.gave_up = False

    def of(self, path: str, text: Text) -> Callable[[int], str | None]:
        """The innermost definition around a line, by its number; made when first asked for."""
        listed: Sequence[Row] | None = None

        def around(line: int) -> str | None:
            nonlocal listed
            if listed is None:
                listed = self._listed(path, text)
            inside = [row for row in listed if row.item.start <= line <= row.item.end]
            return max(inside, key=lambda row: row.depth).name if inside else None

        return around

    def _listed(self, path: str, text: Text) -> Sequence[Row]:
        from readroom.outline import Unparsable, build, can_outline

        if text.size > OUTLINE_BYTES or self.gave_up:
            return ()
        data = decode(text.slice(0, text.size), text.encoding)
        language = language_of(path, data[:HEAD_BYTES])
        if language is None or not can_outline(language):
            return ()
        try:
            return list(rows(build(data, language, self._deadline).items))
        except TimedOut:
            self.gave_up = True
            return ()
        except Unparsable:
            return ()
