"""Find the commit that last changed each line of a file. Imported in the confined child only.

As git does: the lines that a parent has are passed on to it, and those that are left belong to the commit.
The newest commit comes first, so that what is not finished in time is the older part.
"""

from __future__ import annotations

import heapq
import time
from typing import Any, TypeAlias, final

import pygit2

from readroom.core.repository.walks import described, entry, pieces, renamed_from

Span: TypeAlias = tuple[int, int, int]
"""The first line in the file that was asked about, the first in the file of a commit, and how many."""

GIT_BLAMED_LINES = 200_000
"""Lines of a file that is blamed."""


@final
class Blame:
    """The blame of one file."""

    def __init__(
        self,
        repository: pygit2.Repository,
        commit: str,
        path: str,
        data: bytes | None,
        shallow: frozenset[str],
        renames: int,
    ) -> None:
        self._repository = repository
        self._start = (commit, path)
        self._data = data
        self._shallow = shallow
        self._renames = renames
        self._heap: list[tuple[int, int, str, str]] = []
        self._spans: dict[tuple[str, str], list[Span]] = {}
        self._commits: dict[str, int] = {}
        self._paths: dict[str, int] = {}
        self._rows: list[tuple[int, int, int, int, int]] = []
        self._order = 0

    def answer(self, first: int, last: int, seconds: float) -> dict[str, Any]:
        """Rows of first line, count, commit (-1 for none), path, and first line there; and what is left."""
        ends = time.monotonic() + seconds
        commit, path = self._start
        total = self._lines_of(commit, path)
        last = min(last, total) if last else total
        spans = [(first, first, last - first + 1)] if last >= first else []
        if self._data is None:
            self._push(commit, path, spans)
        elif spans:
            left = self._passed(self._data, spans, commit, path)
            self._rows += [(start, count, -1, self._path(path), own) for start, own, count in left]
        while self._heap and time.monotonic() <= ends:
            self._step()
        waiting = [
            (start, count) for _, _, name, path in self._heap for start, _, count in self._spans[name, path]
        ]
        return {
            "total": total,
            "rows": sorted(self._rows),
            "commits": [
                {**described(self._repository[name].peel(pygit2.Commit)), "is_end": name in self._shallow}
                for name in self._commits
            ],
            "paths": list(self._paths),
            "left": sorted(waiting),
            "reached": self._heap[0][2] if self._heap else "",
        }

    def _lines_of(self, commit: str, path: str) -> int:
        data = self._data
        if data is None:
            found = self._entry(commit, path)
            if found is None:
                raise KeyError(path)
            blob = self._repository[found]
            if not isinstance(blob, pygit2.Blob):
                raise ValueError("it is no file")
            data = blob.data
        total = data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
        if total > GIT_BLAMED_LINES:
            raise ValueError(f"it has {total:,} lines, more than {GIT_BLAMED_LINES:,}")
        return total

    def _entry(self, commit: str, path: str) -> str | None:
        found = entry(self._repository[commit].peel(pygit2.Commit).tree, path)
        return None if found is None or found[1] not in (0o100644, 0o100755, 0o100664) else found[0]

    def _push(self, commit: str, path: str, spans: list[Span]) -> None:
        if not spans:
            return
        key = (commit, path)
        if key in self._spans:
            self._spans[key] += spans
            return
        self._spans[key] = list(spans)
        self._order += 1
        when = self._repository[commit].peel(pygit2.Commit).commit_time
        heapq.heappush(self._heap, (-when, self._order, commit, path))

    def _step(self) -> None:
        _, _, name, path = heapq.heappop(self._heap)
        spans = _joined(self._spans.pop((name, path)))
        commit = self._repository[name]
        assert isinstance(commit, pygit2.Commit)
        own = self._entry(name, path)
        assert own is not None
        names = [str(parent) for parent in commit.parent_ids if self._repository.get(parent) is not None]
        there = [(parent, self._name_in(commit, parent, path)) for parent in names]
        for parent, called in there:
            if called is not None and self._entry(parent, called) == own:
                self._push(parent, called, spans)
                return
        for parent, called in there:
            if called is not None and spans:
                spans = self._passed(own, spans, parent, called)
        if spans:
            number = self._commits.setdefault(name, len(self._commits))
            self._rows += [(start, count, number, self._path(path), at) for start, at, count in spans]

    def _name_in(self, commit: pygit2.Commit, parent: str, path: str) -> str | None:
        """The name of the file in a parent; None if it is not there."""
        if self._entry(parent, path) is not None:
            return path
        above = self._repository[parent].peel(pygit2.Commit)
        found = renamed_from(self._repository, above, commit, path, self._renames)
        return found if found is not None and self._entry(parent, found) is not None else None

    def _passed(self, own: str | bytes, spans: list[Span], parent: str, path: str) -> list[Span]:
        """Pass on the lines that a parent has; the others."""
        old = self._entry(parent, path)
        if old is None:
            return spans
        changed = pieces(self._repository, old, own)
        if changed is None:
            return spans
        kept: list[Span] = []
        passed: list[Span] = []
        for start, at, count in spans:
            end, here, shift = at + count, at, 0
            for old_start, old_count, new_start, new_count in changed:
                new_end = new_start + new_count
                if new_start >= end:
                    break
                if here < new_start:
                    passed.append((start + here - at, here + shift, new_start - here))
                    here = new_start
                if here < new_end:
                    stop = min(end, new_end)
                    kept.append((start + here - at, here, stop - here))
                    here = stop
                shift = (old_start + old_count) - new_end
            if here < end:
                passed.append((start + here - at, here + shift, end - here))
        self._push(parent, path, passed)
        return kept

    def _path(self, path: str) -> int:
        return self._paths.setdefault(path, len(self._paths))


def _joined(spans: list[Span]) -> list[Span]:
    """The spans in order, with those that follow one another as one."""
    whole: list[Span] = []
    for start, at, count in sorted(spans):
        if whole and whole[-1][0] + whole[-1][2] == start and whole[-1][1] + whole[-1][2] == at:
            whole[-1] = (whole[-1][0], whole[-1][1], whole[-1][2] + count)
        else:
            whole.append((start, at, count))
    return whole
