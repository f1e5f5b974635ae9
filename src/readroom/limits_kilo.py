"""Every default number of the contract kilo, once, with its reason."""

from __future__ import annotations

KILO_REPLY_BYTES = 49_000
"""A reply's text. A whole file is the default: as much as those MCP clients pass on that pass on most."""

KILO_MAX_READ_FILE_LINE = 500
"""Lines that auto-truncation shows of a longer file; the default of `maxReadFileLine` in Kilo Code."""

KILO_NOTICE_BYTES = 640
"""Kept free in a reply for what is said of the lines and definitions that it leaves out."""

KILO_NAME_BYTES = 200
"""Of a file's name above its definitions; longer names are shortened in the middle."""

KILO_OUTLINE_BYTES = 6_000
"""Definitions of what is not shown: some 120, and an eighth of a reply at most."""
