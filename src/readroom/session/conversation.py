"""A conversation: what it was shown, and whether that is still in the reader's view.

A host that shortens a conversation says so (`compacted`).  From then on nothing that was shown before
counts as seen, because "not modified" helps only a reader who still has the text.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Protocol, final

from msgspec import Struct
from msgspec.structs import replace

from readroom.limits.session import SESSION_FILES, SESSIONS, SHOWN_SPANS
from readroom.lru import LruCache
from readroom.session.shared import OUTLINE
from readroom.values import FindResult, GrepResult, ReadRequest, ReadResult, Result
from readroom.values.changes import EditFilesResult, EditResult, WriteResult
from readroom.values.commands import RunResult
from readroom.values.files import BytesResult
from readroom.values.verbs import BY_RESULT, function

_KIND = "sha256:"
"""Before the digits of a hash; a caller may leave it out."""


class ShownLines(Struct, frozen=True):
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


class Seen(Protocol):
    """What one conversation was shown. Safe to share between threads."""

    @property
    def epoch(self) -> int:
        """How often it was compacted so far."""

    def advance(self, epoch: int | None) -> int:
        """Go on to an epoch, or to the next one; never back. The new epoch."""

    def show(self, path: str, content_hash: str) -> None:
        """Remember that a state of a file was shown."""

    def shown(self, path: str, start: str) -> bool:
        """Whether a state whose hash begins so was shown in this epoch."""


@final
class SeenHere:
    """Kept in the memory of this process; what was shown longest ago is forgotten."""

    def __init__(self, max_files: int = SESSION_FILES) -> None:
        self.epoch = 0
        self._shown: LruCache[tuple[str, str], int] = LruCache(max_files)
        self._lock = threading.Lock()

    def advance(self, epoch: int | None) -> int:
        """See `Seen`."""
        with self._lock:
            self.epoch = self.epoch + 1 if epoch is None else max(self.epoch, epoch)
            return self.epoch

    def show(self, path: str, content_hash: str) -> None:
        """See `Seen`."""
        self._shown.put((path, content_hash), self.epoch)

    def shown(self, path: str, start: str) -> bool:
        """See `Seen`."""
        if self._shown.get((path, start)) == self.epoch:
            return True
        # With a whole hash, and for an outline, there is nothing to look for.
        return start != OUTLINE and any(
            known == path and at == self.epoch and digest.startswith(start)
            for (known, digest), at in self._shown.items()
        )


@final
class Session:
    """One conversation. Safe to share between threads."""

    def __init__(self, session_id: str, seen: Seen | None = None, *, max_files: int = SESSION_FILES) -> None:
        """`seen` is what it was shown; None for what this process will remember of it."""
        self.id = session_id
        self._seen: Seen = seen or SeenHere(max_files)

    @property
    def epoch(self) -> int:
        """How often the conversation was compacted so far. Raises StateFailed."""
        return self._seen.epoch

    def compacted(self) -> int:
        """The conversation was shortened: nothing shown before counts as seen. The new epoch."""
        return self._seen.advance(None)

    def reached(self, epoch: int) -> None:
        """The host counts compactions itself and is at that one; an earlier one changes nothing."""
        if epoch > self.epoch:
            self._seen.advance(epoch)

    def show(self, span: ShownLines) -> None:
        """Remember what a reply shows; the files shown longest ago are forgotten."""
        if span.content_hash is not None:
            self._seen.show(span.path, span.content_hash.removeprefix(_KIND).lower())

    def outline(self, path: str) -> None:
        """Remember that a reply has the outline of that file, or of what it does not show of it."""
        self._seen.show(path, OUTLINE)

    def has_in_view(self, path: str, content_hash: str) -> bool:
        """Whether that state of the file was shown since the last compaction; a start of its hash will do."""
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
        """The request without an outline beside its lines where the reader has that file's in view.

        Where a contract says how much that outline takes, it belongs to each of its replies.
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
        """`shared` says what a conversation was shown by any process; None for this one alone."""
        self._kept: LruCache[str, Session] = LruCache(max_sessions)
        self._shared = shared

    def of(self, session_id: str) -> Session:
        """The conversation of that id, begun if it is new; the one unused for longest is forgotten."""
        # Conversations without a name have nothing in common that could be shared.
        if self._shared is not None and session_id:
            return Session(session_id, self._shared(session_id))
        return self._kept.get_or_put(session_id, lambda: Session(session_id))


# -----------------------------------------------------------------------------
# What a result shows of which files, for the session and the ledger: names, hashes and spans, no content.
# -----------------------------------------------------------------------------


def shown_by(result: Result) -> Sequence[ShownLines]:
    """The spans that a reply for `result` shows, at most SHOWN_SPANS; names of listings do not count."""
    name = BY_RESULT[type(result)].shown
    if name is None:
        return ()
    spans: Sequence[ShownLines] = function(name)(result)
    return spans


def shown_by_read(result: ReadResult) -> Sequence[ShownLines]:
    """The lines; of a document or an image that it was shown."""
    if result.not_modified:
        return ()
    if result.document is not None or result.image is not None:
        return (ShownLines(result.path, result.content_hash),)
    if not result.lines:
        return ()
    return (ShownLines(result.path, result.content_hash, result.start, result.end),)


def shown_by_bytes(result: BytesResult) -> Sequence[ShownLines]:
    """That bytes of the file went out."""
    return (ShownLines(result.path, None),)


def shown_by_change(result: EditResult | WriteResult) -> Sequence[ShownLines]:
    """Of a change the caller sees its own text; the hash is what a later edit has to name."""
    return (ShownLines(result.path, result.content_hash),)


def shown_by_edit_files(result: EditFilesResult) -> Sequence[ShownLines]:
    """As of one change, for each file."""
    return [ShownLines(file.path, file.content_hash) for file in result.files]


def shown_by_run(result: RunResult) -> Sequence[ShownLines]:
    """The shown lines of its outputs."""
    return [
        ShownLines(output.path, None, output.lines[0].number, output.lines[-1].number)
        for output in result.outputs
        if output.lines
    ]


def shown_by_find(result: FindResult) -> Sequence[ShownLines]:
    """Whole passages, with the hash of the file; of a document that it was shown."""
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
    """Runs of shown lines; previews are parts of lines, and the hash of a searched file is not known."""
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
