"""The one place that every call passes: whose conversation it is, who pays for it, and what became of it.

A call enters as a `Visit` before its arguments are looked at, and leaves with a
reply or a refusal.  Without budgets and ledger nothing is counted or written, and a
visit costs microseconds.  Engines and contracts know nothing of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self, TypeAlias, final

from readroom.caller import Caller
from readroom.contracts.base import Contract, reply_tokens
from readroom.errors import BudgetSpent, Denied, Internal, NoOutline, ReadroomError, RefusedError, UsageError
from readroom.ledger.policy import LedgerPolicy
from readroom.limits import MIN_REPLY_BYTES
from readroom.limits_keeping import BUDGET_BYTES_PER_TOKEN, BUDGET_NOTE_BYTES, BUDGET_NOTE_TOKENS
from readroom.model import Cap, Fact, ReadResult, Reply, Request, Result
from readroom.session.budgets import BudgetPolicy, Level, Reservation, Treasury
from readroom.session.counting import counter
from readroom.session.degrading import changes, degraded, is_edit, shows_content
from readroom.session.noting import noted, unrecorded
from readroom.session.recorder import Entry, Recorder
from readroom.session.session import Session, Sessions, Shown
from readroom.session.showing import shown_by

Work: TypeAlias = Callable[[Request, Cap, bool], tuple[Result, Reply]]
"""Performs a request under a cap; without content when the flag is not set."""


@final
class Keeper:
    """Keeps the conversations, budgets and ledger of one workspace. Safe to share between threads."""

    def __init__(
        self,
        workspace: str = "",
        budgets: BudgetPolicy | None = None,
        ledger: LedgerPolicy | None = None,
    ) -> None:
        """Start keeping.

        Args:
            workspace: Its name in the ledger.
            budgets: None for no bounds.
            ledger: None for no ledger.

        Raises:
            LedgerFailed: It is required and cannot be opened.
            MissingProgram: The counter or the driver is not installed.
        """
        policy = budgets or BudgetPolicy()
        self._sessions = Sessions()
        self.treasury = Treasury(policy) if policy.bounded else None
        self.recorder = None
        if ledger is not None and ledger.enabled:
            self.recorder = Recorder(ledger, workspace, policy.counter)
            if ledger.required:
                self.recorder.open()
        self.counts = self.treasury is not None or self.recorder is not None or policy.counter != "estimate"
        self.counter_name = policy.counter
        self.count = counter(policy.counter) if self.counts else len

    def session(self, session_id: str) -> Session:
        """The conversation of that id."""
        return self._sessions.of(session_id)

    def visit(self, caller: Caller, record: Contract, tool: str, arguments: object, cap: Cap) -> Visit:
        """A call that begins now; use it as a context manager.

        Args:
            caller: Who calls.
            record: Whose tools are meant.
            tool: As the caller names it; it may not exist.
            arguments: As the caller sent them; they may be anything.
            cap: The size of the reply.
        """
        session = self.session(caller.session)
        entry = Entry(caller, session.epoch, record.name, tool, arguments)
        return Visit(self, session, record, entry, cap)

    def turned_away(
        self, caller: Caller, tool: str, code: str, facts: Mapping[str, Fact] | None = None
    ) -> ReadroomError | None:
        """Record what a face refused before it was a call: a bad token, a body that is no JSON.

        Args:
            caller: As far as it is known.
            tool: What was asked for, such as a route.
            code: Of the refusal.
            facts: More about it, kept as it is: no content, and nothing of a client's choosing.

        Returns:
            The failure, when it could not be recorded.
        """
        if self.recorder is None:
            return None
        entry = Entry(caller, 0, "", tool, {}, facts=facts, outcome=code, decision="refused")
        return self.recorder.write(entry)

    def close(self) -> None:
        """Release the ledger."""
        if self.recorder is not None:
            self.recorder.close()


@final
class Visit:
    """One call on its way through. Used by one thread."""

    def __init__(self, keeper: Keeper, session: Session, record: Contract, entry: Entry, cap: Cap) -> None:
        self._keeper = keeper
        self._session = session
        self._record = record
        self._entry = entry
        self._cap = cap
        self._began = time.monotonic_ns()
        self._reserved: Reservation | None = None
        self._over = False

    def answer(self, request: Request, work: Work) -> Reply:
        """The reply to a request, performed by `work`. Raises ReadroomError."""
        self._entry = replace(self._entry, request=request)
        request = self._session.believed(request)
        if self._is_conversation:
            request = self._session.outlined_once(request)
        level = self._reserve(request)
        recorder = self._keeper.recorder
        if recorder is not None and recorder.required and changes(request):
            recorder.begin(replace(self._entry, duration_us=self._passed_us()))
        result, reply, tokens, level = self._performed(request, work, level)
        shown = shown_by(result)
        reply = self._leave(reply, tokens, level, shown, result)
        for one in shown:
            self._session.show(one)
        if isinstance(result, ReadResult) and result.outline is not None:
            self._session.outline(result.path)
        return reply

    @property
    def _is_conversation(self) -> bool:
        """Whether one reader has seen what the session was shown: over HTTP only of one that has a name."""
        caller = self._entry.caller
        return bool(caller.session) or caller.face != "http"

    def refusal(self, error: ReadroomError) -> Reply:
        """The reply that says what failed, in the contract's words."""
        reply = self._worded(error)
        if self._over:
            return reply
        decision, rule = "allowed", None
        if isinstance(error, RefusedError):
            decision = "refused"
            facts = error.facts
            rule = f"{facts['rule']} ({facts['source']})" if isinstance(error, Denied) else error.code
        elif isinstance(error, UsageError):
            decision = "none"
        self._entry = replace(self._entry, outcome=error.code, decision=decision, rule=rule)
        # That a budget is spent is not charged: who asks again and again would overdraw it.
        tokens = 0 if isinstance(error, BudgetSpent) or not self._keeper.counts else self._cost(reply)
        try:
            return self._leave(reply, tokens, Level.CONTENT, (), None)
        except ReadroomError as unwritten:
            return self._worded(unwritten)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and not self._over:
            self.refusal(error if isinstance(error, ReadroomError) else Internal(type(error).__name__))

    def _worded(self, error: ReadroomError) -> Reply:
        return self._record.worded(self._entry.tool, self._entry.arguments).render_error(error, self._cap)

    def _cost(self, reply: Reply) -> int:
        return reply_tokens(reply, self._keeper.count)

    def _passed_us(self) -> int:
        return (time.monotonic_ns() - self._began) // 1000

    def _reserve(self, request: Request) -> Level:
        """Set tokens aside for the reply. Raises BudgetSpent."""
        treasury = self._keeper.treasury
        if treasury is None:
            return Level.CONTENT
        most = self._cap.size // BUDGET_BYTES_PER_TOKEN + BUDGET_NOTE_TOKENS
        call = treasury.policy.call
        held = self._reserved = treasury.reserve(
            self._entry.caller, most if call is None else min(most, call)
        )
        if held.level is Level.SPENT or (held.level is Level.CHANGES and not is_edit(request)):
            raise self._spent(changes_left=held.level is Level.CHANGES)
        return held.level

    def _spent(self, *, changes_left: bool) -> BudgetSpent:
        assert self._reserved is not None
        use = self._reserved.spent()
        return BudgetSpent(use.scope, use.limit, use.used, changes_left=changes_left)

    def _performed(self, request: Request, work: Work, level: Level) -> tuple[Result, Reply, int, Level]:
        """Perform it, and again for less as long as the reply costs more than there is."""
        held = self._reserved
        if held is None:
            result, reply = work(request, self._cap, True)
            return result, reply, self._cost(reply) if self._keeper.counts else 0, level
        size = min(self._cap.size - BUDGET_NOTE_BYTES, held.amount * BUDGET_BYTES_PER_TOKEN)
        while True:
            cap = replace(self._cap, size=max(size, MIN_REPLY_BYTES))
            asked = degraded(request, level)
            try:
                result, reply = work(asked, cap, shows_content(asked, level))
            except NoOutline:
                if asked == request:
                    raise
                level = Level.COUNTS
                continue
            tokens = self._cost(reply)
            if changes(request) or tokens + BUDGET_NOTE_TOKENS <= held.amount or self._affords(tokens):
                return result, reply, tokens, level
            if size > MIN_REPLY_BYTES:
                size = max(MIN_REPLY_BYTES, size * held.amount // (tokens + BUDGET_NOTE_TOKENS) * 9 // 10)
            elif level < Level.COUNTS:
                level = Level(level + 1)
            else:
                raise self._spent(changes_left=False)

    def _affords(self, tokens: int) -> bool:
        """Whether a reply that costs more than was set aside can be paid for."""
        held, treasury = self._reserved, self._keeper.treasury
        assert held is not None
        assert treasury is not None
        wanted, call = tokens + BUDGET_NOTE_TOKENS, treasury.policy.call
        return (call is None or wanted <= call) and held.grow(wanted)

    def _leave(
        self,
        reply: Reply,
        tokens: int,
        level: Level,
        shown: Sequence[Shown],
        result: Result | None,
    ) -> Reply:
        """Settle and record. Raises LedgerFailed when a required ledger cannot be written."""
        self._over = True
        keeper = self._keeper
        if self._reserved is not None:
            uses = self._reserved.settle(tokens)
            reply = noted(reply, self._record, tokens, keeper.counter_name, uses, level)
        elif keeper.counts:
            reply = noted(reply, self._record, tokens, keeper.counter_name, (), level)
        if keeper.recorder is None:
            return reply
        kind = result.kind.value if isinstance(result, ReadResult) else None
        entry = replace(self._entry, kind=kind, shown=shown, tokens=tokens, duration_us=self._passed_us())
        failure = keeper.recorder.write(entry)
        if failure is None:
            return reply
        done = self._entry.request is not None and changes(self._entry.request)
        if keeper.recorder.required and not done and not reply.is_error:
            raise failure
        return unrecorded(reply, self._record, failure)
