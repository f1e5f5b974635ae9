"""Turn calls into ledger events and write them, reporting failures.

With `required`, calls that change something are also recorded before they begin, so that the ledger has the
changes of a process that died; and a reply that cannot be recorded is withheld.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from math import isfinite
from typing import TYPE_CHECKING, final

from msgspec.structs import replace

from readroom.core.caller import Caller
from readroom.core.contracts import contract
from readroom.core.contracts.native.calls import arguments as told
from readroom.core.errors import ReadroomError
from readroom.core.limits.session import LEDGER_NAME_CHARS, LEDGER_TEXT_CHARS
from readroom.core.log import log
from readroom.core.quoting import as_key, as_value
from readroom.core.session.conversation import ShownLines
from readroom.core.session.journal import Entry, Journal, Made
from readroom.core.text import hashes
from readroom.core.values import Fact, Request
from readroom.core.values.history import Author
from readroom.server.ledger import LedgerPolicy, open_book
from readroom.server.ledger.ledger import Condition
from readroom.server.ledger.rows import Event, encoded, encoded_spans, shown_path

if TYPE_CHECKING:  # commands that record nothing open no ledger
    from readroom.server.ledger.ledger import Ledger

# -----------------------------------------------------------------------------
# The recorded part of a call's arguments: no content, and nothing of hostile size.
#
# Names, patterns and commands are kept for auditors. Text that goes into files, and any
# text under an unknown name, is kept as its length and hash. The hash of a short text can be guessed by
# trying; anyone who may read the ledger can do so.
# -----------------------------------------------------------------------------

KEPT = frozenset(
    (
        *("path", "pattern", "glob", "type", "output", "include", "sort", "cursor", "encoding", "pages"),
        *("symbol", "view", "known_hash", "expected_hash", "cwd", "command", "destination"),
        *("action", "lines", "insert"),
    )
)
"""Arguments whose text is kept; of other text only length and hash are."""


def of_request(request: Request, hide: Collection[str] = ()) -> str:
    """The arguments of a valid request, with their native names, as a JSON object."""
    return _encoded(told(request), hide)


def of_anything(arguments: object, hide: Collection[str] = ()) -> str:
    """Arguments that could not be parsed, which may be anything."""
    if not isinstance(arguments, Mapping):
        return _encoded({"": _reduced("", arguments, hide, 0)}, hide)
    return _encoded(arguments, hide)


def _encoded(arguments: Mapping[str, Fact], hide: Collection[str]) -> str:
    return encoded(_reduced_object(arguments, hide, 0))


LEDGER_ARGUMENTS = 64
"""Arguments of a call, or items of a list, that a ledger keeps; a call with 500 edits has more."""


def _reduced_object(members: Mapping[str, object], hide: Collection[str], depth: int) -> dict[str, Fact]:
    kept: dict[str, Fact] = {}
    for name, value in islice(members.items(), LEDGER_ARGUMENTS):
        if name in KEPT and type(value) is str:  # most are
            kept[name] = _text(name, value, hide)
        else:
            kept[_short_name(str(name))] = _reduced(str(name), value, hide, depth)
    if len(members) > LEDGER_ARGUMENTS:
        kept["..."] = len(members) - LEDGER_ARGUMENTS
    return kept


def _short_name(name: str) -> str:
    """Shorten the name of an unknown argument, which could be content too."""
    return name if len(name) <= _NAME_CHARS else f"{name[:_NAME_CHARS]}..."


_NAME_CHARS = 40
"""Maximum length of names of arguments in all contracts."""


LEDGER_DEPTH = 4
"""Depth to which arguments are recorded; those of tools are two deep."""


def _reduced(name: str, value: object, hide: Collection[str], depth: int) -> Fact:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else "a number beyond 64 bits"
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if isinstance(value, str):
        return _text(name, value, hide)
    if depth >= LEDGER_DEPTH:
        return "nested more deeply"
    if isinstance(value, Mapping):
        return _reduced_object(value, hide, depth + 1)
    if isinstance(value, Sequence):
        kept = [_reduced(name, item, hide, depth + 1) for item in value[:LEDGER_ARGUMENTS]]
        return kept if len(value) <= LEDGER_ARGUMENTS else [*kept, f"and {len(value) - len(kept)} more"]
    return type(value).__name__


def _text(name: str, text: str, hide: Collection[str]) -> Fact:
    if name in KEPT and name not in hide and len(text) <= LEDGER_TEXT_CHARS:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    reduced: dict[str, Fact] = {"chars": len(text), "sha256": digest}
    if name in KEPT and name not in hide:
        reduced["start"] = text[:LEDGER_TEXT_CHARS]
    return reduced


BEGUN = "begun"
"""The outcome of a call that is recorded before it is performed."""


@final
class Recorder:
    """Writes the entries of one workspace. Safe to share between threads."""

    def __init__(self, policy: LedgerPolicy, workspace: str, counter: str) -> None:
        """`workspace` is its name in the rows, `counter` the counter of tokens.

        Raises LedgerFailed or MissingProgram if a required ledger cannot be opened.
        """
        self.policy = policy
        self.required = policy.required
        self.workspace = as_key(workspace)
        """The workspace's name in the rows."""
        self._counter = counter
        self._book: Ledger | None = None
        self._lock = threading.Lock()
        if self.required:
            self.open()

    def open(self) -> Ledger:
        """The ledger. Raises LedgerFailed or MissingProgram."""
        book = self._book
        if book is not None:
            return book
        with self._lock:
            if self._book is None:
                book = open_book(self.policy)
                try:
                    if self.policy.keep_days is not None:
                        from readroom.server.ledger.verify import prune

                        prune(book, self.policy.keep_days)
                except BaseException:
                    book.close()
                    raise
                self._book = book
            return self._book

    def write(self, *entries: Entry) -> ReadroomError | None:
        """Record calls, many in one transaction; returns the error if not all were recorded."""
        try:
            self.open().append_all([self._event(entry) for entry in entries])
        except ReadroomError as error:
            calls = f"up to {len(entries)} calls" if len(entries) != 1 else "a call of " + entries[0].tool
            log().error("the ledger misses %s: %s", calls[:LEDGER_NAME_CHARS], error)
            return error
        return None

    def begin(self, entry: Entry) -> None:
        """Record that a call begins. Raises LedgerFailed or MissingProgram."""
        self.open().append(self._event(replace(entry, outcome=BEGUN)))

    def made(self, digits: str, at_ns: int) -> Made | None:
        """See `Journal`. Raises LedgerFailed or MissingProgram."""
        at_us = at_ns // 1000
        conditions = [
            Condition("time_us BETWEEN ? AND ?", (at_us - _BEFORE_US, at_us + _AFTER_US)),
            Condition("workspace = ? AND outcome = ?", (self.workspace, "ok")),
            Condition("shown LIKE ?", (f"%{hashes.full(digits)}%",)),
        ]
        # The first call that had this state is that which made it.
        for row in self.open().page(conditions, limit=_LOOKED_AT):
            event = row.event
            if _is_change(event):
                author = Author(event.agent, event.token, event.session, event.face, tool=event.tool)
                return author, event.time_us * 1000
        return None

    def close(self) -> None:
        """Release the ledger."""
        with self._lock:
            book, self._book = self._book, None
        if book is not None:
            book.close()

    def _event(self, entry: Entry) -> Event:
        hide, request = self.policy.hide, entry.request
        agent, session, token, face = _names(entry.caller)
        if entry.facts is not None:
            arguments = encoded(entry.facts)
        else:
            arguments = of_anything(entry.arguments, hide) if request is None else of_request(request, hide)
        now_us = time.time_ns() // 1000
        return Event(
            id=f"{now_us // 1000:012x}{os.urandom(_ID_BYTES).hex()}",
            time_us=now_us,
            workspace=self.workspace,
            agent=agent,
            session=session,
            token=token,
            face=face,
            epoch=entry.epoch,
            contract=_name(entry.contract),
            tool=_name(entry.tool),
            path=_path(request, entry.arguments),
            arguments=arguments,
            decision=entry.decision,
            rule=None if entry.rule is None else _name(entry.rule),
            outcome=entry.outcome,
            kind=entry.kind,
            shown=encoded_spans([_shown(span) for span in entry.shown]),
            tokens=entry.tokens,
            counter=self._counter,
            duration_us=entry.duration_us,
            level=entry.level,
            traceparent=entry.caller.traceparent or None,
        )


