"""Numbers of the Everruns contract, and those that it needs beside them, each with its reason."""

from __future__ import annotations

EVERRUNS_CONTENT_BYTES = 50 * 1024
"""The formatted content of one read: the cap of its document."""

EVERRUNS_REPLY_BYTES = 128 * 1024
"""A whole reply: content of EVERRUNS_CONTENT_BYTES, or EVERRUNS_GREP_BYTES of matches, with JSON around it.
Its own limit of 64 KiB would cut valid JSON; what escapes beyond this is shown in smaller pages."""

EVERRUNS_GREP_BYTES = 64 * 1024
"""The matches of one search, as they are sent."""

EVERRUNS_GREP_LIMIT = 200
"""Matches of one search when the call does not say."""

EVERRUNS_GREP_MOST = 1000
"""Matches that one search may ask for."""

EVERRUNS_COUNT_S = 2.0
"""Time for counting the matches behind those that are shown: some 3,000 files. More are not counted."""

EVERRUNS_CONTEXT = 20
"""Lines around a match on each side."""

EVERRUNS_LIST_LIMIT = 200
"""Entries of one listing when the call does not say."""

EVERRUNS_LIST_MOST = 1000
"""Entries that one listing may ask for."""

EVERRUNS_OUTLINE_BYTES = 4 * 1024
"""The outline of what a read does not show: some 80 definitions, 1,500 tokens."""

EVERRUNS_DIFF_CHARS = 16_000
"""The diff that an edit shows."""

EVERRUNS_DIFF_CONTEXT = 2
"""Unchanged lines around a change in it."""

EVERRUNS_OLD_TEXT_CHARS = 80
"""Of an old_text that is not found, in the error."""
