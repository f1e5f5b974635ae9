"""An object that is read by ranges, each with If-Match: all bytes are of the state that was opened.

Reads fetch a few blocks, more of them the longer they continue in order, and keep the latest ones.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from typing import final

from readroom.core.closeable import Closeable
from readroom.core.errors import ObjectChanged
from readroom.core.limits import BLOCK_BYTES
from readroom.core.paths import WorkPath
from readroom.core.stores import spending
from readroom.core.stores.bucket.client import Beyond, Connection, Differs, Meta, Missing
from readroom.core.stores.spending import CHECKED_LATER
from readroom.core.values import EntryKind, Stat, Version

_FIRST_BLOCKS = 2
"""Blocks of a read somewhere: a page may begin at the end of one, and is shorter than the next."""

_MOST_BLOCKS = 32
"""Blocks of one request when a file is read from end to end: 8 MiB."""

_KEPT_BLOCKS = 2 * _MOST_BLOCKS

GONE = Version(0, 0, 0, 0, 0)
"""The version of what is no object any more."""


def number(*texts: str) -> int:
    """63 bits that tell texts apart."""
    digest = blake2b(digest_size=8)
    for text in texts:
        digest.update(len(text).to_bytes(8, "big"))
        digest.update(text.encode("utf-8", "surrogateescape"))
    return int.from_bytes(digest.digest(), "big") >> 1


def version_of(meta: Meta, device: int, key: str) -> Version:
    """The version of an object: its ETag, as the number of its last change.

    That number is below zero, as no time is: what an ETag names never changes any more.
    """
    return Version(device, number(key), meta.size, meta.mtime_ns, -1 - number(meta.etag))


def stat_of(meta: Meta, device: int, key: str) -> Stat:
    """The stat of an object."""
    return Stat(EntryKind.FILE, meta.size, meta.mtime_ns, device=device, inode=number(key))


@final
class BucketSource(Closeable):
    """An opened object. Safe to share between threads.

    Attributes:
        meta: The state that was opened.
        far: Each read may be a request.
        keeps_identity: Its version means the same in every process.
    """

    far = True
    keeps_identity = True

    def __init__(
        self,
        client: Connection,
        device: int,
        key: str,
        real: WorkPath,
        meta: Meta,
        head: bytes,
        *,
        checked: bool,
        changed: Callable[[], None],
    ) -> None:
        """`head` are its first bytes, `checked` says that they were read just now, and `changed` is called
        when the object turns out to be another."""
        self._client = client
        self._device = device
        self._key = key
        self._checked = checked
        self._changed = changed
        self._lock = threading.Lock()
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        self._ahead = _FIRST_BLOCKS
        self._expected = -1
        self.real = real
        self.meta = meta
        self.size = meta.size
        self.stat = stat_of(meta, device, key)
        self.version = version_of(meta, device, key)
        self._keep(0, head)

    def current(self) -> Version:
        """The version that the object has now; of all that was read, where `CHECKED_LATER` asks for that."""
        if self._checked and CHECKED_LATER.get():
            return self.version
        try:
            meta, _ = self._client.head(self._key, self.real)
        except Missing:
            self._changed()
            return GONE
        if meta.etag != self.meta.etag:
            self._changed()
            return version_of(meta, self._device, self._key)
        self._checked = True
        return self.version

    def read_at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`. Raises ObjectChanged."""
        end = min(offset + size, self.size)
        if offset >= end:
            return b""
        with self._lock:
            pieces = []
            while offset < end:
                block = self._block(offset // BLOCK_BYTES, end)
                at = offset % BLOCK_BYTES
                pieces.append(block[at : at + end - offset])
                offset += len(pieces[-1])
        return b"".join(pieces)

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Fill `buffer` from `offset`; the number of bytes, smaller only at the end."""
        data = self.read_at(offset, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def fileno(self) -> None:
        """Always None."""
        return

    def close(self) -> None:
        """Forget what was read."""
        with self._lock:
            self._blocks.clear()

    def _block(self, number_: int, end: int) -> bytes:
        known = self._blocks.get(number_)
        if known is not None:
            self._blocks.move_to_end(number_)
            return known
        in_order = number_ == self._expected
        self._ahead = min(2 * self._ahead, _MOST_BLOCKS) if in_order else _FIRST_BLOCKS
        wanted = -(-end // BLOCK_BYTES) - number_
        blocks = min(max(self._ahead, wanted), _MOST_BLOCKS)
        if (spent := spending.current()) is not None:
            blocks = max(1, min(blocks, spent.left // BLOCK_BYTES))
        start = number_ * BLOCK_BYTES
        size = min(blocks * BLOCK_BYTES, self.size - start)
        try:
            part = self._client.get(self._key, self.real, start, size, self.meta.etag)
        except (Differs, Missing, Beyond):
            self._changed()
            raise ObjectChanged(self.real) from None
        self._checked = True
        self._keep(start, part.data)
        self._expected = number_ + blocks
        return self._blocks[number_]

    def _keep(self, start: int, data: bytes) -> None:
        for at in range(0, len(data), BLOCK_BYTES):
            piece = data[at : at + BLOCK_BYTES]
            if len(piece) == BLOCK_BYTES or start + at + len(piece) == self.size:
                self._blocks[(start + at) // BLOCK_BYTES] = piece
        while len(self._blocks) > _KEPT_BLOCKS:
            self._blocks.popitem(last=False)
