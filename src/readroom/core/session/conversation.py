"""A conversation: what it was shown, and whether that is still in the reader's view.

A host that shortens a conversation says so (`compacted`).  From then on nothing that was shown before
counts as seen, because "not modified" helps only a reader who still has the text.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final, Protocol, final

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.limits.session import SESSION_FILES, SESSIONS
from readroom.core.lru import LruCache
from readroom.core.session.seen import OwnChanges, SeenFile, SeenFilesHere
from readroom.core.stores.base import Shelf
from readroom.core.values import FindResult, GrepResult, ReadRequest, ReadResult, Result
from readroom.core.values.changes import ChangesResult, EditFilesResult, EditResult, WriteResult
from readroom.core.values.commands import RunResult, WatchResult
from readroom.core.values.files import BytesResult
from readroom.core.values.many import ReadManyResult
from readroom.core.values.packing import PackResult
from readroom.core.values.verbs import BY_RESULT, function

OUTLINE = "outline"
"""Used in place of a hash: an outline of the file was shown."""

_KIND = "sha256:"
"""The prefix of a hash, which callers may leave out."""


class ShownLines(Struct, frozen=True):
    """Lines of one state of a file that a reply showed.

    Attributes:
        path: Relative to the workspace root.
        content_hash: The hash of the whole file, "sha256:" and 64 hex digits; None if not known.
        first: The first line; 0 if no lines were shown.
        last: The last line, inclusive.
    """

    path: str
    content_hash: str | None
    first: int = 0
    last: int = 0


class Seen(Protocol):
    """What a conversation was shown. Safe to share between threads."""

    @property
    def epoch(self) -> int:
        """How often the conversation was compacted."""

    def advance(self, epoch: int | None) -> int:
        """Advance to an epoch, or to the next one, never back; returns the new epoch."""

    def show(self, path: str, content_hash: str) -> None:
        """Remember that a state of a file was shown."""

    def shown(self, path: str, start: str) -> bool:
        """Whether a state whose hash begins with `start` was shown in this epoch."""

    def files(self) -> Sequence[SeenFile]:
        """The files that were shown in this epoch, the last shown first."""

    def exchange(self, path: str, before: SeenFile | None, after: SeenFile | None) -> bool:
        """Put what is known of a file now in the place of what was; False if that is another by now."""


class State(Protocol):
    """What the processes of a server share. Safe to share between threads."""

    several: bool
    """There may be other processes."""

    def conversations(self, workspace: str) -> Callable[[str], Seen]:
        """What each conversation of a workspace was shown, by its id."""

    def outputs(self, workspace: str) -> Shelf:
        """The kept outputs of a workspace."""


@final
class SeenHere:
    """`Seen` in the memory of this process; the oldest entries are forgotten."""

    def __init__(self, max_files: int = SESSION_FILES) -> None:
        self.epoch = 0
        self._shown: LruCache[tuple[str, str], int] = LruCache(max_files)
        self._lock = threading.Lock()
        self._files = SeenFilesHere()
        self.files = self._files.files
        self.exchange = self._files.exchange

    def advance(self, epoch: int | None) -> int:
        """See `Seen`."""
        with self._lock:
            before = self.epoch
            self.epoch = before + 1 if epoch is None else max(before, epoch)
            if self.epoch != before:
                self._files.clear()
            return self.epoch

    def show(self, path: str, content_hash: str) -> None:
        """See `Seen`."""
        self._shown.put((path, content_hash), self.epoch)

    def shown(self, path: str, start: str) -> bool:
        """See `Seen`."""
        if self._shown.get((path, start)) == self.epoch:
            return True
        # A full hash and an outline need no lookup.
        return start != OUTLINE and any(
            known == path and at == self.epoch and digest.startswith(start)
            for (known, digest), at in self._shown.items()
        )


@final
class Session:
    """One conversation. Safe to share between threads."""

    def __init__(
        self,
        session_id: str,
        seen: Seen | None = None,
        own: OwnChanges | None = None,
        *,
        max_files: int = SESSION_FILES,
    ) -> None:
        """`seen` is what it was shown; None to remember that in this process."""
        self.id = session_id
        self._seen: Seen = seen or SeenHere(max_files)
        self.own: Final = own or OwnChanges()
        """The changes that it makes itself."""
        self.files: Final = self._seen.files
        self.exchange: Final = self._seen.exchange

    @property
    def epoch(self) -> int:
        """How often the conversation was compacted. Raises StateFailed."""
        return self._seen.epoch

    def compacted(self) -> int:
        """Record that the conversation was shortened, so nothing counts as seen; returns the new epoch."""
        return self._seen.advance(None)

    def was_told(self, what: str) -> bool:
        """Whether `tell` was called in this epoch. Raises StateFailed."""
        return self._seen.shown(f"/{what}", OUTLINE)

    def tell(self, what: str) -> None:
        """Remember that something was said that is said once."""
        self._seen.show(f"/{what}", OUTLINE)

    def reached(self, epoch: int) -> None:
        """Record the host's own count of compactions; an earlier one changes nothing."""
        if epoch > self.epoch:
            self._seen.advance(epoch)

    def show(self, span: ShownLines) -> None:
        """Remember what a reply shows."""
        if span.content_hash is not None:
            self._seen.show(span.path, span.content_hash.removeprefix(_KIND).lower())

    def outline(self, path: str) -> None:
        """Remember that a reply has an outline of that file."""
        self._seen.show(path, OUTLINE)

    def has_in_view(self, path: str, content_hash: str) -> bool:
        """Whether that state of the file was shown since the last compaction; a hash prefix will do."""
        return self._seen.shown(path, content_hash.removeprefix(_KIND).lower())

    def believed(self, request: ReadRequest) -> ReadRequest:
        """The request without its `known_hash` if that state is no longer in view.

        Before the first compaction the caller is believed: it may know the file from elsewhere.
        """
        if request.known_hash is None or self.epoch == 0:
            return request
        if self.has_in_view(request.path, request.known_hash):
            return request
        return replace(request, known_hash=None)

    def outlined_once(self, request: ReadRequest) -> ReadRequest:
        """The request without an outline next to its lines, if the reader still has that outline.

        If a contract sets the size of that outline, it belongs to each of its replies.
        """
        if request.options.outline_bytes is not None:
            return request
        if not self._seen.shown(request.path, OUTLINE):
            return request
        return replace(request, options=replace(request.options, outline_bytes=0))


