"""Candidates of a search where the walk keeps the order: through several roots, and in a sandbox.

rg looks into each of several roots; in a sandbox its own grep does, for a text that is the same bytes in
every encoding without a NUL.

rg finds the files that may match, and those that it cannot judge: with a NUL, compressed, or of a kind that
their first bytes tell.  All others need not be opened.  Where rg cannot be used, or does not come to its end
in time, every file is a candidate.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.engine.grep.ripgrep import Noted, Tree
from readroom.core.engine.scope import Scope
from readroom.core.errors import Cancelled, ReadroomError
from readroom.core.formats.kinds import is_archive_name, is_searched
from readroom.core.limits import GREP_FILE_LEAST_S
from readroom.core.paths import ROOT, WorkPath
from readroom.core.policy.guard import Guard
from readroom.core.policy.rules.names import PACKED
from readroom.core.search import ripgrep
from readroom.core.values import GrepRequest

_SHARE = 0.3
"""The part of the time of a search for all roots; the walk has the rest."""


_SAME_EVERYWHERE = re.compile(r"[A-Za-z0-9_ ]+", re.ASCII)
"""Texts that are themselves as patterns, and one byte a character in every encoding but those with NULs."""

_LETTERS_BESIDE = re.compile("[kKsS]")
"""Letters that equal others, which are not ASCII, when case is ignored."""


class Searches(Protocol):
    """A store that finds files by a text itself."""

    def holding(self, top: WorkPath, text: bytes, *, ignore_case: bool) -> set[bytes] | None:
        """Files below a folder that may hold a text, or whose bytes do not tell; None if all may."""


def held_by_store(guard: Guard, request: GrepRequest, top: WorkPath) -> Callable[[WorkPath], bool] | None:
    """Whether a file may match, if the store itself can tell; None if every file has to be opened."""
    store: Searches | None = guard.store if hasattr(guard.store, "holding") else None  # type: ignore[assignment]
    if store is None or not _SAME_EVERYWHERE.fullmatch(request.pattern):
        return None
    if request.ignore_case and _LETTERS_BESIDE.search(request.pattern):
        return None
    found = store.holding(top, request.pattern.encode("ascii"), ignore_case=request.ignore_case)
    if found is None:
        return None
    begin = 0 if top == ROOT else len(top) + 1
    return lambda path: _is_packed(path) or os.fsencode(path[begin:]) in found


def _is_packed(path: str) -> bool:
    """Whether the bytes of a file do not tell what is in it."""
    return is_searched(path) or is_archive_name(path) or path.lower().endswith(PACKED)


class Sieve:
    """The candidates of each root."""

    def __init__(
        self,
        guard: Guard,
        request: GrepRequest,
        sought: tuple[Sequence[str], Sequence[str] | None],
        deadline: Deadline,
        *,
        share: float,
        confined: bool,
    ) -> None:
        """Look into all roots. Raises Cancelled.

        Args:
            guard: Of the workspace.
            request: Without its globs and its type, which the walk applies.
            sought: The flags for what is searched for, and others if rg rejects them.
            deadline: Of the search.
            share: The seconds that one file may take.
            confined: Whether the kernel confines rg.
        """
        self._guard = guard
        self._share = share
        self._confined = confined
        self._request = replace(
            request, path=ROOT, glob=(), type=None, include=request.include | {"hidden", "ignored"}
        )
        left = deadline.remaining
        within = deadline if left is None else deadline.within(left * _SHARE)
        self._known = {at: self._found(at, sought, within) for at in sorted(guard.tops)}

    def passes(self, path: WorkPath) -> bool:
        """Whether a file may match."""
        _, place = self._guard.own(path)
        names = self._known.get(place.at)
        if names is None or _is_packed(path):
            return True
        return place.inner(path) in names

    def _found(
        self, at: WorkPath, sought: tuple[Sequence[str], Sequence[str] | None], within: Deadline
    ) -> set[str] | None:
        """The candidates of one root; None if they are not known."""
        own, _ = self._guard.own(at)
        if own.folder is None:
            return None
        try:
            with own.open_folder(ROOT) as top:
                scope = Scope(own, self._request, ROOT, None)
                root = top.fileno() if self._confined else None
                tree = Tree(
                    own, top, scope, self._request, within, self._share, root, sought[0], Noted(), sought[1]
                )
                heads = Tree(
                    own, top, scope, self._request, within, GREP_FILE_LEAST_S, root, ripgrep.late_flags(),
                    Noted(), heads=True,
                )  # fmt: skip
                found: set[str] = set()
                for one in (tree, tree.instead(ripgrep.nul_flags()), heads):
                    names, whole = one.everything(within)
                    if not whole:
                        return None
                    found.update(names)
                return found
        except Cancelled:
            raise
        except ReadroomError:
            with suppress(ReadroomError):
                within.check()
            return None
