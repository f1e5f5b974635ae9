"""Every clause has a test, and every marked test shows a clause that there is."""

from __future__ import annotations

import pytest

from readroom.core.contracts import NAMES
from scripts.docs.contracts import deviations
from tests.contracts import cases
from tests.contracts.clauses import FOLDER, clauses, known, marked

FOREIGN = [name for name in NAMES if name != "native"]


def test_every_marked_test_names_an_id_that_there_is() -> None:
    there = known()
    assert [f"{place}: {key}" for key, place in marked() if key not in there] == []


def test_every_id_has_a_test() -> None:
    shown = {key for key, _ in marked()}
    for name in NAMES:
        shown |= {key for key, clause in clauses(name).items() if clause.cases}
    assert sorted(known() - shown) == []


@pytest.mark.parametrize("name", FOREIGN)
def test_every_contract_has_clauses_of_its_own_name(name: str) -> None:
    assert clauses(name)
    assert [key for key in clauses(name) if not key.startswith(f"{name}.")] == []
    assert [one.id for one in deviations(name) if not one.id.startswith(f"{name}.")] == []


@pytest.mark.parametrize("name", FOREIGN)
def test_cases_that_show_a_clause_are_played(name: str) -> None:
    named = {case for clause in clauses(name).values() for case in clause.cases}
    held = {case.id for case in cases.cases(name)} - set(cases.declined().get(name, {}))
    assert named <= held


def test_no_manifest_is_left_without_its_contract() -> None:
    assert {path.stem for path in FOLDER.glob("*.toml")} <= set(NAMES)
