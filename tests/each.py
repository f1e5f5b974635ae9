"""One test of many cases: every case is tried, and each that fails is named with its own traceback.

For cases that take no time: a test id for each would take longer than they do, in every process of a run.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

import pytest
from _pytest.mark import ParameterSet

SHOWN = 5
"""Tracebacks of a test; the other cases that fail are named."""

Named: TypeAlias = "Iterable[object] | Callable[[Any], object] | None"


class CasesFail(ExceptionGroup[Exception]):
    """What a test raises whose cases fail; its message names all of them."""


def each(
    names: str | Sequence[str], cases: Iterable[Any] | str, ids: Named = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Call a test with each case, as `pytest.mark.parametrize` does, but within one test.

    Cases that are a word come from the argument of that name.  A `tmp_path` is another folder for each case;
    other fixtures are shared by all of them.
    """
    called = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    written = list(cases) if not isinstance(cases, str) else []

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)
        missing = [name for name in called if name not in signature.parameters]
        assert not missing, f"{test.__name__} takes no {missing}"

        @functools.wraps(test)
        def all_cases(*args: Any, **fixtures: Any) -> None:
            tried = list(fixtures.pop(cases)) if isinstance(cases, str) else written
            rows = [values_of(case, len(called)) for case in tried]
            said = names_of(called, tried, rows, ids)
            failing: list[str] = []
            failures: list[Exception] = []
            for number, row in enumerate(rows):
                given = own_folder(fixtures, number) | dict(zip(called, row, strict=True))
                try:
                    test(*args, **given)
                except (Exception, pytest.fail.Exception) as error:
                    failing.append(said[number])
                    failures.append(noted(error, said[number]))
            if failures:
                count = f"{len(failures)} of {len(rows)}"
                raise CasesFail(f"{count}: {'; '.join(failing)}", failures[:SHOWN])

        rest = [value for name, value in signature.parameters.items() if name not in called]
        if isinstance(cases, str):
            rest.append(inspect.Parameter(cases, inspect.Parameter.KEYWORD_ONLY))
        all_cases.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return all_cases

    return decorated


def names_of(called: list[str], tried: list[Any], rows: list[tuple[Any, ...]], ids: Named) -> list[str]:
    """What each case is called where it fails."""
    shown = ids if callable(ids) else None
    if ids is not None and shown is None:
        return [str(name) for name in cast("Iterable[object]", ids)]
    said = []
    for case, row in zip(tried, rows, strict=True):
        own = case.id if isinstance(case, ParameterSet) else None
        values = [value if shown is None else shown(value) for value in row]
        parts = (f"{name}={shortened(value)}" for name, value in zip(called, values, strict=True))
        said.append(str(own or ", ".join(parts)))
    return said


def values_of(case: Any, names: int) -> tuple[Any, ...]:
    if isinstance(case, ParameterSet):
        assert not case.marks, "a case has no marks: parametrize, where some are marked"
        return tuple(case.values)
    return tuple(case) if names > 1 else (case,)


def own_folder(fixtures: dict[str, Any], number: int) -> dict[str, Any]:
    folder = fixtures.get("tmp_path")
    if not isinstance(folder, Path):
        return dict(fixtures)
    own = folder / str(number)
    own.mkdir()
    return {**fixtures, "tmp_path": own}


def noted(error: BaseException, name: str) -> Exception:
    """The error of a case, with its name; a failure that pytest raises itself is no `Exception`."""
    if not isinstance(error, Exception):
        error = AssertionError(str(error)).with_traceback(error.__traceback__)
    error.add_note(f"case: {name}")
    return error


def shortened(value: object) -> str:
    said = repr(value)
    return said if len(said) < 60 else f"{said[:57]}..."
