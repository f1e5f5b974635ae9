"""The numbers of the contract `coder`, which are those of its document, and what bounds them here."""

from __future__ import annotations

FILE_BYTES = 1024 * 1024
"""A larger file is refused when it is read whole."""

LINE_BYTES = 1024
"""A longer line is cut there, between characters."""

RESPONSE_LINES = 2_000
"""Lines of one reply, also without a limit."""

RESPONSE_BYTES = 32 * 1024
"""The lines of one reply with their numbers and the line feeds between them; more is refused."""

REPLY_BYTES = 72 * 1024
"""The JSON around RESPONSE_BYTES, in which a line feed, a tab and a quote take two bytes each."""

LIST_BYTES = 1024 * 1024
"""A listing, which has no pages in this contract: some 8,000 names; one that is cut says so."""

LIST_ENTRIES = 10_000
"""Names of one listing, so that short ones do not take longer to read than the reply."""

MAX_INTEGER = 2**63 - 1
"""Largest number in a query, as the original has it."""

EDIT_FILES = 100
"""Files of one call that edits. All are held open until the last is written, beside their new contents."""

EDIT_FILE_BYTES = 16 * 1024 * 1024
"""Largest file that is edited with lines that match only nearly: it is held as text."""

EDIT_FILES_BYTES = 32 * 1024 * 1024
"""All files of one call together, before and after."""

MAX_QUERY_PARAMETERS = 100
"""More are not looked at: no address has a tenth of them."""

STREAM_BYTES = 256 * 1024
"""Read and sent at once of a file whose bytes are asked for."""

SEND_S = 30.0
"""How long a client may take for one such piece before its connection is ended."""

CLIENT_TIMEOUT_S = 130.0
"""A little longer than the server's own limit for a call, so that a client hears its answer."""
