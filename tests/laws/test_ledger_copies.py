"""An audit counts a ledger and its export once."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from readroom.core.rows import recorded
from readroom.server.ledger import LedgerPolicy, open_book
from readroom.server.ledger.imported import fill
from tests.cli.running import Cli
from tests.lens.ground_truth import unpacked
from tests.lens.test_copies import sums_of, totals_of


def test_a_ledger_beside_its_export_counts_once_in_every_report(tmp_path: Path, capsys: Any) -> None:
    found = unpacked("readroom-ledger/codex", tmp_path)
    folder = found[0].parent
    alone = sums_of(totals_of(next(one for one in found if one.suffix == ".sqlite3")))
    assert sums_of(totals_of(folder)) == alone
    rows = tmp_path / "rows.jsonl"
    done = Cli(tmp_path, capsys).bare(
        "audit", str(folder), "--jsonl", str(rows), "--no-secrets", "--workers", "2"
    )
    assert done.code == 0
    assert "with turns copied from another" in done.out
    for source in (folder, rows):
        state = tmp_path / f"of-{source.name}"
        state.mkdir()
        with closing(open_book(LedgerPolicy(file=str(state / "ledger.sqlite3")), make=True)) as book:
            fill(book, recorded(source, "/w"), str(source), "/w")
            assert book.count() == alone["calls"]
