"""The files that a conversation was shown, each in the state that it knows: changes are reported once.

Knows: names, versions, hashes and line numbers; no content.
Does not know: how a change is found, and how it is worded (`engine.since`).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import TypeAlias, final

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.limits.session import SEEN_FILES
from readroom.core.paths import WorkPath
from readroom.core.values import Version

Lines: TypeAlias = tuple[int, int]
"""The first and the last line, inclusive."""

UNKNOWN = Version(-1, -1, -1, -1, -1)
"""In place of the version of a state that was gone before it could be noted: every other one differs."""

SEEN_SPANS = 8
"""Runs of lines that are remembered of one file; those shown longest ago are forgotten first."""


class SeenLines(Struct, frozen=True):
    """Lines that were shown, as numbered in one state of the file.

    Attributes:
        first, last: Their numbers, inclusive.
        digits: All hex digits of the hash of that state; None if it is not known.
    """

    first: int
    last: int
    digits: str | None = None


class SeenFile(Struct, frozen=True):
    """A file as a conversation knows it.

    Attributes:
        path: Its name in normal form.
        name: Its name as the conversation wrote it.
        version: The version of the state that it knows or has heard of; None if it knows that it is gone.
        digits: All hex digits of the hash of that state; None if it is not known.
        lines: What it was shown of it; empty if that has no lines.
        grows: It has heard that the file only grows, and has not looked at it since.
    """

    path: WorkPath
    name: str
    version: Version | None
    digits: str | None = None
    lines: tuple[SeenLines, ...] = ()
    grows: bool = False

    def shown(self, more: Iterable[SeenLines]) -> SeenFile:
        """With further lines; those that touch others of the same state are joined."""
        kept = list(self.lines)
        for new in more:
            for old in tuple(kept):
                if old.digits == new.digits and old.first <= new.last + 1 and new.first <= old.last + 1:
                    kept.remove(old)
                    new = SeenLines(min(old.first, new.first), max(old.last, new.last), new.digits)
            kept.append(new)
        return replace(self, lines=tuple(kept[-SEEN_SPANS:]))


@final
class SeenFilesHere:
    """The files that one conversation knows, in the memory of this process. Safe to share between threads."""

    def __init__(self, maximum: int = SEEN_FILES) -> None:
        self._maximum = maximum
        self._lock = threading.Lock()
        self._files: OrderedDict[str, SeenFile] = OrderedDict()

    def files(self) -> Sequence[SeenFile]:
        """All of them, the last shown first."""
        if not self._files:
            return ()
        with self._lock:
            return list(reversed(self._files.values()))

    def exchange(self, path: str, before: SeenFile | None, after: SeenFile | None) -> bool:
        """Put `after` in the place of `before`; False if something else is there by now."""
        with self._lock:
            if self._files.get(path) != before:
                return False
            self._files.pop(path, None)
            if after is not None:
                self._files[path] = after
                if len(self._files) > self._maximum:
                    self._files.popitem(last=False)
        return True

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._files.clear()


@final
class OwnChanges:
    """The changes that a conversation makes itself, as far as they run in this process.

    What they have changed on disk is noted when they end.  Another call could take it for a change
    by somebody else, so it looks for none meanwhile.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = self._begun = 0

    def begin(self) -> None:
        """A change begins."""
        with self._lock:
            self._running += 1
            self._begun += 1

    def end(self) -> None:
        """A change has ended and is noted."""
        with self._lock:
            self._running -= 1

    @property
    def quiet(self) -> int | None:
        """The number of changes so far; None while one runs."""
        with self._lock:
            return None if self._running else self._begun
