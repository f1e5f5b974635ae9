"""Limits of reading the session records that agents leave on disk.

A record is foreign: it may be of any size, truncated, or written to hurt. Every
number here bounds memory, so that a record of 2 GB is read with less than 256 MB.
"""

from __future__ import annotations

from typing import Final

import msgspec

RECORD_LINE_BYTES = 8 * 1024 * 1024
"""A longer line is read with its long texts shortened; real lines stay below 2 MB, with pictures below 8 MB.
In memory a text takes four times its bytes when one of its characters is an emoji.
"""

RESULT_CHARS = 512 * 1024
"""Characters of one result that are examined for lines and findings; characters and tokens count the whole.
Clients send at most 140,000 characters; lines of one character each take 100 times their size in
memory.
"""

RECORD_DOCUMENT_BYTES = 8 * 1024 * 1024
"""A record that is one JSON document is decoded whole up to this size, and element by element beyond it."""

PENDING_CALLS = 10_000
"""Calls whose result is awaited; beyond it the oldest count as never answered."""

PENDING_CHARS = 16_000_000
"""Bytes of the arguments of waiting calls; beyond it the oldest also counts as never answered."""

RESULT_BYTES = 600
"""Memory of a waiting result in addition to its text."""

IDS_KEPT = 50_000
"""Ids of one record that are remembered, for each kind, to recognize repetitions: 8 MB. Weeks of
work have a few thousand.
"""

NAMES_BYTES = 8_000_000
"""Bytes of names in the rows of one session; later names keep a few characters and a digest."""

FILES_REMEMBERED = 20_000
"""Files of one session whose shown lines and number of lines are remembered."""

SESSIONS_OPEN = 2_000
"""Sessions of one record that are followed at once; a database may hold more, one after the other."""

CALLS_KEPT = 20_000
"""Calls of one session that are kept in the normal form, 1.5 KB each; the rest is counted and said. Weeks of
work have a few thousand.
"""

FILES_OF_CALL = 100
"""Files reported for one call, such as a patch of several."""

SPANS_OF_SESSION = 50_000
"""Line ranges kept for one session; the rest is counted and said."""

LINES_REMEMBERED = 150_000
"""Line hashes of one session that are remembered to know what was shown before, line numbers, and later
use: 50 MB as dicts.
"""

ARGUMENT_CHARS = 4_000
"""Bytes of a call's arguments in the normal form: the content of a written file is elsewhere."""

ARGUMENTS_CHARS = 8_000_000
"""Bytes of the arguments of all calls of one session; later calls keep a few words."""

HELD_LINES = 300_000
"""Memory of all sessions of a record that are followed at once, in remembered lines of 350 bytes;
beyond it the one that began first counts as ended. A single session can have half as much again.
"""

HELD_LINES_OF_CALL = 3
"""The share of a call, an answer or a finding in that sum."""

FINDINGS_KEPT = 1_000
"""Findings of one kind in one session that are listed; the rest is counted."""

WATCHED_RESULTS = 1_000
"""Results of one session of which is looked what becomes of them."""

REWINDS_KEPT = 100
"""How often a person went back in one session that is remembered, the latest."""

RECORDS_FOUND = 1_000_000
"""Records that one audit looks at; a folder with more files than that is not a folder of records."""

FILES_LISTED = 100
"""Files and tools that a page lists, the dearest first."""


class Bounds(msgspec.Struct, frozen=True):
    """How much of one record is kept at once, whatever its size: handed down, so that a record of a megabyte
    shows what becomes of one of gigabytes, with bounds that are so many times smaller.
    """

    document_bytes: int = RECORD_DOCUMENT_BYTES
    ids: int = IDS_KEPT
    sessions: int = SESSIONS_OPEN
    held_lines: int = HELD_LINES
    pending_calls: int = PENDING_CALLS
    pending_chars: int = PENDING_CHARS
    names_bytes: int = NAMES_BYTES
    arguments_chars: int = ARGUMENTS_CHARS
    calls: int = CALLS_KEPT
    files: int = FILES_REMEMBERED
    lines: int = LINES_REMEMBERED
    spans: int = SPANS_OF_SESSION
    findings: int = FINDINGS_KEPT
    watched: int = WATCHED_RESULTS
    rewinds: int = REWINDS_KEPT


BOUNDS: Final = Bounds()
"""Those of every audit."""
