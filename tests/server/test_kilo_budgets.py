"""Budgets in the contract of kilo."""

from __future__ import annotations

from readroom.core import config
from readroom.core.policy.rules import denials
from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from readroom.server.budgets import BudgetPolicy
from tests.contracts.kilo.calling import CODE, LINES, call


def test_a_budget_that_is_spent_names_no_tool_that_is_not_here() -> None:
    made = config.Settings(layers=(denials(),), budgets=BudgetPolicy(session=1500))
    with Workspace(MemoryStore({"a.txt": LINES * 200}), settings=made) as space:
        replies = [call(space, "a.txt") for _ in range(20)]
    assert replies[-1].is_error
    assert replies[-1].text.startswith("Error: The budget of this session leaves too little: ")
    assert not any("_file" in reply.text for reply in replies if reply.is_error)


def test_a_spent_budget_shows_definitions_and_then_counts() -> None:
    made = config.Settings(layers=(denials(),), budgets=BudgetPolicy(call=700))
    with Workspace(MemoryStore({"a.py": CODE * 20, "a.txt": LINES * 200}), settings=made) as space:
        for path in ("a.py", "a.txt"):
            reply = call(space, path)
            assert not reply.is_error
            assert reply.text
