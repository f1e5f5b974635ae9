"""One test of many cases: every case is tried, and each that fails is named with its own traceback.

For cases that take no time: a test id for each would take longer than they do, in every process of a run.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

SHOWN = 5
"""Tracebacks of a test; the other cases that fail are named."""


class CasesFail(ExceptionGroup[Exception]):
    """What a test raises whose cases fail; its message names all of them."""


def each(
    names: str | Sequence[str],
    cases: Iterable[Any],
    ids: Iterable[Any] | Callable[[Any], object] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Call a test with each case, as `pytest.mark.parametrize` does, but within one test.

    A `tmp_path` is another folder for each case; other fixtures are shared by all of them.
    """
    called = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    tried = list(cases)
    rows = [values_of(case, len(called)) for case in tried]
    naming = ids if callable(ids) else None
    given_names = None if ids is None or callable(ids) else [str(one) for one in ids]

    def named(number: int, row: tuple[Any, ...]) -> str:
        if given_names is not None:
            return given_names[number]
        own = getattr(tried[number], "id", None) if isinstance(tried[number], ParameterSet) else None
        return own or ", ".join(
            f"{name}={shortened(value if naming is None else naming(value))}"
            for name, value in zip(called, row, strict=True)
        )

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)
        missing = [name for name in called if name not in signature.parameters]
        assert not missing, f"{test.__name__} takes no {missing}"

        @functools.wraps(test)
        def all_cases(*args: Any, **fixtures: Any) -> None:
            failures: list[Exception] = []
            failing: list[str] = []
            for number, row in enumerate(rows):
                given = own_folder(fixtures, number) | dict(zip(called, row, strict=True))
                try:
                    test(*args, **given)
                except (Exception, pytest.fail.Exception) as error:
                    failing.append(named(number, row))
                    failures.append(noted(error, failing[-1]))
            if failures:
                raise CasesFail(f"{len(failing)} of {len(rows)}: {'; '.join(failing)}", failures[:SHOWN])

        rest = [value for name, value in signature.parameters.items() if name not in called]
        all_cases.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return all_cases

    return decorated


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
