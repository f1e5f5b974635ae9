"""The numbers of the contract inspect_agents, each with its reason."""

from __future__ import annotations

INSPECT_MAX_BYTES = 5_000_000
"""Largest file where `INSPECT_AGENTS_FS_MAX_BYTES` does not say; the original's default."""

INSPECT_TIMEOUT_S = 15.0
"""Longest time for a call where `INSPECT_AGENTS_TOOL_TIMEOUT` does not say; the original's default."""

INSPECT_LINES = 2000
"""Lines of a read without a limit; as documented."""

INSPECT_REPLY_BYTES = 256 * 1024
"""A reply's text. The original has no limit: 2,000 lines of 120 characters with their numbers are shown
whole, as documented, and what is larger is cut with the offset that continues it."""

INSPECT_LINE_CHARS = 2000
"""Shown of one line; as documented."""

INSPECT_NUMBER_WIDTH = 6
"""Line numbers are padded to so many characters, like those of `cat -n`; as documented."""
