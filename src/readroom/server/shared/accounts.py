"""Spending counted across processes: tokens, and requests of the last minute.

Tokens are reserved in an account in one step, in memory or in a database.  A reservation has an id and is
settled once, even if the answer to a transaction was lost and the transaction is repeated.  Tokens that a
process had reserved when it died are free again when the process is replaced, or after the longest time a
call can take.

For requests there are two counts per name: of this minute, and of the minute before, weighted by the part
of it that is within the last sixty seconds.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from math import ceil, floor
from typing import TYPE_CHECKING, Protocol, final

from msgspec import Struct

from readroom.core.errors import StateFailed
from readroom.core.limits import SERVE_CALL_S, SERVE_EXIT_S
from readroom.core.limits.session import BUDGET_ACCOUNTS
from readroom.server.database import Database, Execute

if TYPE_CHECKING:
    from readroom.server.database import Execute


MINUTE_S = 60.0


def left(most: int, hits: int, before: int, passed: float) -> int:
    """The number of further requests at a given second of a minute."""
    return max(0, floor(most - hits - before * (1 - passed / MINUTE_S)))


def wait_s(most: int, hits: int, before: int, passed: float) -> int:
    """Whole seconds until one more request fits."""
    room = most - 1
    if hits <= room:
        begins = MINUTE_S * (1 - (room - hits) / before) if before else 0.0
    else:
        begins = MINUTE_S + MINUTE_S * (1 - room / hits)
    return max(1, ceil(begins - passed))


class Lease(Struct, frozen=True):
    """A number of requests that may be let in during a minute; if none, the seconds to wait."""

    count: int
    minute: int
    wait_s: int = 0


@final
class SharedWindows:
    """Request rates of one server, in a database."""

    def __init__(self, database: Database, server: str) -> None:
        self._database = database
        self._server = server
        self._minute = 0

    def take(self, who: str, most: int, wanted: int, now: float | None = None) -> Lease:
        """Count up to `wanted` requests of `most` in a minute. Raises StateFailed.

        Done again after a lost connection it counts some twice: less is let in, never more.  Without `now`
        it is the time of the database, which all processes share.
        """
        name = f"{self._server}/{who}"

        def work(execute: Execute) -> Lease:
            time_s = execute.now_us() / 1_000_000 if now is None else now
            before, self._minute = self._minute, int(time_s // MINUTE_S)
            # Forget absent callers every minute: there is no limit to the number of addresses.
            return _take(execute, name, most, wanted, time_s, forget=self._minute > before)

        return self._database.change(work)

    def give_back(self, who: str, lease: Lease) -> None:
        """Return requests that were not used. Raises StateFailed."""
        values = (lease.count, f"{self._server}/{who}", lease.minute)
        sql = "UPDATE state_windows SET hits = hits - ? WHERE name = ? AND minute = ?"
        self._database.change(lambda execute: execute(sql, values))


RATE_LEASE_PART = 64
"""The part of the remaining rate that it may take at most: near its end every request is counted
individually."""


def _take(execute: Execute, name: str, most: int, wanted: int, now: float, *, forget: bool) -> Lease:
    rows = execute("SELECT minute, hits, before FROM state_windows WHERE name = ?", (name,))
    current = int(now // MINUTE_S)
    if forget:
        execute("DELETE FROM state_windows WHERE minute < ?", (current - 1,))
    minute, hits, before = rows[0] if rows else (current, 0, 0)
    if current > minute:
        before, hits = (hits if current == minute + 1 else 0), 0
        minute = current
    elif current < minute - 1:
        minute = current  # the clock was set back: count earlier requests now, for a short time
        execute("UPDATE state_windows SET minute = ? WHERE name = ?", (minute, name))
    passed = now - minute * MINUTE_S if current == minute else 0.0
    room = left(most, hits, before, passed)
    if room == 0:
        return Lease(0, minute, wait_s(most, hits, before, passed))
    count = min(wanted, max(1, room // RATE_LEASE_PART))
    execute(
        "INSERT INTO state_windows (name, minute, hits, before) VALUES (?, ?, ?, ?) ON CONFLICT (name) "
        "DO UPDATE SET minute = excluded.minute, hits = excluded.hits, before = excluded.before",
        (name, minute, hits + count, before),
    )
    return Lease(count, minute)


class Account(Struct, frozen=True):
    """A budget: its scope, its key among all accounts, and its limit."""

    scope: str
    key: str
    limit: int


class Balance(Struct, frozen=True):
    """Tokens paid from an account, and tokens reserved."""

    used: int = 0
    held: int = 0


class Taken(Struct, frozen=True):
    """A reservation: its id, its amount, and the balances before it."""

    id: str
    amount: int
    before: Sequence[Balance]


class Accounts(Protocol):
    """Budget accounts. Safe to share between threads."""

    def take(self, accounts: Sequence[Account], wanted: int) -> Taken:
        """Reserve up to `wanted` tokens in each account, fewer if one has fewer."""

    def grow(self, taken: str, accounts: Sequence[Account], amount: int, more: int) -> bool:
        """Reserve `more` in addition to `amount`, if every account has it."""

    def settle(self, taken: str, accounts: Sequence[Account], amount: int, tokens: int) -> Sequence[int]:
        """Release `amount` and pay `tokens`; the total paid from each account."""

    def balances(self, accounts: Sequence[Account]) -> Sequence[Balance]:
        """The current balances."""

    def all(self) -> Sequence[tuple[str, Balance]]:
        """Every account that was used, by its key."""


def room(accounts: Sequence[Account], balances: Sequence[Balance]) -> int:
    """The rest of the account with the least."""
    pairs = zip(accounts, balances, strict=True)
    return min((account.limit - one.used - one.held for account, one in pairs), default=0)


@final
class MemoryAccounts:
    """Accounts in the memory of one process; those unused for longest are forgotten."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Balance] = OrderedDict()

    def take(self, accounts: Sequence[Account], wanted: int) -> Taken:
        with self._lock:
            before = [self._kept.get(one.key, Balance()) for one in accounts]
            amount = max(0, min(wanted, room(accounts, before))) if accounts else wanted
            self._add(accounts, held=amount)
        return Taken("", amount, before)

    def grow(self, taken: str, accounts: Sequence[Account], amount: int, more: int) -> bool:
        with self._lock:
            if accounts and room(accounts, [self._kept.get(one.key, Balance()) for one in accounts]) < more:
                return False
            self._add(accounts, held=more)
        return True

    def settle(self, taken: str, accounts: Sequence[Account], amount: int, tokens: int) -> Sequence[int]:
        with self._lock:
            return [one.used for one in self._add(accounts, held=-amount, used=tokens)]

    def balances(self, accounts: Sequence[Account]) -> Sequence[Balance]:
        with self._lock:
            return [self._kept.get(one.key, Balance()) for one in accounts]

    def all(self) -> Sequence[tuple[str, Balance]]:
        with self._lock:
            return list(self._kept.items())

    def _add(self, accounts: Sequence[Account], *, held: int, used: int = 0) -> list[Balance]:
        changed = []
        for account in accounts:
            before = self._kept.get(account.key, Balance())
            after = self._kept[account.key] = Balance(before.used + used, before.held + held)
            self._kept.move_to_end(account.key)
            changed.append(after)
        if len(self._kept) > BUDGET_ACCOUNTS:
            self._forget({one.key for one in accounts})
        return changed

    def _forget(self, busy: set[str]) -> None:
        # Accounts with a reservation are in use now; the account of all calls is used with each of them.
        idle = (key for key, one in self._kept.items() if not one.held and key not in busy)
        oldest = next(idle, None)
        if oldest is not None:
            del self._kept[oldest]


