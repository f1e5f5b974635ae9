"""Files that a search will open, asked for before their turn where that is a request."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

from readroom.core.stores.base import Begun

_T = TypeVar("_T")


def in_step(files: Iterable[_T], ask: Callable[[_T], Begun | None]) -> Generator[_T]:
    """The same files in the same order, those asked for ahead that there is room for."""
    rest = iter(files)
    waiting: deque[tuple[_T, Begun]] = deque()
    blocked: _T | None = None
    try:
        while True:
            while blocked is not None or (blocked := next(rest, None)) is not None:
                begun = ask(blocked)
                if begun is None:
                    break
                waiting.append((blocked, begun))
                blocked = None
            if waiting:
                yield waiting[0][0]
                waiting.popleft()[1]()
            elif blocked is not None:
                yield blocked
                blocked = None
            else:
                return
    finally:
        for _, begun in waiting:
            begun()
