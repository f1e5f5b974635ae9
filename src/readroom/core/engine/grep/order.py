"""Orders of a search other than by path: newest first, most relevant first.

Both need all candidates before the first one is shown.  Relevance is the ranking of `find_relevant`: the
words of the pattern are the question, and the files with a match are the collection.  Files come first
whose words are rarer in it, more frequent, closer together and in names; then those with more matching
lines; then by path.  A `fixed` text of several words still matches exactly that text.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, islice
from typing import TypeAlias, final

from readroom.core.deadline import Deadline
from readroom.core.engine.ahead import in_step
from readroom.core.engine.cursors import Cursor, GrepPlace, path_key
from readroom.core.engine.grep.lines import Searched, Text
from readroom.core.engine.scope import join_below
from readroom.core.errors import AbsentError, NotAFolder, ReadroomError, RefusedError
from readroom.core.limits.find import FIND_FILE_BYTES
from readroom.core.paths import WorkPath, may_lead_inside
from readroom.core.policy.guard import Guard
from readroom.core.ranking.counting import CountedText
from readroom.core.ranking.names import NameHints
from readroom.core.ranking.query import parse
from readroom.core.ranking.roles import older_versions
from readroom.core.ranking.score import Counted, Glimpse, Scale, count, glance, rank
from readroom.core.search.pattern import words
from readroom.core.stores.base import Begun, Folder
from readroom.core.text.encodings import decode, visible
from readroom.core.values import EntryKind, GrepRequest
from readroom.core.values.find import millionths

Ranked: TypeAlias = tuple[GrepPlace, str]


def in_turn(
    ranked: Iterable[Ranked], start: Cursor | None, guard: Guard, top: WorkPath, deadline: Deadline
) -> Iterator[Ranked]:
    """The files from a place on, asked for ahead."""

    def ask(each: Ranked) -> Begun | None:
        path = join_below(top, each[1])
        return None if may_lead_inside(path) else guard.ahead(path, deadline)

    return in_step((each for each in ranked if start is None or each[0] >= start.place), ask)


_OF_NO_AGE = (sys.maxsize,)
"""Sorts after all files with a known time; when the file is opened, the reply says why it cannot be read."""

UNRANKED = (1, 0)
"""Sorts after all ranked files."""


def by_age(guard: Guard, top: WorkPath, files: Iterable[str], deadline: Deadline) -> Iterator[Ranked]:
    """The sort keys of files, newest first; files that are gone have none. Raises TimedOut."""
    for folder, group in groupby(files, key=lambda path: path.rpartition("/")[0]):
        try:
            opened = guard.open_folder(join_below(top, folder))
        except (RefusedError, AbsentError, NotAFolder):
            continue
        except ReadroomError:
            yield from ((GrepPlace(_OF_NO_AGE, path_key(path)), path) for path in group)
            continue
        with opened:
            for path in group:
                deadline.check()
                rank = _age(opened, path.rpartition("/")[2])
                if rank is not None:
                    yield GrepPlace(rank, path_key(path)), path


def _age(folder: Folder, name: str) -> tuple[int, ...] | None:
    """The rank of a file; None if it is not a file, or gone."""
    try:
        stat = folder.stat(name)
    except AbsentError:
        return None
    except ReadroomError:
        return _OF_NO_AGE
    return (-stat.mtime_ns,) if stat.kind is EntryKind.FILE else None


GREP_RANKED_FILES = 2000
"""Matching files that are ranked by relevance, 0.1 ms each; the others follow by path."""

GREP_RANKED_LINES = 50
"""Matching lines of a file by which its relevance is judged."""


@final
class Relevance:
    """Collects files and computes their sort keys, most relevant first."""

    def __init__(self, request: GrepRequest) -> None:
        self._query = parse(" ".join(words(request.pattern, fixed=request.fixed)))
        self._hints = NameHints(self._query)
        self._lines: dict[str, int] = {}
        self._texts = 0
        self._chars = 0
        self._counted: dict[str, tuple[Glimpse, Counted]] = {}

    @property
    def has_room(self) -> bool:
        """Whether more files are ranked."""
        return len(self._lines) < GREP_RANKED_FILES

    def look(self, path: str, searched: Searched) -> None:
        """Take a file into account, if it has a match."""
        lines = sum(1 for _ in islice(searched.hits, GREP_RANKED_LINES))
        if lines:
            self._lines[path] = lines
            self._count(path, searched.text)

    def places(self) -> Iterator[Ranked]:
        """The sort key of each file that was taken into account."""
        scores = self._scores()
        for path, lines in self._lines.items():
            yield GrepPlace((-millionths(scores.get(path, 0.0)), -lines), path_key(path)), path

    def _count(self, path: str, source: Text) -> None:
        data = source.slice(0, min(source.size, FIND_FILE_BYTES))
        text = CountedText(visible(decode(data, source.encoding)))
        self._texts += 1
        self._chars += text.size
        glimpse = glance(self._query, self._hints, path, path, text)
        if glimpse is not None:
            self._counted[path] = (glimpse, count(self._query, glimpse, text))

    def _scores(self) -> Mapping[str, float]:
        glimpses = [glimpse for glimpse, _ in self._counted.values()]
        scale = Scale(self._query, glimpses, self._texts, self._chars)
        older = older_versions(self._counted)
        return {path: rank(scale, counted, older).score for path, (_, counted) in self._counted.items()}
