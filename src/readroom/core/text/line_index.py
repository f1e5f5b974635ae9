"""An index of the lines of a file of any size: built in one pass that also hashes the file.

A line ends at LF; one CR before it belongs to the line end; nothing else ends a line (as in grep and
git), and a final newline adds no line.  The index keeps the number of newlines before the end of every
block, 8 bytes per 256 KiB, so that finding line N reads one block.  It also keeps a checksum of 8 bytes per
block, which recognizes a file that has grown: then only the appended part is counted.
"""

from __future__ import annotations

import hashlib
import os
import threading
from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, Self

import stringzilla
from msgspec import Struct, field
from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.limits import BLOCK_BYTES
from readroom.core.text.encodings import STATEFUL, Encoding, chars, decode, prefix
from readroom.core.values import Bytes, LineEnds

if TYPE_CHECKING:
    from queue import SimpleQueue

# -----------------------------------------------------------------------------
# One pass over a file that counts and hashes; a deadline can stop it, and a later call resumes it.
#
# Hashing runs in another thread, parallel to reading and counting; hashlib and pread
# release the interpreter lock, so counting costs nothing.  A short checksum of every
# block (50 GB/s measured) is kept to recognise the block later.
#
# Until it reaches the end, a pass consists of whole blocks.  So it can stop and resume,
# and a pass over a file that has grown starts after the last whole block of the
# earlier pass.
# -----------------------------------------------------------------------------

_CHUNK_BLOCKS = 4
"""Passed from the reading to the hashing thread at once: with 1 MiB the hand-over is negligible."""

_CHUNKS = 3
"""Buffers in flight: one being read, one being hashed, one between."""


class Shrunk(Exception):
    """The file ended before the size it had when it was opened; it is being changed."""


class Enough(Exception):
    """As many lines as were asked for are counted."""


class Counter:
    """Newlines per block and the forms of line ends, from pieces of whole blocks.

    `newlines[i]` counts the newlines before the end of block i, `checks[i]` tells its
    bytes again, `ascii_blocks` has a 1 for blocks inside one line in which each byte is a character.
    """

    def __init__(self, encoding: Encoding, block_bytes: int, seed: int | None = None) -> None:
        self.encoding = encoding
        self.block_bytes = block_bytes
        self.seed = int.from_bytes(os.urandom(8), "big") if seed is None else seed
        self.newlines: array[int] = array("Q")
        self.checks: array[int] = array("Q")
        self.ascii_blocks = bytearray()
        self.size = 0
        self.lines = 0
        self.crlf = 0
        self.crlf_whole = 0
        """Of these, the ones before the end of the last whole block."""
        self._tail = b""
        """The last code unit, possibly incomplete, of the last piece: a CR LF may span two pieces."""

    def take_over(self, newlines: array[int], checks: array[int], ascii_blocks: bytes, crlf: int) -> None:
        """Begin after whole blocks that were counted before. Before any piece; `seed` is theirs."""
        self.newlines, self.checks, self.ascii_blocks = newlines, checks, bytearray(ascii_blocks)
        self.size = len(newlines) * self.block_bytes
        self.lines = newlines[-1] if newlines else 0
        self.crlf = self.crlf_whole = crlf

    def after(self, unit: bytes) -> Self:
        """Say which code unit stands before the next piece."""
        self._tail = unit
        return self

    def add(self, piece: memoryview) -> None:
        """Count the next bytes."""
        one_each = self.encoding.unit == 1 and self.encoding.name not in STATEFUL
        is_ascii: bool | None = None
        unit = self.encoding.unit
        for at in range(0, len(piece), self.block_bytes):
            block, lines = piece[at : at + self.block_bytes], self.lines
            self._count(block)
            inside_a_line = one_each and self.lines == lines
            if inside_a_line and is_ascii is None:
                # Needed only for columns in very long lines, and takes a third of the time of counting.
                is_ascii = _is_ascii(piece)
            self._tail = bytes(block[-(len(block) % unit or unit) :])
            self.size += len(block)
            self.newlines.append(self.lines)
            self.checks.append(check(block, self.seed))
            self.ascii_blocks.append(inside_a_line and is_ascii is True)
            if len(block) == self.block_bytes:
                self.crlf_whole = self.crlf

    def _count(self, block: memoryview) -> None:
        if self.encoding.unit == 1:
            self.lines += stringzilla.count(block, "\n")
            if stringzilla.find(block, "\r") >= 0 or self._tail == b"\r":
                self.crlf += stringzilla.count(block, "\r\n")
                self.crlf += self._tail == b"\r" and bytes(block[:1]) == b"\n"
        else:
            # Two- and four-byte units: a byte pattern could match across two characters.
            text = decode(bytes(block), self.encoding)
            self.lines += text.count("\n")
            crossing = self._tail == self.encoding.carriage_return and text[:1] == "\n"
            self.crlf += text.count("\r\n") + crossing

    @property
    def total_lines(self) -> int:
        """Lines of what was counted, the last one with or without its end."""
        empty = self.size <= len(self.encoding.bom)
        return self.lines + (0 if empty or self._tail == self.encoding.newline else 1)


