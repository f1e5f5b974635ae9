"""Limits of the Everruns contract and of tools that only other contracts have."""

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
"""Time for counting the matches after those that are shown: some 3,000 files. More are not counted."""

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
"""How much of an old_text that was not found the error shows."""


# -----------------------------------------------------------------------------
# Every default number of the contract kilo, once, with its reason.
# -----------------------------------------------------------------------------

KILO_REPLY_BYTES = 49_000
"""Text of a reply. Whole files are the default, so as much as the most generous MCP clients pass on."""

KILO_MAX_READ_FILE_LINE = 500
"""Lines that auto-truncation shows of a longer file; the default of `maxReadFileLine` in Kilo Code."""

KILO_NOTICE_BYTES = 640
"""Reserved in a reply for notices about omitted lines and definitions."""

KILO_NAME_BYTES = 200
"""Length of a file's name above its definitions; longer names are shortened in the middle."""

KILO_OUTLINE_BYTES = 6_000
"""Definitions of what is not shown: some 120, and an eighth of a reply at most."""


# -----------------------------------------------------------------------------
# Limits of reading command files with front matter; beside `limits`, with the same rules.
# -----------------------------------------------------------------------------

FRONT_MATTER_BYTES = 65_536
"""Longest front matter that is read: the one of the published command has 600 bytes."""

FRONT_MATTER_DEPTH = 10
"""Deepest nesting in it; the published one has 3."""

FRONT_MATTER_NODES = 2_000
"""Keys, lists and values in it; the published one has 40."""

RND_WARNINGS = 5
"""Warnings about hidden characters and the like in one answer."""

RND_NAME_BYTES = 1_000
"""Longest path in an answer; longer ones are cut in their middle."""


# -----------------------------------------------------------------------------
# The numbers of the contract `coder`, which are those of its document, and what bounds them here.
# -----------------------------------------------------------------------------

FILE_BYTES = 1024 * 1024
"""Largest file that is read whole."""

LINE_BYTES = 1024
"""Length at which a line is cut, between characters."""

RESPONSE_LINES = 2_000
"""Lines of one reply, also without a limit."""

RESPONSE_BYTES = 32 * 1024
"""The lines of one reply with their numbers and the line feeds between them; more is refused."""

REPLY_BYTES = 72 * 1024
"""The JSON around RESPONSE_BYTES, in which a line feed, a tab and a quote take two bytes each."""

LIST_BYTES = 1024 * 1024
"""A listing, which has no pages in this contract: some 8,000 names; a listing that is cut says so."""

LIST_ENTRIES = 10_000
"""Names of one listing, so that short ones do not take longer to read than the reply."""

MAX_INTEGER = 2**63 - 1
"""Largest number in a query, as the original has it."""

EDIT_FILES = 100
"""Files in one call that edits. All are held open until the last is written, next to their new contents."""

EDIT_FILE_BYTES = 16 * 1024 * 1024
"""Largest file that is edited leniently: it is held as text."""

EDIT_FILES_BYTES = 32 * 1024 * 1024
"""All files of one call together, before and after."""

MAX_QUERY_PARAMETERS = 100
"""Most query parameters that are examined; no address has a tenth of them."""

STREAM_BYTES = 256 * 1024
"""Bytes read and sent at once when a file's bytes are requested."""

SEND_S = 30.0
"""How long a client may take for one such chunk before its connection is closed."""

CLIENT_TIMEOUT_S = 130.0
"""A little longer than the server's own limit for a call, so that a client hears its answer."""


# -----------------------------------------------------------------------------
# The numbers of the contract inspect_agents, each with its reason.
# -----------------------------------------------------------------------------

INSPECT_MAX_BYTES = 5_000_000
"""Largest file where `INSPECT_AGENTS_FS_MAX_BYTES` does not say; the original's default."""

INSPECT_TIMEOUT_S = 15.0
"""Longest time for a call where `INSPECT_AGENTS_TOOL_TIMEOUT` does not say; the original's default."""

INSPECT_LINES = 2000
"""Lines of a read without a limit; as documented."""

INSPECT_REPLY_BYTES = 256 * 1024
"""Text of a reply. The original has no limit: 2,000 lines of 120 characters with their numbers are shown
whole, as documented; larger ones are cut with the offset that continues them."""

INSPECT_LINE_CHARS = 2000
"""Length of one line, as documented."""

INSPECT_NUMBER_WIDTH = 6
"""Width to which line numbers are padded, as in `cat -n`; as documented."""
