"""Taking back the steps of a batch, in the process that made them or in one that comes later.

A name is changed back only if what it has is exactly what the step put there, by device, inode, size and
time: anything else belongs to somebody else, stays, and is reported.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Protocol, TypeAlias

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.paths import WorkPath, join
from readroom.core.stores.base import Leftover, Moved
from readroom.core.stores.local import rename, resolve
from readroom.core.stores.local.journal import FOLDER, PUT, REMOVE, RENAME, TREE, Abandoned, Step
from readroom.core.stores.local.unfinished import lock

_FolderOf: TypeAlias = Callable[[WorkPath], int]
_Release: TypeAlias = Callable[[Step], None]
_Undo: TypeAlias = Callable[[Step, int, _FolderOf, _Release], Iterator[Leftover]]

_STAYS_SO = "a call that did not end changed it, and it stays so"
_CHANGED_SINCE = "it was changed by a call that did not end, and by another program since"


def undone(
    steps: Sequence[Step],
    folder: _FolderOf,
    release: _Release = lambda step: None,
) -> Iterator[Leftover]:
    """Take steps back, the last first; what could not be.

    Args:
        steps: Each made, or just begun, or not made at all.
        folder: The descriptor of a folder; raises KeyError if it is not there.
        release: Called for a step whose old content stays under its temporary name.
    """
    for step in reversed(steps):
        try:
            fd = folder(step.folder_path)
        except KeyError:
            continue  # it was not made, or is gone with everything in it
        try:
            yield from _UNDO[step.kind](step, fd, folder, release)
        except (OSError, KeyError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            yield Leftover(
                step.path, f"a call that did not end changed it, and it stays so: {reason or error}"
            )


def _undo_put(step: Step, fd: int, folder: _FolderOf, release: _Release) -> Iterator[Leftover]:
    now = rename.state_at(fd, step.file_name)
    if step.old is None:
        if now == step.new:
            rename.take_away(fd, step.file_name, step.aside_name, step.new)
        elif now is not None and step.new is not None and now[:2] == step.new[:2]:
            yield Leftover(step.path, _CHANGED_SINCE)
        rename.clear(folder(step.staged_path), step.temporary_name, step.new)
        return
    for kept in (step.temporary_name, step.aside_name):
        if rename.state_at(fd, kept) != step.old:
            continue
        if now == step.old:  # the old content has two names for a moment where names cannot be exchanged
            rename.clear(fd, kept, step.old)
        elif now in (step.new, None):
            if not rename.put_back(fd, kept, step.file_name, step.new):
                release(step)
                yield _kept(step, kept)
        else:
            release(step)
            yield _kept(step, kept)
    rename.clear(fd, step.temporary_name, step.new)


def _kept(step: Step, name: str) -> Leftover:
    where = join(step.folder_path, name)
    return Leftover(step.path, f"{_CHANGED_SINCE}; its content from before that is in {where}")


def _undo_remove(step: Step, fd: int, folder: _FolderOf, release: _Release) -> Iterator[Leftover]:
    if rename.state_at(fd, step.aside_name) is None:
        return
    try:
        rename.give_back(fd, step.aside_name, step.file_name)
    except FileExistsError:
        where = join(step.folder_path, step.aside_name)
        taken = f"another has its name since a call that did not end removed it; it is in {where}"
        yield Leftover(step.path, taken)


def _undo_rename(step: Step, fd: int, folder: _FolderOf, release: _Release) -> Iterator[Leftover]:
    try:
        to = folder(step.to_folder_path)
    except KeyError:
        return
    if rename.state_at(fd, step.aside_name) is not None:
        rename.give_back(fd, step.aside_name, step.file_name)
        return
    now = rename.state_at(to, step.to_file_name)
    if now is None or now[:2] != step.identity:
        return
    new = (to, step.to_file_name)
    try:
        if rename.respelled(new, (fd, step.file_name), step.aside_name, step.identity):
            return
        rename.move(new, (fd, step.file_name), step.identity)
    except Moved:
        there = join(step.to_folder_path, step.to_file_name)
        yield Leftover(there, "a call that did not end moved it here, and its name has another now")


def _undo_folder(step: Step, fd: int, folder: _FolderOf, release: _Release) -> Iterator[Leftover]:
    with contextlib.suppress(FileNotFoundError):
        try:
            os.rmdir(step.file_name, dir_fd=fd)
        except OSError as error:
            if error.errno not in rename.NOT_EMPTY:
                raise
    yield from ()


def _undo_tree(step: Step, fd: int, folder: _FolderOf, release: _Release) -> Iterator[Leftover]:
    """Remove a folder that came back as a whole, or what was written of it under its temporary name."""
    if step.name:
        now = rename.state_at(fd, step.file_name)
        if now is not None and step.new is not None and now[:2] == step.new[:2]:
            rename.set_aside(fd, step.file_name, step.aside_name, step.new, exact=False)
            found = {os.fsencode(name) for name in rename.names_inside(fd, step.aside_name)}
            if found <= set(step.inside):
                rename.clear_tree(fd, step.aside_name)
            else:
                rename.give_back(fd, step.aside_name, step.file_name)
                yield Leftover(step.path, _CHANGED_SINCE)
    rename.clear_tree(folder(step.staged_path), step.temporary_name)


_UNDO: dict[str, _Undo] = {
    TREE: _undo_tree,
    PUT: _undo_put,
    REMOVE: _undo_remove,
    RENAME: _undo_rename,
    FOLDER: _undo_folder,
}


def cleared(step: Step, fd: int) -> None:
    """Remove what had the name of a step before, after a batch that counts."""
    if step.kind == REMOVE:
        rename.clear_tree(fd, step.aside_name)
    elif step.kind == PUT and step.old is not None:
        for kept in (step.temporary_name, step.aside_name):
            rename.clear(fd, kept, step.old)


class Folders(Protocol):
    """Opens folders by their paths."""

    def folder(self, path: WorkPath) -> resolve.Found:
        """As `resolve.Way`."""


def recovered(
    way: Folders, abandoned: Abandoned, devices: Mapping[int, int], deadline: Deadline
) -> list[Leftover] | None:
    """Undo or clear what a process that died has left; None if its folders are in use.

    Args:
        way: Resolves folders in the root of the journal.
        abandoned: Its journal.
        devices: The numbers that devices of the journal have now.
        deadline: When waiting for other writers must end.
    """
    steps = abandoned.record.on(devices)
    with ExitStack() as stack:
        folders: dict[WorkPath, int] = {}

        def at(path: WorkPath) -> int:
            """A folder, which may be there only once a later step was taken back."""
            if path not in folders:
                with contextlib.suppress(OSError, errors.ReadroomError):
                    found = way.folder(path)
                    stack.callback(os.close, found.fd)
                    if found.real == path:
                        folders[path] = found.fd
            return folders[path]

        for path in sorted(
            {path for step in steps for path in (step.folder_path, step.staged_path, step.to_folder_path)}
        ):
            with contextlib.suppress(KeyError):
                at(path)
        try:
            for _, fd in sorted((rename.identity_of(fd), fd) for fd in folders.values()):
                lock(fd, deadline)
        except (errors.TimedOut, errors.Cancelled):
            return None
        if not abandoned.ended:
            return list(undone(steps, at))
        for step in steps:
            with contextlib.suppress(OSError, Moved, KeyError):
                cleared(step, folders[step.folder_path])
    return []
