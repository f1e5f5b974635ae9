"""Budgets count a reply that is given again."""

from __future__ import annotations

from pathlib import Path

from readroom import Workspace
from readroom.core import config
from readroom.server.budgets import BudgetPolicy


def test_tokens_of_a_reply_that_is_given_again_are_those_of_its_text(tmp_path: Path) -> None:
    """What is added to one of them, a warning of a budget, belongs to that one."""
    (tmp_path / "a.txt").write_text("word " * 200 + "\n")
    budgets = BudgetPolicy(session=3000)
    with Workspace(tmp_path, settings=config.Settings(budgets=budgets)) as workspace:
        replies = [workspace.call("read_file", {"path": "a.txt"}) for _ in range(10)]
    shown = [reply for reply in replies if "word" in reply.text]
    assert len({reply.facts["tokens"] for reply in shown}) == 1
    assert any("[Budget: " in reply.text for reply in shown)
    assert "[Budget: " not in replies[0].text
