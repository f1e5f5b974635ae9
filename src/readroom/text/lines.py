"""Lines of a file of any size: one pass that counts and hashes, then any line by number.

A line ends at LF; one CR before it belongs to the line end; nothing else ends a
line (as in grep and git), and a final newline adds no line.  The index keeps the
number of newlines before the end of every block, 8 bytes per 256 KiB: finding
line N then reads one block.  A check of 8 bytes is kept of every block, by which a
file that has grown is known again: only what was appended is counted then.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from dataclasses import dataclass, field, replace

import stringzilla

from readroom.deadline import Deadline
from readroom.limits import BLOCK_BYTES
from readroom.model import Bytes, LineEnds
from readroom.text.counting import Counter, Pass, check
from readroom.text.counting import Shrunk as Shrunk
from readroom.text.counting import count_lines as count_lines
from readroom.text.encodings import Encoding, chars, prefix

_LINES_MEASURED = 64
"""Very long lines whose columns are kept per file: a reply shows few, and all of a file of nothing else would
grow without bound."""

_SCAN_BYTES = 512
"""Below this, finding one newline after another is faster than counting halves."""


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
        """About what it occupies."""
        return 512 + 17 * len(self.newlines) + sum(16 * len(c.chars) for c in self.columns.values())

    def line_start(self, data: Bytes, line: int) -> int:
        """Byte offset of the first byte of `line` (1 to total_lines), after a byte order mark."""
        before = line - 1
        if before == 0:
            return len(self.encoding.bom)
        block = bisect_left(self.newlines, before)
        left = before - (self.newlines[block - 1] if block else 0)
        start = block * self.block_bytes
        found = nth_newline(_exactly(data, start, self.block_end(block) - start), left, self.encoding)
        return start + found + self.encoding.unit

    def line_end(self, data: Bytes, start: int) -> tuple[int, int]:
        """For a line starting at byte `start`: the end of its text, and the start of the next line.

        Blocks without a newline are skipped by the index, not read.
        """
        block = start // self.block_bytes
        here = _exactly(data, start, self.block_end(block) - start)
        found = nth_newline(here, 1, self.encoding)
        if found >= 0:
            return self._without_cr(data, start, start + found)
        following = bisect_left(self.newlines, self.newlines[block] + 1)
        if following == len(self.newlines):
            return self.size, self.size
        at = following * self.block_bytes
        here = _exactly(data, at, self.block_end(following) - at)
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

    Looked at are the first, the last ones and `spots` others, every time others.

    Raises:
        Shrunk: The file is shorter than what was indexed.
    """
    import random  # 4 ms, and few files have grown

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


def _exactly(data: Bytes, offset: int, size: int) -> bytes:
    piece = data.read_at(offset, size)
    if len(piece) < size:
        raise Shrunk
    return piece
