"""Limits of reading command files with front matter; beside `limits`, with the same rules."""

from __future__ import annotations

FRONT_MATTER_BYTES = 65_536
"""Longest front matter that is read: the one of the published command has 600 bytes."""

FRONT_MATTER_DEPTH = 10
"""Deepest nesting in it; the published one has 3."""

FRONT_MATTER_NODES = 2_000
"""Keys, lists and values in it; the published one has 40."""

FRONT_MATTER_MOST = 2**40
"""More than any file or patience."""

RND_WARNINGS = 5
"""Remarks about hidden characters and the like that one answer carries."""

RND_NAME_BYTES = 1_000
"""Longest path in an answer; longer ones are cut in their middle."""
