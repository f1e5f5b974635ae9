"""Logs for the tests of indexes, and the policy under which small ones count as giant."""

from __future__ import annotations

from pathlib import Path

from readroom.core.deadline import Deadline
from readroom.core.session.index_files import IndexPolicy
from readroom.core.text.encodings import UTF8
from readroom.core.text.line_index import LineIndex, build_index


def rows(first: int, last: int, word: str = "line") -> bytes:
    return "".join(f"{word} {number:07d} of a log\n" for number in range(first, last + 1)).encode()


def giant(folder: Path | None = None, *, disk_bytes: int = 2**30) -> IndexPolicy:
    """Every indexed file counts as giant, and as settled."""
    return IndexPolicy(True, None if folder is None else str(folder), disk_bytes, 1, -1e9)


def facts(index: LineIndex) -> tuple[object, ...]:
    """What two indexes of the same bytes have in common. Blocks are marked as ASCII by whole chunks."""
    return (
        index.encoding,
        index.size,
        index.ends,
        index.total_lines,
        list(index.newlines),
        index.crlf,
        index.crlf_whole,
    )


class Watched:
    """A deadline that says what was passed over, and passes after so many reports."""

    def __init__(self, reports: int | None = None) -> None:
        self.steps: list[tuple[int, int | None]] = []
        self._left = reports
        self.deadline = Deadline(1.0, progress=self._note, clock=self._clock)

    def _note(self, done: int, total: int | None, unit: str) -> None:
        self.steps.append((done, total))

    def _clock(self) -> float:
        return 100.0 if self._left is not None and len(self.steps) >= self._left else 0.0


def built(data: bytes) -> LineIndex:
    from tests.core.text.held import HeldBytes

    return build_index(HeldBytes(data), UTF8, Deadline())
