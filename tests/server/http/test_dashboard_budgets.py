"""The dashboard says what a budget that ran low took from a reply: in lists, sessions and the call itself."""

from __future__ import annotations

import csv
import io
import re
from contextlib import closing
from pathlib import Path

from readroom.server.ledger import LedgerPolicy, open_book
from tests.server.http.serving import open_agent

BUDGET = 12_000
SOURCE = "".join(f"def part_{at}(value):\n    return value + {at}  # {'x' * 60}\n\n\n" for at in range(400))


def test_calls_say_what_was_shown_instead_when_a_budget_ran_low(tmp_path: Path) -> None:
    root, state, config = tmp_path / "shop", tmp_path / "state", tmp_path / "operator.toml"
    root.mkdir()
    (root / "parts.py").write_text(SOURCE, encoding="utf-8")
    config.write_text(f"[budget]\nworkspace = {BUDGET}\n", encoding="utf-8")
    with open_agent(state, "--config", str(config), "--", str(root)) as running:
        for first in range(1, 1600, 40):
            arguments = {"path": "parts.py", "offset": first, "limit": 40}
            answer = running.call("read_file", arguments)
            if answer.status != 200:
                break
        assert answer.code == "budget_spent"
        with closing(open_book(LedgerPolicy(file=str(state / "readroom" / "ledger.sqlite3")))) as book:
            recorded = {row.number: row.event.level or "" for row in book.rows()}
        assert {"", "outline"} <= set(recorded.values())
        listed = running.request("GET", "/ui/calls?format=csv&table=calls").body.decode()
        shown = {int(row["Row"]): row["Shown instead"] for row in csv.DictReader(io.StringIO(listed))}
        assert shown == recorded
        less = next(number for number, level in recorded.items() if level == "outline")
        whole = next(number for number, level in recorded.items() if not level)
        said = "the budget ran low: an outline instead of content"
        assert said in running.request("GET", f"/ui/call?number={less}").body.decode()
        assert "the budget ran low" not in running.request("GET", f"/ui/call?number={whole}").body.decode()
        overview = running.request("GET", "/ui").body.decode()
        link = re.search(r'href="(/ui/session\?[^"]*|/ui/session)"', overview)
        assert link is not None
        waterfall = running.request("GET", link[1].replace("&amp;", "&")).body.decode()
        assert waterfall.count("ok, outline") == list(recorded.values()).count("outline")
        budgets = overview.partition('id="of-budgets"')[2].partition("</section>")[0]
        assert f"{BUDGET:,}" in budgets
        assert "content" not in budgets.partition("<tbody>")[2]


def test_a_missing_name_is_empty_in_an_export(tmp_path: Path) -> None:
    """A dash is for the eye; before a spreadsheet it would be quoted as a formula."""
    root, state = tmp_path / "shop", tmp_path / "state"
    root.mkdir()
    (root / "a.txt").write_text("a\n", encoding="utf-8")
    with open_agent(state, "--", str(root)) as running:
        assert running.call("read_file", {"path": "a.txt"}).status == 200
        tables = {}
        for page in ("/ui", "/ui/calls", "/ui/files", "/ui/file?path=a.txt"):
            html = running.request("GET", page).body.decode()
            for link in re.findall(r'href="([^"]*format=csv[^"]*)"', html):
                listed = running.request("GET", link.replace("&amp;", "&")).body.decode()
                tables[link] = [*csv.reader(io.StringIO(listed))]
    assert len(tables) >= 5
    assert [(link, row) for link, rows in tables.items() for row in rows if {"-", "'-"} & set(row)] == []