_BEFORE_US, _AFTER_US = 2_000_000, 60_000_000
"""How long before and after the time of a file the row of its change is looked for, which has the end of a
call."""

_LOOKED_AT = 20
"""Rows that are looked at: the first is that of the change, unless others have the same state."""


def _is_change(event: Event) -> bool:
    """Whether a row is of a tool that changes files."""
    try:
        return not contract(event.contract).tool(event.tool).read_only
    except ReadroomError:
        return False


def recorder_of(journal: Journal | None) -> Recorder | None:
    """The journal of a workspace on a server."""
    assert journal is None or isinstance(journal, Recorder)
    return journal


_ID_BYTES = 10
"""Random bytes: no two draws within a millisecond are equal. The time precedes them, so that an index of ids
grows at its end: writing into the middle of a large one costs a quarter of a row."""


def _shown(span: ShownLines) -> ShownLines:
    path = _shown_path(span.path)
    return span if path == span.path else replace(span, path=path)


LEDGER_NAMES = 256
"""Names cached in the form in which rows have them: most rows have the same ones."""

_shown_path = lru_cache(LEDGER_NAMES)(shown_path)
"""Callers, contracts, tools and files repeat in many rows."""


LEDGER_NAME_BYTES = 300
"""The same in bytes, with escapes: an index of PostgreSQL takes 2,704 of all that is in it."""


@lru_cache(LEDGER_NAMES)
def _name(text: str) -> str:
    """A name that every database accepts in a key: bounded, without NUL and lone surrogates."""
    return as_key(text[:LEDGER_NAME_CHARS], LEDGER_NAME_BYTES) if text else ""


def _names(caller: Caller) -> tuple[str, str, str, str]:
    return _name(caller.agent), _name(caller.session), _name(caller.token), _name(caller.face)


def _path(request: Request | None, arguments: object) -> str | None:
    if request is not None:
        return as_value(request.path[:LEDGER_TEXT_CHARS])
    path = arguments.get("path") if isinstance(arguments, dict) else None
    return as_value(path[:LEDGER_TEXT_CHARS]) if isinstance(path, str) else None
