"""One pass over a file: counting and hashing, stopped by a deadline and taken up again.

Reading and counting run beside hashing on another thread; hashlib and pread
release the interpreter lock, so counting costs nothing.  Of every block a short
check is kept too (50 GB/s measured), by which it is known again later.

What a pass has done is whole blocks until it has reached the end.  So it can stop
and go on, and a pass over a file that has grown since begins where the last whole
block of the earlier one ends.
"""

from __future__ import annotations

import hashlib
import os
import threading
from array import array
from queue import SimpleQueue
from typing import Self

import stringzilla

from readroom.deadline import Deadline
from readroom.limits import BLOCK_BYTES
from readroom.model import Bytes
from readroom.text.encodings import STATEFUL, Encoding, decode

_CHUNK_BLOCKS = 4
"""Handed from the reading to the hashing thread at once: 1 MiB makes the hand-over vanish beside the hash."""

_CHUNKS = 3
"""Buffers in flight: one being read, one being hashed, one between."""


class Shrunk(Exception):
    """The file ended before the size it had when it was opened; it is being changed."""


class Counter:
    """Newlines per block and the forms of line ends, from pieces of whole blocks.

    `newlines[i]` counts the newlines before the end of block i, `checks[i]` tells its
    bytes again, `ascii_blocks` has a 1 for every block in which each byte is a character.
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
        """Of these, those before the end of the last whole block."""
        self._tail = b""
        """The last code unit, or what there is of it, of the last piece: a CR LF may cross a border."""

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
        is_ascii = one_each and _is_ascii(piece)
        unit = self.encoding.unit
        for at in range(0, len(piece), self.block_bytes):
            block = piece[at : at + self.block_bytes]
            self._count(block)
            self._tail = bytes(block[-(len(block) % unit or unit) :])
            self.size += len(block)
            self.newlines.append(self.lines)
            self.checks.append(check(block, self.seed))
            self.ascii_blocks.append(is_ascii)
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
    """64 bits by which a block is known again; with a secret seed, nobody can make another with the same."""
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

    def without_hash(self) -> None:
        """Go on counting only."""
        self._digest = None

    def run(self, data: Bytes, deadline: Deadline) -> None:
        """Pass over the rest, up to the size of `data`.

        Raises:
            Shrunk: The file is shorter than it was when it was opened.
            TimedOut, Cancelled: From the deadline; another call goes on.
        """
        free: SimpleQueue[memoryview] = SimpleQueue()
        for _ in range(_CHUNKS if self.hashed else 1):
            free.put(memoryview(bytearray(_CHUNK_BLOCKS * self.count.block_bytes)))
        if self._digest is None:
            self._read(data, free, None, deadline)
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
            self._read(data, free, full, deadline)
        finally:
            full.put(None)
            hasher.join()

    def _read(
        self,
        data: Bytes,
        free: SimpleQueue[memoryview],
        full: SimpleQueue[memoryview | None] | None,
        deadline: Deadline,
    ) -> None:
        size = data.size
        while self.count.size < size:
            deadline.check()
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


def count_lines(data: Bytes, encoding: Encoding, deadline: Deadline) -> int:
    """Lines of the whole file without its hash: the counting pass alone, on one thread."""
    counting = Pass(Counter(encoding, BLOCK_BYTES), hashed=False)
    counting.run(data, deadline)
    return counting.count.total_lines