def check(block: memoryview | bytes, seed: int) -> int:
    """64 bits by which a block is known again; with a secret seed, no one can make another with the same."""
    return int(stringzilla.hash(block, seed))


def _is_ascii(piece: memoryview) -> bool:
    """Whether all bytes are below 80: at the speed of memory in a whole buffer, the rest is copied."""
    whole = piece.obj
    if isinstance(whole, bytearray) and len(whole) == len(piece):
        return whole.isascii()
    return bytes(piece).isascii()


class Pass:
    """A pass over one file. Used by one thread at a time.

    `sha256` is None when the pass does not hash.
    """

    def __init__(self, count: Counter, *, hashed: bool) -> None:
        self.count = count
        self._digest = hashlib.sha256() if hashed else None

    @property
    def hashed(self) -> bool:
        """Whether what it has passed over is hashed, too."""
        return self._digest is not None

    @property
    def sha256(self) -> str:
        """Of all that was passed over, 64 hex digits; empty when it is not hashed."""
        return "" if self._digest is None else self._digest.hexdigest()

    def run(self, data: Bytes, deadline: Deadline, lines: int | None = None) -> None:
        """Pass over the rest, up to the size of `data`. Raises Shrunk, TimedOut, Cancelled.

        With `lines` it raises Enough once there are so many line ends, before the end.
        """
        from queue import SimpleQueue

        free: SimpleQueue[memoryview] = SimpleQueue()
        for _ in range(_CHUNKS if self.hashed else 1):
            free.put(memoryview(bytearray(_CHUNK_BLOCKS * self.count.block_bytes)))
        if self._digest is None:
            self._read(data, free, None, deadline, lines)
            return
        full: SimpleQueue[memoryview | None] = SimpleQueue()
        digest = self._digest

        def consume() -> None:
            while (chunk := full.get()) is not None:
                digest.update(chunk)
                free.put(chunk)

        hasher = threading.Thread(target=consume, name="readroom-hash", daemon=True)
        hasher.start()
        try:
            self._read(data, free, full, deadline, lines)
        finally:
            full.put(None)
            hasher.join()

    def _read(
        self,
        data: Bytes,
        free: SimpleQueue[memoryview],
        full: SimpleQueue[memoryview | None] | None,
        deadline: Deadline,
        lines: int | None,
    ) -> None:
        size = data.size
        while self.count.size < size:
            deadline.check()
            if lines is not None and self.count.lines >= lines:
                raise Enough
            at = self.count.size
            chunk = free.get()
            if len(chunk) > size - at:
                chunk = chunk[: size - at]
            if data.read_into(at, chunk) < len(chunk):
                raise Shrunk
            if full is not None:
                full.put(chunk)
            self.count.add(chunk)
            if full is None:
                free.put(chunk)
            deadline.report(self.count.size, size, "bytes")


_LINES_MEASURED = 64
"""Very long lines whose columns are kept per file: a reply shows few, and a file of nothing else would grow
without bound."""

_SCAN_BYTES = 512
"""Below this, finding one newline after another is faster than counting halves."""


class Columns(Struct, frozen=True):
    """Where characters of one very long line lie: `chars[i]` characters stand before byte `starts[i]`."""

    starts: array[int]
    chars: array[int]


