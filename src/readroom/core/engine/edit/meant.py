"""Find what an old text means that does not occur, as the contract of the call has it."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from readroom.core.errors import LargerMatch, ManyMatches
from readroom.core.limits import MATCHES_NAMED
from readroom.core.text.edits import Change, prepare
from readroom.core.values.changes import EditRequest

LENIENT_BYTES = 16 * 1024 * 1024
"""Largest file that is searched so: it is held as text."""


def meant(
    request: EditRequest, number: int, text: str, check: Callable[[], None], *, bom: bool
) -> tuple[Change, str] | None:
    """The change that an edit means whose old text does not occur, and how it was found; None if nothing is.

    Args:
        request: The request, with a way to find it.
        number: The edit.
        text: The whole text of the file.
        check: Called often; may raise to end the search.
        bom: Whether the file has a mark.

    Raises:
        ManyMatches: More than one place fits.
        LargerMatch: What fits is much larger than the old text.
    """
    assert request.lenient is not None
    edit = request.edits[number]
    fit = request.lenient(text, prepare(edit, bom=bom).old, check)
    if fit is None:
        return None
    if len(fit.lines) > 1:
        raise ManyMatches(request.path, number, fit.lines[:MATCHES_NAMED], len(fit.lines))
    if fit.larger:
        raise LargerMatch(request.path, fit.lines[0])
    return prepare(replace(edit, old_text=fit.text), bom=False), fit.how
