"""Names similar to one that does not exist: a typing error, different case, another folder.

The search starts next to the missing name and continues in the whole tree from the top
down, with limited effort.  The function that lists names decides which may be suggested.
"""

from __future__ import annotations

import unicodedata
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias, final

from readroom.core import limits
from readroom.core.deadline import Deadline
from readroom.core.paths import ROOT, WorkPath, ancestors, basename, parent
from readroom.core.values import EntryKind


@final
class Effort:
    """The remaining effort for finding similar names, visible or not.

    A folder costs one step for each part of its path, a name one.

    Attributes:
        spent: Whether the search must stop.
    """

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._names = limits.NEAR_SCAN_NAMES
        self._parts = limits.NEAR_SCAN_PARTS
        self.spent = False

    def takes_name(self) -> bool:
        """Spend effort on one more name; False if there is none left."""
        self._names -= 1
        self.spent = self.spent or self._names < 0
        return not self.spent

    def takes_folder(self, folder: WorkPath) -> bool:
        """Spend effort on opening one more folder; False if there is none left."""
        self._parts -= len(ancestors(folder)) + 1
        self.spent = self.spent or self._parts < 0 or self._deadline.expired or self._deadline.cancelled
        return not self.spent


Visible: TypeAlias = Callable[[WorkPath, Effort], Iterator[tuple[WorkPath, EntryKind]]]
"""The names in a folder that may be suggested or entered, while the effort lasts; none if the folder does
not exist."""


def near_names(
    path: WorkPath,
    visible: Visible,
    kinds: frozenset[EntryKind],
    deadline: Deadline,
    is_usable: Callable[[WorkPath], bool] = lambda name: True,
) -> list[WorkPath]:
    """The names most similar to `path`, of some kinds and usable, best first."""
    within = deadline.within(limits.NEAR_SCAN_S)
    siblings = [name for name, kind in visible(parent(path), Effort(within)) if kind in kinds]
    near = list(
        islice(filter(is_usable, _ranked(path, siblings, limits.NEAR_BESIDE_SCORE)), limits.NEAR_NAMES)
    )
    if len(near) < limits.NEAR_NAMES:
        known = {*near, *siblings}
        tree = [name for name, kind in _tree(visible, Effort(within)) if kind in kinds and name not in known]
        near += islice(
            filter(is_usable, _ranked(path, tree, limits.NEAR_TREE_SCORE)), limits.NEAR_NAMES - len(near)
        )
    # A file of that very name in another folder comes before a neighbour whose name is only similar.
    wanted = _folded(basename(path))
    return sorted(near, key=lambda name: _folded(basename(name)) != wanted)


def _tree(visible: Visible, effort: Effort) -> Iterator[tuple[WorkPath, EntryKind]]:
    """Everything below the root, breadth first."""
    pending = deque([ROOT])
    while pending and not effort.spent:
        for name, kind in visible(pending.popleft(), effort):
            if kind is EntryKind.FOLDER:
                pending.append(name)
            yield name, kind


def _ranked(path: WorkPath, candidates: Sequence[WorkPath], score: int) -> list[WorkPath]:
    from rapidfuzz import fuzz, process  # takes 16 ms; needed only for missing names

    scored = process.extract(
        _folded(basename(path)),
        [_folded(basename(name)) for name in candidates],
        scorer=fuzz.ratio,
        limit=8 * limits.NEAR_NAMES,  # among equal last parts, the most alike path comes first
        score_cutoff=score,
    )
    whole = _folded(path)
    best = [
        (-likeness, -fuzz.ratio(whole, _folded(candidates[at])), candidates[at]) for _, likeness, at in scored
    ]
    return [name for _, _, name in sorted(best)]


def _folded(name: str) -> str:
    """A form in which names that look the same are equal: macOS decomposes accented letters."""
    return unicodedata.normalize("NFC", name).casefold()
