"""A search in documents that runs out of time passes over nothing."""

from __future__ import annotations

from collections.abc import Generator
from itertools import islice

import pytest

from readroom.core.engine.cursors import Cursor
from readroom.core.engine.grep.process import OpenFile
from readroom.core.engine.grep.ripgrep import Noted
from readroom.core.errors import TimedOut
from readroom.documents.inside import MergedStream


def test_what_waits_beside_a_search_is_not_passed_when_time_ends() -> None:
    """Documents and members come from elsewhere: where rg is when time ends may be far behind them."""

    class Stream:
        def __init__(self, names: list[str], stopped_at: str | None) -> None:
            self._names = names
            self.stopped_at = stopped_at

        def files(self, after: Cursor | None, *, at_once: bool = True) -> Generator[str]:
            yield from self._names
            if self.stopped_at is not None:
                raise TimedOut(1)

    other = Stream(["b", "n", "z"], None)
    noted = Noted(left=[OpenFile("c", 1, 9), OpenFile("p", 1, 9)])
    beside = MergedStream(Stream(["a", "b", "m"], "q"), other, noted)
    given = beside.files(None)
    assert list(islice(given, 3)) == ["a", "b", "m"]
    assert [file.path for file in noted.passed()] == ["c"]
    with pytest.raises(TimedOut):
        next(given)
    assert beside.stopped_at == "n"
    assert list(MergedStream(Stream(["a"], None), other, noted).files(None)) == ["a", "b", "n", "z"]
