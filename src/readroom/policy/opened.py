"""A command's reach as Landlock rules, each on a file or folder that is held open.

Landlock allows and never takes back: what is said of a folder holds for all below
it.  So of a split folder only the entries are opened, one by one, and in the
folder itself nothing can be made, removed or renamed.  It can be listed unless a
hidden folder lies below, whose names would be told.
"""

from __future__ import annotations

import os
import stat

from readroom.errors import NotConfined
from readroom.limits import RUN_RULES
from readroom.paths import WorkPath
from readroom.policy import landlock
from readroom.policy.landlock import CHANGE, EXECUTE, READ, Right
from readroom.policy.reach import Access, Child, Reach, Split
from readroom.stores.base import Store

_READ_ONLY = READ | EXECUTE


def open_workspace(rules: int, store: Store, reach: Reach, *, change: bool) -> None:
    """Add the rules for a workspace; `change` False opens all of it for reading only.

    Raises:
        NotConfined: There are too many entries to be opened one by one.
        ReadroomError, OSError: A folder is not what it was a moment ago.
    """
    whole = CHANGE if change else _READ_ONLY
    if not reach.splits:
        with store.open_folder(WorkPath(".")) as root:
            _allow(rules, root.fileno(), whole)
        return
    count = 0
    for path, split in reach.walk():
        count += len(split.children)
        if count > RUN_RULES:
            raise NotConfined(
                "landlock",
                f"beside denied names are more than {RUN_RULES:,} others, which Landlock opens one by one",
                "Ask the user to install bubblewrap, or to move what is denied into a folder of its own.",
            )
        _open_split(rules, store, path, split, whole)


def _open_split(rules: int, store: Store, path: WorkPath, split: Split, whole: Right) -> None:
    with store.open_folder(path) as folder:
        if folder.real != path:
            raise FileNotFoundError(path)
        fd = folder.fileno()
        assert fd is not None
        if not split.hides_folders:
            landlock.allow(rules, fd, Right.READ_DIR)
        for child in split.children:
            if child.access in (Access.WHOLE, Access.FIXED):
                _open_child(rules, fd, child, whole if child.access is Access.WHOLE else _READ_ONLY)


def _open_child(rules: int, folder: int, child: Child, rights: Right) -> None:
    try:
        fd = os.open(child.name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return  # gone since it was listed
    try:
        if stat.S_ISDIR(os.fstat(fd).st_mode) is child.folder:  # or else it is another by now
            _allow(rules, fd, rights)
    finally:
        os.close(fd)


def _allow(rules: int, fd: int | None, rights: Right) -> None:
    assert fd is not None
    landlock.allow(rules, fd, rights)
