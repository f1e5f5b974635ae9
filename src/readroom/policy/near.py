"""Names like one that does not exist: a typing error, another case, another folder.

Looked for beside the missing name, then in the whole tree from the top down, as
long as the effort for it lasts.  What may be suggested is decided by whoever
gives the names.
"""

from __future__ import annotations

import unicodedata
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, final

from readroom.deadline import Deadline
from readroom.limits import (
    NEAR_BESIDE_SCORE,
    NEAR_NAMES,
    NEAR_SCAN_NAMES,
    NEAR_SCAN_PARTS,
    NEAR_SCAN_S,
    NEAR_TREE_SCORE,
)
from readroom.model import EntryKind
from readroom.paths import ROOT, WorkPath, ancestors, basename, parent


@final
class Effort:
    """What looking for names may still cost, whether they may be suggested or not.

    A folder costs one step for each part of its path, a name one.

    Attributes:
        spent: Whether nothing more is looked at.
    """

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._names = NEAR_SCAN_NAMES
        self._parts = NEAR_SCAN_PARTS
        self.spent = False

    def takes_name(self) -> bool:
        """Whether one more name is looked at."""
        self._names -= 1
        self.spent = self.spent or self._names < 0
        return not self.spent

    def takes_folder(self, folder: WorkPath) -> bool:
        """Whether one more folder is opened."""
        self._parts -= len(ancestors(folder)) + 1
        self.spent = self.spent or self._parts < 0 or self._deadline.expired or self._deadline.cancelled
        return not self.spent


Visible: TypeAlias = Callable[[WorkPath, Effort], Iterator[tuple[WorkPath, EntryKind]]]
"""The names in a folder that may be suggested or entered, while the effort lasts; none when there is no such
folder."""


def near_names(
    path: WorkPath, visible: Visible, kinds: frozenset[EntryKind], deadline: Deadline
) -> list[WorkPath]:
    """Names of some kinds that are like `path`, best first, no more than a few."""
    within = deadline.within(NEAR_SCAN_S)
    beside = [name for name, kind in visible(parent(path), Effort(within)) if kind in kinds]
    near = _ranked(path, beside, NEAR_BESIDE_SCORE)
    if len(near) < NEAR_NAMES:
        tree = [name for name, kind in _tree(visible, Effort(within)) if kind in kinds]
        near += [name for name in _ranked(path, tree, NEAR_TREE_SCORE) if name not in near]
    return near[:NEAR_NAMES]


def _tree(visible: Visible, effort: Effort) -> Iterator[tuple[WorkPath, EntryKind]]:
    """Everything below the root, what is higher up first."""
    pending = deque([ROOT])
    while pending and not effort.spent:
        for name, kind in visible(pending.popleft(), effort):
            if kind is EntryKind.FOLDER:
                pending.append(name)
            yield name, kind


def _ranked(path: WorkPath, candidates: Sequence[WorkPath], score: int) -> list[WorkPath]:
    from rapidfuzz import fuzz, process  # takes 16 ms, and only a missing name needs it

    found = process.extract(
        _folded(basename(path)),
        [_folded(basename(name)) for name in candidates],
        scorer=fuzz.ratio,
        limit=8 * NEAR_NAMES,  # among equal last parts, the most alike path comes first
        score_cutoff=score,
    )
    whole = _folded(path)
    best = [
        (-likeness, -fuzz.ratio(whole, _folded(candidates[at])), candidates[at]) for _, likeness, at in found
    ]
    return [name for _, _, name in sorted(best)]


def _folded(name: str) -> str:
    """One spelling for all that look the same: macOS writes an accent as a character of its own."""
    return unicodedata.normalize("NFC", name).casefold()
