"""Budgets and the ledger for the contract of rnd."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from readroom.core.caller import Caller
from readroom.core.limits import MIN_REPLY_BYTES
from readroom.server.budgets import BudgetPolicy
from readroom.server.ledger import LedgerPolicy, open_book
from readroom.server.ledger.queries import most_read
from tests.contracts.rnd.test_replies import read, room


@pytest.mark.clause("rnd.context.budget", "rnd.context.warnings", "rnd.budget.tokens")
def test_a_budget_that_runs_low_is_a_warning_in_the_answer() -> None:
    with room({"a.py": "word " * 200 + "\n"}, budgets=BudgetPolicy(session=1000)) as workspace:
        for _ in range(20):
            reply = workspace.call("read", {"path": "a.py"}, contract_name="rnd")
            found = json.loads(reply.text)
            if any("Budget: " in one for one in found.get("warnings", ())):
                break
        else:
            raise AssertionError("no warning before the end of the budget")
        while found["ok"]:
            if not found["content"]:
                assert any("Content left out" in one for one in found["warnings"])
            found = read(workspace, "a.py")
        assert found["reason"] == "budget_spent"


def test_where_little_is_left_definitions_stand_for_the_content() -> None:
    code = "".join(f"def f{n}(x):\n    return x\n" for n in range(60))
    found: dict[str, Any] = {}
    # How much is left for the read that does not fit any more depends on what those before it took.
    for session in range(4000, 6000, 100):
        with room({"a.py": code}, budgets=BudgetPolicy(session=session)) as workspace:
            while (found := read(workspace, "a.py")).get("content"):
                pass
        if "outline" in found:
            break
    assert found["outline"][0] == "1-2: def f0(x)"
    assert (found["lines_read"], found["total_lines"]) == (0, 120)


@pytest.mark.clause("rnd.session.log", "rnd.session.frequent", "rnd.audit.hook")
def test_every_read_stands_in_the_ledger_and_the_most_read_files_are_counted(tmp_path: Path) -> None:
    ledger = LedgerPolicy(enabled=True, file=str(tmp_path / "ledger.sqlite3"))
    with room({"a.py": "x\n", "b.py": "y\n", ".env": "x"}, ledger=ledger) as workspace:
        for path in ("a.py", "a.py", "b.py", ".env", "gone.py"):
            workspace.call("read", {"path": path}, contract_name="rnd", caller=Caller(session="s"))
    book = open_book(ledger)
    try:
        rows = list(book.rows())
    finally:
        book.close()
    outcomes = [(row.event.tool, row.event.outcome) for row in rows]
    assert outcomes == [("read", "ok")] * 3 + [("read", "denied"), ("read", "not_found")]
    assert [(total.name, total.calls) for total in most_read(rows)] == [("a.py", 2), ("b.py", 1)]


def test_the_ledger_says_what_was_shown_after_every_cut(tmp_path: Path) -> None:
    ledger = LedgerPolicy(enabled=True, file=str(tmp_path / "ledger.sqlite3"))
    with room({"a.py": ('"' * 50 + "\n") * 100}, ledger=ledger) as workspace:
        reply = workspace.call("read", {"path": "a.py"}, contract_name="rnd", reply_bytes=MIN_REPLY_BYTES)
    read_lines = json.loads(reply.text)["lines_read"]
    book = open_book(ledger)
    try:
        (row,) = book.rows()
    finally:
        book.close()
    assert [(one.first, one.last) for one in row.event.spans] == [(1, read_lines)]
    assert 1 < read_lines < 30