class LineIndex(Struct, frozen=True):
    """What one pass over a file yielded.

    `newlines[i]` counts the newlines before the end of block i.  `columns` is
    filled as very long lines are looked into, by the byte their text starts at;
    `ascii_blocks` has a 1 for blocks inside one line in which each byte is a character.
    `block_bytes` is a multiple of the code unit and of no meaning to callers.
    `sha256` is empty when it is not known: of a file that was counted on as it grew.
    The other fields are those of `counting.Counter`.
    """

    encoding: Encoding
    size: int
    sha256: str
    total_lines: int
    newlines: array[int]
    block_bytes: int = BLOCK_BYTES
    ascii_blocks: bytes = b""
    columns: dict[int, Columns] = field(default_factory=dict)
    checks: array[int] = field(default_factory=lambda: array("Q"))
    seed: int = 0
    crlf: int = 0
    crlf_whole: int = 0

    @property
    def ends(self) -> LineEnds:
        """The line ends of what was indexed."""
        feeds = self.newlines[-1] if self.newlines else 0
        return LineEnds(feeds, self.crlf, self.total_lines == feeds if self.total_lines else None)

    @property
    def memory_bytes(self) -> int:
        """About how many bytes it occupies."""
        return 512 + 17 * len(self.newlines) + sum(16 * len(c.chars) for c in self.columns.values())

    def line_start(self, data: Bytes, line: int) -> int:
        """Byte offset of the first byte of `line` (1 to total_lines), after a byte order mark."""
        before = line - 1
        if before == 0:
            return len(self.encoding.bom)
        block = bisect_left(self.newlines, before)
        left = before - (self.newlines[block - 1] if block else 0)
        start = block * self.block_bytes
        feed = nth_newline(_stored(data, start, self.block_end(block) - start), left, self.encoding)
        return start + feed + self.encoding.unit

    def line_end(self, data: Bytes, start: int) -> tuple[int, int]:
        """For a line starting at byte `start`: the end of its text, and the start of the next line.

        Blocks without a newline are skipped by the index, not read.
        """
        block = start // self.block_bytes
        here = _stored(data, start, self.block_end(block) - start)
        feed = nth_newline(here, 1, self.encoding)
        if feed >= 0:
            return self._without_cr(data, start, start + feed)
        following = bisect_left(self.newlines, self.newlines[block] + 1)
        if following == len(self.newlines):
            return self.size, self.size
        at = following * self.block_bytes
        here = _stored(data, at, self.block_end(following) - at)
        return self._without_cr(data, start, at + nth_newline(here, 1, self.encoding))

    def _without_cr(self, data: Bytes, start: int, newline: int) -> tuple[int, int]:
        unit = self.encoding.unit
        end = newline
        if newline - start >= unit and _exactly(data, newline - unit, unit) == self.encoding.carriage_return:
            end -= unit
        return end, newline + unit

    def block_end(self, block: int) -> int:
        """The byte where a block ends."""
        return min((block + 1) * self.block_bytes, self.size)

    def columns_of(self, data: Bytes, start: int, end: int, deadline: Deadline) -> Columns:
        """Character positions of the line text at bytes `start` to `end`, one per block, kept."""
        columns = self.columns.get(start)
        if columns is None:
            columns = measure_columns(
                data, start, end, self.encoding, deadline, self.block_bytes, self.ascii_blocks
            )
            if len(self.columns) >= _LINES_MEASURED:
                # A single look at the keys, safe against other threads, which may remove the same one.
                self.columns.pop(list(self.columns)[0], None)  # noqa: RUF015
            self.columns[start] = columns
        return columns


def measure_columns(
    data: Bytes,
    start: int,
    end: int,
    encoding: Encoding,
    deadline: Deadline,
    block_bytes: int = BLOCK_BYTES,
    ascii_blocks: bytes = b"",
) -> Columns:
    """One pass over a long line; the last entry is its end and its number of characters.

    Blocks of the file that `ascii_blocks` marks are not read again.
    """
    starts, counts = array("Q", [start]), array("Q", [0])
    at, total = start, 0
    while at < end:
        deadline.check()
        block = at // block_bytes
        if ascii_blocks[block : block + 1] == b"\1":
            size = min((block + 1) * block_bytes, end) - at
            total += size
        else:
            piece = _exactly(data, at, min(block_bytes, end - at))
            # The last piece may end in the middle of a character if the file is damaged there.
            size = len(piece) if at + len(piece) == end else prefix(piece, encoding) or len(piece)
            total += chars(piece[:size], encoding)
        at += size
        starts.append(at)
        counts.append(total)
    return Columns(starts, counts)


def build_index(
    data: Bytes, encoding: Encoding, deadline: Deadline, block_bytes: int = BLOCK_BYTES
) -> LineIndex:
    """Count and hash the whole file in one pass. Raises Shrunk, TimedOut, Cancelled."""
    done = Pass(Counter(encoding, block_bytes), hashed=True)
    done.run(data, deadline)
    return index_of(done)


