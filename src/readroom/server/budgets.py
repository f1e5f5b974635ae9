"""Token budgets: of a call, a conversation, a bearer token, a workspace.

Before a call, tokens are reserved in every account that pays for it; afterwards its real cost is settled.
So calls that run at once cannot spend the same tokens.  Accounts in memory live as long as the workspace
is open; those of a server are in its shared state and outlive it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias, final

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from readroom.core.caller import Caller
from readroom.core.config.file import Section
from readroom.core.limits import NUMBER_MOST
from readroom.core.quoting import as_key
from readroom.core.session.conversation import State
from readroom.core.session.meter import Level, Use
from readroom.server.shared.accounts import Account, Accounts, Balance, MemoryAccounts, Taken

BUDGET_WARNINGS = (50, 80, 95)
"""Percentages of a budget at which a reply warns."""

BUDGET_LEVELS = ((3.0, 900), (2.0, 700), (1.0, 300), (0.0, 100))
"""Percent of a budget, and tokens, that must be left for: content, outlines, counts, and changes. The tokens
are those of the smallest replies of each kind (MIN_REPLY_BYTES of text has about 700)."""


class BudgetPolicy(Struct, frozen=True):
    """Token budgets; None for no limit.

    Attributes:
        call: The budget of one reply.
        session: The budget of one conversation.
        token: The budget of all calls with one bearer token.
        workspace: The budget of all calls.
        counter: How tokens are counted: "estimate", or "o200k", which is exact for that vocabulary.
    """

    call: int | None = None
    session: int | None = None
    token: int | None = None
    workspace: int | None = None
    counter: str = "estimate"

    @property
    def bounded(self) -> bool:
        """Whether there is any budget."""
        return any(limit is not None for limit in (self.call, self.session, self.token, self.workspace))

    def meter(self, workspace: str, state: State | None) -> BudgetPool | None:
        """The budgets of a workspace; None if nothing is bounded."""
        if not self.bounded:
            return None
        if state is None:
            return BudgetPool(self, workspace=workspace)
        from readroom.server.shared.state import SharedState

        assert isinstance(state, SharedState)
        return BudgetPool(self, state.accounts, workspace)


Tokens: TypeAlias = Annotated[int, Meta(ge=500, le=NUMBER_MOST, examples=[100000])] | UnsetType
"""Below, not even one smallest reply could be given."""


class BudgetSection(Section, frozen=True):
    """[budget]."""

    call: Tokens = UNSET
    session: Tokens = UNSET
    token: Tokens = UNSET
    workspace: Tokens = UNSET
    counter: Literal["estimate", "o200k"] | UnsetType = UNSET

    def applied(self, before: BudgetPolicy | None) -> BudgetPolicy:
        """The budgets with those of the section."""
        return replace(before or BudgetPolicy(), **self.given())


def _level(account: Account, balance: Balance) -> Level:
    """The level that an account allows now."""
    free = account.limit - balance.used - balance.held
    return next(
        (
            Level(at)
            for at, (percent, tokens) in enumerate(BUDGET_LEVELS)
            if free >= max(tokens, account.limit * percent / 100)
        ),
        Level.SPENT,
    )


def _warned(account: Account, before: int, after: int) -> int:
    """The highest warning percentage that was crossed between two amounts."""
    reached = [at for at in BUDGET_WARNINGS if before * 100 < at * account.limit <= after * 100]
    return max(reached, default=0)


@final
class Reservation:
    """Tokens reserved for one call. Used by one thread; settle it exactly once."""

    def __init__(self, kept: Accounts, accounts: Sequence[Account], taken: Taken, most: int | None) -> None:
        """`most` is the budget of the call."""
        self._kept = kept
        self._accounts = accounts
        self._id = taken.id
        self._most = most
        self.amount = taken.amount
        pairs = zip(accounts, taken.before, strict=True)
        self.level = max((_level(account, before) for account, before in pairs), default=Level.CONTENT)

    def spent(self) -> Use:
        balances = self._kept.balances(self._accounts)
        pairs = zip(self._accounts, balances, strict=True)
        account, balance = min(pairs, key=lambda pair: pair[0].limit - pair[1].used - pair[1].held)
        return Use(account.scope, account.limit, balance.used)

    def grow(self, amount: int) -> bool:
        """Reserve more, if the call may cost it and every account has it. Raises StateFailed."""
        if self._most is not None and amount > self._most:
            return False
        if not self._kept.grow(self._id, self._accounts, self.amount, amount - self.amount):
            return False
        self.amount = amount
        return True

    def settle(self, tokens: int) -> tuple[Use, ...]:
        """Release the reservation and pay the real cost; how much of each budget is used.

        Raises StateFailed if it could not be written; it is then paid later.
        """
        amount, self.amount = self.amount, 0
        paid = self._kept.settle(self._id, self._accounts, amount, tokens)
        return tuple(
            Use(one.scope, one.limit, used, _warned(one, used - tokens, used))
            for one, used in zip(self._accounts, paid, strict=True)
        )


@final
class BudgetPool:
    """The budgets of one workspace. Safe to share between threads."""

    def __init__(self, policy: BudgetPolicy, accounts: Accounts | None = None, workspace: str = "") -> None:
        """`accounts` count the tokens, None in memory; `workspace` is its name among those of others."""
        self._policy = policy
        self._kept: Accounts = accounts or MemoryAccounts()
        self._workspace = as_key(workspace)

    def reserve(self, caller: Caller, wanted: int) -> Reservation:
        """Reserve up to `wanted` tokens, fewer if an account has fewer. Raises StateFailed."""
        accounts, most = self._accounts(caller), self._policy.call
        wanted = wanted if most is None else min(wanted, most)
        return Reservation(self._kept, accounts, self._kept.take(accounts, wanted), most)

    def used(self, caller: Caller) -> tuple[Use, ...]:
        """How much of a caller's budgets is used. Raises StateFailed."""
        accounts = self._accounts(caller)
        pairs = zip(accounts, self._kept.balances(accounts), strict=True)
        return tuple(Use(account.scope, account.limit, balance.used) for account, balance in pairs)

    def all(self) -> list[tuple[str, Use, Level]]:
        """All accounts with owner, use and level, the most used first. Raises StateFailed."""
        limits = {scope: getattr(self._policy, scope) for scope in ("session", "token", "workspace")}
        rows = []
        for key, balance in self._kept.all():
            scope, workspace, name = key.split("\n")
            limit = limits[scope]
            if workspace == self._workspace and limit is not None:
                account = Account(scope, key, limit)
                rows.append((name, Use(scope, limit, balance.used), _level(account, balance)))
        return sorted(rows, key=lambda row: -row[1].used / max(1, row[1].limit))

    def _accounts(self, caller: Caller) -> list[Account]:
        names = {"session": caller.session, "token": caller.token or None, "workspace": ""}
        return [
            Account(scope, f"{scope}\n{self._workspace}\n{as_key(name)}", limit)
            for scope, name in names.items()
            if (limit := getattr(self._policy, scope)) is not None and name is not None
        ]