@final
class Sessions:
    """The conversations of one workspace, by their ids. Safe to share between threads."""

    def __init__(self, max_sessions: int = SESSIONS, shared: Callable[[str], Seen] | None = None) -> None:
        """`shared` returns what all processes showed to a conversation; None for this process alone."""
        self._kept: LruCache[str, Session] = LruCache(max_sessions)
        self._own: LruCache[str, OwnChanges] = LruCache(max_sessions)
        self._shared = shared

    def of(self, session_id: str) -> Session:
        """The conversation of that id, created if new; the least recently used one is forgotten."""
        # Conversations without a name cannot share anything.
        if self._shared is not None and session_id:
            own = self._own.get_or_put(session_id, OwnChanges)
            return Session(session_id, self._shared(session_id), own)
        return self._kept.get_or_put(session_id, lambda: Session(session_id))


# -----------------------------------------------------------------------------
# What a result shows of which files, for session and ledger: names, hashes and spans, no content.
# -----------------------------------------------------------------------------


def shown_by(result: Result) -> Sequence[ShownLines]:
    """The lines that a reply for `result` shows, at most SHOWN_SPANS entries; listings show none."""
    name = BY_RESULT[type(result)].shown
    if name is None:
        return ()
    spans: Sequence[ShownLines] = function(name)(result)
    return spans


def shown_by_read(result: ReadResult) -> Sequence[ShownLines]:
    """The lines; for a document or image only that it was shown."""
    if result.not_modified:
        return ()
    if result.document is not None or result.image is not None:
        return (ShownLines(result.path, result.content_hash),)
    if not result.lines:
        return ()
    return (ShownLines(result.path, result.content_hash, result.start, result.end),)


def shown_by_reads(result: ReadManyResult) -> Sequence[ShownLines]:
    """The same of each file."""
    return [span for item in result.items if isinstance(item, ReadResult) for span in shown_by_read(item)]


def shown_by_bytes(result: BytesResult) -> Sequence[ShownLines]:
    """Only that bytes of the file were sent."""
    return (ShownLines(result.path, None),)


def shown_by_pack(result: PackResult) -> Sequence[ShownLines]:
    """The same of each file in an archive."""
    return [ShownLines(file.path, None) for file in result.packing.files]


def shown_by_change(result: EditResult | WriteResult) -> Sequence[ShownLines]:
    """The file with its new hash, which a later edit has to name."""
    return (ShownLines(result.path, result.content_hash),)


def shown_by_edit_files(result: EditFilesResult) -> Sequence[ShownLines]:
    """The same for each file that is still there."""
    there = (file for file in result.files if file.content_hash is not None)
    return [ShownLines(file.path, file.content_hash) for file in there]


def shown_by_changes(result: ChangesResult) -> Sequence[ShownLines]:
    """The same for each file that has a hash afterwards."""
    return [
        ShownLines(done.path, done.content_hash)
        for done in result.results
        if isinstance(done, EditResult | WriteResult)
    ]


def shown_by_run(result: RunResult | WatchResult) -> Sequence[ShownLines]:
    """The shown lines of the outputs."""
    return [
        ShownLines(output.path, None, output.lines[0].number, output.lines[-1].number)
        for output in result.outputs
        if output.lines
    ]


SHOWN_SPANS = 200
"""Runs of lines recorded for one reply; a full search reply has 100."""


def shown_by_find(result: FindResult) -> Sequence[ShownLines]:
    """Whole passages, with the hash of the file; for a document only that it was shown."""
    if result.request.output != "passages":
        return ()
    spans = [
        ShownLines(file.path, file.content_hash, passage.first, passage.last)
        if passage.part is None
        else ShownLines(file.path, file.content_hash)
        for file in result.files
        for passage in file.passages
    ]
    return spans[:SHOWN_SPANS]


def shown_by_grep(result: GrepResult) -> Sequence[ShownLines]:
    """Runs of shown lines, without a hash, which a search does not know."""
    spans: list[ShownLines] = []
    for file in result.files:
        first = last = 0
        for line in file.lines:
            if last and line.number == last + 1:
                last = line.number
                continue
            if last:
                spans.append(ShownLines(file.path, None, first, last))
            first = last = line.number
        if last:
            spans.append(ShownLines(file.path, None, first, last))
        if len(spans) >= SHOWN_SPANS:
            return spans[:SHOWN_SPANS]
    return spans
