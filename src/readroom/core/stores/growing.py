"""The output of a command that runs on: a file that grows, and that anybody may read meanwhile.

A stream that exceeds its limit is written anew: its beginning, a line that says what is missing, and its last
quarter, in a new file that takes the place of the old one in one step.  So its end is always there, whoever
has the old file open reads on in it, and each byte is written four times at most.
"""

from __future__ import annotations

import os
import secrets
from typing import final

from readroom.core.errors import reason_of
from readroom.core.limits import BLOCK_BYTES
from readroom.core.paths import OUTPUTS, join
from readroom.core.stores.outputs import KeptStream
from readroom.core.stores.ring import lines_of, write_all
from readroom.core.values.commands import Lost

_LEAST_BYTES = 1024
"""Less would have no room for the line that says what is missing."""

_NEW_BYTES = 8
"""Random bytes in the name of a new file before it takes its place."""


@final
class GrowingKeeper:
    """Keeps one stream. Used by one thread; `lost` may be read by others."""

    def __init__(self, folder: str, name: str, maximum: int) -> None:
        """Keep `maximum` bytes in the file of that name."""
        self.size = self.lines = 0
        self.lost: Lost | None = None
        self._path = join(OUTPUTS, name)
        self._file = os.path.join(folder, name)
        self._maximum = max(_LEAST_BYTES, maximum)
        self._fd = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._held = 0
        self._head = 0
        """Bytes of the beginning that stay; 0 until the file is written anew."""
        self._problem: str | None = None

    def write(self, data: bytes) -> None:
        """Write what the command has written. A full disk stops the keeping, not the command."""
        before = self.size
        self.size += len(data)
        self.lines += data.count(b"\n")
        if self._problem is not None:
            return
        view = memoryview(data)
        try:
            while view:
                if self._held >= self._maximum:
                    self._shorten(before + len(data) - len(view))
                piece = view[: self._maximum - self._held]
                write_all(self._fd, piece, self._held)
                self._held += len(piece)
                view = view[len(piece) :]
        except OSError as error:
            self._problem = reason_of(error)

    def kept(self) -> KeptStream:
        """The part that is kept now."""
        return KeptStream(self._path, self.size, self._held, self.lost, self._problem)

    def finish(self) -> KeptStream:
        """Close the file."""
        if self._problem is not None and self._fd >= 0:
            self._held = os.fstat(self._fd).st_size
            if self.size > self._held:
                self.lost = Lost(self._held + 1, self.size - self._held, lines_of(self._fd, self._held))
        self.close()
        return self.kept()

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _shorten(self, written: int) -> None:
        """Write the file anew, without its middle. `written` is what the command has written so far."""
        self._head = self._head or self._whole_lines(self._maximum // 2)
        at = self._held - self._maximum // 4
        at += os.pread(self._fd, BLOCK_BYTES, at).find(b"\n") + 1
        missing = written - self._head - (self._held - at)
        mark = f"[... {missing:,} bytes are not kept ...]\n".encode()
        # Beside the folder that is listed.
        new = os.path.join(
            os.path.dirname(os.path.dirname(self._file)), f"new-{secrets.token_hex(_NEW_BYTES)}"
        )
        fd = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            held = self._copy(fd, 0, self._head, 0)
            write_all(fd, mark, held)
            held = self._copy(fd, at, self._held, held + len(mark))
            os.rename(new, self._file)
        except BaseException:
            os.close(fd)
            os.unlink(new)
            raise
        self.close()
        self._fd, self._held = fd, held
        self.lost = Lost(self._head + 1, missing, lines_of(fd, self._head))

    def _copy(self, to: int, first: int, end: int, place: int) -> int:
        """Copy bytes into a new file; returns where they end there."""
        while first < end and (block := os.pread(self._fd, min(BLOCK_BYTES, end - first), first)):
            write_all(to, block, place)
            first += len(block)
            place += len(block)
        return place

    def _whole_lines(self, size: int) -> int:
        """How much of the beginning is whole lines; all of it if its last line is very long."""
        block = min(BLOCK_BYTES, size)
        cut = os.pread(self._fd, block, size - block).rfind(b"\n") + 1
        return size - block + cut if cut else size
