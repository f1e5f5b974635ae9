"""Walk through the commits that changed a path, newest first. Imported in the confined child only.

As git does: of a merge, a parent that has the path as the commit has it explains everything, and the walk
continues there alone.  A path that a commit added is looked for under another name in its parents.
"""

from __future__ import annotations

import heapq
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any, final

import pygit2
from pygit2.enums import DiffFind, DiffOption

MESSAGE_BYTES = 64 * 1024
"""The beginning of a message, in which its first line is looked for."""

_CLOCK = 64
"""Commits between two looks at the clock."""


def described(commit: pygit2.Commit) -> dict[str, Any]:
    """A commit as the answers have it."""
    message = commit.raw_message[:MESSAGE_BYTES].decode("utf-8", "replace").lstrip()
    author = commit.author
    return {
        "id": str(commit.id),
        "parents": [str(parent) for parent in commit.parent_ids],
        "author": author.raw_name.decode("utf-8", "replace")[:200] if author else "",
        "email": author.raw_email.decode("utf-8", "replace")[:200] if author else "",
        "time": author.time if author else commit.commit_time,
        "committed": commit.commit_time,
        "offset": author.offset if author else commit.commit_time_offset,
        "subject": " ".join(message.partition("\n\n")[0].split())[:300],
    }


def entry(tree: pygit2.Tree, path: str) -> tuple[str, int] | None:
    """The id and the mode of what has a path in a tree."""
    if not path:
        return str(tree.id), 0o40000
    try:
        found = tree[path]
    except KeyError:
        return None
    return str(found.id), int(found.filemode)


def renamed_from(
    repository: pygit2.Repository, parent: pygit2.Commit, commit: pygit2.Commit, path: str, most: int
) -> str | None:
    """The name that a file had in a parent, if the commit renamed it."""
    diff = parent.tree.diff_to_tree(commit.tree, DiffOption.NORMAL, 0)
    if len(diff) > 50 * most:
        return None
    diff.find_similar(DiffFind.FIND_RENAMES, rename_limit=most)
    for delta in diff.deltas:
        if int(delta.status) == 4 and os.fsdecode(delta.new_file.raw_path) == path:
            return os.fsdecode(delta.old_file.raw_path)
    return None


def pieces(
    repository: pygit2.Repository, old: str, new: str | bytes
) -> Sequence[tuple[int, int, int, int]] | None:
    """The pieces that differ between two files: first line and count before, and the same afterwards.

    A piece without lines stands before the line it names.  None if they are not text.
    """
    before = repository[old]
    assert isinstance(before, pygit2.Blob)
    flags = DiffOption.INDENT_HEURISTIC | DiffOption.FORCE_TEXT
    after = new if isinstance(new, bytes) else repository[new]
    assert isinstance(after, bytes | pygit2.Blob)
    patch = pygit2.Patch.create_from(before, after, flag=flags, context_lines=0, interhunk_lines=0)
    if patch is None:
        return None
    found = []
    for hunk in patch.hunks:
        old_start = hunk.old_start + (hunk.old_lines == 0)
        new_start = hunk.new_start + (hunk.new_lines == 0)
        found.append((old_start, hunk.old_lines, new_start, hunk.new_lines))
    return found


def mapped(
    changed: Sequence[tuple[int, int, int, int]], first: int, last: int
) -> tuple[bool, tuple[int, int] | None]:
    """Whether pieces change lines of the new file, and the lines that those were in the old one."""
    shift, over = 0, []
    for piece in changed:
        old_start, old_count, new_start, new_count = piece
        if new_start + new_count <= first and (new_count or new_start <= first):
            shift = old_start + old_count - new_start - new_count
        elif new_start <= last:
            over.append(piece)
    if not over:
        return False, (first + shift, last + shift)
    start = first + shift if first < over[0][2] else over[0][0]
    old_start, old_count, new_start, new_count = over[-1]
    rest = last - (new_start + new_count)
    end = old_start + old_count + (rest if rest >= 0 else -1)
    return True, (start, end) if end >= start else None


