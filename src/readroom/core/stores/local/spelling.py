"""How folders spell names, where a file system takes names that differ in case or accents for one.

Rules and calls compare names as text, so a name is the one that its folder lists: a call that changes `a.txt`
and `A.txt` there must learn that they are one file.
"""

from __future__ import annotations

import contextlib
import os
import unicodedata
from collections.abc import Iterator

from readroom.core.paths import WorkPath, parts
from readroom.core.policy.rules.names import foldable
from readroom.core.stores.local.resolve import FOLDER_FLAGS

_ENTER_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def folder_as_listed(root: int, path: WorkPath) -> WorkPath:
    """The path of a folder below an open one, without links, in the spelling of the folders that list it."""
    above, found = os.dup(root), list[str]()
    try:
        for name in parts(path):
            found.append(as_listed(above, name))
            below = os.open(name, _ENTER_FLAGS, dir_fd=above)
            os.close(above)
            above = below
    except OSError:
        return path  # it is being moved, which whoever changes something in it will see
    finally:
        os.close(above)
    return WorkPath("/".join(found) or ".")


def as_listed(folder: int, name: str) -> str:
    """A name as its open folder lists it; the name itself if nothing has it, or its folder does not say."""
    if not _is_there(folder, name) or not any(_is_there(folder, other) for other in _others(name)):
        return name
    listed: list[str] = []
    with contextlib.suppress(OSError):
        fd = os.open(".", FOLDER_FLAGS, dir_fd=folder)
        try:
            listed = os.listdir(fd)
        finally:
            os.close(fd)
    if name in listed:
        return name
    folded = _folded(name)
    same = [other for other in listed if _folded(other) == folded]
    return same[0] if len(same) == 1 else name


def _others(name: str) -> Iterator[str]:
    """Names that are the same one where case or accents do not count, and others elsewhere."""
    for other in (name.swapcase(), *(unicodedata.normalize(form, name) for form in ("NFC", "NFD"))):
        if other != name:
            yield other


def _is_there(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except (OSError, ValueError):
        return False
    return True


def _folded(name: str) -> str:
    return foldable(name).lower()
