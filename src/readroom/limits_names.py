"""Numbers of deleting and moving, each with its reason."""

from __future__ import annotations

TREE_ENTRIES = 100_000
"""Names in a folder that is deleted or moved as a whole. Each is asked about, in
some 10 us: a second."""

TRASH_TRIES = 100
"""Names that are tried for what is thrown away; one is taken only if the same
name was thrown away in its millisecond."""
