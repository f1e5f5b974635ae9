"""Names in the rows of one session: of files, tools and models, and ids, in bounds."""

from __future__ import annotations

from typing import final

from readroom.lens.bounds import BOUNDS, Bounds
from readroom.lens.records.remembered import short_name
from readroom.lens.records.values import text_bytes
from readroom.limits.lens import BRIEF_NAME_CHARS

_ENTRY_BYTES = 150
"""What a name takes beside its characters."""


@final
class KeptNames:
    """The names of one session: each once, and briefly where there are very many."""

    def __init__(self, bounds: Bounds = BOUNDS) -> None:
        self._most = bounds.names_bytes
        self._names: dict[str, str] = {}
        self.bytes = 0
        """What all of them take."""

    def of(self, name: str) -> str:
        """A name that comes again."""
        kept = self._names.get(name)
        if kept is None:
            kept = self.once(name)
            if kept is name:
                self._names[name] = name
        return kept

    def once(self, name: str) -> str:
        """A name that does not, such as an id or a time."""
        if not name:
            return ""
        size = text_bytes(name) + _ENTRY_BYTES
        if self.bytes + size > self._most:
            return short_name(name, BRIEF_NAME_CHARS)
        self.bytes += size
        return name
