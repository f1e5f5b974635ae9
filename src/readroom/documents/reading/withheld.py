"""Withhold the attachments of a document that policy denies: their names and their content.

An attached file is checked like a member of an archive: `mail.eml!/.env` is denied if `.env` is.  The
cache holds documents complete, so that other rules can be applied to them later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TypeAlias, final

from msgspec.structs import replace

from readroom.core.paths import BORDER, WorkPath
from readroom.core.policy.guard import Guard
from readroom.core.policy.rules import Rules, inside
from readroom.core.stores.base import Source
from readroom.documents.formats import INDENT, Part
from readroom.documents.formats.protocol import Opened

Denies: TypeAlias = Callable[[str], bool]
"""Whether policy denies an attachment with this path inside the document."""


def everything(name: str) -> bool:
    """Denies all names, for formats without attachments."""
    return True


_DENIED = "It is denied by policy and is not shown."


CARRIED_NAME_CHARS = 4_000
"""Longest path of an attachment; longer ones are denied without applying the rules."""


def denied_in(guard: Guard, source: Source, path: str) -> Denies:
    """The policy for attachments of a document, under its requested and its real name."""
    places = {path, source.real}

    @cache
    def rules() -> Rules:
        return inside(guard.rules_at(source.real))  # on first use: most documents have no attachments

    def denies(name: str) -> bool:
        levels = name.split(f"{BORDER}/")
        inner = [f"{BORDER}/".join(levels[: at + 1]) for at in range(len(levels))]
        if len(name) > CARRIED_NAME_CHARS:
            return True
        return any(
            not rules().decide(WorkPath(f"{place}{BORDER}/{each}"), folder=False).allowed
            for place in places
            for each in inner
        )

    return denies


def _without(counted: Sequence[str], gone: frozenset[str]) -> Iterator[str]:
    """The lines that notes count, without the lines of denied files and the content indented below them."""
    is_gone = False
    for line in counted:
        is_gone = line in gone or (is_gone and line.startswith(INDENT))
        if not is_gone:
            yield line


@final
class Withheld:
    """Removes denied attachments from the shown parts of one document."""

    def __init__(self, denies: Denies) -> None:
        """`denies` is called once for each name."""
        self._denies = denies
        self._known: dict[str, bool] = {}

    def from_opened(self, opened: Opened) -> Opened:
        """The document without denied names."""
        numbers = {number for number, name in enumerate(opened.names, 1) if self._is_denied(name)}
        if not numbers:
            return opened
        titles = ["" if at in numbers else title for at, title in enumerate(opened.titles, 1)]
        contents = [heading for heading in opened.contents if heading[2] not in numbers]
        return replace(opened, titles=titles, contents=contents)

    def from_part(self, opened: Opened, number: int, part: Callable[[], Part]) -> Part:
        """A part without lines that name denied files; of a denied file itself only a note."""
        names = opened.names
        if 0 < number <= len(names) and self._is_denied(names[number - 1]):
            return Part(number, "", (), notes=[_DENIED])
        whole = part()
        gone = [line for line, name in whole.naming if self._is_denied(name)]
        if not gone:
            return whole
        note = f"{len(gone)} attached {'file is' if len(gone) == 1 else 'files are'} denied by policy."
        lines = [line for line in whole.lines if line not in frozenset(gone)]
        counted = list(_without(whole.counted, frozenset(gone)))
        return replace(whole, lines=lines, counted=counted, notes=[*whole.notes, note], naming=())

    def _is_denied(self, name: str) -> bool:
        if not name:
            return False
        if name not in self._known:
            self._known[name] = self._denies(name)
        return self._known[name]
