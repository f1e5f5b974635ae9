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

RECORD_TEXT_BYTES = 512 * 1024
"""Of a text in an overlong line so much is kept: far more than any client sends of one result."""

RESULT_CHARS = 512 * 1024
"""Of one result so much is looked at for lines and findings; characters and tokens count the whole.
Clients send at most 140,000 characters; lines of one character each take 100 times their size in
memory.
"""

RECORD_DOCUMENT_BYTES = 8 * 1024 * 1024
"""A record that is one JSON document is decoded whole up to this size, and element by element beyond it."""

RECORD_VALUES = 300_000
"""More values than this in one line are not decoded: a megabyte of `[],[],...` takes 30 MB as objects."""

RECORD_CHUNK_BYTES = 256 * 1024
"""What is read at once; small against the other limits and large against the cost of a call."""

RECORD_SNIFF_LINES = 50
"""So many lines are looked at to tell whose record it is: the heads of resumed sessions come first."""

RECORD_DATABASE_MEMORY_BYTES = 80 * 1024 * 1024
"""What SQLite may take while it reads a record: a schema that is larger is not read. Usual ones take 1 MB,
beside 8 MB of pages.
"""

RECORD_DATABASE_SCHEMA_STEPS = 100_000
"""Steps of SQLite for the schema of a database: some 10,000 tables, and clients have 40."""

RECORD_DATABASE_STEPS = 10_000_000
"""Steps of SQLite for one record, some 0.2 s, beside RECORD_DATABASE_STEPS_OF_BYTE for each byte of it."""

RECORD_DATABASE_STEPS_OF_BYTE = 20
"""A row of 200 bytes takes some 300; without the client's indexes each session takes those of all rows."""

RECORD_MEMBER_BYTES = 4 * 1024 * 1024 * 1024
"""A member of a zip that unpacks to more is skipped: no log of one sample is that long."""

RECORD_DIRECTORY_BYTES = 4 * 1024 * 1024
"""A zip whose directory is larger is not read: 40,000 samples, each of which takes a kilobyte in memory."""

GIT_ANSWER_S = 60
"""git answers from a pack of gigabytes within seconds. It waits forever for a pipe in place of a file."""

GIT_ALTERNATES_BYTES = 64 * 1024
"""Files in which git names other places have one line or a few."""

PENDING_CALLS = 10_000
"""Calls whose result is awaited; beyond it the oldest count as never answered."""

PENDING_CHARS = 16_000_000
"""Bytes of what those were called with; beyond it the oldest counts as never answered, too."""

RESULT_BYTES = 600
"""What a result that waits takes beside its text."""

IDS_KEPT = 50_000
"""Ids of one record that are remembered, for each thing they name, to know what comes again: 8 MB. Weeks of
work have a few thousand.
"""

NAME_CHARS = 300
"""An id, or the name of a tool or of a model: a longer one is kept by its ends and a digest."""

PATH_CHARS = 1_000
"""The path of a file, likewise: what policy says of it stands in its ends."""

NAMES_BYTES = 8_000_000
"""Of the names in the rows of one session so much is kept; of later ones a few characters and a digest."""

BRIEF_NAME_CHARS = 40
"""Those few characters, with the digest."""

FILES_REMEMBERED = 20_000
"""Files of one session of which is known what was shown before, and how many lines they have."""

SESSIONS_OPEN = 2_000
"""Sessions of one record that are followed at once; a database may hold more, one after the other."""

CALLS_KEPT = 20_000
"""Calls of one session that are kept in the normal form, 1.5 KB each; the rest is counted and said. Weeks of
work have a few thousand.
"""

FILES_OF_CALL = 100
"""Files that one call is about, as a patch of several is, that are told."""

SPANS_KEPT = 2_000
"""Line ranges kept for one call: a search that shows more files is kept as a number."""

SPANS_OF_SESSION = 50_000
"""Line ranges kept for one session; the rest is counted and said."""

LINES_REMEMBERED = 150_000
"""Line hashes of one session that are remembered to know what was shown before, where lines stand, and what
was used: 50 MB as dicts.
"""

ARGUMENT_CHARS = 4_000
"""Of a call's arguments so much is kept in the normal form: the content of a written file is elsewhere."""

ARGUMENTS_CHARS = 8_000_000
"""Of the arguments of all calls of one session so many bytes are kept; of later calls a few words."""

ARGUMENT_START_CHARS = 100
"""Those few words."""

