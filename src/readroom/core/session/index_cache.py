"""Block indexes of large files, cached in memory and on disk, and continued as their files grow.

An index belongs to one state of a file.  When the file has grown, some blocks of the indexed part are
checked again, the first and the last among them.  If they are unchanged, only the new part is counted.
That the rest is unchanged is then likely and not proven, so such an index has no hash of the whole file: a
hash is stated only if one pass saw all of the file in one state.  A caller that needs the hash asks for it
and pays for the pass.  After any other change the index is dropped.

A pass that a deadline ends is kept and continued by the next call.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import TypeAlias, final

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.errors import Cancelled, TimedOut, TransferLimit
from readroom.core.limits import BLOCK_BYTES
from readroom.core.limits.files import INDEX_SPOTS, TURN_S
from readroom.core.lru import LruCache
from readroom.core.session.expansions import Expansions
from readroom.core.session.index_files import IndexFolder, IndexPolicy
from readroom.core.stores.base import Source, is_far, keeps_identity
from readroom.core.stores.spending import COUNTED_BYTES, spending
from readroom.core.text import line_index
from readroom.core.text.encodings import Encoding
from readroom.core.values import Version

_Key: TypeAlias = tuple[int, int, str, Encoding]


_ENOUGH = TransferLimit(bound="the lines that the page needs")
"""In the place of a failure, where no more lines were counted than were asked for."""


class Unfinished(Exception):
    """The deadline passed, or enough lines were counted, before the whole file was.

    Attributes:
        index: The index of the lines counted so far, all with a line end.
        counted: The number of bytes read.
        size: The size of the file in bytes.
        cause: The failure of the deadline.
        packed: Whether the file is compressed: its end can then be read only when all of it is expanded.
    """

    def __init__(
        self, index: line_index.LineIndex, counted: int, size: int, cause: TimedOut, *, packed: bool = False
    ) -> None:
        super().__init__(counted)
        self.index = index
        self.counted = counted
        self.size = size
        self.cause = cause
        self.packed = packed

    @property
    def by_choice(self) -> bool:
        """Whether as many lines as were asked for are counted, so that the next call counts no more."""
        return self.cause is _ENOUGH

    @property
    def why(self) -> str:
        """Why it was not counted to its end."""
        if isinstance(self.cause, TransferLimit):
            return f"counted up to {self.cause.bound}"
        return "the time limit passed"

    @property
    def first_uncounted(self) -> int:
        """The first byte, from 1, that is not in a counted line."""
        return (self.counted if self.packed else self.index.size) + 1


class _Kept(Struct, frozen=True):
    """What is known of one state of a file: an index of all or part of it, or an unfinished pass.

    `whole` is the index of the whole lines of a part, where reading the last of them again costs something.
    """

    version: Version
    index: line_index.LineIndex
    work: line_index.Pass | None = None
    saved_bytes: int = 0
    whole: line_index.LineIndex | None = None


INDEX_CACHE_BYTES = 16 * 1024 * 1024
"""Block indexes cached in memory by a session: about 240 files of 1 GB."""


@final
class IndexCache:
    """An LRU cache of indexes by file. Safe to share between threads."""

    def __init__(self, policy: IndexPolicy | None = None, *, max_bytes: int = INDEX_CACHE_BYTES) -> None:
        """Without a folder in the policy, indexes are kept in memory only."""
        self._policy = policy or IndexPolicy(keep=False)
        # Each has a byte or more: the last one stays, however large it is.
        self._kept: LruCache[_Key, _Kept] = LruCache(
            max_bytes, lambda kept: kept.index.memory_bytes, count=max_bytes
        )
        self._turns: dict[_Key, _Turn] = {}
        self._lock = threading.Lock()
        self.expansions = Expansions()
        """The content of compressed files, each with its indexes."""
        folder = self._policy.folder if self._policy.keep else None
        self._folder = None if folder is None else IndexFolder(folder, self._policy.disk_bytes)

    def of(
        self,
        source: Source,
        encoding: Encoding,
        deadline: Deadline,
        *,
        hashed: bool = False,
        lines: int | None = None,
    ) -> line_index.LineIndex:
        """The index of an opened file in the state in which it was opened.

        Without `hashed` its hash may be missing, and no more than so many `lines` are counted where each read
        costs something.  Raises Unfinished when the deadline has passed, or those are counted (the next call
        continues), Shrunk for a file shorter than when it was opened, and Cancelled.
        """
        key = (source.version.device, source.version.inode, source.real, encoding)
        with self._turn(key, source.size, deadline) as turn:
            kept = self._found(key, source)
            if kept is not None and _answers(kept, source.version, hashed=hashed):
                return kept.index
            lines = lines if is_far(source) and not hashed else None
            if kept is not None and kept.version == source.version and _covers(kept.whole, lines):
                assert kept.whole is not None
                raise Unfinished(kept.whole, kept.index.size, source.size, _ENOUGH)
            since = time.time_ns()
            turn.work = work = self._work(kept, source, encoding, hashed=hashed)
            try:
                with spending(most_bytes=COUNTED_BYTES):
                    work.run(source, deadline, lines)
            except line_index.Enough:
                raise self._stopped(key, source, work, kept, _ENOUGH) from None
            except TimedOut as error:
                raise self._stopped(key, source, work, kept, error) from None
            except Cancelled:
                self._kept.put(key, _Kept(source.version, _part(work), work))
                raise
            return self._finished(key, source, line_index.index_of(work), kept, since)

    def extends(self, size: int) -> bool:
        """Whether the index of a file of that size is continued when the file grows."""
        return size >= self._policy.from_bytes

    def only_grew(self, source: Source, before: Version) -> bool:
        """Whether a file begins as it was, as far as some blocks say of what was indexed of it by then."""
        if not _grown(before, source.version):
            return False
        name = (before.device, before.inode, source.real)
        found = (kept for key, kept in self._kept.items() if key[:3] == name)
        kept = next((kept for kept in found if kept.version.size <= before.size), None)
        return kept is not None and line_index.still_there(kept.index, source, INDEX_SPOTS)

    def close(self) -> None:
        """Release temporary files."""
        self.expansions.close()

    # --- what is kept -------------------------------------------------------------------------

    def _found(self, key: _Key, source: Source) -> _Kept | None:
        kept = self._kept.get(key)
        if kept is not None and _serves(kept, source):
            return kept
        return self._loaded(key, source)

    def _loaded(self, key: _Key, source: Source) -> _Kept | None:
        if not self._is_on_disk(source):
            return None
        assert self._folder is not None
        loaded = self._folder.load(source.version, key[3])
        if loaded is None:
            return None
        kept = _Kept(*loaded, saved_bytes=loaded[1].size)
        if kept.version != source.version:
            return kept if _serves(kept, source) else None
        # Device numbers are reused: a check of the content detects another file with the same numbers.
        if not is_far(source) and not line_index.still_there(kept.index, source, INDEX_SPOTS):
            return None
        self._kept.put(key, kept)
        return kept

    def _is_on_disk(self, source: Source) -> bool:
        """Whether the index may be stored: only real files have identities valid in every process."""
        return self._folder is not None and self.extends(source.size) and keeps_identity(source)

    # --- a pass -------------------------------------------------------------------------------

    def _work(
        self, kept: _Kept | None, source: Source, encoding: Encoding, *, hashed: bool
    ) -> line_index.Pass:
        """The pass to make: over the whole file, or the rest of it."""
        if kept is not None and kept.version == source.version and kept.work is not None:
            if kept.work.hashed or not hashed:
                return kept.work
        elif (
            kept is not None
            and not hashed
            and self.extends(source.size)
            and (is_far(source) or line_index.still_there(kept.index, source, INDEX_SPOTS))
        ):
            return line_index.continued(kept.index, source)
        return line_index.Pass(line_index.Counter(encoding, BLOCK_BYTES), hashed=True)

    def _stopped(
        self, key: _Key, source: Source, work: line_index.Pass, kept: _Kept | None, error: TimedOut
    ) -> Unfinished:
        part = _part(work)
        saved = self._saved(source, part, kept)
        whole = line_index.whole_lines(part, source)
        self._kept.put(key, _Kept(source.version, part, work, saved, whole if is_far(source) else None))
        return Unfinished(whole, part.size, source.size, error)

    def _finished(
        self, key: _Key, source: Source, index: line_index.LineIndex, kept: _Kept | None, since: int
    ) -> line_index.LineIndex:
        now = source.current()
        if now == source.version:
            settled = since - now.ctime_ns > self._policy.settled_ms * 1_000_000
            saved = self._saved(source, index, kept) if settled else 0
            self._kept.put(key, _Kept(now, index, saved_bytes=saved))
        elif self.extends(source.size) and _grown(source.version, now):
            # It grew during the pass: check what was counted before using it.
            index = replace(index, sha256="")
            self._kept.put(key, _Kept(source.version, index, saved_bytes=self._saved(source, index, kept)))
        return index

    def _saved(self, source: Source, index: line_index.LineIndex, kept: _Kept | None) -> int:
        """Store the index if it is worth it; returns how many bytes the stored index covers."""
        before = kept.saved_bytes if kept is not None else 0
        worth = bool(index.sha256) or index.size - before >= self._policy.from_bytes
        if not worth or not self._is_on_disk(source):
            return before
        assert self._folder is not None
        self._folder.save(source.version, index)
        return index.size

    @contextlib.contextmanager
    def _turn(self, key: _Key, size: int, deadline: Deadline) -> Iterator[_Turn]:
        """Allow one pass over a file at a time; concurrent calls wait for the first one's.

        Waiting calls report its progress as if it were their own.
        """
        with self._lock:
            turn = self._turns.setdefault(key, _Turn())
            turn.waiting += 1
        try:
            while not turn.lock.acquire(timeout=TURN_S):
                deadline.check()
                if turn.work is not None:
                    deadline.report(turn.work.count.size, size, "bytes")
            try:
                yield turn
            finally:
                turn.lock.release()
        finally:
            with self._lock:
                turn.waiting -= 1
                if not turn.waiting:
                    self._turns.pop(key, None)


def _part(work: line_index.Pass) -> line_index.LineIndex:
    """The index of what was counted so far; a copy, because the pass goes on filling its arrays."""
    part = line_index.index_of(work)
    return replace(part, newlines=part.newlines[:], checks=part.checks[:], sha256="")


class _Turn:
    """A lock, how many threads hold it or wait for it, and the pass of the one that holds it."""

    __slots__ = ("lock", "waiting", "work")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.waiting = 0
        self.work: line_index.Pass | None = None


def _answers(kept: _Kept, version: Version, *, hashed: bool) -> bool:
    whole = kept.version == version and kept.work is None and kept.index.size == version.size
    return whole and (bool(kept.index.sha256) or not hashed)


def _covers(index: line_index.LineIndex | None, lines: int | None) -> bool:
    """Whether so many lines are counted."""
    return index is not None and lines is not None and index.total_lines >= lines


def _serves(kept: _Kept, source: Source) -> bool:
    """Whether what is known is of that state, or of one that it may have grown from."""
    grown = not is_far(source) and _grown(kept.version, source.version)
    return kept.version == source.version or grown


def _grown(old: Version, new: Version) -> bool:
    return (old.device, old.inode) == (new.device, new.inode) and new.size > old.size
