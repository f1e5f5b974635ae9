"""Changes of the workspace while a command ran, found by names and stats before and after it.

The walk looks at the names that searches show first.  What ignore files hide and what policy denies comes
after them, with a bound of its own: such names are counted and never named.  A tree that is too large is not
followed, which the result says.  Others may write at the same time, so a change is not always the command's.

Knows: what of a tree is compared, how far, and which names may be shown.
Does not know: commands, and how a reply words it.
May be touched: freely; what is named needs the guard's word.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from typing import final

from msgspec import Struct
from msgspec.structs import replace

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.limits import RUN_FOLLOWED_NAMES
from readroom.core.paths import ROOT, WorkPath, ancestors, join
from readroom.core.policy.guard import Guard
from readroom.core.policy.ignore_files import IgnoreTree
from readroom.core.stores.base import Folder
from readroom.core.text.hashes import digits_of, full
from readroom.core.values import EntryKind, Names
from readroom.core.values.commands import CHANGES_NAMED, Followed, TreeChange, TreeChanges

_FOLLOW_S = 5.0
"""Longest walk, of which there are two: ten times what the bounds take on an idle machine."""

_HIDDEN_NAMES = 20_000
"""Ignored and denied names that are compared; packages and the objects of a repository are more."""

_AT_ONCE = 1000
"""Names of a folder that policy decides about together."""

_HASHED_BYTES = 8 * 1024 * 1024
"""Bytes of changed files that are hashed for a reply: 10 ms."""

_IGNORED, _DENIED = 1, 2


class _Seen(Struct, frozen=True):
    """A name as it was: what has it, which file that is, and its state as one number."""

    kind: EntryKind
    file: tuple[int, int]
    state: int
    mode: int


class _Tree(Struct, frozen=True):
    """The names of a moment: those that may be shown, and the others, None if they are too many."""

    shown: Mapping[WorkPath, _Seen]
    hidden: Mapping[WorkPath, tuple[_Seen, int]] | None


class _TooMany(Exception):
    """There are more names than are compared."""


@final
class Following:
    """Follows the changes during one command. Used by one thread."""

    def __init__(self, guard: Guard, names: int = RUN_FOLLOWED_NAMES) -> None:
        """Look at the workspace as it is now; at most at so many names."""
        self._guard = guard
        self._most = names
        self._ignores = IgnoreTree(guard)
        self._why = ""
        self._before = self._looked()

    def changes(self) -> TreeChanges:
        """The names that are not as they were."""
        before, after = self._before, self._looked()
        if before is None or after is None:
            return TreeChanges(followed="no", problem=self._why)
        named = _folded(_compared(before.shown, after.shown))
        ignored = denied = 0
        followed: Followed = "visible"
        if before.hidden is not None and after.hidden is not None:
            followed = "all"
            for _, of in _differing(before.hidden, after.hidden):
                ignored, denied = ignored + (of == _IGNORED), denied + (of == _DENIED)
        told = _hashed(self._guard, named[:CHANGES_NAMED])
        return TreeChanges(tuple(told), len(named), ignored, denied, followed)

    def _looked(self) -> _Tree | None:
        """The tree as it is now; None if it cannot be followed."""
        if self._why:
            return None
        try:
            self._guard.refresh()
            return _Look(self._guard, self._ignores, self._most).tree()
        except _TooMany:
            self._why = f"it has more than {self._most:,} names"
        except errors.TimedOut:
            self._why = f"looking at its names takes more than {_FOLLOW_S:g} s"
        except errors.ReadroomError as error:
            self._why = error.message
        return None


def seen_by(guard: Guard, changes: TreeChanges) -> TreeChanges:
    """The changes without the names that further rules deny; those are counted."""

    def allows(change: TreeChange) -> bool:
        names = [WorkPath(name) for name in (change.path, change.to) if name is not None]
        return all(guard.allows(name, folder=change.kind is EntryKind.FOLDER) for name in names)

    guard.refresh()
    named = tuple(filter(allows, changes.named))
    denied = len(changes.named) - len(named)
    return replace(changes, named=named, total=changes.total - denied, denied=changes.denied + denied)


@final
class _Look:
    """One walk: the names first, which cost little, and then their stats unless there are too many."""

    def __init__(self, guard: Guard, ignores: IgnoreTree, most: int) -> None:
        self._guard = guard
        self._ignores = ignores
        self._left = most
        self._deadline = Deadline(_FOLLOW_S)

    def tree(self) -> _Tree:
        """All names. Raises _TooMany and TimedOut for those that may be shown."""
        told: list[tuple[WorkPath, str]] = []
        hidden: list[tuple[WorkPath, str, int]] = []
        pending = deque([ROOT])
        while pending:
            path = pending.popleft()
            for some in self._names(path):
                why = self._why_hidden(path, some)
                hidden += ((path, name, of) for name, of in why.items())
                told += ((path, name) for name in some.names if name not in why)
                pending += (join(path, name) for name in _folders(some) if name not in why)
        shown = {path: seen for path, seen, _ in self._stats((path, name, 0) for path, name in told)}
        self._left = _HIDDEN_NAMES
        with suppress(_TooMany, errors.TimedOut):
            return _Tree(shown, self._below_hidden(hidden))
        return _Tree(shown, None)

    def _why_hidden(self, path: WorkPath, some: Names) -> dict[str, int]:
        """The names in a folder that are never told."""
        folders = _folders(some)
        ignored = dict.fromkeys(self._ignores.hidden(path, some.names, folders), _IGNORED)
        return ignored | dict.fromkeys(self._guard.denied(path, some.names, folders), _DENIED)

    def _below_hidden(self, names: list[tuple[WorkPath, str, int]]) -> dict[WorkPath, tuple[_Seen, int]]:
        """Those names and all below them."""
        found: dict[WorkPath, tuple[_Seen, int]] = {}
        self._left -= len(names)
        while names:
            if self._left < 0:
                raise _TooMany
            level = list(self._stats(names))
            found.update((path, (seen, of)) for path, seen, of in level)
            names = []
            for path, seen, of in level:
                for some in self._names(path) if seen.kind is EntryKind.FOLDER else ():
                    inner = dict.fromkeys(some.names, of)
                    inner.update(dict.fromkeys(self._guard.denied(path, some.names, _folders(some)), _DENIED))
                    names += ((path, name, of) for name, of in inner.items())
        return found

    def _names(self, path: WorkPath) -> Iterator[Names]:
        """The names of a folder; none of one that is gone, or cannot be read."""
        with _HeldFolder(self._guard, path) as folder:
            if folder is None:
                return
            with suppress(errors.AbsentError, errors.NoPermission, errors.StoreFailed):
                for some in folder.names(_AT_ONCE):
                    self._deadline.check()
                    self._left -= len(some.names)
                    if self._left < 0:
                        raise _TooMany
                    yield some

    def _stats(self, names: Iterable[tuple[WorkPath, str, int]]) -> Iterator[tuple[WorkPath, _Seen, int]]:
        """The state of names, which come folder by folder; without those that are gone."""
        for path, some in groupby(names, key=itemgetter(0)):
            self._deadline.check()
            with _HeldFolder(self._guard, path) as folder:
                for _, name, of in some:
                    seen = None if folder is None else _seen(folder, name)
                    if seen is not None:
                        yield join(path, name), seen, of


def _folders(some: Names) -> list[str]:
    return [name for name, kind in some.kinds.items() if kind is EntryKind.FOLDER]


def _seen(folder: Folder, name: str) -> _Seen | None:
    try:
        stat = folder.stat(name)
    except errors.ReadroomError:
        return None
    file = (stat.device, stat.inode)
    if stat.kind is EntryKind.FOLDER:
        return _Seen(stat.kind, file, 0, stat.mode)  # its names tell what changed in it
    return _Seen(stat.kind, file, hash((stat.size, stat.mtime_ns, stat.changed_ns)), stat.mode)


@final
class _HeldFolder:
    """A folder that is open while it is looked at; None for one that is gone or has become a link."""

    def __init__(self, guard: Guard, path: WorkPath) -> None:
        self._folder: Folder | None = None
        # Not through the guard: names that policy denies are compared too, and counted only.
        with suppress(errors.ReadroomError):
            self._folder = guard.store.open_folder(path)
            if self._folder.real != path:
                self._folder.close()
                self._folder = None

    def __enter__(self) -> Folder | None:
        return self._folder

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.close()


# --- two trees compared ---------------------------------------------------------------------------


def _differing(
    before: Mapping[WorkPath, tuple[_Seen, int]], after: Mapping[WorkPath, tuple[_Seen, int]]
) -> Iterator[tuple[WorkPath, int]]:
    """The hidden names that are not as they were, and why they are hidden."""
    for path, (seen, of) in after.items():
        old = before.get(path)
        if old is None or old[0] != seen:
            yield path, of
    yield from ((path, of) for path, (_, of) in before.items() if path not in after)


def _compared(before: Mapping[WorkPath, _Seen], after: Mapping[WorkPath, _Seen]) -> list[TreeChange]:
    """The changes, by name."""
    gone = {path: seen for path, seen in before.items() if path not in after}
    new = {path: seen for path, seen in after.items() if path not in before}
    changes = [
        change
        for path, seen in after.items()
        if (old := before.get(path)) is not None and (change := _of_one(path, old, seen)) is not None
    ]
    moves = _moves(gone, new)
    changes += [TreeChange("moved", gone[path].kind, path, to) for path, to in moves.items()]
    moved_to = set(moves.values())
    changes += [TreeChange("deleted", seen.kind, path) for path, seen in gone.items() if path not in moves]
    changes += [TreeChange("created", seen.kind, path) for path, seen in new.items() if path not in moved_to]
    return sorted(changes, key=lambda change: change.path)


def _of_one(path: WorkPath, old: _Seen, now: _Seen) -> TreeChange | None:
    if old == now:
        return None
    if old.kind is not now.kind:
        return TreeChange("changed", now.kind, path)
    if now.kind is EntryKind.FOLDER and old.mode == now.mode:
        return None  # another folder of that name: what is in it is compared by name
    return TreeChange("changed", now.kind, path)


def _moves(gone: Mapping[WorkPath, _Seen], new: Mapping[WorkPath, _Seen]) -> dict[WorkPath, WorkPath]:
    """The new names of files and folders, by the old ones."""
    by_file: dict[tuple[int, int], WorkPath | None] = {}
    for path, seen in gone.items():
        by_file[seen.file] = None if seen.file in by_file else path
    moves: dict[WorkPath, WorkPath] = {}
    for path, seen in new.items():
        old = by_file.pop(seen.file, None)
        if old is not None and gone[old].kind is seen.kind and seen.file != (0, 0):
            moves[old] = path
    return moves


def _folded(changes: list[TreeChange]) -> list[TreeChange]:
    """The changes without those that a change of a folder above them says already, which counts them."""
    whole = {
        change.path: change
        for change in changes
        if change.kind is EntryKind.FOLDER and change.action != "changed"
    }
    below: dict[str, int] = {}
    kept: list[TreeChange] = []
    for change in changes:
        above = ancestors(WorkPath(change.path))
        top = next((whole[name] for name in above if name in whole), None)
        if top is None or not _is_said(change, top):
            kept.append(change)
        else:
            below[top.path] = below.get(top.path, 0) + 1
    return [replace(change, names=below[change.path]) if change.path in below else change for change in kept]


def _is_said(change: TreeChange, top: TreeChange) -> bool:
    """Whether the change of a folder includes one of a name below it."""
    if top.action != change.action:
        return False
    return change.to is None or change.to == f"{top.to}{change.path[len(top.path) :]}"


def _hashed(guard: Guard, changes: list[TreeChange]) -> Iterator[TreeChange]:
    """The changes, with the hashes of files that are not too large to hash them all."""
    left = _HASHED_BYTES
    for change in changes:
        path = WorkPath(change.to or change.path)
        if change.kind is EntryKind.FILE and change.action != "deleted":
            with suppress(errors.ReadroomError), guard.open(path) as source:
                if source.size <= left:
                    left -= source.size
                    hashed = full(digits_of(source, Deadline(_FOLLOW_S)))
                    yield replace(change, content_hash=hashed)
                    continue
        yield change