HELD_LINES = 300_000
"""What is kept of all sessions of a record that are followed at once, in remembered lines of 350 bytes;
beyond it the one that began first counts as ended. A single session can have half as much again.
"""

HELD_LINES_OF_CALL = 3
"""What a call, an answer or a finding counts as in that sum."""

HELD_CHARS_OF_LINE = 100
"""Characters that count as one line in that sum: four bytes each at most."""

FINDINGS_KEPT = 1_000
"""Findings of one kind in one session that are listed; of the rest it is said how many there were."""

WATCHED_RESULTS = 1_000
"""Results of one session of which is looked what becomes of them."""

REWINDS_KEPT = 100
"""How often a person went back in one session that is remembered, the latest."""

EXCERPT_CHARS = 160
"""How much of a line a finding quotes: enough to recognise it in an editor."""

FLOOD_TOKENS = 4_000
"""A search result of more tokens flooded: five times what the median useful search needs."""

UNUSED_TOKENS = 1_000
"""A result below this is too small to be counted as unused or as more than what was needed."""

WHOLE_FILE_LINES = 100
"""A whole file of fewer lines is rightly read whole."""

USED_SHARE = 0.1
"""A whole file was read for a few lines when less than this share of it was quoted, edited or named."""

KEPT_FILE_BYTES = 4 * 1024 * 1024
"""Of a whole output that a client kept beside its record so much is compared with what was shown."""

KEPT_FOLDERS = 200
"""Folders near a record in which such outputs are looked for."""

RECORDS_FOUND = 1_000_000
"""Records that one audit looks at; a folder with more files than that is not a folder of records."""

REPLAY_REPLIES = 50
"""Replies that a replay follows for one call, each by the `next` of the one before."""

REPLAY_PATIENCE = 60
"""So many times as long as others have calls that are made again: how busy a machine is must not decide what
they show. A search of ten seconds may take ten minutes, which only a folder of that size needs.
"""

PARTS_AHEAD = 64
"""Records that are being audited ahead of the one whose rows are next: enough for any number of
processors of one machine.
"""

WORKER_TRIES = 2
"""How often a record is given to a worker when workers die over it."""

ANSWERS_REMEMBERED = 2_000_000
"""Answers by which copies of conversations are known; those of later sessions are not remembered."""

ENGINE_CONNECT_S = 10
"""How long a scheduler of a cluster may take to answer."""

ENGINE_CHECK_S = 1.0
"""How often it is looked whether the scheduler of a running audit is still there."""

ENGINE_CLOSE_S = 2
"""How long the connection to a scheduler may take to close."""

SESSIONS_LISTED = 500
"""Sessions that a page lists, the dearest first; the export has all of them."""

FINDINGS_LISTED = 200
"""Findings of one kind that a page lists, the dearest first."""

FILES_LISTED = 100
"""Files and tools that a page lists, the dearest first."""

EXPORT_PAGE_ROWS = 10_000
"""Rows written to a Parquet file at once."""


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


# -----------------------------------------------------------------------------
# Limits of the dashboard; beside `limits`, with the same rules.
# -----------------------------------------------------------------------------

UI_WORKERS = 4
"""Pages made at once. They wait for the database more than they compute; calls have threads of their own."""

UI_ROWS = 100
"""Rows of one table on a page; `next` or the export has the rest."""

UI_EXPORT_ROWS = 10_000
"""Rows of one exported table: 2 MB, and more than anybody scrolls through."""

UI_POINTS = 120
"""Points of a chart over time: one for each few pixels of a phone's width."""

UI_SERIES = 6
"""Names of a chart over time; more colours look alike, and the others are summed up."""

UI_SESSION_ROWS = 500
"""Calls of a session on one page."""

UI_FILE_ROWS = 5000
"""Calls whose lines are put beside one file, the newest; a file that is read every minute has these in three
days."""

UI_FILE_LINES = 400
"""Lines of a file on one page."""

UI_FILE_BYTES = 512 * 1024
"""In all lines of one page; longer ones are cut."""

UI_MAP_NAMES = 20_000
"""Names that are looked at to draw the map of a folder: half a second on a laptop."""

UI_MAP_S = 2.0
"""The time for it; a map that is not complete says so."""

UI_MAP_BOXES = 1500
"""Boxes of one map, the largest; smaller ones are less than a pixel."""

UI_SUM_S = 0.5
"""How long a page waits for rows to be summed that came before anybody looked."""

UI_HOURS = 200
"""Hours of calls that one question to a ledger may name."""
