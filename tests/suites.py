"""The daily suite is what is not marked `whole`; the whole suite is everything.

`make test` runs the one, `make test-all` the other, as continuous integration does.  Nothing else decides what is
run: no chance, no machine and no environment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

PARAM = type(pytest.param())

whole = pytest.mark.whole
"""Of a test that takes long and seldom finds what no test of the daily suite does."""


def daily(
    first: int,
    names: str | Sequence[str],
    cases: Iterable[Any],
    ids: Sequence[str] | Callable[[Any], object] | None = None,
) -> pytest.MarkDecorator:
    """Parametrize a test whose cases each take long: the first of them daily, the others in the whole suite."""
    several = not isinstance(names, str) or "," in names
    marked = []
    for number, case in enumerate(cases):
        values = case.values if isinstance(case, PARAM) else case if several else (case,)
        marks = [*(case.marks if isinstance(case, PARAM) else ()), *([whole] if number >= first else [])]
        marked.append(
            pytest.param(
                *values, marks=marks, id=getattr(case, "id", None) if isinstance(case, PARAM) else None
            )
        )
    return pytest.mark.parametrize(names, marked, ids=ids)
