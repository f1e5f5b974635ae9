"""Looks at the dashboard are in no sum of what agents did."""

from __future__ import annotations

from pathlib import Path

from readroom.server.ledger.sums import LOOKED_AT
from tests.cli.running import Cli
from tests.server.ledger.events import book, event


def test_looks_at_the_dashboard_are_in_no_sum_of_what_agents_did(cli: Cli, tmp_path: Path) -> None:
    found = book(tmp_path)
    shown = '[["a.py","sha256:aa",1,50]]'
    found.append(event(path="a.py", shown=shown, tokens=500, agent="one", tool="read_file"))
    found.append(event(path="a.py", shown=shown, tokens=400, agent="alice", face=LOOKED_AT, tool="read_file"))
    found.close()
    file = str(tmp_path / "ledger.sqlite3")
    for action in ("totals", "files"):
        said = cli.bare("ledger", action, "--file", file).out
        assert "500" in said
        assert "900" not in said
    assert "alice" not in cli.bare("ledger", "totals", "--by", "agent", "--file", file).out
    assert "alice (looked)" in cli.bare("ledger", "--file", file).out
    assert LOOKED_AT in cli.bare("ledger", "totals", "--by", "face", "--file", file).out
