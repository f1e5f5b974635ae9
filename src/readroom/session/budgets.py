"""Token budgets: of a call, a conversation, a bearer token, a workspace.

Before a call, tokens are reserved in every account that pays for it; afterwards its real cost is settled.
So calls that run at once cannot spend the same tokens.  Accounts in memory live as long as the workspace
is open; those of a server are in its shared state and outlive it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Final, TypeAlias, final

from msgspec import Struct
from msgspec.structs import replace

from readroom.caller import Caller
from readroom.errors import MissingProgram
from readroom.extras import install
from readroom.quoting import as_key
from readroom.values import (
    FindRequest,
    GrepRequest,
    ListRequest,
    Omission,
    ReadRequest,
    ReadResult,
    Request,
    Result,
)
from readroom.values.commands import RunRequest
from readroom.values.find import FindOutput
from readroom.values.verbs import BY_REQUEST, function

if TYPE_CHECKING:  # needed only where there are budgets
    from readroom.session.shared.accounts import Account, Accounts, Balance, Taken

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


class Level(IntEnum):
    """What is still possible with a budget, from everything to nothing."""

    CONTENT = 0
    OUTLINE = 1
    COUNTS = 2
    CHANGES = 3
    SPENT = 4


class Use(Struct, frozen=True):
    """How much of a budget is used.

    Attributes:
        scope: session, token or workspace.
        limit: The tokens of the budget.
        used: The tokens spent so far.
        warned: The percentage that this call reached, 0 if none.
    """

    scope: str
    limit: int
    used: int
    warned: int = 0

    @property
    def left(self) -> int:
        """Tokens, never negative."""
        return max(0, self.limit - self.used)


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

    def __init__(self, kept: Accounts, accounts: Sequence[Account], taken: Taken) -> None:
        self._kept = kept
        self._accounts = accounts
        self._id = taken.id
        self.amount = taken.amount
        pairs = zip(accounts, taken.before, strict=True)
        self.level = max((_level(account, before) for account, before in pairs), default=Level.CONTENT)

    def spent(self) -> Use:
        """The budget with the least left. Raises StateFailed."""
        balances = self._kept.balances(self._accounts)
        pairs = zip(self._accounts, balances, strict=True)
        account, balance = min(pairs, key=lambda pair: pair[0].limit - pair[1].used - pair[1].held)
        return Use(account.scope, account.limit, balance.used)

    def grow(self, amount: int) -> bool:
        """Reserve more, if every account has it. Raises StateFailed."""
        if not self._kept.grow(self._id, self._accounts, self.amount, amount - self.amount):
            return False
        self.amount = amount
        return True

    def settle(self, tokens: int) -> tuple[Use, ...]:
        """Release the reservation and pay the real cost; how much of each budget is used.

        Raises:
            StateFailed: It could not be written, and is paid later.
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
        """Begin.

        Args:
            policy: The budgets.
            accounts: Where tokens are counted; None for in memory, while the workspace is open.
            workspace: Its name among the accounts of others.
        """
        self.policy = policy
        from readroom.session.shared.accounts import MemoryAccounts

        self._kept: Accounts = accounts or MemoryAccounts()
        self._workspace = as_key(workspace)

    def reserve(self, caller: Caller, wanted: int) -> Reservation:
        """Reserve up to `wanted` tokens, fewer if an account has fewer. Raises StateFailed."""
        accounts = self._accounts(caller)
        return Reservation(self._kept, accounts, self._kept.take(accounts, wanted))

    def used(self, caller: Caller) -> tuple[Use, ...]:
        """How much of a caller's budgets is used. Raises StateFailed."""
        accounts = self._accounts(caller)
        pairs = zip(accounts, self._kept.balances(accounts), strict=True)
        return tuple(Use(account.scope, account.limit, balance.used) for account, balance in pairs)

    def all(self) -> list[tuple[str, Use, Level]]:
        """All accounts with owner, use and level, the most used first.

        Raises:
            StateFailed: They are kept in a database, which cannot be used.
        """
        from readroom.session.shared.accounts import Account

        limits = {scope: getattr(self.policy, scope) for scope in ("session", "token", "workspace")}
        rows = []
        for key, balance in self._kept.all():
            scope, workspace, name = key.split("\n")
            limit = limits[scope]
            if workspace == self._workspace and limit is not None:
                account = Account(scope, key, limit)
                rows.append((name, Use(scope, limit, balance.used), _level(account, balance)))
        return sorted(rows, key=lambda row: -row[1].used / max(1, row[1].limit))

    def _accounts(self, caller: Caller) -> list[Account]:
        policy, accounts = self.policy, []
        if policy.session is not None:
            accounts.append(self._account("session", caller.session, policy.session))
        if policy.token is not None and caller.token:
            accounts.append(self._account("token", caller.token, policy.token))
        if policy.workspace is not None:
            accounts.append(self._account("workspace", "", policy.workspace))
        return accounts

    def _account(self, scope: str, name: str, limit: int) -> Account:
        from readroom.session.shared.accounts import Account

        return Account(scope, f"{scope}\n{self._workspace}\n{as_key(name)}", limit)


