"""Removing old rows, in a way that the chain goes on from the last of them."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping

from readroom.ledger.book import Book
from readroom.ledger.rows import Event
from readroom.ledger.verify import PRUNE


def prune(book: Book, days: float) -> int:
    """Remove rows older than that; how many. A row of its own says so. Raises LedgerFailed."""
    now = time.time_ns() // 1000
    texts: Mapping[str, str] = dict.fromkeys(
        ("workspace", "agent", "session", "token", "contract", "arguments"), ""
    )
    event = Event(
        id=uuid.uuid4().hex,
        time_us=now,
        **texts,
        face="",
        epoch=0,
        tool=PRUNE,
        path=None,
        decision="allowed",
        rule=None,
        outcome="ok",
        kind=None,
        shown="[]",
        tokens=0,
        counter="",
        duration_us=0,
    )
    return book.prune(now - int(days * 86_400_000_000), event)
