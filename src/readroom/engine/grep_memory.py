"""The files below one folder of a store that no program can walk, in path order."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from typing import final

from readroom.deadline import Deadline
from readroom.engine.grep_cursor import Cursor, end_of_folder
from readroom.engine.grep_scope import Scope, join_below
from readroom.engine.grep_watch import LeftFile
from readroom.engine.listing_cursor import path_key
from readroom.errors import ReadroomError, TimedOut
from readroom.model import EntryKind
from readroom.policy.guard import Guard
from readroom.stores.base import Folder


@final
class Walked:
    """All files that a scope takes: each has to be searched. Attributes as of `grep_ripgrep.Tree`."""

    def __init__(self, guard: Guard, top: Folder, scope: Scope, deadline: Deadline) -> None:
        self._guard = guard
        self._top = top
        self._scope = scope
        self._deadline = deadline
        self.unreadable: list[str] = []
        self.stopped_at: str | None = None
        self.left: list[LeftFile] = []

    def files(self, after: Cursor | None, *, at_once: bool = True) -> Generator[str]:
        """Candidates in path order, relative to the folder; from a cursor on, its own file included."""
        least = b"" if after is None else after.place.key
        yield from self._below("", self._top, least)

    def _below(self, prefix: str, folder: Folder, least: bytes) -> Iterator[str]:
        kinds = {entry.name: entry.kind for entry in folder.entries()}
        for name in sorted(kinds, key=os.fsencode):
            path = prefix + name
            key = path_key(path)
            try:
                self._deadline.check()
            except TimedOut:
                self.stopped_at = path
                raise
            if kinds[name] is EntryKind.FILE:
                if key >= least and self._scope.takes(path):
                    yield path
            elif kinds[name] is EntryKind.FOLDER and end_of_folder(key) > least and self._scope.enters(path):
                yield from self._deeper(path, least)

    def _deeper(self, path: str, least: bytes) -> Iterator[str]:
        below = join_below(self._top.real, path)
        try:
            folder = self._guard.open_folder(below)
        except ReadroomError:
            return  # denied, or gone since its name was read
        with folder:
            if folder.real == below:
                yield from self._below(f"{path}/", folder, least)
