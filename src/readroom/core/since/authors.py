"""Who made a change: the last ones of this process are remembered, of others the journal is asked."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import final

from msgspec import Struct

from readroom.core.caller import Caller
from readroom.core.errors import ReadroomError
from readroom.core.lru import LruCache
from readroom.core.session.conversation import shown_by
from readroom.core.session.journal import Author, Journal
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

_RECENT = 1000
"""Files of a workspace whose last change is remembered."""


class _Last(Struct, frozen=True):
    author: Author
    digits: str | None


@final
class Authors:
    """The authors of the last changes in one workspace. Safe to share between threads."""

    def __init__(self, journal: Journal | None) -> None:
        """`journal` has the changes of other processes, if they use the same one."""
        self._journal = journal
        self._last: LruCache[str, _Last] = LruCache(_RECENT)

    def take(self, result: Result, caller: Caller) -> None:
        """Remember who has made the changes in a result."""
        author = Author(caller.agent, caller.session, caller.token, time.time_ns())
        for gone, _ in renames(result):
            self._last.put(gone, _Last(author, None))
        for span in shown_by(result):
            if span.content_hash is not None:
                self._last.put(span.path, _Last(author, span.content_hash.removeprefix(hashes.PREFIX)))

    def of(self, seen: SeenFile, at_ns: int | None) -> Author | None:
        """Who has put a file into that state, as far as anybody knows; it changed at that time."""
        last = self._last.get(seen.path)
        digits = None if seen.version is None else seen.digits
        if last is not None and last.digits == digits and (digits is not None or seen.version is None):
            return last.author
        if self._journal is None or digits is None or at_ns is None:
            return None
        try:
            return self._journal.author(digits, at_ns)
        except ReadroomError:
            return None


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
