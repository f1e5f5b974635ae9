"""How much of one record is kept at once, whatever its size.

A value that is handed down, so that a record of a megabyte shows what becomes of one of gigabytes: with
bounds that are so many times smaller.
"""

from __future__ import annotations

import msgspec

from readroom.limits import lens


class Bounds(msgspec.Struct, frozen=True):
    """Each is explained where its number stands."""

    document_bytes: int = lens.RECORD_DOCUMENT_BYTES
    ids: int = lens.IDS_KEPT
    sessions: int = lens.SESSIONS_OPEN
    held_lines: int = lens.HELD_LINES
    pending_calls: int = lens.PENDING_CALLS
    pending_chars: int = lens.PENDING_CHARS
    names_bytes: int = lens.NAMES_BYTES
    arguments_chars: int = lens.ARGUMENTS_CHARS
    calls: int = lens.CALLS_KEPT
    files: int = lens.FILES_REMEMBERED
    lines: int = lens.LINES_REMEMBERED
    spans: int = lens.SPANS_OF_SESSION
    findings: int = lens.FINDINGS_KEPT
    watched: int = lens.WATCHED_RESULTS
    rewinds: int = lens.REWINDS_KEPT


BOUNDS = Bounds()
"""Those of every audit."""
