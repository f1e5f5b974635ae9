"""Whole outputs that a client keeps in files beside its records, found by their names and never by their
paths.

A record names such a file by an absolute path of the machine it was written on. The path is not followed:
a file of that name is looked for in the folders where clients keep them, near the record.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from readroom.limits.lens import KEPT_FILE_BYTES, KEPT_FOLDERS

_FOLDERS = frozenset({"tool-outputs", "tool-output", "tool-results", "tmp"})


def beside(record: Path) -> Callable[[str], str]:
    """What gives the text of a file that a client kept near `record`; empty where there is none."""

    def text(path: str) -> str:
        name = path.replace("\\", "/").rpartition("/")[2]
        if not name or name in (".", "..") or "\0" in name or len(name) > 255:
            return ""
        for folder in _folders(record):
            content = _read(os.path.join(folder, name))
            if content:
                return content
        return ""

    return text


def _folders(record: Path) -> list[str]:
    """The folders near a record in which its client keeps outputs, and those inside of them."""
    folders: list[str] = []
    nearby = [record.parent / record.stem, *list(record.parents)[:5]]
    for place in nearby:
        for name in sorted(_FOLDERS):
            folder = place / name
            if folder.is_symlink() or not folder.is_dir() or len(folders) >= KEPT_FOLDERS:
                continue
            folders.append(str(folder))
            with suppress(OSError), os.scandir(folder) as entries:
                inner = sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
                folders += inner[: KEPT_FOLDERS - len(folders)]
    return folders


def _read(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return stream.read(KEPT_FILE_BYTES).decode("utf-8", "replace")
