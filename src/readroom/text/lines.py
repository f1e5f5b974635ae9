"""Lines of a file of any size: one pass that counts and hashes, then any line by number.

A line ends at LF; one CR before it belongs to the line end; nothing else ends a
line (as in grep and git), and a final newline adds no line.  The index keeps the
number of newlines before the end of every block, 8 bytes per 256 KiB: finding
line N then reads one block.  Reading and counting run beside hashing on another
thread; hashlib and pread release the interpreter lock, so counting costs nothing.
"""

from __future__ import annotations

import hashlib
import threading
from array import array
from bisect import bisect_left
from dataclasses import dataclass, field
from queue import SimpleQueue

import stringzilla

from readroom.deadline import Deadline
from readroom.limits import BLOCK_BYTES
from readroom.model import Bytes, Newline
from readroom.text.encodings import Encoding, chars, decode, prefix

_CHUNK_BLOCKS = 4
"""Handed from the reading to the hashing thread at once: 1 MiB makes the hand-over vanish beside the hash."""

_CHUNKS = 3
"""Buffers in flight: one being read, one being hashed, one between."""

_LINES_MEASURED = 64
"""Very long lines whose columns are kept per file: a reply shows few, and all of a file of nothing else would
grow without bound."""

_SCAN_BYTES = 512
"""Below this, finding one newline after another is faster than counting halves."""


class Shrunk(Exception):
    """The file ended before the size it had when it was opened; it is being changed."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Where characters of one very long line lie: `chars[i]` characters stand before byte `starts[i]`."""

    starts: array[int]
    chars: array[int]


@dataclass(frozen=True, slots=True)
class LineIndex:
    """What one pass over a file yielded.

    `newlines[i]` counts the newlines before the end of block i.  `columns` is
    filled as very long lines are looked into, by the byte their text starts at;
    `ascii_blocks` has a 1 for every block in which each byte is a character.
    `block_bytes` is a multiple of the code unit and of no meaning to callers.
    """

    encoding: Encoding
    size: int
    sha256: str
    newline: Newline
    total_lines: int
    newlines: array[int]
    block_bytes: int = BLOCK_BYTES
    ascii_blocks: bytes = b""
    columns: dict[int, Columns] = field(default_factory=dict)

    @property
    def memory_bytes(self) -> int:
        """About what it occupies."""
        return 512 + 9 * len(self.newlines) + sum(16 * len(c.chars) for c in self.columns.values())

    def line_start(self, data: Bytes, line: int) -> int:
        """Byte offset of the first byte of `line` (1 to total_lines), after a byte order mark."""
        before = line - 1
        if before == 0:
            return len(self.encoding.bom)
        block = bisect_left(self.newlines, before)
        left = before - (self.newlines[block - 1] if block else 0)
        start = block * self.block_bytes
        found = nth_newline(_exactly(data, start, self._block_end(block) - start), left, self.encoding)
        return start + found + self.encoding.unit

    def line_end(self, data: Bytes, start: int) -> tuple[int, int]:
        """For a line starting at byte `start`: the end of its text, and the start of the next line.

        Blocks without a newline are skipped by the index, not read.
        """
        block = start // self.block_bytes
        here = _exactly(data, start, self._block_end(block) - start)
        found = nth_newline(here, 1, self.encoding)
        if found >= 0:
            return self._without_cr(data, start, start + found)
        following = bisect_left(self.newlines, self.newlines[block] + 1)
        if following == len(self.newlines):
            return self.size, self.size
        at = following * self.block_bytes
        here = _exactly(data, at, self._block_end(following) - at)
        return self._without_cr(data, start, at + nth_newline(here, 1, self.encoding))

    def _without_cr(self, data: Bytes, start: int, newline: int) -> tuple[int, int]:
        unit = self.encoding.unit
        end = newline
        if newline - start >= unit and _exactly(data, newline - unit, unit) == self.encoding.carriage_return:
            end -= unit
        return end, newline + unit

    def _block_end(self, block: int) -> int:
        return min((block + 1) * self.block_bytes, self.size)

    def columns_of(self, data: Bytes, start: int, end: int, deadline: Deadline) -> Columns:
        """Character positions of the line text at bytes `start` to `end`, one per block, kept."""
        found = self.columns.get(start)
        if found is None:
            found = measure_columns(
                data, start, end, self.encoding, deadline, self.block_bytes, self.ascii_blocks
            )
            if len(self.columns) >= _LINES_MEASURED:
                # One look at the keys, safe beside other threads, which may take the same one out.
                self.columns.pop(list(self.columns)[0], None)  # noqa: RUF015
            self.columns[start] = found
        return found


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
            # The last piece may end in the middle of a character when the file is broken there.
            size = len(piece) if at + len(piece) == end else prefix(piece, encoding) or len(piece)
            total += chars(piece[:size], encoding)
        at += size
        starts.append(at)
        counts.append(total)
    return Columns(starts, counts)


