"""Calls of records that clients left, written as a ledger: those columns that no record has stay empty."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from readroom.core.errors import BadValue
from readroom.core.limits.session import LEDGER_GROUP_ROWS
from readroom.core.rows import Audit, PastCall, PastRow
from readroom.server.ledger.ledger import Ledger
from readroom.server.ledger.recorder import of_anything
from readroom.server.ledger.rows import Event, encoded_spans

_MOST_ROWS: Final = 20_000
"""More than anybody scrolls through."""


def fill(book: Ledger, rows: Iterable[PastRow], source: str, workspace: str) -> Audit:
    """Write calls of the folder `workspace` into an empty ledger; returns the other rows.

    Raises:
        BadValue: There is no call in `source`.
        LedgerFailed: The ledger cannot be written.
    """
    beside = Audit()
    pending: list[Event] = []
    empty = True
    for row in rows:
        if not isinstance(row, PastCall):
            beside.add(row, _MOST_ROWS)
            continue
        pending.append(_event(row, workspace))
        empty = False
        if len(pending) == LEDGER_GROUP_ROWS:
            book.append_all(pending)
            pending = []
    if pending:
        book.append_all(pending)
    if empty:
        raise BadValue("SOURCE", source, "holds no session", "Name a ledger, an audit or a record.")
    return beside


def _event(call: PastCall, workspace: str) -> Event:
    return Event(
        call.id, call.time_us, workspace, call.agent, call.session, "", "record", call.epoch, call.contract,
        call.tool, call.path, of_anything(call.arguments), "allowed", None, call.outcome, None,
        encoded_spans(call.shown), call.tokens, call.counter, 0,
    )  # fmt: skip