_LONGEST_US = int((SERVE_CALL_S + SERVE_EXIT_S) * 1_000_000)
"""The longest time that a call can take."""


class _Owed(Struct, frozen=True):
    """A settlement that could not be written."""

    taken: str
    accounts: Sequence[Account]
    tokens: int


@final
class SharedAccounts:
    """Accounts in a database."""

    def __init__(self, database: Database, process: str) -> None:
        self._database = database
        self._process = process
        self._owed: deque[_Owed] = deque()

    def take(self, accounts: Sequence[Account], wanted: int) -> Taken:
        """See `Accounts`. Raises StateFailed."""
        self._pay_owed()
        taken = os.urandom(12).hex()
        return self._database.change(lambda execute: self._take(execute, taken, accounts, wanted))

    def grow(self, taken: str, accounts: Sequence[Account], amount: int, more: int) -> bool:
        """See `Accounts`. Raises StateFailed."""
        return self._database.change(lambda execute: _grow(execute, taken, accounts, amount, more))

    def settle(self, taken: str, accounts: Sequence[Account], amount: int, tokens: int) -> Sequence[int]:
        """See `Accounts`. Raises StateFailed; it is then paid before anything else is taken."""
        try:
            return self._database.change(lambda execute: _settle(execute, taken, accounts, tokens))
        except StateFailed:
            self._owed.append(_Owed(taken, accounts, tokens))
            raise

    def balances(self, accounts: Sequence[Account]) -> Sequence[Balance]:
        """See `Accounts`. Raises StateFailed."""
        return self._database.look(lambda execute: _balances(execute, accounts))

    def all(self) -> Sequence[tuple[str, Balance]]:
        """See `Accounts`. Raises StateFailed."""
        return self._database.look(_all)

    def _take(self, execute: Execute, taken: str, accounts: Sequence[Account], wanted: int) -> Taken:
        # Repeated after a lost connection, it finds its own reservation, which must not count as another's.
        execute("DELETE FROM state_held WHERE id = ? AND process = ?", (taken, self._process))
        before = _balances(execute, accounts)
        amount = max(0, min(wanted, room(accounts, before))) if accounts else wanted
        until = execute.now_us() + _LONGEST_US
        rows = [(taken, one.key, self._process, amount, until) for one in accounts]
        execute.many(
            "INSERT INTO state_held (id, account, process, amount, until_us) VALUES (?, ?, ?, ?, ?)", rows
        )
        return Taken(taken, amount, before)

    def _pay_owed(self) -> None:
        while self._owed:
            owed = self._owed.popleft()
            self.settle(owed.taken, owed.accounts, 0, owed.tokens)


