"""Bytes held in memory, for the pure layer, that remember which ranges were asked for."""

from __future__ import annotations


class HeldBytes:
    """A `model.Bytes`. `truncated_to` makes it end early, as a file that is cut while it is read."""

    def __init__(self, data: bytes, truncated_to: int | None = None) -> None:
        self.size = len(data)
        self.data = data if truncated_to is None else data[:truncated_to]
        self.reads: list[tuple[int, int]] = []

    def read_at(self, offset: int, size: int) -> bytes:
        self.reads.append((offset, size))
        return self.data[offset : offset + size]

    def read_into(self, offset: int, buffer: memoryview) -> int:
        piece = self.read_at(offset, len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    @property
    def bytes_read(self) -> int:
        return sum(size for _, size in self.reads)
