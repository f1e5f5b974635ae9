"""What one visitor may see: names that the policy of their workspace lets be seen, and nothing of others.

The ledger keeps what agents asked for, and so the names of what they were refused.  Every name
and every text that could hold one comes through here before it reaches a page, a chart, an
export or an address.
"""

from __future__ import annotations

import re
from typing import Final, final

from readroom.errors import ReadroomError
from readroom.faces.calls import Access
from readroom.paths import ROOT, WorkPath

HIDDEN: Final = "(hidden by policy)"

_WORD = re.compile(r"""[^\s"'`=,;|&<>(){}\[\]]+""")
_PARTS = re.compile(r"[:@!?*#]+")
_MOST_WORDS = 500
"""A text of more words is not shown: each is compared with the policy."""


@final
class Sight:
    """One visitor's. Asks the policy as it is at the moment of the request."""

    def __init__(self, access: Access) -> None:
        """Take the guard of the visitor's workspace, and the tools that their token has."""
        self._guard = access.workspace.guard
        self._guard.refresh()
        granted = access.granted
        self.contents: Final = granted is None or "read_file" in granted
        """Whether the visitor could read a file, too."""
        self.listings: Final = granted is None or "list_directory" in granted
        self._known: dict[str, WorkPath | None] = {}

    def path(self, value: str | None) -> WorkPath | None:
        """The name as it is spelled in the workspace; None when it is not for this visitor."""
        if not value:
            return None
        if value not in self._known:
            self._known[value] = self._allowed(value)
        return self._known[value]

    def text(self, value: str) -> str:
        """The text, unless one of its words is the name of something that policy denies."""
        words = _WORD.findall(value)
        if len(words) > _MOST_WORDS or any(map(self._names_denied, words)):
            return HIDDEN
        return value

    def denies(self, name: str) -> bool:
        """Whether a text is as a whole the name of something that policy denies."""
        return self._is_denied(name)

    def _names_denied(self, word: str) -> bool:
        # `cat .env`, `user@host:.env`, `**/.env*`, `/srv/x/.env` and `lib.zip!/.env` all name it.
        pieces = {piece.strip("/") for piece in _PARTS.split(word)}
        pieces |= {piece.rpartition("/")[2] for piece in pieces}
        return any(piece and self._is_denied(piece) for piece in (word, *pieces))

    def _is_denied(self, word: str) -> bool:
        try:
            path = self._guard.parse(word)
        except ReadroomError:
            return False  # no name in this workspace: its policy has nothing to say
        return not self._lets(path)

    def _allowed(self, value: str) -> WorkPath | None:
        try:
            path = self._guard.parse(value)
        except ReadroomError:
            return None
        outer = path.partition("!")[0].rstrip("/")
        seen = self._lets(path) and (outer in ("", path) or self._lets(WorkPath(outer)))
        return path if seen else None

    def _lets(self, path: WorkPath) -> bool:
        """A name that is gone may have been a file or a folder: neither may be denied."""
        if path == ROOT:
            return True
        return self._guard.allows(path, folder=False) and self._guard.allows(path, folder=True)
