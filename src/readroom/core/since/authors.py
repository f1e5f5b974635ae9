"""Who made a change: the history is asked, the last changes of this process, and the journal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import final

from msgspec import Struct

from readroom.core.caller import Caller
from readroom.core.errors import ReadroomError
from readroom.core.history import History
from readroom.core.lru import LruCache
from readroom.core.session.conversation import shown_by
from readroom.core.session.journal import Journal, Made
from readroom.core.session.seen import SeenFile
from readroom.core.text import hashes
from readroom.core.values import Result
from readroom.core.values.changes import (
    ChangesResult,
    DeleteResult,
    EditFilesResult,
    MoveResult,
    TrashResult,
)
from readroom.core.values.history import Author, ChangedName, EntryState

_RECENT = 1000
"""Files of a workspace whose last change is remembered."""


class _Last(Struct, frozen=True):
    """The last change of a name: after it the name has that hash, or another name if it has none."""

    made: Made
    digits: str | None
    to: str | None = None


@final
class Authors:
    """The authors of the last changes in one workspace. Safe to share between threads."""

    def __init__(self, history: History | None, journal: Journal | None) -> None:
        """Both have the changes of other processes, if those use the same ones."""
        self._history = history
        self._journal = journal
        self._last: LruCache[str, _Last] = LruCache(_RECENT)

    def take(self, result: Result, caller: Caller) -> None:
        """Remember who has made the changes in a result."""
        made = (Author(caller.agent, caller.token, caller.session, caller.face), time.time_ns())
        for gone, to in renames(result):
            self._last.put(gone, _Last(made, None, to))
        for span in shown_by(result):
            if span.content_hash is not None:
                self._last.put(span.path, _Last(made, span.content_hash.removeprefix(hashes.PREFIX)))

    def of(self, seen: SeenFile, at_ns: int | None) -> Made | None:
        """Who has put a file into that state, as far as anybody knows; it changed at that time."""
        gone = seen.version is None
        digits = None if gone else seen.digits
        last = self._last.get(seen.path)
        if last is not None and last.digits == digits and (digits is not None or gone):
            return last.made
        with suppress(ReadroomError):
            found = self._in_history(seen)
            if found is None and self._journal is not None and digits is not None and at_ns is not None:
                found = self._journal.made(digits, at_ns)
            return found
        return None

    def moved_to(self, path: str) -> str | None:
        """The name that a file which is gone has now, by the last change of its old one."""
        last = self._last.get(path)
        if last is not None and last.digits is None:
            return last.to
        with suppress(ReadroomError):
            change = None if self._history is None else self._history.last_change(path)
            if change is not None and change.names and change.names[0].path == path:
                return change.names[0].to
        return None

    def _in_history(self, seen: SeenFile) -> Made | None:
        change = None if self._history is None else self._history.last_change(seen.path)
        if change is None or change.anew or not change.names:
            return None
        name = change.names[0]
        return (change.by, change.at_ns) if _led_to(name, seen) else None


def _led_to(name: ChangedName, seen: SeenFile) -> bool:
    """Whether a change has put a file into that state, and nothing has changed it since."""
    after = EntryState() if name.to is not None and name.path == seen.path else name.after
    if seen.version is None:
        return after.kind == "absent"
    if after.content_hash is not None and seen.digits is not None:
        return after.content_hash == hashes.full(seen.digits)
    return (after.size, after.mtime_ns) == (seen.version.size, seen.version.mtime_ns)


def renames(result: Result) -> Iterator[tuple[str, str | None]]:
    """The names that a change has taken away, each with the new one."""
    match result:
        case DeleteResult() | TrashResult():
            yield result.path, None
        case MoveResult():
            yield result.path, result.destination
        case ChangesResult():
            for one in result.results:
                yield from renames(one)  # type: ignore[arg-type]
        case EditFilesResult():
            for file in result.files:
                if file.action == "move":
                    yield file.requested, file.path
                elif file.action == "delete":
                    yield file.path, None
        case _:
            pass
