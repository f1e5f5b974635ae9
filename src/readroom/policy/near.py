"""Names like one that does not exist: a typing error, another case, another folder.

Looked for beside the missing name, then in the whole tree from the top down, a
bounded number of names.  What may be suggested is decided by whoever gives the
names.
"""

from __future__ import annotations

import unicodedata
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from readroom.limits import NEAR_BESIDE_SCORE, NEAR_NAMES, NEAR_SCAN_NAMES, NEAR_TREE_SCORE
from readroom.model import EntryKind
from readroom.paths import ROOT, WorkPath, basename, parent

Visible: TypeAlias = Callable[[WorkPath], Iterator[tuple[WorkPath, EntryKind]]]
"""The names in a folder that may be suggested or entered; none when there is no such folder."""


def near_names(path: WorkPath, visible: Visible, kinds: frozenset[EntryKind]) -> list[WorkPath]:
    """Names of some kinds that are like `path`, best first, no more than a few."""
    beside = [name for name, kind in islice(visible(parent(path)), NEAR_SCAN_NAMES) if kind in kinds]
    near = _ranked(path, beside, NEAR_BESIDE_SCORE)
    if len(near) < NEAR_NAMES:
        tree = [name for name, kind in islice(_tree(visible), NEAR_SCAN_NAMES) if kind in kinds]
        near += [name for name in _ranked(path, tree, NEAR_TREE_SCORE) if name not in near]
    return near[:NEAR_NAMES]


def _tree(visible: Visible) -> Iterator[tuple[WorkPath, EntryKind]]:
    """Everything below the root, what is higher up first."""
    pending = deque([ROOT])
    while pending:
        for name, kind in visible(pending.popleft()):
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
