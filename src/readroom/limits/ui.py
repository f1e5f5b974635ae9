"""Limits of the dashboard; beside `limits`, with the same rules."""

from __future__ import annotations

UI_WORKERS = 4
"""Pages made at once. They wait for the database more than they compute; calls have threads of their own."""

UI_ROWS = 100
"""Rows of one table on a page; `next` or the export has the rest."""

UI_EXPORT_ROWS = 10_000
"""Rows of one exported table: 2 MB, and more than anybody scrolls through."""

UI_POINTS = 120
"""Points of a chart over time: one for each few pixels of a phone's width."""

UI_SERIES = 6
"""Names of a chart over time; more colours cannot be told apart, and the others are summed up."""

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
