"""Changes that wait, named by everything that they are, so that a person agrees to what was shown alone.

The mark of a change is another one as soon as its content, its names, or what it would replace is another.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from readroom.core.paths import WorkPath
from readroom.core.review.differences import Difference
from readroom.core.stores.review.tree import Tree


class ShownOtherwise(Exception):
    """A change with a mark is no longer there: what waits is not what was shown."""


class Shown(Struct, frozen=True):
    """Changes of a set as they were shown, by their marks; never empty."""

    marks: frozenset[str]

    def found(self, tree: Tree, every: Sequence[Difference]) -> list[Difference]:
        """The changes that are still the same. Raises ShownOtherwise if any is not."""
        found = [one for one in every if mark_of(tree, one) in self.marks]
        if len(found) != len(self.marks) or not found:
            raise ShownOtherwise
        return found


def mark_of(tree: Tree, one: Difference) -> str:
    """The mark of a change of a set: 64 hexadecimal digits."""
    origins = [tree.origins.get(path) for path in (one.path, one.source) if path is not None]
    facts = (_named(one.path), _named(one.source), one.action, one.kind.value, one.node, one.names)
    return hashlib.sha256(msgspec.msgpack.encode((facts, one.problem, origins))).hexdigest()


def _named(path: WorkPath | None) -> bytes | None:
    return None if path is None else os.fsencode(path)
