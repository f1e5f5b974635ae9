"""The manifest of clauses: what the documents of the contracts say, each sentence with a stable id.

`clauses/<contract>.toml` maps ids to sentences; where a case of conformance shows
it, to a table of the sentence (`says`) and those cases (`cases`):

    "rnd.read.offset" = "offset is the first line, 1-based, default 1"
    "rnd.failure.missing" = { says = "a missing file has this form", cases = ["missing"] }

Tests name the ids that they show: `@pytest.mark.clause("rnd.read.offset")`.  The ids
of a record's deviations are known as well, for tests of what is done instead.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from readroom.core.contracts import ROWS
from scripts.docs.contracts import deviations

TESTS = Path(__file__).parents[1]
FOLDER = Path(__file__).parent / "clauses"


@dataclass(frozen=True)
class Clause:
    """One sentence, and the cases of conformance that show it."""

    says: str
    cases: tuple[str, ...] = ()


@cache
def clauses(name: str) -> Mapping[str, Clause]:
    """The clauses of a contract by id."""
    path = FOLDER / f"{name}.toml"
    given = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {
        key: Clause(value) if isinstance(value, str) else Clause(value["says"], tuple(value["cases"]))
        for key, value in given.items()
    }


def known() -> set[str]:
    """Every id that a test may name."""
    found: set[str] = set()
    for name in ROWS:
        found |= set(clauses(name))
        found |= {deviation.id for deviation in deviations(name)}
    return found


@cache
def marked() -> tuple[tuple[str, str], ...]:
    """Id and place of every `pytest.mark.clause` in the tests, however many workers run them."""
    return tuple(_marked())


def _marked() -> Iterator[tuple[str, str]]:
    for path in sorted(TESTS.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "mark.clause" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.clause":
                for argument in node.args:
                    place = f"{path.relative_to(TESTS)}:{node.lineno}"
                    if isinstance(argument, ast.Starred):
                        continue  # the cases of conformance, which the manifest names
                    assert isinstance(argument, ast.Constant), f"{place}: write the id itself"
                    yield str(argument.value), place
