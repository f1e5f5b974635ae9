"""A new contract has budgets and a ledger by its row alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from readroom.core import contracts
from readroom.core.config import Settings
from readroom.core.workspace import Workspace
from readroom.server.budgets import BudgetPolicy
from readroom.server.ledger import LedgerPolicy
from readroom.server.ledger.recorder import Recorder
from tests.contracts import toy
from tests.contracts.toy.test_toy import call

SECRET = "not to be seen"

ROW = contracts.Registered("tests.contracts.toy:made", section="tests.contracts.toy.settings:ToySection")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(contracts.ROWS, "toy", ROW)
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_text("".join(f"line {number} says word\n" for number in range(1, 801)))
    (root / "large.txt").write_text("x\n" * toy.MOST_BYTES)
    (root / ".env").write_text(SECRET)
    (root / "picture.png").write_bytes(bytes.fromhex("89504e470d0a1a0a0000000d49484452") + bytes(40))
    return root


@pytest.fixture
def workspace(folder: Path) -> Iterator[Workspace]:
    with Workspace(folder) as opened:
        yield opened


def test_budgets_and_the_ledger_hold_for_it(folder: Path, tmp_path: Path) -> None:
    ledger = LedgerPolicy(enabled=True, file=str(tmp_path / "ledger.sqlite3"))
    with Workspace(folder, settings=Settings(budgets=BudgetPolicy(session=2000), ledger=ledger)) as workspace:
        replies = [call(workspace, "show", file="a.txt") for _ in range(3)]
        assert not replies[0].is_error
        last = json.loads(replies[-1].text)
        assert (last["lines"], last["of"]) == ([], 800)
        assert "counts instead of content" in last["notes"][0]
        assert isinstance(workspace.gatekeeper.journal, Recorder)
        rows = list(workspace.gatekeeper.journal.open().rows())
    assert [row.event.contract for row in rows] == ["toy"] * 3
