"""The files that differ between two revisions, or between a revision and the files as they are.

The files as they are are read through the guard and compared by their bytes, as git names them.  Neither its
index nor its filters and attributes are asked, so a file is also the same if only its line ends are those of
Windows, or if it is the content for which a pointer of git LFS stands.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Set
from typing import TYPE_CHECKING, final

from msgspec import Struct

from readroom.core import errors
from readroom.core.engine.git.asked import GitQuestion
from readroom.core.engine.walk import CHECK_EVERY
from readroom.core.limits import BLOCK_BYTES
from readroom.core.paths import ROOT, WorkPath, join
from readroom.core.policy.ignore_files import IgnoreTree
from readroom.core.repository.process import GIT_BLOB_BYTES, TooLargeBlob
from readroom.core.repository.repositories import Revision
from readroom.core.repository.trees import EXECUTABLE, LINK, SUBMODULE, Node
from readroom.core.secrets import unmasked
from readroom.core.stores.revision import is_pointer
from readroom.core.values import EntryKind

if TYPE_CHECKING:
    from readroom.core.stores.base import Source


NEW_FILES = 50_000
"""Names that are looked at for files that git does not know."""

_OID = re.compile(rb"^oid sha256:([0-9a-f]{64})$", re.MULTILINE)


class ChangedPath(Struct, frozen=True):
    """A file that differs: its letter, its paths in the trees, and both sides.

    `now` is the id of a file as it is, which may not be in the repository.
    """

    letter: str
    path: str
    old: str
    before: Node | None
    after: Node | None
    is_open: bool = False


class TreeDifference(Struct, frozen=True):
    """All files that differ, in the order of names, and how many may not be seen."""

    files: list[ChangedPath]
    hidden: int = 0
    left_out: int = 0


def between(about: GitQuestion, old: Revision, new: Revision) -> TreeDifference:
    """The files that differ between two revisions, below what was asked about."""
    unseen = about.unseen(old.tree, new.tree)
    files: list[ChangedPath] = []
    hidden = 0
    for delta in about.repository.deltas(old.tree, new.tree, about.deadline):
        if not (about.holds(delta.old) or about.holds(delta.new)):
            continue
        before = None if delta.letter == "A" else Node(delta.old_mode, delta.old_id)
        after = None if delta.letter == "D" else Node(delta.new_mode, delta.new_id)
        names = {delta.new if before is None else delta.old, delta.old if after is None else delta.new}
        if not all(map(about.allows, names)) or not unseen.isdisjoint((delta.old_id, delta.new_id)):
            hidden += 1
            continue
        if delta.letter == "C":  # to git a new file; the other one only says whether it may be seen
            files.append(ChangedPath("A", delta.new, delta.new, None, after))
            continue
        files.append(
            ChangedPath(delta.letter, delta.old if after is None else delta.new, delta.old, before, after)
        )
    return TreeDifference(sorted(files, key=lambda file: file.path), hidden)


def of_folder(about: GitQuestion, old: Revision) -> TreeDifference:
    """The files that differ between a revision and the files as they are."""
    return _Folder(about, old).difference()


@final
class _Folder:
    """One comparison with the files as they are."""

    def __init__(self, about: GitQuestion, old: Revision) -> None:
        self._about = about
        self._repository = about.repository
        self._deadline = about.deadline
        self._tree = self._repository.tree(old.tree, about.deadline)
        self._unseen: Set[str] = about.unseen(old.tree)
        self._hidden = 0
        self._left_out = 0

    def difference(self) -> TreeDifference:
        known = {path: node for path, node in self._tree.files() if self._about.holds(path)}
        files = [node.id for node in known.values() if node.mode not in (LINK, SUBMODULE)]
        self._repository.sizes(self._tree, files, self._deadline)
        changed: list[ChangedPath] = []
        for number, (path, node) in enumerate(known.items()):
            if number % 64 == 0:
                self._deadline.check()
            found = self._tracked(path, node)
            if found is not None:
                changed.append(found)
        changed += self._new(known)
        return TreeDifference(
            sorted(self._with_renames(changed), key=lambda file: file.path), self._hidden, self._left_out
        )

    def _tracked(self, path: str, node: Node) -> ChangedPath | None:
        """The change of a file that git knows; None if it has none or may not be seen."""
        about = self._about
        if node.mode == SUBMODULE:
            return None  # what is checked out there is another repository's
        if not about.allows(path):
            return None
        try:
            after = self._link(path) if node.mode == LINK else self._file(path, node)
        except (errors.NotFound, errors.NotAFolder):
            after = None
        except (errors.RefusedError, errors.OutsideRoot, errors.BadPath):
            after = self._instead(path)
            if after is None:
                self._hidden += 1
                return None
        except errors.NotAFile:
            after = None  # a folder or a pipe is in its place
        if after is not None and (after.id, after.mode) == (node.id, node.mode):
            return None
        if node.id in self._unseen or (after is not None and after.id in self._unseen):
            self._hidden += 1
            return None
        letter = "D" if after is None else "M" if (after.mode == LINK) == (node.mode == LINK) else "T"
        return ChangedPath(letter, path, path, node, after, is_open=True)

    def _instead(self, path: str) -> Node | None:
        """A link in the place of a file that leads where nothing is read; None for anything else."""
        try:
            found = self._link(path)
        except errors.ReadroomError:
            return None
        return found if found is not None and found.mode == LINK else None

    def _link(self, path: str) -> Node | None:
        """The link that has a path; a file in its place, if there is one."""
        own = self._about.named(path)
        above, _, name = own.rpartition("/")
        with self._about.guard.open_folder(WorkPath(above or ROOT)) as folder:
            target = folder.target(name)
            if target is None:
                with self._about.guard.shown(folder.open(name)) as source:
                    return Node(0o100644, self._hashed(source))
        return Node(LINK, named_as(target.encode("utf-8", "surrogateescape")))

    def _file(self, path: str, node: Node) -> Node:
        """The file that has a path, with the id and mode that git would give it."""
        own = self._about.named(path)
        with self._about.guard.open(own) as source:
            if source.real != own:
                return self._link(path) or node
            mode = EXECUTABLE if source.stat.mode & 0o100 else 0o100644
            size = self._tree.sizes.get(node.id, -1)
            found = self._hashed(source) if source.size == size else ""
            if found != node.id and self._is_same(source, node, size):
                found = node.id
            return Node(
                mode if node.mode in (0o100644, EXECUTABLE) else node.mode, found or self._hashed(source)
            )

    def _is_same(self, source: Source, node: Node, size: int) -> bool:
        """Whether a file has other bytes and is the same for git."""
        if source.size > GIT_BLOB_BYTES or size < 0:
            return False
        if unmasked(source) is not source and size == source.size:
            # Whether the secret is another one is not told: only what can be seen counts.
            committed = self._repository.blob(node.id, self._deadline)
            return self._about.guard.as_shown(committed) == source.read_at(0, source.size)
        if size < source.size <= 2 * size:
            data = source.read_at(0, source.size)
            if b"\r\n" in data and named_as(data.replace(b"\r\n", b"\n")) == node.id:
                return True
        if size >= 1024:
            return False
        try:
            pointer = self._repository.blob(node.id, self._deadline)
        except (TooLargeBlob, errors.RepositoryFailed):
            return False
        oid = _OID.search(pointer) if is_pointer(pointer) else None
        if oid is None:
            return False
        digest = hashlib.sha256()
        for piece in _pieces(source):
            digest.update(piece)
        return digest.hexdigest().encode() == oid[1]

    def _hashed(self, source: Source) -> str:
        """The id that git would give a file."""
        key = ("id", source.version)
        known = self._repository.ids.get(key)
        if known is None:
            digest = hashlib.sha1(b"blob %d\0" % source.size, usedforsecurity=False)
            for piece in _pieces(source):
                self._deadline.check()
                digest.update(piece)
            known = digest.hexdigest()
            self._repository.ids.put(key, known)
        return known

    def _new(self, known: Mapping[str, Node]) -> Iterator[ChangedPath]:
        """The files that git does not know and does not ignore."""
        about, guard = self._about, self._about.guard
        hidden = IgnoreTree(guard)
        pending = [about.path]
        alone = self._alone(known)
        if alone is not None:
            yield alone
        looked_at = 0
        while pending:
            self._deadline.check()
            path = pending.pop()
            if path != about.prefix and hidden.ignored(path, folder=True) and not self._has(path):
                continue
            try:
                opened = guard.open_folder(path)
            except errors.NotAFolder:
                continue  # a file: git knows it, or it is new
            except errors.ReadroomError:
                continue
            with opened as folder:
                if folder.real != path:
                    continue
                visible = guard.visible(folder)
                if ".git" in visible.marks and path != about.prefix:
                    continue  # another repository
                for name, kind in visible.kinds.items():
                    looked_at += 1
                    own = join(path, name)
                    if looked_at > NEW_FILES:
                        self._left_out += 1
                        continue
                    if kind is EntryKind.FOLDER:
                        pending.append(own)
                        continue
                    inner = self._inner(own)
                    if inner in known or hidden.ignored(own, folder=False):
                        continue
                    found = self._added(inner, own, kind)
                    if found is not None:
                        yield found
            if looked_at % CHECK_EVERY == 0:
                self._deadline.check()

    def _alone(self, known: Mapping[str, Node]) -> ChangedPath | None:
        """The one file that was asked about, if git does not know it."""
        about = self._about
        if about.inner in known or not about.inner:
            return None
        try:
            real, stat = about.guard.stat(about.path)
        except errors.ReadroomError:
            return None
        if real != about.path or stat.kind is not EntryKind.FILE:
            return None
        return self._added(about.inner, about.path, stat.kind)

    def _added(self, inner: str, own: WorkPath, kind: EntryKind) -> ChangedPath | None:
        try:
            if kind is EntryKind.LINK:
                node = self._link(inner)
            elif kind is EntryKind.FILE:
                with self._about.guard.open(own) as source:
                    mode = EXECUTABLE if source.stat.mode & 0o100 else 0o100644
                    node = Node(mode, self._hashed(source))
            else:
                return None
        except errors.ReadroomError:
            self._hidden += 1
            return None
        if node is None or node.id in self._unseen:
            self._hidden += 1
            return None
        return ChangedPath("A", inner, inner, None, node, is_open=True)

    def _with_renames(self, changed: list[ChangedPath]) -> Iterator[ChangedPath]:
        """The changes, with a deleted and a new file of the same bytes as one."""
        gone = {file.before.id: file for file in changed if file.letter == "D" and file.before is not None}
        taken: set[str] = set()
        renames: list[ChangedPath] = []
        for file in changed:
            old = gone.get(file.after.id) if file.letter == "A" and file.after is not None else None
            if old is not None and old.path not in taken:
                taken |= {old.path, file.path}
                renames.append(ChangedPath("R", file.path, old.path, old.before, file.after, is_open=True))
        yield from (file for file in changed if file.path not in taken)
        yield from renames

    def _has(self, path: WorkPath) -> bool:
        """Whether git knows files below a folder."""
        return self._inner(path) in self._tree.folders

    def _inner(self, path: WorkPath) -> str:
        prefix = self._about.prefix
        if path == prefix:
            return ""
        return path if prefix == ROOT else path[len(prefix) + 1 :]


def named_as(data: bytes) -> str:
    """The id that git gives a file with these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _pieces(source: Source) -> Iterator[bytes]:
    plain = unmasked(source)  # git knows the bytes, and names them by what they are
    for at in range(0, source.size, BLOCK_BYTES):
        yield plain.read_at(at, BLOCK_BYTES)
