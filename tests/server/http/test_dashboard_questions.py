"""What the dashboard adds up is what the rows come to, whatever is filtered and since when."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from readroom.server.database.sqlite import SqliteBackend
from readroom.server.http.ui.queries import Questions, Slice
from readroom.server.ledger.ledger import Ledger
from readroom.server.ledger.sums import DAY_US, HOUR_US
from tests.server.ledger.events import empty_folder, event

NAMES = st.sampled_from(["", "a", "b"])
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "time_us": st.integers(0, 4 * DAY_US),
            "agent": st.sampled_from(["a", "b"]),
            "tool": st.sampled_from(["a", "b"]),
            "outcome": st.sampled_from(["ok", "denied"]),
            "decision": st.sampled_from(["allowed", "refused"]),
            "path": st.sampled_from(["x", "y"]),
            "tokens": st.integers(0, 1000),
        }
    ),
    max_size=20,
)
SLICES = st.builds(
    Slice,
    workspace=st.just("/w"),
    agent=NAMES,
    tool=NAMES,
    outcome=st.sampled_from(["", "ok", "failed", "refused"]),
    since_us=st.integers(0, 5 * 24).map(lambda hour: hour * HOUR_US),
)


def is_meant(row: dict[str, object], wanted: Slice, unit: int) -> bool:
    """Whether a filter leaves a row; times count in whole units."""
    if wanted.agent not in ("", row["agent"]) or wanted.tool not in ("", row["tool"]):
        return False
    return int(str(row["time_us"])) // unit >= wanted.since_us // unit


def has_outcome(row: dict[str, object], outcome: str) -> bool:
    named = {"": True, "ok": row["outcome"] == "ok", "failed": row["outcome"] != "ok"}
    return named.get(outcome, row["decision"] == "refused")


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, wanted=SLICES)
def test_sums_charts_and_files_are_those_of_the_rows(
    tmp_path: Path, rows: list[dict[str, object]], wanted: Slice
) -> None:
    book = Ledger(SqliteBackend(str(empty_folder(tmp_path) / "ledger.sqlite3")))
    book.append_all([event(**row, shown=f'[["{row["path"]}",null,1,2]]') for row in rows])
    book.sum_up(10)
    questions = Questions(book)
    left = [row for row in rows if is_meant(row, wanted, HOUR_US) and has_outcome(row, wanted.outcome)]
    tokens = Counter[str]()
    for row in left:
        tokens[str(row["agent"])] += int(str(row["tokens"]))
    assert {one.name: one.tokens for one in questions.sums(wanted, "agent")} == dict(tokens)
    assert sum(one.calls for one in questions.sums(wanted)) == len(left)
    drawn = questions.series(wanted, "agent")
    summed = {name: sum(line) for name, line in zip(drawn.names, drawn.values, strict=True)}
    assert summed == {name: count for name, count in tokens.items() if count}
    whole = [row for row in rows if is_meant(row, wanted, DAY_US) and has_outcome(row, wanted.outcome)]
    days = Counter[str]()
    for row in whole:
        days[str(datetime.fromtimestamp(int(str(row["time_us"])) / 1e6, UTC).date())] += 1
    by_day = questions.days(wanted, limit=10)
    assert {one.name: one.calls for one in by_day} == dict(days)
    assert [one.name for one in by_day] == sorted(days, reverse=True)
    assert sum(one.tokens for one in by_day) == sum(int(str(row["tokens"])) for row in whole)
    listed = [row.event.time_us for row in questions.calls(wanted, limit=len(rows) + 1)]
    assert sorted(listed) == sorted(int(str(row["time_us"])) for row in left)
    some = [row.event.time_us for row in questions.calls(wanted, limit=3)]
    assert len(some) == min(3, len(listed))
    assert set(some) <= set(listed)
    shown = Counter(str(row["path"]) for row in rows if is_meant(row, wanted, DAY_US))
    assert {one.path: one.calls for one in questions.files(wanted, 10)} == dict(shown)
    book.close()


def test_a_call_that_never_ended_is_listed_whatever_is_filtered(tmp_path: Path) -> None:
    """A server may die in the only call of an hour, of which no sum tells."""
    book = Ledger(SqliteBackend(str(empty_folder(tmp_path) / "ledger.sqlite3")))
    rows = [
        {"tool": "read_file", "time_us": 1},
        {"tool": "run_command", "time_us": 5 * HOUR_US, "outcome": "begun"},
        {"tool": "read_file", "time_us": 9 * HOUR_US},
        {"tool": "run_command", "time_us": 9 * HOUR_US + 1, "outcome": "begun"},
        {"tool": "run_command", "time_us": 9 * HOUR_US + 2},
    ]
    book.append_all([event(**row) for row in rows])
    book.sum_up(10)
    questions = Questions(book)

    def listed(limit: int = 10, before: int = 0, **wanted: object) -> list[int]:
        found = questions.calls(Slice("/w", **wanted), limit=limit, before=before)  # type: ignore[arg-type]
        return [row.number for row in found]

    assert listed() == [5, 4, 3, 2, 1]
    assert listed(tool="run_command") == [5, 4, 2]
    assert listed(tool="run_command", since_us=6 * HOUR_US) == [5, 4]
    assert listed(outcome="begun") == [4, 2]
    assert listed(outcome="ok", tool="run_command") == [5]
    assert listed(outcome="failed") == []
    assert [listed(limit=2), listed(limit=2, before=4), listed(limit=2, before=2)] == [[5, 4], [3, 2], [1]]
    book.close()
