"""What is in a folder that is to be deleted or moved as a whole, and whether it may go with it."""

from __future__ import annotations

from readroom.deadline import Deadline
from readroom.errors import Denied, HoldsDenied, NotAFolder, NotFound, ReadOnlyFile, TooLarge
from readroom.limits import MAX_PATH_DEPTH
from readroom.limits_names import TREE_ENTRIES
from readroom.model import EntryKind
from readroom.paths import WorkPath, join, parts
from readroom.policy.places import Places
from readroom.stores.base import Folder, Moved


def survey_deletion(
    places: Places, folder: WorkPath, asked: str, deadline: Deadline, *, recursive: bool
) -> int:
    """The number of names in a folder that may all be deleted; without `recursive` of those at its top.

    Args:
        places: Where changes may be made.
        folder: Its real name.
        asked: As it was asked for, for failures.
        deadline: Ends the work.
        recursive: Whether what is in folders in it counts.

    Raises:
        HoldsDenied: A rule denies some of them.
        Protected, ReadOnlyFile: One is not to be changed.
        TooLarge: They are too many, or too deep.
        Moved: Somebody is changing the folder.
        NoPermission, StoreFailed, TimedOut, Cancelled: It cannot be looked through.
    """
    survey = _Survey(places, asked, deadline)
    survey.walk(folder, None, recursive=recursive)
    return survey.finish()


def survey_move(places: Places, folder: WorkPath, to: WorkPath, asked: str, deadline: Deadline) -> int:
    """The number of names in a folder that may all be moved, under their names and those they get.

    Raises as `survey_deletion` does, but nothing of files that are write-protected.
    """
    survey = _Survey(places, asked, deadline)
    survey.walk(folder, to, recursive=True)
    return survey.finish()


class _Survey:
    """One walk. Holds what its steps count."""

    def __init__(self, places: Places, asked: str, deadline: Deadline) -> None:
        self._places = places
        self._asked = asked
        self._deadline = deadline
        self._entries = 0
        self._denied = 0

    def finish(self) -> int:
        if self._denied:
            raise HoldsDenied(self._asked, self._denied)
        return self._entries

    def walk(self, folder: WorkPath, to: WorkPath | None, *, recursive: bool) -> None:
        """Look at all names below a folder; `to` is what it is going to be called."""
        pending = [(folder, to)]
        while pending:
            at, new = pending.pop()
            try:
                opened = self._places.guard.open_folder(at)
            except (NotFound, NotAFolder):
                raise Moved from None
            with opened:
                if opened.real != at:
                    raise Moved
                for name in self._folders(opened, at, new):
                    if recursive:
                        pending.append((join(at, name), None if new is None else join(new, name)))

    def _folders(self, opened: Folder, at: WorkPath, new: WorkPath | None) -> list[str]:
        """The folders in a folder; all that is in it is counted and checked."""
        found = []
        for entry in opened.entries():
            self._deadline.check()
            self._count(at if new is None else new)
            is_folder = entry.kind is EntryKind.FOLDER
            try:
                self._places.require_inside(join(at, entry.name), folder=is_folder)
                if new is not None:
                    self._places.require_inside(join(new, entry.name), folder=is_folder)
            except Denied:
                self._denied += 1
                continue
            if is_folder:
                found.append(entry.name)
            elif new is None and entry.kind is EntryKind.FILE:
                self._require_writable(opened, at, entry.name)
        return found

    def _count(self, folder: WorkPath) -> None:
        self._entries += 1
        advice = "Go on with the folders in it, one by one."
        if self._entries > TREE_ENTRIES:
            raise TooLarge(self._asked, self._entries, TREE_ENTRIES, "names", advice)
        if len(parts(folder)) >= MAX_PATH_DEPTH:
            raise TooLarge(self._asked, MAX_PATH_DEPTH + 1, MAX_PATH_DEPTH, "folders in one path", advice)

    def _require_writable(self, opened: Folder, at: WorkPath, name: str) -> None:
        try:
            mode = opened.stat(name).mode
        except NotFound:
            raise Moved from None
        if not mode & 0o222:
            raise ReadOnlyFile(join(at, name), mode)
