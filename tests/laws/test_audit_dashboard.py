"""The dashboard of an audit counts each file that one call changed."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

from readroom.core.rows import recorded
from readroom.server.ledger import LedgerPolicy, open_book
from readroom.server.ledger.imported import fill
from tests.lens.making import called, returned
from tests.lens.test_several_files import DONE, PATCH, PATCHED, audited


def test_the_dashboard_of_an_audit_counts_every_file_that_was_changed(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    audited(
        path,
        called(1, "apply_patch", {"input": PATCH}),
        returned(1, DONE),
        called(2, "Edit", {"file_path": "src/a.py"}),
        returned(2, "done"),
        called(3, "Edit", {"file_path": "src/z.py"}),
        returned(3, "<tool_use_error>no", error=True),
    )
    with closing(open_book(LedgerPolicy(file=str(tmp_path / "ledger.sqlite3")))) as book:
        fill(book, recorded(path, "/home/dev/shop"), str(path), "/home/dev/shop")
        rows = book.look(lambda execute: execute("SELECT shown FROM calls ORDER BY number"))
    shown = [sorted(span[0] for span in json.loads(row[0])) for row in rows]
    assert shown == [sorted(PATCHED), ["src/a.py"], []]
