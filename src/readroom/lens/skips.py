"""What of a record was not read, counted: many of one reason are one row."""

from __future__ import annotations

import msgspec

from readroom.lens.normal_form import SkippedPart
from readroom.lens.records.events import Skipped

_SKIPS_KEPT = 200


def count_skipped(skipped: dict[tuple[str, str], SkippedPart], record: str, event: Skipped) -> None:
    """Take one part that was not read."""
    # Many of one reason are one row with a count: a record with a million broken lines is told in one.
    key = (
        (event.why, "")
        if len(skipped) >= _SKIPS_KEPT or event.why in {why for why, _ in skipped}
        else (event.why, event.where)
    )
    key = next((known for known in skipped if known[0] == event.why), key)
    if key in skipped:
        before = skipped[key]
        skipped[key] = msgspec.structs.replace(before, count=before.count + 1)
    elif len(skipped) < _SKIPS_KEPT:
        skipped[key] = SkippedPart(record, event.where[:200], event.why[:200])
    else:
        last = next(reversed(skipped))
        skipped[last] = msgspec.structs.replace(skipped[last], count=skipped[last].count + 1)
