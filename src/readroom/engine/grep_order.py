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
from typing import TypeAlias

from readroom.engine.grep_cursor import Place
from readroom.engine.grep_scope import join_below
from readroom.engine.grep_search import Searched
from readroom.engine.grep_text import preview
from readroom.engine.listing_cursor import path_key
from readroom.errors import ReadroomError
from readroom.limits import GREP_RANKED_FILES, GREP_RANKED_LINES, PREVIEW_CHARS
from readroom.model import EntryKind, Stat
from readroom.paths import WorkPath
from readroom.policy.guard import Guard
from readroom.stores.base import Folder

Ranked: TypeAlias = tuple[Place, str]

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
                    yield Place((-stat.mtime_ns,), path_key(path)), path


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
        yield Place(rank, path_key(path)), path


def relevance(found: Searched, words: Sequence[str]) -> tuple[int, int, int] | None:
    """The rank of a file by its first matching lines, smaller being better; None without a match."""
    lines: list[tuple[int, frozenset[str]]] = []
    for hit in islice(found.hits, GREP_RANKED_LINES):
        text = preview(found.text, hit, PREVIEW_CHARS).text.casefold()
        lines.append((hit.number, frozenset(word for word in words if word in text)))
    if not lines:
        return None
    covered: frozenset[str] = frozenset().union(*(held for _, held in lines))
    return -len(covered), _nearest(lines, covered), -len(lines)


def _nearest(lines: Sequence[tuple[int, frozenset[str]]], covered: frozenset[str]) -> int:
    """The fewest lines from one matching line to another between which all covered words stand."""
    best = lines[-1][0] - lines[0][0]
    for at, (first, _) in enumerate(lines):
        missing = set(covered)
        for last, held in lines[at:]:
            missing -= held
            if not missing:
                best = min(best, last - first)
                break
    return best