@final
class CommitWalk:
    """A walk that can be taken in pieces.

    Attributes:
        visited: How many commits it has looked at.
        is_complete: Whether there are no more.
        reached: The commit that it looks at next, if it is not complete.
        broken: Why it could not continue somewhere.
    """

    def __init__(
        self,
        repository: pygit2.Repository,
        commit: str,
        path: str,
        lines: Sequence[int],
        within: frozenset[str] | None,
        shallow: frozenset[str],
        renames: int,
    ) -> None:
        self._repository = repository
        self._within = within
        self._shallow = shallow
        self._renames = renames
        self._heap: list[tuple[int, int, str, str]] = []
        self._lines: dict[tuple[str, str], tuple[int, int] | None] = {}
        self._told: set[str] = set()
        self._order = 0
        self._is_whole = not path
        self.visited = 0
        self.broken = ""
        span = (lines[0], lines[1]) if lines else None
        self._push(commit, path, span)

    @property
    def is_complete(self) -> bool:
        """Whether there are no more commits."""
        return not self._heap

    @property
    def reached(self) -> str:
        """The commit that comes next; empty if none does."""
        return self._heap[0][2] if self._heap else ""

    def next(self, after: int, limit: int, seconds: float) -> list[dict[str, Any]]:
        """Up to `limit` commits of those after that many visited ones, as many as there is time for."""
        ends = time.monotonic() + seconds
        found: list[dict[str, Any]] = []
        while self._heap and len(found) < limit:
            if self.visited % _CLOCK == 0 and time.monotonic() > ends:
                break
            told = self._step()
            if told is not None and self.visited > after:
                told["number"] = self.visited
                found.append(told)
        return found

    def _push(self, commit: str, path: str, lines: tuple[int, int] | None) -> None:
        if self._within is not None and commit not in self._within:
            return
        key = (commit, path)
        if key in self._lines:
            known = self._lines[key]
            if known is not None and lines is not None:
                self._lines[key] = (min(known[0], lines[0]), max(known[1], lines[1]))
            return
        found = self._repository.get(commit)
        if not isinstance(found, pygit2.Commit):
            self.broken = self.broken or f"the commit {commit} is missing"
            return
        self._lines[key] = lines
        self._order += 1
        heapq.heappush(self._heap, (-found.commit_time, self._order, commit, path))

    def _step(self) -> dict[str, Any] | None:
        _, _, name, path = heapq.heappop(self._heap)
        self.visited += 1
        lines = self._lines[name, path]
        commit = self._repository[name]
        assert isinstance(commit, pygit2.Commit)
        if self._is_whole:
            for parent in commit.parent_ids:
                self._push(str(parent), "", None)
            return self._tell(commit, "", "", "")
        own = entry(commit.tree, path)
        parents = list(self._parents(commit))
        before = [entry(parent.tree, path) for parent in parents]
        for parent, there in zip(parents, before, strict=True):
            if there == own:
                self._push(str(parent.id), path, lines)
                return None
        if not parents:
            return None if own is None else self._tell(commit, path, "A", "")
        return self._differs(commit, path, lines, own, list(zip(parents, before, strict=True)))

    def _differs(
        self,
        commit: pygit2.Commit,
        path: str,
        lines: tuple[int, int] | None,
        own: tuple[str, int] | None,
        parents: Sequence[tuple[pygit2.Commit, tuple[str, int] | None]],
    ) -> dict[str, Any] | None:
        """Continue in all parents, none of which has the path as the commit has it."""
        added = own is not None and own[1] != 0o40000 and all(there is None for _, there in parents)
        touched, source = False, ""
        for parent, there in parents:
            name = path
            if added:
                found = renamed_from(self._repository, parent, commit, path, self._renames)
                if found is not None:
                    name, there, source = found, entry(parent.tree, found), found
            span, hit = lines, True
            if lines is not None and own is not None and there is not None:
                changed = pieces(self._repository, there[0], own[0]) if there[0] != own[0] else ()
                hit, span = (True, lines) if changed is None else mapped(changed, *lines)
            touched = touched or hit
            if lines is None or span is not None:
                self._push(str(parent.id), name, span)
        if not touched:
            return None
        letter = "D" if own is None else "R" if source else "A" if added else "M"
        return self._tell(commit, path, letter, source)

    def _parents(self, commit: pygit2.Commit) -> Iterator[pygit2.Commit]:
        for name in commit.parent_ids:
            found = self._repository.get(name)
            if isinstance(found, pygit2.Commit):
                yield found
            else:
                self.broken = self.broken or f"the commit {name} is missing"

    def _tell(self, commit: pygit2.Commit, path: str, letter: str, source: str) -> dict[str, Any] | None:
        if str(commit.id) in self._told:
            return None
        self._told.add(str(commit.id))
        ends = str(commit.id) in self._shallow
        return {**described(commit), "path": path, "letter": letter, "source": source, "is_end": ends}
