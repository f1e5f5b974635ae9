"""Tokens that may be spent: by one call, one conversation, one token's holder, one workspace.

Before a call its tokens are reserved from every account that pays for it, and
afterwards what it did cost is settled.  Calls that run at once can therefore not
spend the same tokens.  Accounts live as long as the workspace is open.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from enum import IntEnum
from typing import final

from msgspec import Struct
from msgspec.structs import replace

from readroom.caller import Caller
from readroom.limits.session import BUDGET_ACCOUNTS
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

BUDGET_WARNINGS = (50, 80, 95)
"""Percent of a budget at which a reply says so."""

BUDGET_LEVELS = ((3.0, 900), (2.0, 700), (1.0, 300), (0.0, 100))
"""Percent of a budget, and tokens, that must be left for: content, outlines, counts, and changes. The tokens
are those of the smallest replies of each sort (MIN_REPLY_BYTES of text has about 700)."""


class BudgetPolicy(Struct, frozen=True):
    """Budgets in tokens, None for no bound.

    Attributes:
        call: Of one reply.
        session: Of one conversation.
        token: Of all calls with one bearer token.
        workspace: Of all calls.
        counter: What counts: "estimate", or "o200k", which is exact for that vocabulary.
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
    """What is still possible, from everything to nothing."""

    CONTENT = 0
    OUTLINE = 1
    COUNTS = 2
    CHANGES = 3
    SPENT = 4


class Use(Struct, frozen=True):
    """How far one budget is used.

    Attributes:
        scope: session, token or workspace.
        limit: Tokens in all.
        used: Settled so far.
        warned: The percentage that was reached with this call, 0 when none was.
    """

    scope: str
    limit: int
    used: int
    warned: int = 0

    @property
    def left(self) -> int:
        """Tokens, never negative."""
        return max(0, self.limit - self.used)


@final
class _Account:
    """One budget. Its owner's lock protects it."""

    __slots__ = ("limit", "reserved", "scope", "used")

    def __init__(self, scope: str, limit: int) -> None:
        self.scope = scope
        self.limit = limit
        self.used = 0
        self.reserved = 0

    @property
    def free(self) -> int:
        return self.limit - self.used - self.reserved

    def level(self) -> Level:
        return next(
            (
                Level(at)
                for at, (percent, tokens) in enumerate(BUDGET_LEVELS)
                if self.free >= max(tokens, self.limit * percent / 100)
            ),
            Level.SPENT,
        )

    def warned(self, before: int) -> int:
        """The highest percentage that was reached since `before` tokens were used."""
        reached = [at for at in BUDGET_WARNINGS if before * 100 < at * self.limit <= self.used * 100]
        return max(reached, default=0)


@final
class Reservation:
    """Tokens set aside for one call. Used by one thread; settle it exactly once."""

    def __init__(self, accounts: Sequence[_Account], amount: int, level: Level, lock: threading.Lock) -> None:
        self._accounts = accounts
        self._lock = lock
        self.amount = amount
        self.level = level

    def spent(self) -> Use:
        """The budget with the least left."""
        with self._lock:
            tightest = min(self._accounts, key=lambda account: account.free)
            return Use(tightest.scope, tightest.limit, tightest.used)

    def grow(self, amount: int) -> bool:
        """Set aside more, if every account has it."""
        more = amount - self.amount
        with self._lock:
            if any(account.free < more for account in self._accounts):
                return False
            for account in self._accounts:
                account.reserved += more
        self.amount = amount
        return True

    def settle(self, tokens: int) -> tuple[Use, ...]:
        """Give back what was set aside, and pay what it did cost. How far each budget is used."""
        uses = []
        with self._lock:
            for account in self._accounts:
                before = account.used
                account.reserved -= self.amount
                account.used += tokens
                uses.append(Use(account.scope, account.limit, account.used, account.warned(before)))
        self.amount = 0
        return tuple(uses)


@final
class BudgetPool:
    """The accounts of one workspace. Safe to share between threads."""

    def __init__(self, policy: BudgetPolicy) -> None:
        self.policy = policy
        self._lock = threading.Lock()
        self._workspace = None if policy.workspace is None else _Account("workspace", policy.workspace)
        self._kept: dict[str, OrderedDict[str, _Account]] = {"session": OrderedDict(), "token": OrderedDict()}

    def reserve(self, caller: Caller, wanted: int) -> Reservation:
        """Set aside up to `wanted` tokens; fewer when an account has fewer."""
        with self._lock:
            accounts = self._accounts(caller)
            level = max((account.level() for account in accounts), default=Level.CONTENT)
            amount = max(0, min([wanted, *(account.free for account in accounts)]))
            for account in accounts:
                account.reserved += amount
        return Reservation(accounts, amount, level, self._lock)

    def used(self, caller: Caller) -> tuple[Use, ...]:
        """How far the budgets of a caller are used."""
        with self._lock:
            return tuple(
                Use(account.scope, account.limit, account.used) for account in self._accounts(caller)
            )

    def accounts(self) -> list[tuple[str, Use, Level]]:
        """Whose each account is, how far it is used and what that leaves possible, the most used first."""
        with self._lock:
            every = [(name, one) for kept in self._kept.values() for name, one in kept.items()]
            if self._workspace is not None:
                every.append(("", self._workspace))
            every.sort(key=lambda item: -item[1].used / max(1, item[1].limit))
            return [(name, Use(one.scope, one.limit, one.used), one.level()) for name, one in every]

    def _accounts(self, caller: Caller) -> list[_Account]:
        accounts = []
        if self.policy.session is not None:
            accounts.append(self._account("session", caller.session, self.policy.session))
        if self.policy.token is not None and caller.token:
            accounts.append(self._account("token", caller.token, self.policy.token))
        if self._workspace is not None:
            accounts.append(self._workspace)
        return accounts

    def _account(self, scope: str, name: str, limit: int) -> _Account:
        kept = self._kept[scope]
        named = kept.get(name)
        if named is None:
            named = kept[name] = _Account(scope, limit)
        kept.move_to_end(name)
        if len(kept) > BUDGET_ACCOUNTS:
            # Those with something reserved are in use right now.
            oldest = next(
                (key for key, account in kept.items() if not account.reserved and key != name), None
            )
            if oldest is not None:
                del kept[oldest]
        return named


# -----------------------------------------------------------------------------
# Less of the same: what a call becomes when its budget runs low.
# -----------------------------------------------------------------------------

REASON = "budget"
"""Why something is left out, as `reason` in the facts says."""


def degraded(request: Request, level: Level) -> Request:
    """The request that shows as much as a level allows."""
    less = BY_REQUEST[type(request)].degraded
    if level is Level.CONTENT or less is None:
        return request
    smaller: Request = function(less)(request, level)
    return smaller


def less_of_read(request: ReadRequest, level: Level) -> ReadRequest:
    """The outline of the file, and at last a read that shows nothing but counts."""
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
    """Whether a read at that level still shows lines."""
    if not isinstance(request, ReadRequest) or level is Level.CONTENT:
        return True
    return level is Level.OUTLINE and request.view == "outline"


def counted(result: Result, request: Request) -> Result:
    """A read without its lines: what the file is, how long, and what would show it."""
    if not isinstance(result, ReadResult) or result.not_modified:
        return result
    total = result.total_lines or 0
    wanted = request if isinstance(request, ReadRequest) else None
    omitted = (Omission("lines", 1, total, REASON, request=wanted),) if total else ()
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
