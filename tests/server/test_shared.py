"""What processes share: the same answers as one process has in memory, and nothing counted twice."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.errors import StateFailed
from readroom.core.limits import HTTP_SESSION_IDLE_S, HTTP_SESSIONS
from readroom.core.limits.session import BUDGET_ACCOUNTS, SESSION_FILES
from readroom.core.session.conversation import SeenHere
from readroom.server.database import Database, Execute
from readroom.server.database.sqlite import SqliteBackend
from readroom.server.shared import StatePolicy
from readroom.server.shared.accounts import Account, MemoryAccounts
from readroom.server.shared.sessions import SharedSessions, SteadyClock
from readroom.server.shared.state import STATE_CONVERSATIONS, SharedState, sweep

OWNER = ("token", "workspace")


@contextmanager
def processes(folder: str | Path, number: int = 2) -> Iterator[list[SharedState]]:
    """What so many processes of one server have."""
    policy = StatePolicy(str(Path(folder) / "state.sqlite3"))
    states = [SharedState(policy, "server", several=True) for _ in range(number)]
    try:
        yield states
    finally:
        for one in states:
            one.close()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[SharedState]]:
    """Two processes, for tests that name what they use as nothing else."""
    with processes(tmp_path_factory.mktemp("state")) as states:
        yield states


NUMBERS = count()

Step = st.tuples(st.integers(0, 1), st.integers(1, 60), st.integers(1, 60), st.integers(0, 80))


@given(st.lists(Step, max_size=12), st.integers(50, 200))
def test_two_processes_count_as_one_does(
    pair: list[SharedState], steps: list[tuple[int, int, int, int]], limit: int
) -> None:
    """Reserve, perhaps grow, settle: by turns of two processes, beside one that has all in memory."""
    own = next(NUMBERS)
    accounts = [Account("session", f"s{own}", limit), Account("workspace", f"w{own}", 2 * limit)]
    memory = MemoryAccounts()
    for who, wanted, more, tokens in steps:
        shared = pair[who].accounts
        ours, theirs = shared.take(accounts, wanted), memory.take(accounts, wanted)
        assert (ours.amount, ours.before) == (theirs.amount, theirs.before)
        grown = shared.grow(ours.id, accounts, ours.amount, more)
        assert grown == memory.grow(theirs.id, accounts, theirs.amount, more)
        amount = ours.amount + (more if grown else 0)
        paid = shared.settle(ours.id, accounts, amount, tokens)
        assert paid == memory.settle(theirs.id, accounts, amount, tokens)
        assert pair[1 - who].accounts.balances(accounts) == memory.balances(accounts)


def test_what_is_settled_again_is_paid_once(tmp_path: Path) -> None:
    """A transaction that was committed, and whose answer was lost, is done again."""
    account = [Account("workspace", "w", 100)]
    with processes(tmp_path) as (one, other):
        taken = one.accounts.take(account, 40)
        assert one.accounts.settle(taken.id, account, 40, 30) == [30]
        assert one.accounts.settle(taken.id, account, 40, 30) == [30]
        assert other.accounts.balances(account)[0].used == 30


def test_what_is_paid_late_is_paid(tmp_path: Path) -> None:
    """A reservation that was given up for dead is charged all the same when its call ends."""
    account = [Account("workspace", "w", 100)]
    with processes(tmp_path) as (one, other):
        taken = one.accounts.take(account, 40)
        one.process = one.process.replace("/", "/1", 1)
        other.release()
        assert one.accounts.settle(taken.id, account, 40, 30) == [30]


def test_many_threads_never_take_more_than_there_is(tmp_path: Path) -> None:
    account, taken = [Account("workspace", "w", 1000)], []
    with processes(tmp_path, 3) as states:

        def work(state: SharedState) -> None:
            for _ in range(20):
                taken.append(state.accounts.take(account, 30).amount)

        threads = [threading.Thread(target=work, args=(state,)) for state in states for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(taken) == 1000


@given(st.integers(1, 300), st.lists(st.tuples(st.integers(0, 1), st.floats(0, 30)), max_size=60))
def test_processes_let_in_a_rate_together(
    pair: list[SharedState], most: int, asked: list[tuple[int, float]]
) -> None:
    now, taken, name = 6e9, [], f"token {next(NUMBERS)}"
    for who, pause in asked:
        now += pause
        lease = pair[who].windows.take(name, most, 32, now)
        assert (lease.count > 0) != (lease.wait_s > 0)
        assert lease.count <= max(1, most // 64)
        taken += [now] * lease.count
        # What the counts of two minutes can promise of any sixty seconds.
        assert sum(now - one < 60 for one in taken) <= 2 * most


def test_a_clock_that_was_set_back_keeps_nobody_out(tmp_path: Path) -> None:
    """And it lets nobody in twice: what was counted in a minute that is to come counts now."""
    most, hour = 100, 3600.0
    with processes(tmp_path) as (one, other):
        while one.windows.take("token a", most, 32, 60e6 + hour).count:
            pass
        assert not other.windows.take("token a", most, 32, 60e6).count
        within, now = 0, 60e6
        for _ in range(120):
            now += 1
            within += other.windows.take("token a", most, 32, now).count
        assert most / 2 < within <= 2 * most


def test_what_was_leased_and_not_used_is_there_for_others(tmp_path: Path) -> None:
    with processes(tmp_path) as (one, other):
        lease = one.windows.take("token a", 6000, 32, 60e6)
        assert lease.count == 32
        one.windows.give_back("token a", lease)
        total = 0
        while found := other.windows.take("token a", 6000, 32, 60e6).count:
            total += found
        assert total == 6000


def test_a_session_is_found_by_its_owner_alone_and_ends_for_all(tmp_path: Path) -> None:
    with processes(tmp_path) as (one, other):
        one.sessions.open("id", OWNER, "{}")
        assert other.sessions.find("id", OWNER) == "{}"
        for stranger in (("token", "other"), ("other", "workspace"), ("", "")):
            assert other.sessions.find("id", stranger) is None
        one.sessions.agree("id", '{"level":"error"}')
        assert other.sessions.find("id", OWNER) == '{"level":"error"}'
        other.sessions.cancel("id", "7")
        assert one.sessions.cancelled("id", 60) == {"7"}
        other.sessions.close("id")
        assert one.sessions.find("id", OWNER) is None
        assert one.sessions.cancelled("id", 60) is None


class Shifted:
    """The statements of a transaction on a machine whose clock was set forward."""

    def __init__(self, execute: Execute, us: int) -> None:
        self._execute = execute
        self._us = us

    def __call__(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self._execute(sql, values)

    def many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        self._execute.many(sql, rows)

    def now_us(self) -> int:
        return self._execute.now_us() + self._us


@final
class LateBackend:
    """A database of such a machine."""

    def __init__(self, path: str, us: int) -> None:
        self._inner = SqliteBackend(path, failure=StateFailed)
        self._us = us
        self.name, self.failure = self._inner.name, self._inner.failure
        self.migrate, self.close = self._inner.migrate, self._inner.close

    def run(self, work: Callable[[Execute], Any], *, write: bool, long: bool = False) -> Any:
        return self._inner.run(lambda execute: work(Shifted(execute, self._us)), write=write, long=long)


@pytest.mark.skipif(not Path("/proc/sys/kernel/random/boot_id").exists(), reason="nothing tells starts apart")
@pytest.mark.parametrize("days", [1, 400, -1])
def test_sessions_live_on_when_the_clock_is_set(tmp_path: Path, days: int) -> None:
    """In a process that was there before, in one that begins after it, and through a sweep."""
    with processes(tmp_path) as (one, other):
        one.sessions.open("id", OWNER, "{}")
        assert other.sessions.find("id", OWNER) == "{}"
        backend = LateBackend(str(tmp_path / "state.sqlite3"), days * 86_400_000_000)
        late = Database("state", lambda: backend)
        clock = SteadyClock(one_machine=True)
        sessions = SharedSessions(late, "server", clock)
        assert sessions.find("id", OWNER) == "{}"
        sessions.cancel("id", "7")
        assert one.sessions.cancelled("id", 60) == {"7"}
        late.change(lambda execute: sweep(execute, clock.now_us(execute)))
        sessions.open("second", OWNER, "{}")
        assert one.sessions.find("id", OWNER) == "{}"
        assert one.sessions.find("second", OWNER) == "{}"
        # And what nobody uses ends as ever.
        idle_us = int(HTTP_SESSION_IDLE_S * 1_000_000) + 1
        late.change(lambda execute: execute("UPDATE state_sessions SET used_us = used_us - ?", (idle_us,)))
        assert sessions.find("id", OWNER) is None
        late.close()


def test_the_sessions_of_whoever_has_most_make_way(tmp_path: Path) -> None:
    with processes(tmp_path) as (one, other):
        one.sessions.open("other", ("other", "workspace"), "{}")
        rows = [
            (f"{number}", one.server, *OWNER, "{}", time.time_ns() // 1000 + number)
            for number in range(HTTP_SESSIONS)
        ]
        fields = "id, server, token, workspace, agreed, used_us"
        sql = f"INSERT INTO state_sessions ({fields}) VALUES (?, ?, ?, ?, ?, ?)"
        one.database.change(lambda execute: [execute(sql, row) for row in rows[1:]])
        other.sessions.open("another", ("other", "second"), "{}")
        assert [other.sessions.find(f"{number}", OWNER) for number in (1, 2)] == [None, "{}"]
        assert one.sessions.find("other", ("other", "workspace")) == "{}"
        assert one.sessions.find("another", ("other", "second")) == "{}"


def test_what_was_shown_is_known_to_all_until_it_is_compacted_away(tmp_path: Path) -> None:
    digits = "ab" * 32
    with processes(tmp_path) as (one, other):
        mine, theirs = (state.conversations("/root") for state in (one, other))
        here = SeenHere()
        mine("s").show("a", digits)
        here.show("a", digits)
        for start, path in ((digits[:12], "a"), (digits, "a"), ("cd" * 6, "a"), (digits, "b")):
            assert theirs("s").shown(path, start) == here.shown(path, start)
        assert not theirs("t").shown("a", digits)
        assert not other.conversations("/other")("s").shown("a", digits)
        assert mine("s").advance(None) == 1
        assert theirs("s").epoch == 1
        assert theirs("s").advance(5) == 5
        assert mine("s").advance(3) == 5
        assert not mine("s").shown("a", digits)


def test_what_was_shown_is_bounded(tmp_path: Path) -> None:
    with processes(tmp_path, 1) as (one,):
        seen = one.conversations("/root")
        name = seen("s").row_id
        row = (name, SESSION_FILES + 255, 1)
        one.database.change(
            lambda execute: execute(
                "INSERT INTO state_conversations (id, epoch, shows, used_us) VALUES (?, 0, ?, ?)", row
            )
        )
        old = [(name, f"{number}", "h", 0, number) for number in range(1, 400)]
        one.database.change(
            lambda execute: execute.many("INSERT INTO state_shown VALUES (?, ?, ?, ?, ?)", old)
        )
        seen("s").show("new", "h")
        assert not seen("s").shown("256", "h")
        assert seen("s").shown("257", "h")


def test_a_state_of_a_later_version_is_refused_with_a_next_step(tmp_path: Path) -> None:
    with processes(tmp_path, 1) as (one,):
        one.database.change(lambda execute: execute("UPDATE state_schema SET version = 99"))
    with processes(tmp_path, 1) as (one,), pytest.raises(StateFailed, match="version 99") as caught:
        one.sessions.find("id", OWNER)
    assert caught.value.advice == "Update readroom."


def test_an_address_with_a_password_is_not_shown() -> None:
    policy = StatePolicy(url="postgresql://me:secret@nowhere.invalid/db")
    with closing(SharedState(policy, "server", several=True)) as state:
        assert "secret" not in f"{policy!r} {state.name}"
        with pytest.raises(StateFailed) as caught:
            state.sessions.find("id", OWNER)
    assert "secret" not in str(caught.value)


def test_what_clients_make_up_is_bounded(tmp_path: Path) -> None:
    with processes(tmp_path, 1) as (one,):
        now = time.time_ns() // 1000
        paid = [(f"session\n/root\n{number}", 1, now - number) for number in range(BUDGET_ACCOUNTS + 50)]
        paid += [("token\n/root\nt", 7, 0), ("session\n/root\nold", 1, 0)]
        talks = [(f"{number}", 0, 1, now - number) for number in range(STATE_CONVERSATIONS + 50)]
        talks.append(("compacted", 3, 0, 0))
        one.database.change(lambda execute: execute.many("INSERT INTO state_paid VALUES (?, ?, ?)", paid))
        one.database.change(
            lambda execute: execute.many("INSERT INTO state_conversations VALUES (?, ?, ?, ?)", talks)
        )
        one.sweep()
        kept = {(spent.scope, spent.name) for spent in one.spent()}
        assert len(kept) == BUDGET_ACCOUNTS + 1
        assert ("token", "t") in kept
        assert ("session", "old") not in kept
        left = one.database.look(lambda execute: execute("SELECT id FROM state_conversations"))
        assert len(left) == STATE_CONVERSATIONS + 1
        assert ("compacted",) in left
        for minute in (10, 11, 13):
            one.windows.take(f"address {minute}", 5, 1, minute * 60.0)
        rows = one.database.look(lambda execute: execute("SELECT name FROM state_windows"))
        assert rows == [("server/address 13",)]
