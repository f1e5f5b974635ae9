"""Makes events of calls and writes them into the ledger; says so when that fails.

With `required`, a call that changes something is recorded before it begins, too, so
that what was changed by a process that died stands in the ledger; and a reply
that cannot be recorded is not given.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

from readroom.caller import Caller
from readroom.errors import ReadroomError
from readroom.ledger.arguments import of_anything, of_request
from readroom.ledger.policy import LedgerPolicy, open_book
from readroom.ledger.pruning import prune
from readroom.ledger.rows import Event, encoded_spans
from readroom.limits_keeping import LEDGER_NAME_CHARS, LEDGER_TEXT_CHARS
from readroom.model import Fact, Request
from readroom.quoting import as_value
from readroom.session.session import Shown

if TYPE_CHECKING:
    from readroom.ledger.book import Book

_LOG = logging.getLogger("readroom")

BEGUN = "begun"
"""The outcome of a call that is recorded before it is performed."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What a visit knows of its call.

    Attributes:
        caller: Who calls.
        epoch: Of the conversation.
        contract: Whose tool is meant.
        tool: As the caller names it.
        arguments: As sent; used only when there is no request.
        request: What they mean, None when they mean nothing.
        facts: Kept in their place, as they are.
        outcome: ok, begun, or the code of a failure.
        decision: allowed, refused or none.
        rule: That refused.
        kind: Of the file that was read.
        shown: What was shown.
        tokens: Of the reply.
        duration_us: So far.
    """

    caller: Caller
    epoch: int
    contract: str
    tool: str
    arguments: object
    request: Request | None = None
    facts: Mapping[str, Fact] | None = None
    outcome: str = "ok"
    decision: str = "allowed"
    rule: str | None = None
    kind: str | None = None
    shown: Sequence[Shown] = ()
    tokens: int = 0
    duration_us: int = 0


@final
class Recorder:
    """Writes the entries of one workspace. Safe to share between threads."""

    def __init__(self, policy: LedgerPolicy, workspace: str, counter: str) -> None:
        """`workspace` is the name in the rows, `counter` what counts the tokens. Opens nothing."""
        self.required = policy.required
        self._policy = policy
        self._workspace = as_value(workspace)
        self._counter = counter
        self._book: Book | None = None
        self._lock = threading.Lock()

    def open(self) -> Book:
        """The ledger. Raises LedgerFailed or MissingProgram."""
        with self._lock:
            if self._book is None:
                book = open_book(self._policy)
                try:
                    if self._policy.keep_days is not None:
                        prune(book, self._policy.keep_days)
                except BaseException:
                    book.close()
                    raise
                self._book = book
            return self._book

    def write(self, entry: Entry) -> ReadroomError | None:
        """Record a call; the failure, when it could not be recorded."""
        try:
            self.open().append(self._event(entry))
        except ReadroomError as error:
            _LOG.error("the ledger misses a call of %s: %s", entry.tool[:LEDGER_NAME_CHARS], error)
            return error
        return None

    def begin(self, entry: Entry) -> None:
        """Record that a call begins. Raises LedgerFailed or MissingProgram."""
        self.open().append(self._event(replace(entry, outcome=BEGUN)))

    def close(self) -> None:
        """Release the ledger."""
        with self._lock:
            book, self._book = self._book, None
        if book is not None:
            book.close()

    def _event(self, entry: Entry) -> Event:
        hide = self._policy.hide
        request, caller = entry.request, entry.caller
        if entry.facts is not None:
            told = json.dumps(entry.facts, separators=(",", ":"))
        else:
            told = of_anything(entry.arguments, hide) if request is None else of_request(request, hide)
        return Event(
            id=uuid.uuid4().hex,
            time_us=time.time_ns() // 1000,
            workspace=_name(self._workspace, LEDGER_TEXT_CHARS),
            agent=_name(caller.agent),
            session=_name(caller.session),
            token=_name(caller.token),
            face=_name(caller.face),
            epoch=entry.epoch,
            contract=_name(entry.contract),
            tool=_name(entry.tool),
            path=_path(request, entry.arguments),
            arguments=told,
            decision=entry.decision,
            rule=None if entry.rule is None else _name(entry.rule),
            outcome=entry.outcome,
            kind=entry.kind,
            shown=encoded_spans([replace(one, path=as_value(one.path)) for one in entry.shown]),
            tokens=entry.tokens,
            counter=self._counter,
            duration_us=entry.duration_us,
        )


def _name(text: str, most: int = LEDGER_NAME_CHARS) -> str:
    """A text that every database holds: bounded, without NUL and halves of characters."""
    return as_value(text[:most]) if text else ""


def _path(request: Request | None, arguments: object) -> str | None:
    if request is not None:
        return _name(request.path, LEDGER_TEXT_CHARS)
    found = arguments.get("path") if isinstance(arguments, dict) else None
    return _name(found, LEDGER_TEXT_CHARS) if isinstance(found, str) else None
