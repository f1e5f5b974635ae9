"""Other names for a name: its spelling on other systems, and the original of a compressed file or a copy.

Rules are checked for all of them, for denied, protected and policy files alike.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from readroom.core.formats.compressed import SUFFIXES

# Characters that HFS+ drops from names when it compares them (git's list, from CVE-2014-9390).
_DROPPED = "[\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufeff]"

PACKED = tuple(ending for endings in SUFFIXES.values() for ending in endings)
"""Suffixes of compressed files whose content reads and searches show."""

COPIED = (*PACKED, "~", ".bak", ".old", ".orig", ".save")
"""These, and what editors and people append to the name of a copy."""

_LEFT_OUT = re.compile(r"(?:^|(?<=/))[a-z]:|:[^/]*|[ .\t]+(?=/|$)")
"""Parts of names that Windows ignores: drive, stream, blanks and dots at the end. FAT does so on Linux."""

_AT_ENDS = (" ", ".", "\t")


def foldable(text: str) -> str:
    """Fold everything but the case of ASCII letters in a name or pattern."""
    if text.isascii():
        return text
    text = re.sub(_DROPPED, "", text)
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())


def other_names(folded: str, *, endings: Sequence[str] = ()) -> Sequence[str]:
    """Other names for a folded name: its spelling on other systems, and the name without its endings.

    The endings may follow one another, and blanks between them: `id_rsa.gz .bak~`.
    """
    found: list[str] = []
    name = folded
    while True:
        shorter = _LEFT_OUT.sub("", name) if ":" in name or _has_odd_end(name) else name
        if shorter == name and name.endswith(tuple(endings)):
            shorter = name.removesuffix(next(filter(name.endswith, endings)))
        if shorter == name or not shorter or shorter.endswith("/"):
            return found
        found.append(shorter)
        name = shorter


def names_with_others(folded: Sequence[str]) -> set[int]:
    """The positions of names in one folder that have other names."""
    whole = "/".join(folded)
    ends = COPIED
    if ":" in whole or " /" in whole or "./" in whole or "\t/" in whole or whole.endswith(_AT_ENDS):
        ends = (*COPIED, *_AT_ENDS)
    return {at for at, name in enumerate(folded) if name.endswith(ends) or ":" in name}


def _has_odd_end(path: str) -> bool:
    return path.endswith(_AT_ENDS) or " /" in path or "./" in path or "\t/" in path
