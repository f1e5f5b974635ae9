"""A budget that runs low shortens the replies of find_relevant."""

from __future__ import annotations

from pathlib import Path

from readroom import Workspace
from tests.core.engine.find.test_find import many
from tests.laws.driving import fact


def test_a_budget_that_runs_low_shows_less(tmp_path: Path) -> None:
    (tmp_path / "readroom.toml").write_text("[budget]\nsession = 10000\n")
    for path, text in many(40).items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    with Workspace(tmp_path) as room:
        replies = [
            room.call("find_relevant", {"query": "needle thread", "budget_tokens": 600}) for _ in range(40)
        ]
    outputs = [fact(reply, "output") for reply in replies if not reply.is_error]
    assert outputs[0] == "passages"
    assert set(outputs[1:]) - {"passages"} <= {"outline", "files"}
    assert outputs[-1] != "passages"
    assert fact(replies[-1], "error")["code"] == "budget_spent"
