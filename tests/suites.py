"""The daily suite is what is not marked `whole`; the whole suite is everything.

`make test` runs the one, `make test-all` the other, as continuous integration does.  Nothing else decides
what runs: no chance, no machine, no environment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from typing import Any

import pytest
from _pytest.mark import ParameterSet

whole = pytest.mark.whole
"""Of a test that takes long and seldom finds what no test of the daily suite does."""


def needs(wing: str) -> pytest.MarkDecorator:
    """Mark a test that reaches a wing which its own does not know; `tests/test_alone.py` runs without it."""
    return pytest.mark.skipif(find_spec(f"readroom.{wing}") is None, reason=f"readroom.{wing} is absent")


def daily(
    first: int,
    names: str | Sequence[str],
    cases: Iterable[Any],
    ids: Iterable[str | int] | Callable[[Any], object] | None = None,
) -> pytest.MarkDecorator:
    """Parametrize a test whose cases each take long: the first ones daily, all in the whole suite."""
    several = not isinstance(names, str) or "," in names
    marked = []
    for number, case in enumerate(cases):
        one = case if isinstance(case, ParameterSet) else pytest.param(*(case if several else (case,)))
        marks = [*one.marks, whole] if number >= first else one.marks
        marked.append(pytest.param(*one.values, marks=marks, id=one.id))
    return pytest.mark.parametrize(names, marked, ids=ids)


def one_of(cases: Iterable[Any]) -> list[ParameterSet]:
    """Cases as `params` of a fixture: the first one daily, all in the whole suite."""
    return [pytest.param(case, marks=whole if number else ()) for number, case in enumerate(cases)]


def parts(cases: Iterable[Any], step: int = 4) -> list[ParameterSet]:
    """Cases that are tried together, as `params` of a fixture: one of `step` daily, all in the whole."""
    every = list(cases)
    others = [case for number, case in enumerate(every) if number % step]
    return [pytest.param(every[::step], id="daily"), pytest.param(others, id="others", marks=whole)]
