"""Rules for what is inside of archives.

A member has a long name (`backup.zip!/app/.env`), and the one that it would have as a file of its
own.  Denials hold for both, and once more without the folder in which most archives pack all they
have: what would be denied when the archive is unpacked in the root is denied in it.  Lists of what
is allowed are about the archive alone: whoever allows it allows what is in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import final

from readroom.paths import BORDER
from readroom.policy.rules import Denials, Rule, Rules

_BORDER = f"{BORDER}/"


def inside(rules: Rules) -> Rules:
    """The rules for the members of archives in a workspace with these rules, at any depth.

    Those that are about members already stay as they are.
    """
    about_members = [layer for layer in rules.layers if isinstance(layer, _Inside)]
    return Rules([*about_members, *(_Inside(layer) for layer in rules.denials)])


@final
class _Inside:
    """Denials that are asked about every name that a member could have."""

    __slots__ = ("_layer",)

    def __init__(self, layer: Denials) -> None:
        self._layer = layer

    def decide(self, path: str, folded: str, *, folder: bool) -> Rule | None:
        """The rule that denies one of its names, if any."""
        rule = self._layer.decide(path, folded, folder=folder)
        for name in _names(folded):
            rule = rule or self._layer.decide(name, name, folder=folder)
        return rule

    def concerned(self, folded: Sequence[str]) -> Sequence[int]:
        """Those that a pattern could match."""
        return self._layer.concerned(folded)


def _names(path: str) -> Iterator[str]:
    """The path from each border on, and without the first folder behind that."""
    _, *inner = path.split(_BORDER)
    for at in range(len(inner)):
        name = _BORDER.join(inner[at:])
        yield name
        below = name.partition("/")[2]
        if below:
            yield below
