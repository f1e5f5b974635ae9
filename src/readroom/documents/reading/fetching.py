"""The bound on what one read fetches of a document or an archive where reading is not free.

Knows: what can be done where the bound is met.
Does not know: formats and stores.
May be touched: freely.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from readroom.core.errors import TransferLimit
from readroom.core.stores import spending
from readroom.core.values import ReadRequest

COPY = "Ask the user for a copy in a folder, or for an export as text."


@contextmanager
def fetching(advice: str = COPY) -> Iterator[None]:
    """Count what is fetched, and bound it. Raises TransferLimit, with that advice if it has no other."""
    try:
        with spending.reading():
            yield
    except TransferLimit as error:
        if error.advice == TransferLimit.advice:
            error.advice = advice
        raise


def too_much(what: str, error: TransferLimit, following: ReadRequest | None) -> TransferLimit:
    """The error for a part of a document that needs more than the bound."""
    return TransferLimit(advice=f"{what} needs more. {COPY}", bound=error.bound, next_request=following)
