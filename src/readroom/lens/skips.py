"""What of a record was not read, counted: many of one reason are one row."""

from __future__ import annotations

import msgspec

from readroom.lens.bounds import Bounds
from readroom.lens.normal_form import Session, SkippedPart
from readroom.lens.records.events import Skipped

_SKIPS_KEPT = 200


def count_skipped(
    skipped: dict[tuple[str, str], SkippedPart], record: str, event: Skipped, count: int = 1
) -> None:
    """Take a part that was not read, or so many."""
    # Many of one reason are one row with a count: a record with a million broken lines is told in one.
    key = (
        (event.why, "")
        if len(skipped) >= _SKIPS_KEPT or event.why in {why for why, _ in skipped}
        else (event.why, event.where)
    )
    key = next((known for known in skipped if known[0] == event.why), key)
    if key in skipped:
        before = skipped[key]
        skipped[key] = msgspec.structs.replace(before, count=before.count + count)
    elif len(skipped) < _SKIPS_KEPT:
        skipped[key] = SkippedPart(record, event.where[:200], event.why[:200], count)
    else:
        last = next(reversed(skipped))
        skipped[last] = msgspec.structs.replace(skipped[last], count=skipped[last].count + count)


def count_left_out(skipped: dict[tuple[str, str], SkippedPart], session: Session, bounds: Bounds) -> None:
    """What was not kept of a session that has ended is said like what was not read."""
    for count, what, most in (
        (session.calls_left_out, "calls", bounds.calls),
        (session.lines_left_out, "line ranges", bounds.spans),
        (session.findings_left_out, "findings of one kind", bounds.findings),
    ):
        if count:
            why = f"{what} of one session beyond {most:,} are counted and not kept"
            count_skipped(skipped, session.record, Skipped(f"session {session.session}", why), count)
