"""The content of compressed files, expanded once in a session.

The content goes to an unnamed temporary file of this process, which no other user and no later process
can find.  So every page is as quick to reach as in a plain file.  Expansion is limited in bytes and in
the ratio to the compressed size.  One file is expanded at a time, so that decoders take their memory
once.  An expansion that a deadline ends is kept and continued by the next call.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import threading
import weakref
from collections.abc import Callable
from typing import TypeAlias, final

from msgspec.structs import replace

from readroom.core.closeable import Closeable
from readroom.core.deadline import Deadline
from readroom.core.errors import TimedOut, reason_of
from readroom.core.formats.compressed import Broken, Compression, Expander, plain_name
from readroom.core.limits import BLOCK_BYTES, HEAD_BYTES
from readroom.core.limits.files import TURN_S
from readroom.core.lru import LruCache
from readroom.core.paths import WorkPath
from readroom.core.secrets import unmasked
from readroom.core.stores.base import Source, is_far
from readroom.core.stores.spending import COUNTED_BYTES, spending
from readroom.core.text.encodings import Encoding
from readroom.core.text.line_index import Counter, LineIndex, Pass, Shrunk, index_of
from readroom.core.values import Packed, Stat, Version, Warn

# -----------------------------------------------------------------------------
# A temporary file without a name, which disappears with its last descriptor.
# -----------------------------------------------------------------------------

_PLACES = ("/var/tmp",)
"""Tried before the default folder for temporary files, which is in memory on many systems."""


@final
class TempSpool:
    """A private temporary file, written by one thread and read by any."""

    def __init__(self) -> None:
        """Create the file. Raises OSError."""
        self._fd = _nameless()
        self.size = 0
        # A reader that still uses it when the cache drops it keeps it open.
        weakref.finalize(self, os.close, self._fd)

    def append(self, data: bytes | memoryview) -> None:
        """Append bytes. Raises OSError, for example for a full disk, with nothing appended."""
        done = 0
        while done < len(data):
            done += os.pwrite(self._fd, data[done:], self.size + done)
        self.size += done

    def read_at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`; shorter only at the end."""
        return os.pread(self._fd, max(0, min(size, self.size - offset)), offset)

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Fill `buffer` from `offset`; the number of bytes, smaller only at the end."""
        return os.preadv(self._fd, [buffer], offset)

    def descriptor(self) -> int:
        """A descriptor, with its own position where the system allows; the caller closes it."""
        if sys.platform == "linux":
            with contextlib.suppress(OSError):
                return os.open(f"/proc/self/fd/{self._fd}", os.O_RDONLY | os.O_CLOEXEC)
        return os.dup(self._fd)


def _nameless() -> int:
    import tempfile  # most reads do not need it

    places = [*(place for place in _PLACES if os.access(place, os.W_OK | os.X_OK)), tempfile.gettempdir()]
    if hasattr(os, "O_TMPFILE"):
        for place in places:
            with contextlib.suppress(OSError):
                return os.open(place, os.O_RDWR | os.O_TMPFILE | os.O_EXCL | os.O_CLOEXEC, 0o600)
    fd, name = tempfile.mkstemp(prefix="readroom-", dir=places[-1])
    os.unlink(name)
    return fd


_Key: TypeAlias = tuple[Version, WorkPath]


EXPANSION_RATIO = 1100
"""Largest ratio of expanded to compressed size, from EXPANSION_FREE_BYTES on; logs grow 5 to 100 times. gzip
cannot reach it, the others can, with a megabyte for a terabyte."""

EXPANSION_FREE_BYTES = 64 * 1024 * 1024
"""Up to this size the ratio is not checked: a log of repetitions is quickly expanded."""

EXPANSION_READ_BYTES = 4 * 1024
"""Compressed bytes given to a decoder at once: if data are damaged, no more than these are lost."""


@final
class Expansion:
    """The content of one state of a compressed file, as far as it is expanded.

    Attributes:
        consumed: Bytes of the compressed file that were read.
        done: Whether all of it was read.
        digits: The hash of the compressed file; empty until it is done, and if its rest was not fetched.
        stopped: A warning that says why content is missing; None if it is complete.
    """

    def __init__(self, compression: Compression, maximum: int) -> None:
        """Expand at most `maximum` bytes. Raises OSError."""
        self.compression = compression
        self.spool = TempSpool()
        self.consumed = 0
        self.done = False
        self.stopped: Warn | None = None
        self._maximum = maximum
        self._expander = Expander(compression)
        self._digest = hashlib.sha256()
        self._indexes: dict[Encoding, LineIndex] = {}
        self._lock = threading.Lock()
        self._left = False

    @property
    def digits(self) -> str:
        """The hash of the compressed file, 64 hex digits; empty if not all of it was read."""
        return self._digest.hexdigest() if self.done and not self._left else ""

    def head(self) -> bytes:
        """The first bytes of the content."""
        return self.spool.read_at(0, HEAD_BYTES)

    def advance(self, raw: Source, deadline: Deadline, until: int | None = None) -> None:
        """Continue to the end, or until so many bytes are expanded.

        Raises Shrunk for a file shorter than when it was opened, and TimedOut or Cancelled: another call
        continues.
        """
        while not self.done and (until is None or self.spool.size < until):
            deadline.check()
            self._step(raw)
            deadline.report(self.consumed, raw.size, "bytes")

    def index(self, encoding: Encoding, deadline: Deadline) -> LineIndex:
        """The line index of the content so far. Raises TimedOut or Cancelled."""
        with self._lock:
            index = self._indexes.get(encoding)
            if index is None or index.size != self.spool.size:
                counting = Pass(Counter(encoding, BLOCK_BYTES), hashed=False)
                counting.run(self.spool, deadline)
                index = self._indexes[encoding] = index_of(counting)
            return index

    def _step(self, raw: Source) -> None:
        expanding = self.stopped is None
        size = min(EXPANSION_READ_BYTES if expanding else BLOCK_BYTES, raw.size - self.consumed)
        data = raw.read_at(self.consumed, size)
        if len(data) < size:
            raise Shrunk
        self._digest.update(data)
        self.consumed += size
        if expanding:
            try:
                for piece in self._expander.expand(data) if data else self._expander.finish():
                    self._take(piece)
            except Broken as broken:
                self._break_off(broken.problem, size, raw.size)
            except _Enough as enough:
                self.stopped = Warn("expansion_limit", f"{enough}; the rest cannot be read here")
        # Read to the end even what is not expanded, unless that costs: the hash covers the whole file.
        self._left = self.stopped is not None and is_far(raw) and self.consumed < raw.size
        self.done = not data or self._left

    def _take(self, piece: bytes) -> None:
        room = self._maximum - self.spool.size
        try:
            self.spool.append(memoryview(piece)[:room])
        except OSError as error:
            raise _Enough(f"{self._so_far()}: {reason_of(error)}") from None
        if len(piece) > room:
            raise _Enough(f"{self._so_far()}: the limit expanded_bytes")
        if self.spool.size > max(EXPANSION_FREE_BYTES, EXPANSION_RATIO * self.consumed):
            raise _Enough(f"{self._so_far()}: it is more than {EXPANSION_RATIO} times its compressed size")

    def _so_far(self) -> str:
        return f"only the first {self.spool.size:,} bytes of the content were expanded"

    def _break_off(self, problem: str, size: int, whole: int) -> None:
        where = f"in bytes {self.consumed - size + 1:,} to {self.consumed:,}" if size else "at the end"
        problem_and_place = f"the {self.compression} data {problem}, {where} of {whole:,} bytes"
        rest = (
            f"{self.spool.size:,} bytes of content before that can be read, the last line may be incomplete"
        )
        self.stopped = Warn(
            "broken_data", f"{problem_and_place}; {rest}" if self.spool.size else problem_and_place
        )


class _Enough(Exception):
    """A limit of expansion was reached."""


class NotText(Exception):
    """The content is not of a wanted kind; `head` are its first bytes."""

    def __init__(self, head: bytes) -> None:
        super().__init__(len(head))
        self.head = head


@final
class ExpandedSource(Closeable):
    """A compressed file, opened as its content.

    Attributes:
        raw: The file itself.
        digits: The hash of the file itself; empty if it was not expanded in time.
        out_of_time: The failure of the deadline, in that case.
        stopped: A warning that says why content is missing.
        consumed: Bytes of the file itself that were read.
    """

    def __init__(
        self, raw: Source, expansion: Expansion, out_of_time: TimedOut | None, *, masks: bool = False
    ) -> None:
        """`masks` shows signs in the place of secrets."""
        self.raw = raw
        self._masks = masks
        self.size = expansion.spool.size
        self.real = WorkPath(plain_name(raw.real, expansion.compression))
        self.digits = expansion.digits
        self.stopped = expansion.stopped
        self.consumed = expansion.consumed
        self.out_of_time = out_of_time
        self._expansion = expansion
        self._out_of_time = out_of_time
        self._fd = -1
        self._view: Source | None = None
        if masks:
            from readroom.core.secrets.view import MaskedSource  # few operators mask

            self._view = MaskedSource(self.unmasked)

    @property
    def unmasked(self) -> ExpandedSource:
        """The content without signs; itself if it has none."""
        return ExpandedSource(self.raw, self._expansion, self._out_of_time) if self._masks else self

    @property
    def packed(self) -> Packed:
        """The facts about the compression for a reply."""
        return Packed(self._expansion.compression, self.size)

    @property
    def stat(self) -> Stat:
        """The stat of the compressed file."""
        return self.raw.stat

    @property
    def version(self) -> Version:
        """Identity of the state that was opened."""
        return replace(self.raw.version, size=self.size)

    def current(self) -> Version:
        """Identity of the state right now."""
        now = self.raw.current()
        return self.version if now == self.raw.version else now

    def index(self, encoding: Encoding, deadline: Deadline) -> LineIndex:
        """The line index of the content. Raises TimedOut or Cancelled."""
        return self._expansion.index(encoding, deadline)

    def read_at(self, offset: int, size: int) -> bytes:
        if self._view is not None:
            return self._view.read_at(offset, size)
        return self._expansion.spool.read_at(offset, min(size, self.size - offset))

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Fill `buffer` from `offset`; the number of bytes, smaller only at the end."""
        if self._view is not None:
            return self._view.read_into(offset, buffer)
        return self._expansion.spool.read_into(offset, buffer[: max(0, self.size - offset)])

    def fileno(self) -> int | None:
        """A descriptor of the content; None of one with signs."""
        if self._masks:
            return None
        if self._fd < 0:
            self._fd = self._expansion.spool.descriptor()
        return self._fd

    def close(self) -> None:
        """Release the descriptor; the file itself is closed by its opener."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


EXPANDED_SESSION_BYTES = 4 * 1024 * 1024 * 1024
"""Expanded content of all compressed files in one session."""

EXPANDED_FILES = 16
"""Their number; each holds a descriptor."""


@final
class Expansions:
    """An LRU cache of expansions. Safe to share between threads."""

    def __init__(self, max_bytes: int = EXPANDED_SESSION_BYTES, max_files: int = EXPANDED_FILES) -> None:
        self._kept: LruCache[_Key, Expansion] = LruCache(
            max_bytes, lambda expansion: expansion.spool.size, max_files
        )
        self._turn = threading.Lock()

    def opened(
        self,
        raw: Source,
        compression: Compression,
        maximum: int,
        wanted: Callable[[bytes, bool], bool],
        deadline: Deadline,
    ) -> ExpandedSource:
        """Open a compressed file as its content, expanded up to `maximum` bytes.

        When the deadline passes, the content is what was expanded so far.

        `wanted` says whether content with these first bytes, which may be all of it, is worth expanding;
        else this raises NotText.  Raises OSError without room for it, Shrunk, TimedOut and Cancelled.
        """
        plain = unmasked(raw)
        masks, raw = plain is not raw, plain
        key = (raw.version, raw.real)
        expansion = self._kept.get(key)
        if expansion is not None and expansion.done:
            _require(expansion, wanted)
            return ExpandedSource(raw, expansion, None, masks=masks)
        while not self._turn.acquire(timeout=TURN_S):
            deadline.check()
        try:
            expanded = self._expanded(key, raw, compression, maximum, wanted, deadline)
            if not masks:
                return expanded
            return ExpandedSource(raw, expanded._expansion, expanded.out_of_time, masks=True)
        finally:
            self._turn.release()

    def close(self) -> None:
        """Forget everything; content that is still being read stays until it is closed."""
        self._kept.clear()

    def _expanded(
        self,
        key: _Key,
        raw: Source,
        compression: Compression,
        maximum: int,
        wanted: Callable[[bytes, bool], bool],
        deadline: Deadline,
    ) -> ExpandedSource:
        expansion = self._kept.get(key) or Expansion(compression, maximum)
        out_of_time = None
        try:
            expansion.advance(raw, deadline, HEAD_BYTES)
            _require(expansion, wanted)
            try:
                with spending(most_bytes=COUNTED_BYTES):
                    expansion.advance(raw, deadline)
            finally:
                self._kept.put(key, expansion)  # with its present size; the next call continues
        except TimedOut as error:
            out_of_time = error
        if raw.current() != raw.version:
            self._kept.pop(key)
        return ExpandedSource(raw, expansion, out_of_time)


def _require(expansion: Expansion, wanted: Callable[[bytes, bool], bool]) -> None:
    head = expansion.head()
    if not wanted(head, expansion.done and expansion.spool.size == len(head)):
        raise NotText(head)
