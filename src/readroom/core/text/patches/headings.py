"""The headings of hunks in unified diffs, which models also write into V4A patches."""

from __future__ import annotations

import re

HEADING = re.compile(
    r"@@ -(?P<old>\d{1,9})(?:,(?P<old_count>\d{1,9}))? \+(?P<new>\d{1,9})(?:,(?P<new_count>\d{1,9}))? @@"
)
"""The first lines and the numbers of lines of both states; a number that is left out is 1."""
