"""Ids that machines made, shortened for people to the characters that tell them apart."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

ID_CHARS: Final = 7
"""The fewest characters of an id, as git shows of a commit."""


def short_id(name: str, names: Sequence[str], start: int = 0) -> str:
    """An id from `start` on, as long as no other of `names`, which are in order, needs more to differ.

    Ids of sub-agents, which begin with that of their session and a slash, are no others.
    """
    at, behind = bisect_left(names, name), bisect_left(names, f"{name}0")
    near = [*names[max(0, at - 1) : at + 2], *names[behind : behind + 1]]
    others = [one for one in near if one != name and not one.startswith(f"{name}/")]
    end = max([start + ID_CHARS, *(_alike(name, one) + 1 for one in others)])
    return name[start:] if len(name) <= end else f"{name[start:end]}…"


def _alike(one: str, other: str) -> int:
    """How many characters two ids begin with together."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (left, right) in enumerate(pairs) if left != right), min(len(one), len(other)))