# -----------------------------------------------------------------------------
# How a call is reduced when its budget runs low.
# -----------------------------------------------------------------------------

REASON = "budget"
"""The `reason` of omissions because of a budget."""


def degraded(request: Request, level: Level) -> Request:
    """The request reduced to what a level allows."""
    less = BY_REQUEST[type(request)].degraded
    if level is Level.CONTENT or less is None:
        return request
    smaller: Request = function(less)(request, level)
    return smaller


def less_of_read(request: ReadRequest, level: Level) -> ReadRequest:
    """The outline of the file; at the lowest level a read that shows only counts."""
    return outlined(request) if level is Level.OUTLINE else replace(request, view="text", symbol=None)


def less_of_grep(request: GrepRequest, level: Level) -> GrepRequest:
    """Counts of matches, at every level."""
    return replace(request, output="count", cursor=None) if request.output == "content" else request


def less_of_find(request: FindRequest, level: Level) -> FindRequest:
    """The signatures of passages, then the names of their files."""
    output: FindOutput = "outline" if level is Level.OUTLINE else "files"
    return replace(request, output=output, cursor=None, explain=False)


def less_of_list(request: ListRequest, level: Level) -> ListRequest:
    """The folder alone, at every level."""
    return replace(request, depth=1)


def less_of_run(request: RunRequest, level: Level) -> RunRequest:
    """The command without its output, at every level."""
    return replace(request, output="silent")


def outlined(request: ReadRequest) -> ReadRequest:
    """The request for the outline of the same file."""
    if request.pages is not None or request.view == "outline":
        return request
    return ReadRequest(
        request.path,
        known_hash=request.known_hash,
        encoding=request.encoding,
        view="outline",
        options=request.options,
    )


def shows_content(request: Request, level: Level) -> bool:
    """Whether the result is shown as it is at that level."""
    if level is Level.CONTENT or BY_REQUEST[type(request)].counted is None:
        return True
    return level is Level.OUTLINE and getattr(request, "view", "") == "outline"


def counted(result: Result, request: Request) -> Result:
    """The result reduced to its counts."""
    less = BY_REQUEST[type(request)].counted
    assert less is not None
    counts: Result = function(less)(result, request)
    return counts


def counts_of_read(result: ReadResult, request: ReadRequest) -> ReadResult:
    """A read without its lines: facts about the file, and the request that would show it."""
    if result.not_modified:
        return result
    total = result.total_lines or 0
    omitted = (Omission("lines", 1, total, REASON, request=request),) if total else ()
    return replace(
        result,
        start=0,
        lines=(),
        header=None,
        cuts={},
        omitted=omitted,
        next=None,
        image=None,
        document=None,
    )


# -----------------------------------------------------------------------------
# Counting tokens: an estimate that needs no package, or an exact count that needs one.
# -----------------------------------------------------------------------------

Counter: TypeAlias = Callable[[str], int]
"""Returns the number of tokens of a text."""

COUNTERS: Final = ("estimate", "o200k")
"""Names of the counters: an estimate of o200k, and the exact count."""


def counter(name: str) -> Counter:
    """The counter of that name. Raises MissingProgram if its package is not installed."""
    if name == "estimate":
        from readroom.text.tokens import estimate

        return estimate
    import warnings

    try:
        with warnings.catch_warnings():
            # It opens its vocabulary in a way that Python 3.11 deprecates.
            warnings.simplefilter("ignore", DeprecationWarning)
            import bpe_openai

            encoding = bpe_openai.get_encoding("o200k_base")
    except ImportError:
        raise MissingProgram("bpe-openai", install("tokens")) from None

    def count(text: str) -> int:
        return len(encoding.encode(text.encode("utf-8", "replace").decode()))

    return count
