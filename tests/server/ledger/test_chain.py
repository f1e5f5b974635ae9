"""The chain: whatever is changed in a ledger's rows is found, and it is said where."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from readroom.server.ledger.ledger import Head, Ledger
from readroom.server.ledger.rows import COLUMNS, START, Event, row
from readroom.server.ledger.sums import forget
from readroom.server.ledger.verify import verify

from .events import book, event

ROWS = 6


@pytest.fixture
def whole(tmp_path: Path) -> Ledger:
    found = book(tmp_path)
    for number in range(ROWS):
        found.append(event(path=f"f{number}", tokens=number))
    return found


def tamper(folder: Path, *statements: str) -> None:
    with sqlite3.connect(folder / "ledger.sqlite3") as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def test_what_was_written_verifies(whole: Ledger) -> None:
    verdict = verify(whole)
    assert verdict.problems == ()
    assert (verdict.rows, verdict.head.number) == (ROWS, ROWS)


def test_an_empty_ledger_verifies(tmp_path: Path) -> None:
    assert verify(book(tmp_path)).problems == ()


@pytest.mark.parametrize(
    ("statements", "problem"),
    [
        (["UPDATE calls SET tokens = 99 WHERE number = 3"], "row 3 was changed"),
        (["DELETE FROM calls WHERE number = 3"], "row 3 is missing"),
        (["DELETE FROM calls WHERE number IN (3, 4)"], "rows 3 to 4 are missing"),
        (["DELETE FROM calls WHERE number > 4"], "rows 5 to 6 are missing at the end"),
        (["DELETE FROM calls"], "rows 1 to 6 are missing at the end"),
        (
            [
                "UPDATE calls SET number = 99 WHERE number = 2",
                "UPDATE calls SET number = 2 WHERE number = 3",
                "UPDATE calls SET number = 3 WHERE number = 99",
            ],
            "row 2 was changed",
        ),
        (["UPDATE head SET number = 4, hash = 'x'"], "row 5 follows the last one that was written"),
        (["UPDATE head SET hash = 'x'"], "row 6 is not the one that was written last"),
        (
            ["INSERT INTO checkpoints VALUES (2, 'x', 0, 2)", "DELETE FROM calls WHERE number < 3"],
            "rows up to 2 were removed, and no row says so",
        ),
    ],
)
def test_tampering_is_found_and_the_row_is_named(
    whole: Ledger, tmp_path: Path, statements: list[str], problem: str
) -> None:
    whole.close()
    tamper(tmp_path, *statements)
    assert problem in verify(book(tmp_path)).problems


_FIELDS = [name for name in COLUMNS if name not in ("number",)]


@settings(max_examples=30)
@given(
    number=st.integers(1, ROWS),
    column=st.sampled_from(_FIELDS),
    value=st.integers(0, 2**62) | st.text(st.characters(codec="ascii", exclude_characters="\0"), max_size=9),
)
def test_any_single_change_is_found(number: int, column: str, value: object) -> None:
    with TemporaryDirectory() as folder, closing(book(Path(folder))) as found:
        for at in range(ROWS):
            found.append(event(path=f"f{at}", id=f"id{at}"))
        with closing(sqlite3.connect(Path(folder) / "ledger.sqlite3")) as connection, connection:
            before = connection.execute(f"SELECT {column} FROM calls WHERE number = {number}").fetchone()
            try:
                connection.execute(f"UPDATE calls SET {column} = ? WHERE number = ?", (value, number))
            except sqlite3.IntegrityError:
                return
            after = connection.execute(f"SELECT {column} FROM calls WHERE number = {number}").fetchone()
        problems = verify(found).problems
        assert bool(problems) == (before != after)
        assert all(str(number) in problem or str(number + 1) in problem for problem in problems)


def test_a_chain_made_anew_is_found_by_a_noted_head(whole: Ledger, tmp_path: Path) -> None:
    noted = whole.head()
    other = tmp_path / "other"
    other.mkdir()
    anew = book(other)
    for _ in range(ROWS + 2):
        anew.append(event())
    assert verify(anew).problems == ()
    assert verify(whole, noted).problems == ()
    assert "the chain was rebuilt" in verify(anew, noted).problems[0]
    assert verify(whole, Head(ROWS + 5, "x")).problems != ()


def test_an_event_that_is_sent_twice_is_recorded_once(tmp_path: Path) -> None:
    found, one = book(tmp_path), event()
    assert found.append(one) == found.append(one)
    assert found.count() == 1


def test_pruning_keeps_the_chain_and_is_recorded(whole: Ledger) -> None:
    whole.append(event(time_us=1_790_000_000_000_000))
    done = event(contract="", tool="ledger_prune", path=None, time_us=1_790_000_000_000_001)
    assert whole.prune(1_785_000_000_000_000, done) == ROWS
    verdict = verify(whole)
    assert verdict.problems == ()
    assert (verdict.start.number, verdict.rows) == (ROWS, 2)
    assert whole.prune(1_785_000_000_000_000, event(tool="ledger_prune")) == 0
    whole.append(event())
    assert verify(whole).problems == ()


# -----------------------------------------------------------------------------
# Someone who can write the database builds a new chain; a head was noted before.
# -----------------------------------------------------------------------------

FORGED = "f" * 64


def _rebuilt(folder: Path, start: Head, events: list[Event], head: Head | None = None) -> None:
    """Replace everything: a checkpoint, these events after it, and sums to match."""
    found = book(folder)
    found.close()
    made, previous = [], start.hash
    for number, one in enumerate(events, start.number + 1):
        made.append(row(number, previous, one))
        previous = made[-1].hash
    last = head or Head(start.number + len(made), previous)
    with closing(sqlite3.connect(folder / "ledger.sqlite3")) as connection, connection:
        connection.execute("DELETE FROM calls")
        connection.execute("DELETE FROM checkpoints")
        if start.number:
            connection.execute("INSERT INTO checkpoints VALUES (?, ?, 0, ?)", (*_values(start), start.number))
        marks = ", ".join("?" * len(COLUMNS))
        sql = f"INSERT INTO calls ({', '.join(COLUMNS)}) VALUES ({marks})"
        connection.executemany(sql, [one.values() for one in made])
        connection.execute("UPDATE head SET number = ?, hash = ?", _values(last))
        forget(lambda sql, values=(): connection.execute(sql, values).fetchall(), start.number)  # type: ignore[arg-type]


def _values(head: Head) -> tuple[int, str]:
    return head.number, head.hash


def _pruning(up_to: int, hash_: str, **fields: object) -> Event:
    arguments = f'{{"up_to":{up_to},"hash":"{hash_}","removed":{up_to}}}'
    return event(contract="", face="", tool="ledger_prune", path=None, arguments=arguments, **fields)


@pytest.mark.parametrize("beyond", [0, 1, 9, 2**40])
@pytest.mark.parametrize("when", [1_780_000_000_000_000, 0, -(2**60), 2**62])
def test_a_forged_pruning_of_the_noted_row_is_not_vouched_for(
    whole: Ledger, tmp_path: Path, beyond: int, when: int
) -> None:
    noted = whole.head()
    whole.close()
    start = Head(noted.number + beyond, noted.hash if not beyond else FORGED)
    _rebuilt(tmp_path, start, [_pruning(start.number, start.hash, time_us=when), event(), event()])
    verdict = verify(book(tmp_path), noted)
    assert verdict.problems == ()
    assert f"row {noted.number} was noted and cannot be compared" in verdict.uncompared
    assert f"as row {start.number + 1} says" in verdict.uncompared
    assert verify(book(tmp_path)).uncompared == ""


def test_forgeries_against_a_noted_head_are_found(whole: Ledger, tmp_path: Path) -> None:
    noted = whole.head()
    whole.close()
    many = [event() for _ in range(ROWS + 4)]
    # The pruning names another row or hash, is a call of a tool of that name, or is absent.
    for told in (
        _pruning(3, FORGED),
        _pruning(2, "e" * 64),
        replace(_pruning(2, FORGED), contract="native", outcome="bad_value"),
        event(),
    ):
        _rebuilt(tmp_path, Head(2, FORGED), [told, *many])
        assert any("no row says so" in one for one in verify(book(tmp_path), noted).problems)
    # A start of its own without any pruning.
    _rebuilt(tmp_path, Head(0, START), many)
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite3")) as connection, connection:
        connection.execute("INSERT INTO checkpoints VALUES (0, ?, 0, 0)", (FORGED,))
    assert verify(book(tmp_path), noted).problems
    # A head that ends before the noted row, or says more than there is.
    _rebuilt(tmp_path, Head(0, START), many[:3])
    assert any(
        "was noted" in one or "the one whose hash" in one for one in verify(book(tmp_path), noted).problems
    )
    _rebuilt(tmp_path, Head(0, START), many, Head(99, FORGED))
    assert verify(book(tmp_path), noted).problems


def test_a_true_pruning_beyond_the_noted_row_is_named_and_a_newer_head_compares(
    whole: Ledger, tmp_path: Path
) -> None:
    noted = whole.head()
    whole.append(event(time_us=1_790_000_000_000_000))
    whole.prune(1_785_000_000_000_000, _pruning(0, ""))
    whole.append(event(time_us=1_791_000_000_000_000))
    whole.prune(1_790_500_000_000_000, event(contract="", tool="ledger_prune", time_us=1_792_000_000_000_000))
    verdict = verify(whole, noted)
    assert verdict.problems == ()
    assert "cannot be compared" in verdict.uncompared
    assert verify(whole, whole.head()).uncompared == ""
