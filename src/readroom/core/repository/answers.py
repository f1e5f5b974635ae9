"""The answers of the confined child about its repository. Imported there only, with libgit2.

Paths in answers are text as `os.fsdecode` gives it, ids hexadecimal.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import pygit2
from pygit2.enums import DiffFind, DiffOption, ObjectType, RepositoryOpenFlag, SortMode

from readroom.core.repository.blame import Blame
from readroom.core.repository.walks import CommitWalk, described, pieces

RENAMES = 1_000
"""Deleted and added files that are compared for renames; git compares 1,000 for a diff."""

TREE = 0o40000
"""The mode of a folder."""

KEPT_WALKS = 4
"""Walks that can continue where they stopped."""

Answer: TypeAlias = tuple[Mapping[str, Any], bytes]


class Refusal(Exception):
    """An answer that is no answer; `kind` is its type."""

    def __init__(self, kind: str, problem: str) -> None:
        super().__init__(problem)
        self.kind = kind


class Open:
    """An open repository, and the walks through it that can continue."""

    def __init__(self, home: str, shallow: Sequence[str]) -> None:
        flags = RepositoryOpenFlag.NO_SEARCH | RepositoryOpenFlag.NO_DOTGIT | RepositoryOpenFlag.BARE
        self.git = pygit2.Repository(home, flags)
        self.shallow = frozenset(shallow)
        self.walks: dict[str, CommitWalk] = {}


def opened(home: str, shallow: Sequence[str]) -> Open:
    """The repository in a folder."""
    return Open(home, shallow)


def of(repository: Open, question: dict[str, Any], data: bytes) -> Answer:
    """The answer to a question. Raises Refusal, and what libgit2 raises."""
    answer = _QUESTIONS[question.pop("ask")]
    if question.pop("data", False):
        question["data"] = data
    return answer(repository, **question)


def _commit(repository: Open, revision: str) -> pygit2.Commit:
    try:
        found = repository.git.revparse_single(revision)
    except KeyError:
        raise Refusal("NoSuchRevision", "") from None
    except (ValueError, pygit2.GitError) as error:
        raise Refusal("NoSuchRevision", f": {error}") from None
    try:
        commit = found.peel(pygit2.Commit)
    except (ValueError, pygit2.GitError):
        raise Refusal("NoSuchRevision", ": it is no commit") from None
    assert isinstance(commit, pygit2.Commit)
    return commit


def resolve(repository: Open, revision: str, base: str = "") -> Answer:
    """The commit that a revision names; with `base`, the last one that it has in common with that."""
    commit = _commit(repository, revision)
    if base:
        common = repository.git.merge_base(_commit(repository, base).id, commit.id)
        if common is None:
            raise Refusal("NoSuchRevision", ": the two have no commit in common")
        commit = repository.git[common].peel(pygit2.Commit)
    return {"commit": described(commit), "tree": str(commit.tree_id)}, b""


def tree(repository: Open, tree: str, most: int) -> Answer:
    """All names of a tree, as `mode id path` with a NUL after each; refused if there are more than `most`."""
    rows: list[bytes] = []
    pending: list[tuple[bytes, pygit2.Oid]] = [(b"", pygit2.Oid(hex=tree))]
    while pending:
        above, own = pending.pop()
        folder = repository.git[own]
        if not isinstance(folder, pygit2.Tree):
            raise Refusal("Failed", f"the object {own} is no tree")
        for entry in folder:
            path = above + (entry.raw_name or b"")
            rows.append(b"%o %s %s\0" % (entry.filemode, str(entry.id).encode(), path))
            if entry.filemode == TREE:
                pending.append((path + b"/", entry.id))
        if len(rows) > most:
            raise Refusal("Failed", f"a tree has more than {most:,} names")
        if above.count(b"/") > 1_000:
            raise Refusal("Failed", "a tree is nested too deeply")
    return {"count": len(rows)}, b"".join(rows)


def sizes(repository: Open, ids: Sequence[str]) -> Answer:
    """The sizes of blobs; -1 for one that is missing or no blob."""
    found = []
    for name in ids:
        try:
            kind, size = repository.git.odb.read_header(pygit2.Oid(hex=name))
        except (KeyError, ValueError, pygit2.GitError):
            kind, size = None, -1
        found.append(size if kind == ObjectType.BLOB else -1)
    return {"sizes": found}, b""


def blob(repository: Open, id: str, most: int) -> Answer:
    """The bytes of a blob; refused if it has more than `most`."""
    kind, size = repository.git.odb.read_header(pygit2.Oid(hex=id))
    if kind != ObjectType.BLOB:
        raise Refusal("Failed", f"the object {id} is no file")
    if size > most:
        raise Refusal("TooLarge", str(size))
    return {}, repository.git[id].read_raw()


_LETTERS = {0: "M", 1: "A", 2: "D", 3: "M", 4: "R", 5: "C", 8: "T"}


def deltas(repository: Open, old: str, new: str, most: int, renames: bool) -> Answer:
    """The files that differ between two trees: letter, names, ids, modes and likeness."""
    before, after = (repository.git[name].peel(pygit2.Tree) for name in (old, new))
    diff = before.diff_to_tree(after, DiffOption.INCLUDE_TYPECHANGE, 0)
    if len(diff) > most:
        raise Refusal("Failed", f"more than {most:,} files differ")
    if renames:
        diff.find_similar(DiffFind.FIND_RENAMES | DiffFind.FIND_COPIES, rename_limit=RENAMES)
    rows = []
    for delta in diff.deltas:
        sides = (delta.old_file, delta.new_file)
        names = [os.fsdecode(side.raw_path) for side in sides]
        rows.append(
            [
                _LETTERS.get(int(delta.status), "M"),
                *names,
                *(str(side.id) for side in sides),
                *(int(side.mode) for side in sides),
                delta.similarity if int(delta.status) == 4 else 0,
            ]
        )
    return {"deltas": rows}, b""


def compare(repository: Open, old: str, new: str = "", data: bytes = b"") -> Answer:
    """The pieces in which two files differ; without `new` the second one is `data`."""
    return {"pieces": list(pieces(repository.git, old, new or data) or ())}, b""


def log(
    repository: Open,
    commit: str,
    path: str,
    lines: list[int],
    without: str,
    after: int,
    limit: int,
    seconds: float,
) -> Answer:
    """Commits that changed a path, newest first, from the number `after` on."""
    key = f"{commit}\0{path}\0{lines}\0{without}"
    walk = repository.walks.pop(key, None)
    if walk is None or walk.visited > after:
        within = None if not without else _between(repository, commit, without)
        walk = CommitWalk(repository.git, commit, path, lines, within, repository.shallow, RENAMES)
    found = walk.next(after, limit, seconds)
    repository.walks[key] = walk
    while len(repository.walks) > KEPT_WALKS:
        del repository.walks[next(iter(repository.walks))]
    return {
        "commits": found,
        "visited": walk.visited,
        "is_complete": walk.is_complete,
        "reached": walk.reached,
        "broken": walk.broken,
    }, b""


def _between(repository: Open, commit: str, without: str) -> frozenset[str]:
    """The commits that are ancestors of the one and not of the other."""
    walker = repository.git.walk(pygit2.Oid(hex=commit), SortMode.NONE)
    walker.hide(pygit2.Oid(hex=without))
    return frozenset(str(each.id) for each in walker)


def blame(
    repository: Open, commit: str, path: str, first: int, last: int, seconds: float, data: bytes | None = None
) -> Answer:
    """The last change of each line; with data those are lines of a file that is not committed."""
    own = Blame(repository.git, commit, path, data, repository.shallow, RENAMES)
    return own.answer(first, last, seconds), b""


def refs(repository: Open, most: int) -> Answer:
    """The names of branches and tags."""
    names = []
    for name in repository.git.raw_listall_references():
        text = os.fsdecode(name)
        for prefix in ("refs/heads/", "refs/tags/", "refs/remotes/"):
            if text.startswith(prefix):
                names.append(text[len(prefix) :])
        if len(names) >= most:
            break
    return {"refs": names}, b""


_QUESTIONS: Mapping[str, Callable[..., Answer]] = {
    "resolve": resolve,
    "tree": tree,
    "sizes": sizes,
    "blob": blob,
    "deltas": deltas,
    "compare": compare,
    "log": log,
    "blame": blame,
    "refs": refs,
}
