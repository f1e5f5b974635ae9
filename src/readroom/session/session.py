"""One conversation: what was shown in it, and since when that is still in view.

A host that shortens a conversation says so (`compacted`).  From then on nothing
shown before counts as seen: a receipt "not modified" is for what the reader still
has in view, and after a compaction the reader has nothing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TypeVar, final

from readroom.limits_keeping import SESSION_FILES, SESSIONS
from readroom.model import ReadRequest, Request

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Shown:
    """Lines of one state of a file that a reply showed.

    Attributes:
        path: Relative to the workspace root.
        content_hash: Of the whole file, "sha256:" and 64 hex digits; None when the reply did not know it.
        first: The first line, 0 when what was shown has no lines.
        last: The last line, inclusive.
    """

    path: str
    content_hash: str | None
    first: int = 0
    last: int = 0


@final
class Session:
    """One conversation. Safe to share between threads."""

    def __init__(self, session_id: str, *, max_files: int = SESSION_FILES) -> None:
        self.id = session_id
        self._epoch = 0
        self._max_files = max_files
        self._shown: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._outlined: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def epoch(self) -> int:
        """How often the conversation was compacted so far."""
        return self._epoch

    def compacted(self) -> int:
        """The conversation was shortened: nothing shown before counts as seen. The new epoch."""
        with self._lock:
            self._epoch += 1
            return self._epoch

    def reached(self, epoch: int) -> None:
        """The host counts compactions itself and is at that one; an earlier one changes nothing."""
        with self._lock:
            self._epoch = max(self._epoch, epoch)

    def show(self, shown: Shown) -> None:
        """Remember what a reply shows; the files shown longest ago are forgotten."""
        if shown.content_hash is None:
            return
        key = (shown.path, shown.content_hash)
        with self._lock:
            self._remember(self._shown, key)

    def outline(self, path: str) -> None:
        """Remember that a reply has the outline of that file, or of what it does not show of it."""
        with self._lock:
            self._remember(self._outlined, path)

    def _remember(self, shown: OrderedDict[Key, int], key: Key) -> None:
        shown[key] = self._epoch
        shown.move_to_end(key)
        while len(shown) > self._max_files:
            shown.popitem(last=False)

    def has_in_view(self, path: str, content_hash: str) -> bool:
        """Whether that state of the file was shown since the last compaction; a start of its hash will do."""
        start = content_hash.removeprefix("sha256:").lower()
        with self._lock:
            return any(
                epoch == self._epoch and known == path and digest.removeprefix("sha256:").startswith(start)
                for (known, digest), epoch in self._shown.items()
            )

    def believed(self, request: Request) -> Request:
        """The request without a `known_hash` of something that is no longer in view.

        Before the first compaction the caller is believed: it may know the file from elsewhere.
        """
        if not isinstance(request, ReadRequest) or request.known_hash is None or self._epoch == 0:
            return request
        if self.has_in_view(request.path, request.known_hash):
            return request
        return replace(request, known_hash=None)

    def outlined_once(self, request: Request) -> Request:
        """The request without an outline beside its lines where the reader has that file's in view.

        Where a contract says how much that outline takes, it belongs to each of its replies.
        """
        if not isinstance(request, ReadRequest) or request.manner.outline_bytes is not None:
            return request
        with self._lock:
            if self._outlined.get(request.path) != self._epoch:
                return request
        return replace(request, manner=replace(request.manner, outline=False))


@final
class Sessions:
    """The conversations of one workspace, by their ids. Safe to share between threads."""

    def __init__(self, max_sessions: int = SESSIONS) -> None:
        self._max = max_sessions
        self._kept: OrderedDict[str, Session] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, session_id: str) -> Session:
        """The conversation of that id, begun if it is new; the one unused for longest is forgotten."""
        with self._lock:
            found = self._kept.get(session_id)
            if found is None:
                found = self._kept[session_id] = Session(session_id)
            self._kept.move_to_end(session_id)
            while len(self._kept) > self._max:
                self._kept.popitem(last=False)
            return found
