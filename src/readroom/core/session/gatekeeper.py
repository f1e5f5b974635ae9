"""The gatekeeper, which every call passes: its conversation, its budget and its ledger entry.

A call enters as a `CallContext` before its arguments are parsed, and leaves with a reply or a refusal.
Without budgets and ledger nothing is counted or written, and that costs microseconds.  Engines and
contracts know nothing of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Protocol, Self, final

from msgspec import Struct
from msgspec.structs import replace

from readroom.core import errors
from readroom.core.caller import Caller
from readroom.core.contracts.base import Bound, Contract, Wording, reply_tokens
from readroom.core.limits import MIN_REPLY_BYTES
from readroom.core.session.conversation import Seen, Session, Sessions, ShownLines, shown_by
from readroom.core.session.journal import Entry, Journal
from readroom.core.session.meter import Level, Meter, Reservation, Use, counter, degraded, shows_content
from readroom.core.session.observer import Observer
from readroom.core.values import Cap, Fact, ReadRequest, ReadResult, Reply, Request, Result
from readroom.core.values.verbs import changes, is_edit

# -----------------------------------------------------------------------------
# What a reply says about its cost: always facts, and a line for the reader when a budget runs low.
# -----------------------------------------------------------------------------

_DEGRADED = {
    Level.OUTLINE: "Little is left: replies show outlines and counts instead of content.",
    Level.COUNTS: "Very little is left: replies show counts instead of content.",
}


def noted(
    reply: Reply, record: Contract, tokens: int, counter: str, uses: Sequence[Use], level: Level
) -> Reply:
    """The reply with its tokens and remaining budgets as facts, and a line when a budget runs low."""
    facts: dict[str, Fact] = {
        "tokens": tokens,
        "counter": counter,
        "budget": [
            {"scope": use.scope, "limit": use.limit, "used": use.used, "left": use.left} for use in uses
        ],
    }
    if not uses:  # the usual case: no budgets
        return replace(reply, build_cost=lambda: facts)
    warned = max(uses, key=lambda use: use.warned)
    words = []
    if warned.warned:
        words.append(
            f"Budget: {warned.warned} % of the {warned.limit:,} tokens of this {warned.scope} are used, "
            f"{warned.left:,} left."
        )
    if level in _DEGRADED and not reply.is_error:
        words.append(_DEGRADED[level])
    reply = replace(reply, build_cost=lambda: facts)
    return record.remark(reply, " ".join(words)) if words else reply


def unrecorded(reply: Reply, record: Contract, failure: errors.ReadroomError) -> Reply:
    """The reply with a warning that its call is missing in the ledger."""
    warning: dict[str, Fact] = {"code": "not_recorded", "detail": failure.message}

    def build() -> dict[str, Fact]:
        known = reply.build_facts().get("warnings")
        warnings = [*(known if isinstance(known, list) else []), warning]
        return {**reply.build_cost(), "warnings": warnings}

    return record.remark(
        replace(reply, build_cost=build),
        "Warning: this call is missing from the ledger, which cannot be written.",
    )


def _refused(error: errors.ReadroomError) -> errors.RefusedError | None:
    """Why policy refused a call; of one that changes several files, the first of them that it refused."""
    causes = [one for _, one in error.failures] if isinstance(error, errors.EditsFailed) else [error]
    return next((cause for cause in causes if isinstance(cause, errors.RefusedError)), None)


def _known(error: BaseException) -> errors.ReadroomError:
    """An error as replies know it."""
    return error if isinstance(error, errors.ReadroomError) else errors.Internal(type(error).__name__)


class News(Protocol):
    """The changes of files since the conversation of a call saw them (`core.since`)."""

    def size(self, cap: int) -> int:
        """The bytes of a reply of that size that are needed for it."""

    def begin(self, request: Request) -> None:
        """The call is about to be performed."""

    def told(self, reply: Reply, shown: Sequence[ShownLines] = ()) -> Reply:
        """The reply with the news; the same again for the next attempt."""

    def explain(self, error: errors.ReadroomError) -> None:
        """Add to the refusal of a stale change who made the other one, and when."""

    def note(self, request: Request, result: Result, shown: Sequence[ShownLines]) -> None:
        """Remember what the reply shows, and what the call changed."""

    def note_failed(self, request: Request) -> None:
        """Remember what a call that failed may have changed."""

    def end(self) -> None:
        """The call is over."""


class Attempt(Struct):
    """One attempt at a request, reduced to what a budget allows. Its performer fills in the result.

    Attributes:
        request: The request to perform.
        cap: The size of the reply.
        content: Whether the reply may show lines.
        is_degraded: Whether the request asks for less than the call.
        result: The result that the reply finally shows.
        reply: The reply to the call.
    """

    request: Request
    cap: Cap
    content: bool = True
    is_degraded: bool = False
    result: Result | None = None
    reply: Reply | None = None


@final
class Gatekeeper:
    """Keeps the conversations, budgets and ledger of one workspace. Safe to share between threads."""

    def __init__(
        self,
        meter: Meter | None = None,
        journal: Journal | None = None,
        counter_name: str = "estimate",
        shared: Callable[[str], Seen] | None = None,
        observer: Observer | None = None,
    ) -> None:
        """Raises MissingProgram if the counter is not installed.

        `shared` returns what all processes showed to a conversation; None for this process alone.
        """
        self.observer = observer
        self._sessions = Sessions(shared=shared)
        self.meter = meter
        self.journal = journal
        self.counts = meter is not None or journal is not None or counter_name != "estimate"
        self.counter_name = counter_name
        self.count: Callable[[str], int] = counter(counter_name) if self.counts else len

    def session(self, session_id: str) -> Session:
        """The conversation of that id."""
        return self._sessions.of(session_id)

    def close(self) -> None:
        """Release the journal, and let the observer send what it has."""
        if self.journal is not None:
            self.journal.close()
        if self.observer is not None:
            self.observer.flush()


BUDGET_BYTES_PER_TOKEN = 3
"""How the size of a reply is derived from the remaining tokens; numbered code has 2.6 to 3.4. A reply that
turns out larger is made again, smaller."""

BUDGET_NOTE_TOKENS = 40
"""Reserved for the line that says how much is left."""

BUDGET_NOTE_BYTES = 200
"""The same in bytes."""


@final
class CallContext:
    """A call in progress, as a context manager. Used by one thread."""

    def __init__(
        self, gatekeeper: Gatekeeper, caller: Caller, record: Contract, tool: str, arguments: object, cap: Cap
    ) -> None:
        """`tool` and `arguments` are as the caller sent them; there may be no such tool."""
        self._gatekeeper = gatekeeper
        self._session = gatekeeper.session(caller.session)
        self._record = record
        self._caller = caller
        self._tool = tool
        self.tool = tool if isinstance(tool, str) else ""
        """As the caller named it."""
        self._arguments = arguments
        self._cap = cap
        self._request: Request | None = None
        self._epoch: int | None = None
        self._began = time.monotonic_ns()
        self._reserved: Reservation | None = None
        self._wording: Wording | None = None
        self._attempt: Attempt | None = None
        self._level = Level.CONTENT
        self._tokens = 0
        self._over = False
        self._observed = gatekeeper.observer is None
        self.news: News | None = None
        """The changes that the reply reports; None if there is no conversation."""

    def attempts(self, bound: Bound) -> Iterator[Attempt]:
        """The attempts at a call: the first, and smaller ones while a reply costs too much.

        Each is to be performed and filled in before the next is asked for; one that has no reply could
        not be performed for less, and the next asks for counts.  Then `settled` has the reply.

        Raises BudgetSpent, and LedgerFailed for a change that a required ledger cannot record.
        """
        self._wording = bound.wording
        request = self._request = bound.request
        # Done here because a lookup may fail, and here a failure becomes a reply.
        self._epoch = self._session.epoch if self._gatekeeper.counts else 0
        if isinstance(request, ReadRequest):
            if request.known_hash is not None:
                request = self._session.believed(request)
            if self._caller.is_one_reader:
                request = self._session.outlined_once(request)
        if self.news is not None:
            self._cap = replace(
                self._cap, size=max(MIN_REPLY_BYTES, self._cap.size - self.news.size(self._cap.size))
            )
            self.news.begin(request)
        meter = self._gatekeeper.meter
        if meter is None:
            self._record_beginning(request)
            attempt = self._attempt = Attempt(request, self._cap)
            yield attempt
            if self._gatekeeper.counts and attempt.reply is not None:
                self._tokens = self._cost(attempt.reply)
            return
        reserved = self._reserve(meter, request)
        self._record_beginning(request)
        self._level = reserved.level
        size = min(self._cap.size - BUDGET_NOTE_BYTES, reserved.amount * BUDGET_BYTES_PER_TOKEN)
        while True:
            attempt = self._attempt = self._for_less(request, size)
            yield attempt
            if attempt.reply is None:
                self._level = Level.COUNTS
                continue
            tokens = self._tokens = self._cost(attempt.reply)
            wanted = tokens + BUDGET_NOTE_TOKENS
            if changes(request) or wanted <= reserved.amount or reserved.grow(wanted):
                return
            # Aim at nine tenths of what the last reply suggests: bytes of other lines may cost more tokens,
            # and an extra attempt costs more than what is left unused.
            if size > MIN_REPLY_BYTES:
                size = max(MIN_REPLY_BYTES, size * reserved.amount // wanted * 9 // 10)
            elif self._level < Level.COUNTS:
                self._level = Level(self._level + 1)
            else:
                raise self._spent(changes_left=False)

    def _for_less(self, request: Request, size: int) -> Attempt:
        """An attempt under a budget."""
        smaller = degraded(request, self._level)
        return Attempt(
            smaller,
            replace(self._cap, size=max(size, MIN_REPLY_BYTES)),
            content=shows_content(smaller, self._level),
            is_degraded=smaller != request,
        )

    def settled(self) -> Reply:
        """The reply of the last attempt, paid for and recorded. Raises LedgerFailed."""
        attempt = self._attempt
        assert attempt is not None
        assert attempt.reply is not None
        assert attempt.result is not None
        result, spans = attempt.result, shown_by(attempt.result)
        kind = result.kind.value if isinstance(result, ReadResult) else None
        reply = attempt.reply
        if self._gatekeeper.counts:
            less = attempt.is_degraded or not attempt.content
            level = self._level.name.lower() if less else None
            reply = self._leave(reply, self._tokens, kind=kind, shown=spans, level=level)
        self._over = True
        if not self._observed:
            self._observe(tokens=self._tokens, kind=kind, shown=spans)
        if self.news is not None:
            assert self._request is not None
            self.news.note(self._request, result, spans)
        for span in spans:
            self._session.show(span)
        if isinstance(result, ReadResult) and result.outline is not None:
            self._session.outline(result.path)
        return reply

    def _record_beginning(self, request: Request) -> None:
        journal = self._gatekeeper.journal
        if journal is not None and journal.required and changes(request):
            journal.begin(self._entry())

    def refusal(self, error: errors.ReadroomError) -> Reply:
        """The reply for an error, in the contract's words."""
        reply = self._worded(error)
        if self.news is not None:
            reply = self.news.told(reply)
        decision, rule = "allowed", None
        refused = _refused(error)
        if refused is not None:
            decision, facts = "refused", refused.facts
            rule = (
                f"{facts['rule']} ({facts['source']})" if isinstance(refused, errors.Denied) else refused.code
            )
        elif isinstance(error, errors.UsageError):
            decision = "none"
        if not self._observed:
            self._observe(outcome=error.code, decision=decision)
        if self._over or not self._gatekeeper.counts:
            return reply
        # The refusal is not charged: repeated calls would overdraw the budget.
        tokens = 0 if isinstance(error, errors.BudgetSpent) else self._cost(reply)
        try:
            self._level = Level.CONTENT
            return self._leave(reply, tokens, outcome=error.code, decision=decision, rule=rule)
        except errors.ReadroomError as unwritten:
            return self._worded(unwritten)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.news is not None:
            if not self._over and self._request is not None:
                self.news.note_failed(self._request)
            if isinstance(error, errors.ReadroomError):
                self.news.explain(error)
            self.news.end()
        if error is not None and not self._over:
            self.news = None  # nobody reads this reply
            self.refusal(_known(error))
        elif error is not None and not self._observed:
            self._observe(outcome=_known(error).code)

    def _observe(self, **known: Any) -> None:
        """Tell the observer, once, that the call is over."""
        self._observed = True
        observer = self._gatekeeper.observer
        assert observer is not None
        tool = self._tool if self._tool in self._record.by_name else ""
        observer.told(replace(self._entry(**known), tool=tool))

    def told(self, reply: Reply, result: Result) -> Reply:
        """A reply to the attempt, with the changes that it reports."""
        return reply if self.news is None else self.news.told(reply, shown_by(result))

    def _worded(self, error: errors.ReadroomError) -> Reply:
        if self.news is not None:
            self.news.explain(error)
        wording = self._wording or self._record.worded(self._tool, self._arguments)
        return wording.render_error(error, self._cap)

    def _cost(self, reply: Reply) -> int:
        counted, name = reply.counted, self._gatekeeper.counter_name
        tokens = counted.get(name)
        if tokens is None:
            tokens = counted[name] = reply_tokens(reply.text, reply.images, self._gatekeeper.count)
        return tokens

    def _reserve(self, meter: Meter, request: Request) -> Reservation:
        """Reserve tokens for the reply. Raises BudgetSpent."""
        maximum = self._cap.size // BUDGET_BYTES_PER_TOKEN + BUDGET_NOTE_TOKENS
        reservation = self._reserved = meter.reserve(self._caller, maximum)
        if reservation.level is Level.SPENT or (reservation.level is Level.CHANGES and not is_edit(request)):
            raise self._spent(changes_left=reservation.level is Level.CHANGES)
        return reservation

    def _spent(self, *, changes_left: bool) -> errors.BudgetSpent:
        assert self._reserved is not None
        use = self._reserved.spent()
        return errors.BudgetSpent(use.scope, use.limit, use.used, changes_left=changes_left)

    def _leave(self, reply: Reply, tokens: int, **known: Any) -> Reply:
        """Pay and record the call. Raises LedgerFailed if a required ledger cannot be written."""
        gatekeeper, journal = self._gatekeeper, self._gatekeeper.journal
        # Budgets and ledger agree: what was refused before tokens were reserved costs none.
        charged = tokens if self._reserved is not None or gatekeeper.meter is None else 0
        uses = self._paid(tokens, reply)
        self._over = True
        reply = noted(reply, self._record, tokens, gatekeeper.counter_name, uses, self._level)
        if journal is None:
            return reply
        failure = journal.write(self._entry(tokens=charged, **known))
        if failure is None:
            return reply
        if journal.required and not self._is_change and not reply.is_error:
            raise failure
        return unrecorded(reply, self._record, failure)

    @property
    def _is_change(self) -> bool:
        return self._request is not None and changes(self._request)

    def _paid(self, tokens: int, reply: Reply) -> Sequence[Use]:
        """Pay. Raises StateFailed unless the call was a change, which is done and paid for later."""
        if self._reserved is None:
            return ()
        try:
            return self._reserved.settle(tokens)
        except errors.StateFailed:
            self._reserved = None
            if reply.is_error or self._is_change:
                return ()
            raise

    def _entry(self, **known: Any) -> Entry:
        """The journal entry of the call so far."""
        if self._epoch is None:  # the call failed before it was looked up
            self._epoch = 0
            with suppress(errors.StateFailed):
                self._epoch = self._session.epoch
        return Entry(
            self._caller,
            self._epoch,
            self._record.name,
            self._tool,
            self._arguments,
            request=self._request,
            duration_us=(time.monotonic_ns() - self._began) // 1000,
            **known,
        )
