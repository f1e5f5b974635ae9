"""A base class for objects that a `with` statement closes."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self


class Closeable(Protocol):
    """Something with a `close`, which a `with` statement calls."""

    __slots__ = ()

    def close(self) -> None:
        """Release what it holds; a second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