def _balances(execute: Execute, accounts: Sequence[Account]) -> list[Balance]:
    places, keys = ", ".join("?" * len(accounts)), [one.key for one in accounts]
    if not accounts:
        return []
    used = dict(execute(f"SELECT account, used FROM state_paid WHERE account IN ({places})", keys))
    held = dict(
        execute(
            f"SELECT account, SUM(amount) FROM state_held WHERE account IN ({places}) AND until_us >= ? "
            "GROUP BY account",
            (*keys, execute.now_us()),
        )
    )
    return [Balance(int(used.get(key, 0)), int(held.get(key, 0))) for key in keys]


def _all(execute: Execute) -> list[tuple[str, Balance]]:
    used = dict(execute("SELECT account, used FROM state_paid"))
    sql = "SELECT account, SUM(amount) FROM state_held WHERE until_us >= ? GROUP BY account"
    held = dict(execute(sql, (execute.now_us(),)))
    return [(key, Balance(int(used.get(key, 0)), int(held.get(key, 0)))) for key in {**used, **held}]


def _grow(execute: Execute, taken: str, accounts: Sequence[Account], amount: int, more: int) -> bool:
    if not accounts:
        return True
    if execute("SELECT 1 FROM state_held WHERE id = ? AND amount >= ? LIMIT 1", (taken, amount + more)):
        return True  # already done, but the answer was lost
    if room(accounts, _balances(execute, accounts)) < more:
        return False
    execute("UPDATE state_held SET amount = ? WHERE id = ?", (amount + more, taken))
    return True


def _settle(execute: Execute, taken: str, accounts: Sequence[Account], tokens: int) -> list[int]:
    paid = []
    for account in accounts:
        gone = execute(
            "DELETE FROM state_held WHERE account = ? AND id = ? RETURNING 1", (account.key, taken)
        )
        more = tokens if gone else 0  # already settled, but the answer was lost
        rows = execute(
            "INSERT INTO state_paid (account, used, time_us) VALUES (?, ?, ?) ON CONFLICT (account) "
            "DO UPDATE SET used = state_paid.used + excluded.used, time_us = excluded.time_us RETURNING used",
            (account.key, more, execute.now_us()),
        )
        paid.append(int(rows[0][0]))
    return paid