def build_index(
    data: Bytes, encoding: Encoding, deadline: Deadline, block_bytes: int = BLOCK_BYTES
) -> LineIndex:
    """Count and hash the whole file in one pass.

    Raises:
        Shrunk: The file is shorter than it was when it was opened.
        TimedOut, Cancelled: From the deadline.
    """
    count = _Counter(encoding, block_bytes)
    digest = hashlib.sha256()
    free: SimpleQueue[memoryview] = SimpleQueue()
    full: SimpleQueue[memoryview | None] = SimpleQueue()
    for _ in range(_CHUNKS):
        free.put(memoryview(bytearray(_CHUNK_BLOCKS * block_bytes)))

    def consume() -> None:
        while (chunk := full.get()) is not None:
            digest.update(chunk)
            free.put(chunk)

    hasher = threading.Thread(target=consume, name="readroom-hash", daemon=True)
    hasher.start()
    try:
        _read_chunks(data, count, free, full, deadline)
    finally:
        full.put(None)
        hasher.join()
    return LineIndex(
        encoding=encoding,
        size=data.size,
        sha256=digest.hexdigest(),
        newline=count.newline,
        total_lines=count.total_lines,
        newlines=count.cumulative,
        block_bytes=block_bytes,
        ascii_blocks=bytes(count.ascii_blocks),
    )


def _read_chunks(
    data: Bytes,
    count: _Counter,
    free: SimpleQueue[memoryview],
    full: SimpleQueue[memoryview | None],
    deadline: Deadline,
) -> None:
    at, size = 0, data.size
    while at < size:
        deadline.check()
        chunk = free.get()
        if len(chunk) > size - at:
            chunk = chunk[: size - at]
        if data.read_into(at, chunk) < len(chunk):
            raise Shrunk
        full.put(chunk)
        count.add(chunk)
        at += len(chunk)
        deadline.report(at, size, "bytes")


def count_lines(data: Bytes, encoding: Encoding, deadline: Deadline) -> int:
    """Lines of the whole file without its hash: the counting pass alone, on one thread."""
    count = _Counter(encoding, BLOCK_BYTES)
    buffer = memoryview(bytearray(BLOCK_BYTES))
    at, size = 0, data.size
    while at < size:
        deadline.check()
        piece = buffer[: min(len(buffer), size - at)]
        if data.read_into(at, piece) < len(piece):
            raise Shrunk
        count.add(piece)
        at += len(piece)
    return count.total_lines


class _Counter:
    """Newlines per block and the forms of line ends, from pieces of whole blocks."""

    def __init__(self, encoding: Encoding, block_bytes: int) -> None:
        self.cumulative: array[int] = array("Q")
        self.ascii_blocks = bytearray()
        self._encoding = encoding
        self._block_bytes = block_bytes
        self._lines = 0
        self._crlf = 0
        self._tail = b""
        """The last code unit, or what there is of it, of the last piece: a CR LF may cross a border."""
        self._bytes = 0

    def add(self, piece: memoryview) -> None:
        is_ascii = self._encoding.unit == 1 and _is_ascii(piece)
        for at in range(0, len(piece), self._block_bytes):
            block = piece[at : at + self._block_bytes]
            if self._encoding.unit == 1:
                self._lines += stringzilla.count(block, "\n")
                if stringzilla.find(block, "\r") >= 0 or self._tail == b"\r":
                    self._crlf += stringzilla.count(block, "\r\n")
                    self._crlf += self._tail == b"\r" and bytes(block[:1]) == b"\n"
            else:
                # Two- and four-byte units: a byte pattern could match across two characters.
                text = decode(bytes(block), self._encoding)
                self._lines += text.count("\n")
                crossing = self._tail == self._encoding.carriage_return and text[:1] == "\n"
                self._crlf += text.count("\r\n") + crossing
            unit = self._encoding.unit
            self._tail = bytes(block[-(len(block) % unit or unit) :])
            self._bytes += len(block)
            self.cumulative.append(self._lines)
            self.ascii_blocks.append(is_ascii)

    @property
    def total_lines(self) -> int:
        empty = self._bytes <= len(self._encoding.bom)
        return self._lines + (0 if empty or self._tail == self._encoding.newline else 1)

    @property
    def newline(self) -> Newline:
        if self._lines == 0:
            return "none"
        return "crlf" if self._crlf == self._lines else "mixed" if self._crlf else "lf"


def _is_ascii(piece: memoryview) -> bool:
    """Whether all bytes are below 80: at the speed of memory in a whole buffer, the rest is copied."""
    whole = piece.obj
    if isinstance(whole, bytearray) and len(whole) == len(piece):
        return whole.isascii()
    return bytes(piece).isascii()


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


def _exactly(data: Bytes, offset: int, size: int) -> bytes:
    piece = data.read_at(offset, size)
    if len(piece) < size:
        raise Shrunk
    return piece
