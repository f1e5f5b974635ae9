"""The repositories of a workspace: found, examined, asked through one child each."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, final

import msgspec
from msgspec import Struct

from readroom.core.deadline import Deadline
from readroom.core.errors.git import NoRepository, NoSuchRevision, RepositoryFailed
from readroom.core.lru import LruCache
from readroom.core.paths import WorkPath
from readroom.core.repository import place as places
from readroom.core.repository.place import GitPlace
from readroom.core.repository.process import GIT_BLOB_BYTES, GitChild
from readroom.core.repository.trees import TREE_NAMES, RevisionTree, batches, parsed
from readroom.core.text.edits.diff import DiffBlock
from readroom.core.values.git import BlameAnswer, Commit, Delta, LogAnswer

GIT_KEPT = 4
"""Repositories of a workspace with a child of their own."""

GIT_TREES = 4
"""Trees that a repository keeps: both sides of a comparison, and those of HEAD."""

GIT_BLOBS_BYTES = 32 * 1024 * 1024
"""Files of revisions that a repository keeps, for the next page."""

GIT_IDS = 100_000
"""Files as they are whose ids are kept: 20 MB."""

GIT_SIZES = 10_000
"""Sizes that are asked for at once."""

GIT_DELTAS = 100_000
"""Files that may differ between two revisions."""

REVISION_CHARS = 250
"""The longest name of a revision."""

_REVISION = re.compile(r"(?![-:])[^\x00-\x20\x7f:?*\[\\]+")
"""The names of revisions that are looked up. git knows others, which search all messages or the index."""

_A = TypeVar("_A")


class Revision(Struct, frozen=True):
    """A commit by the name that a caller gave it."""

    name: str
    commit: Commit
    tree: str


class _Resolved(Struct):
    commit: Commit
    tree: str


class _Sizes(Struct):
    sizes: list[int]


class _Refs(Struct):
    refs: list[str]


class _Pieces(Struct):
    pieces: list[tuple[int, int, int, int]]


class _Deltas(Struct):
    deltas: list[Delta]


@final
class Repository:
    """One repository. Safe to share between threads; questions wait for one another.

    Every method may raise MissingProgram, RepositoryFailed, TimedOut and Cancelled.
    """

    def __init__(self, place: GitPlace) -> None:
        self.place = place
        self._child: GitChild | None = None
        self._asking = threading.Lock()
        self._trees: LruCache[str, RevisionTree] = LruCache(GIT_TREES)
        self._deltas: LruCache[object, Sequence[Delta]] = LruCache(GIT_TREES)
        self._blobs: LruCache[str, bytes] = LruCache(GIT_BLOBS_BYTES, len)
        self.kept: LruCache[object, Any] = LruCache(4 * GIT_TREES)
        """Facts that others keep about its trees."""
        self.ids: LruCache[object, str] = LruCache(GIT_IDS)
        """The ids that git would give files as they are, by their state."""

    def resolve(self, name: str, deadline: Deadline, base: str = "") -> Revision:
        """The commit of that name; with `base`, the last that both have in common. Raises NoSuchRevision."""
        for each in filter(None, (name, base)):
            if len(each) > REVISION_CHARS or not _REVISION.fullmatch(each):
                raise NoSuchRevision(self.place.top, each)
        question = {"ask": "resolve", "revision": name, "base": base}
        found = self._ask(_Resolved, question, deadline)[0]
        return Revision(name, found.commit, found.tree)

    def tree(self, name: str, deadline: Deadline) -> RevisionTree:
        """All names of a tree, by its id."""
        known = self._trees.get(name)
        if known is None:
            question = {"ask": "tree", "tree": name, "most": TREE_NAMES}
            known = parsed(self._ask(dict, question, deadline)[1])
            self._trees.put(name, known)
        return known

    def sizes(self, tree: RevisionTree, ids: Sequence[str], deadline: Deadline) -> Mapping[str, int]:
        """The sizes of blobs of a tree by id; -1 for one that is missing."""
        wanted = [name for name in dict.fromkeys(ids) if name not in tree.sizes]
        for some in batches(wanted, GIT_SIZES):
            found = self._ask(_Sizes, {"ask": "sizes", "ids": list(some)}, deadline)[0].sizes
            if len(found) != len(some):
                raise self._failed("the program that reads it gave no usable answer")
            tree.sizes.update(zip(some, found, strict=True))
        return tree.sizes

    def blob(self, name: str, deadline: Deadline) -> bytes:
        """The bytes of a file, by its id. Raises TooLargeBlob."""
        known = self._blobs.get(name)
        if known is None:
            known = self._ask(dict, {"ask": "blob", "id": name, "most": GIT_BLOB_BYTES}, deadline)[1]
            self._blobs.put(name, known)
        return known

    def deltas(self, old: str, new: str, deadline: Deadline, *, renames: bool = True) -> Sequence[Delta]:
        """The files that differ between two trees or commits, by their ids."""
        key = (old, new, renames)
        known: Sequence[Delta] | None = self._deltas.get(key)
        if known is None:
            question = {"ask": "deltas", "old": old, "new": new, "most": GIT_DELTAS, "renames": renames}
            known = self._ask(_Deltas, question, deadline)[0].deltas
            self._deltas.put(key, known)
        return known

    def compare(self, old: str, new: str | bytes, deadline: Deadline) -> Sequence[DiffBlock]:
        """The blocks of lines in which a file differs from another one, or from bytes."""
        question = {"ask": "compare", "old": old}
        if isinstance(new, str):
            found = self._ask(_Pieces, {**question, "new": new}, deadline)[0]
        else:
            found = self._ask(_Pieces, question, deadline, new)[0]
        return [
            DiffBlock(old_start - 1, old_start - 1 + old_count, new_start - 1, new_start - 1 + new_count)
            for old_start, old_count, new_start, new_count in found.pieces
        ]

    def log(
        self,
        commit: str,
        path: str,
        deadline: Deadline,
        *,
        lines: tuple[int, int] | None,
        without: str,
        after: int,
        limit: int,
        seconds: float,
    ) -> LogAnswer:
        """Commits that changed a path, or lines of it, newest first."""
        question = {
            "ask": "log",
            "commit": commit,
            "path": path,
            "lines": [] if lines is None else list(lines),
            "without": without,
            "after": after,
            "limit": limit,
            "seconds": seconds,
        }
        return self._ask(LogAnswer, question, deadline)[0]

    def blame(
        self,
        commit: str,
        path: str,
        lines: tuple[int, int],
        data: bytes | None,
        seconds: float,
        deadline: Deadline,
    ) -> BlameAnswer:
        """The last change of lines of a file; `data` is its state that is not committed."""
        question = {
            "ask": "blame",
            "commit": commit,
            "path": path,
            "first": lines[0],
            "last": lines[1],
            "seconds": seconds,
        }
        return self._ask(BlameAnswer, question, deadline, data or b"")[0]

    def refs(self, deadline: Deadline, most: int = 1_000) -> Sequence[str]:
        """The names of branches and tags."""
        return self._ask(_Refs, {"ask": "refs", "most": most}, deadline)[0].refs

    def close(self) -> None:
        """End its child; the next question starts another one."""
        with self._asking:
            if self._child is not None:
                self._child.close()
                self._child = None

    def _ask(
        self, kind: type[_A], question: Mapping[str, Any], deadline: Deadline, data: bytes = b""
    ) -> tuple[_A, bytes]:
        with self._alone(deadline):
            if self._child is None or not (self._child.alive and self._child.is_fresh):
                if self._child is not None:
                    self._child.close()
                self._child = GitChild(self.place)
            answer, blob = self._child.ask(question, deadline, data)
        try:
            return msgspec.convert(answer, kind), blob
        except msgspec.ValidationError:
            self.close()
            raise self._failed("the program that reads it gave no usable answer") from None

    @contextmanager
    def _alone(self, deadline: Deadline) -> Iterator[None]:
        while not self._asking.acquire(timeout=0.05):
            deadline.check()
        try:
            yield
        finally:
            self._asking.release()

    def _failed(self, problem: str) -> RepositoryFailed:
        return RepositoryFailed(self.place.top, problem)


@final
class Repositories:
    """The repositories of a workspace. Safe to share between threads."""

    def __init__(self) -> None:
        self._kept: LruCache[tuple[WorkPath, str], tuple[object, Repository]] = LruCache(GIT_KEPT)

    def of(self, root: str | None, path: WorkPath) -> Repository:
        """The repository of a path below an absolute root, None for files that are in no folder.

        Raises:
            NoRepository: There is none.
            RepositoryRefused: It is not to be opened.
        """
        if root is None:
            raise NoRepository(path)
        top, git = places.find(root, path)
        known = self._kept.get((top, git))
        if known is not None and known[0] == _stamp(git, known[1].place):
            return known[1]
        place = places.examined(root, top, git)
        made = Repository(place)
        for _, old in self._kept.put((top, git), (_stamp(git, place), made)):
            old.close()
        if known is not None:
            known[1].close()
        return made

    def close(self) -> None:
        """End all children."""
        for _, (_, repository) in self._kept.items():
            repository.close()


_NAMING = ("config", "config.worktree", "commondir", "objects/info/alternates", "shallow", "objects/pack")
"""The files that decide whether a repository may be opened."""


def _stamp(git: str, place: GitPlace) -> object:
    """Changes whenever what names other places does."""
    found: list[object] = []
    for folder in dict.fromkeys((git, place.folder, place.common)):
        for name in _NAMING:
            try:
                status = os.lstat(os.path.join(folder, name) if name else folder)
            except OSError:
                found.append(None)
            else:
                found.append(
                    (status.st_dev, status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns)
                )
    return found