def index_of(done: Pass) -> LineIndex:
    """The index of what a pass has passed over so far; its arrays are shared with the pass."""
    count = done.count
    return LineIndex(
        encoding=count.encoding,
        size=count.size,
        sha256=done.sha256,
        total_lines=count.total_lines,
        newlines=count.newlines,
        block_bytes=count.block_bytes,
        ascii_blocks=bytes(count.ascii_blocks),
        checks=count.checks,
        seed=count.seed,
        crlf=count.crlf,
        crlf_whole=count.crlf_whole,
    )


def continued(index: LineIndex, data: Bytes) -> Pass:
    """A pass over what `data` has beyond an index, without a hash; the index stays as it is."""
    whole = index.size // index.block_bytes
    count = Counter(index.encoding, index.block_bytes, index.seed)
    count.take_over(
        index.newlines[:whole], index.checks[:whole], index.ascii_blocks[:whole], index.crlf_whole
    )
    unit = index.encoding.unit
    before = _exactly(data, count.size - unit, unit) if whole else b""
    return Pass(count.after(before), hashed=False)


def whole_lines(index: LineIndex, data: Bytes) -> LineIndex:
    """The index of the lines that have their end in an index of a part; without lines, of nothing."""
    lines = index.newlines[-1] if index.newlines else 0
    if not lines:
        none = array("Q")
        return replace(index, size=0, total_lines=0, newlines=none, checks=none, ascii_blocks=b"", columns={})
    block = bisect_left(index.newlines, lines)
    start = block * index.block_bytes
    end = start + last_newline(_exactly(data, start, index.block_end(block) - start), index.encoding)
    size = end + index.encoding.unit
    kept = block + 1
    return replace(
        index,
        size=size,
        total_lines=lines,
        newlines=index.newlines[:kept],
        checks=index.checks[: size // index.block_bytes],
        ascii_blocks=index.ascii_blocks[:kept],
        columns={},
    )


def still_there(index: LineIndex, data: Bytes, spots: int) -> bool:
    """Whether blocks of a file are what they were when it was indexed.

    Checks the first, the last and `spots` other blocks, different ones every time. Raises Shrunk.
    """
    import random  # takes 4 ms; needed only for files that have grown

    blocks = len(index.checks)
    if not blocks:
        return True
    looked_at = {0, blocks - 1, max(0, blocks - 2), *random.sample(range(blocks), min(blocks, spots))}
    for block in sorted(looked_at):
        start = block * index.block_bytes
        piece = _exactly(data, start, index.block_end(block) - start)
        if check(piece, index.seed) != index.checks[block]:
            return False
    return True


def nth_newline(block: bytes, number: int, encoding: Encoding) -> int:
    """Byte offset in `block` of its `number`-th newline (from 1), -1 when it has fewer.

    The block starts at a border of code units.
    """
    if encoding.unit > 1:
        return _nth_wide(block, number, encoding)
    view = memoryview(block)
    low, high = 0, len(block)
    while high - low > _SCAN_BYTES:
        middle = (low + high) // 2
        inside = stringzilla.count(view[low:middle], "\n")
        if inside >= number:
            high = middle
        else:
            number -= inside
            low = middle
    at = low - 1
    for _ in range(number):
        at = block.find(b"\n", at + 1)
        if at < 0:
            return -1
    return at


def _nth_wide(block: bytes, number: int, encoding: Encoding) -> int:
    at = -1
    while number:
        at = block.find(encoding.newline, at + 1)
        if at < 0:
            return -1
        number -= at % encoding.unit == 0
    return at


def last_newline(block: bytes, encoding: Encoding) -> int:
    """Byte offset of the last newline in `block`, -1 when it has none."""
    at = len(block)
    while True:
        at = block.rfind(encoding.newline, 0, at + encoding.unit - 1)
        if at < 0 or at % encoding.unit == 0:
            return at


def _stored(data: Bytes, offset: int, size: int) -> bytes:
    """Bytes in which nothing but line ends is looked for, which a view of a file has where the file does."""
    return _exactly(getattr(data, "unmasked", data), offset, size)


def _exactly(data: Bytes, offset: int, size: int) -> bytes:
    piece = data.read_at(offset, size)
    if len(piece) < size:
        raise Shrunk
    return piece
