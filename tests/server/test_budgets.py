"""Budgets: never overdrawn, degraded by steps, and always said."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from readroom.core import config
from readroom.core.caller import Caller
from readroom.core.errors import BadConfig, BudgetSpent
from readroom.core.session.meter import Level
from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from readroom.server.budgets import BudgetPolicy, BudgetPool
from readroom.server.ledger import LedgerPolicy, open_book
from tests.vocabulary import tokens_of

TEXT = "".join(f"line {number} of a file with words in it\n" for number in range(1, 2001))


def opened(**budgets: Any) -> Workspace:
    store = MemoryStore({"a.txt": TEXT, "b.txt": "short\n"})
    return Workspace(store, settings=replace(config.load(store), budgets=BudgetPolicy(**budgets)))


def call(workspace: Workspace, tool: str, session: str = "", token: str = "", **arguments: object) -> Any:
    reply = workspace.call(tool, arguments, caller=Caller(session=session, token=token))
    return reply, reply.facts


def test_each_reply_carries_its_tokens_and_what_is_left() -> None:
    workspace = opened(session=100_000)
    _, first = call(workspace, "read_file", path="b.txt")
    _, second = call(workspace, "read_file", path="nothing")
    (left,) = first["budget"]
    assert left == {
        "scope": "session",
        "limit": 100_000,
        "used": first["tokens"],
        "left": 100_000 - first["tokens"],
    }
    assert second["budget"][0]["used"] == first["tokens"] + second["tokens"]


def test_without_a_budget_nothing_is_said() -> None:
    reply, facts = call(opened(), "read_file", path="b.txt")
    assert facts["budget"] == []
    assert "udget" not in reply.text


def test_one_reply_stays_within_the_budget_of_a_call() -> None:
    workspace = opened(call=1500)
    seen, arguments = [], {"path": "a.txt"}
    for _ in range(100):
        _, facts = call(workspace, "read_file", **arguments)
        assert facts["tokens"] <= 1500
        seen.append((facts["lines_shown"]["start"], facts["lines_shown"]["end"]))
        if facts["next"] is None:
            break
        arguments = facts["next"]["arguments"]
    assert [last + 1 for _, last in seen[:-1]] == [first for first, _ in seen[1:]]
    assert seen[-1][1] == 2000


def test_it_goes_from_content_by_counts_to_a_refusal_and_changes_stay_possible_to_the_last() -> None:
    workspace = opened(session=100_000)
    texts, last = [], None
    for _ in range(400):
        reply, facts = call(workspace, "read_file", path="a.txt", limit=30)
        if reply.is_error:
            last = facts["error"]
            break
        texts.append(reply.text)
        used = facts["budget"][0]["used"]
        assert used <= 100_000
    assert last is not None
    assert last["code"] == "budget_spent"
    assert last["facts"]["changes_left"]
    assert "edit_file and write_file still work" in last["message"]
    warned = [text.rsplit("Budget: ")[1][:2] for text in texts if "Budget: " in text]
    assert warned == ["50", "80", "95"]
    assert "no lines of 2000" in texts[-1]
    assert "instead of content" in texts[-1]
    reply, facts = call(workspace, "write_file", path="c", content="x", expected_hash="absent")
    assert not reply.is_error
    reply, _ = call(workspace, "read_file", path="a.txt", session="another")
    assert not reply.is_error


def test_code_becomes_its_outline_before_it_becomes_counts() -> None:
    code = "".join(f"def name_{at}(x):\n    return x + {at}\n\n\n" for at in range(40))
    store = MemoryStore({"a.py": code})
    loaded = replace(config.load(store), budgets=BudgetPolicy(session=200_000))
    workspace = Workspace(store, settings=loaded)
    texts = []
    while not (reply := workspace.call("read_file", {"path": "a.py"})).is_error:
        texts.append(reply.text)
    first = next(at for at, text in enumerate(texts) if "return x" not in text)
    assert "def name_1(x)" in texts[first]
    assert "def name_1(x)" not in texts[-1]


def test_searches_become_counts() -> None:
    workspace = opened(workspace=30_000)
    outputs = []
    for _ in range(300):
        reply, facts = call(workspace, "grep_files", pattern="line", limit=60)
        if reply.is_error:
            break
        outputs.append(facts["output"])
    assert outputs[0] == "content"
    assert outputs[-1] == "count"


def test_a_refusal_that_a_budget_is_spent_costs_nothing() -> None:
    workspace = opened(session=900)
    for _ in range(50):
        reply, facts = call(workspace, "read_file", path="a.txt")
    assert reply.is_error
    assert facts["budget"][0]["used"] <= 900
    with pytest.raises(BudgetSpent):
        workspace.perform("read_file", {"path": "a.txt"})


def test_the_ledger_adds_up_to_what_was_paid(tmp_path: Path) -> None:
    """A row of a call that was not charged has no tokens, so that the two sums are one."""
    policy = LedgerPolicy(enabled=True, file=str(tmp_path / "ledger.sqlite3"))
    store = MemoryStore({"a.txt": TEXT, ".env": "KEY=1\n"})
    budgets = BudgetPolicy(session=4_000)
    chosen = replace(config.load(store), budgets=budgets, ledger=policy)
    who = Caller(session="one", token="t")
    with Workspace(store, settings=chosen) as workspace:
        for tool, arguments in (
            *(("read_file", {"path": "a.txt", "limit": 20}), ("read_file", {"path": "nothing"})),
            *(("read_file", {"path": ".env"}), ("read_file", {"path": "a.txt", "offset": "x"})),
            *(("no_such_tool", {}), ("read_file", [1]), ("grep_files", {"pattern": "("})),
            *(("write_file", {"path": "b.txt", "content": "x"}), ("list_directory", {})),
            *[("read_file", {"path": "a.txt"})] * 9,
        ):
            workspace.call(tool, arguments, caller=who)
            workspace.call(tool, arguments, caller=who, granted=frozenset(("list_directory",)))
        budget: Any = workspace.call("read_file", {"path": "a.txt"}, caller=who).facts["budget"]
        used = budget[0]["used"]
    with closing(open_book(policy)) as book:
        rows = [row.event for row in book.rows()]
    assert {"not_granted", "unknown_tool", "budget_spent", "ok", "denied"} <= {one.outcome for one in rows}
    assert sum(one.tokens for one in rows) == used
    assert {one.tokens for one in rows if one.outcome in ("not_granted", "unknown_tool")} == {0}


def test_a_token_pays_for_all_its_conversations() -> None:
    workspace = opened(token=9_000)
    replies = [call(workspace, "read_file", path="a.txt", session=str(at), token="t")[0] for at in range(9)]
    assert replies[-1].is_error
    assert not call(workspace, "read_file", path="a.txt", token="u")[0].is_error


@settings(max_examples=7)
@given(
    limit=st.integers(1000, 60_000),
    calls=st.lists(st.sampled_from(["read", "grep", "list", "absent"]), min_size=8, max_size=24),
)
def test_calls_at_once_never_overdraw(limit: int, calls: list[str]) -> None:
    workspace = opened(workspace=limit, session=limit)
    arguments: dict[str, tuple[str, dict[str, object]]] = {
        "read": ("read_file", {"path": "a.txt"}),
        "grep": ("grep_files", {"pattern": "line"}),
        "list": ("list_directory", {}),
        "absent": ("read_file", {"path": "nothing"}),
    }

    def one(kind: str) -> int:
        facts: Any = workspace.call(*arguments[kind]).facts
        return 0 if "error" in facts and facts["error"]["code"] == "budget_spent" else facts["tokens"]

    with ThreadPoolExecutor(8) as pool:
        total = sum(pool.map(one, calls))
    assert isinstance(workspace.gatekeeper.meter, BudgetPool)
    for use in workspace.gatekeeper.meter.used(Caller()):
        assert use.used == total
        assert use.used <= limit


@given(st.lists(st.tuples(st.integers(0, 9000), st.integers(0, 9000)), max_size=20))
def test_what_is_reserved_is_never_more_than_there_is(wishes: list[tuple[int, int]]) -> None:
    budget_pool = BudgetPool(BudgetPolicy(session=20_000, workspace=15_000))
    held = [(budget_pool.reserve(Caller(), wanted), cost) for wanted, cost in wishes]
    assert sum(one.amount for one, _ in held) <= 15_000
    for one, cost in held:
        one.settle(min(cost, one.amount))
    assert all(use.used <= 15_000 for use in budget_pool.used(Caller()))
    assert budget_pool.reserve(Caller(), 10**9).amount == 15_000 - budget_pool.used(Caller())[1].used


def test_levels_follow_what_is_left() -> None:
    budget_pool = BudgetPool(BudgetPolicy(workspace=100_000))
    levels = []
    for left in (100_000, 3_000, 2_000, 1_000, 100, 99):
        account = budget_pool.reserve(Caller(), 0)
        used = budget_pool.used(Caller())[0].used
        account.settle(100_000 - left - used)
        levels.append(budget_pool.reserve(Caller(), 0).level)
    assert levels == [
        Level.CONTENT,
        Level.CONTENT,
        Level.OUTLINE,
        Level.COUNTS,
        Level.CHANGES,
        Level.SPENT,
    ]


def test_the_exact_counter_is_exact_and_says_so() -> None:
    reply, facts = call(opened(counter="o200k", session=50_000), "read_file", path="a.txt")
    assert facts["tokens"] == tokens_of(reply.text)
    assert facts["counter"] == "o200k"


def test_a_folder_can_lower_budgets_and_has_no_say_about_the_ledger() -> None:
    settings_ = config.load(MemoryStore({"readroom.toml": "[budget]\nsession = 5000\n"}))
    assert settings_.budgets == BudgetPolicy(session=5000)
    for text in ("[ledger]\nenabled = false\n", '[budget]\ncounter = "o200k"\n', "[budget]\ncall = 3\n"):
        with pytest.raises(BadConfig):
            config.load(MemoryStore({"readroom.toml": text}))
