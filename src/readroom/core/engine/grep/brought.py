"""The protocols of searches in documents and archives."""

from __future__ import annotations

from typing import Protocol

from readroom.core.deadline import Deadline
from readroom.core.engine.grep.candidates import Rounds
from readroom.core.engine.grep.page import Collects, Reached
from readroom.core.engine.scope import Scope
from readroom.core.paths import WorkPath
from readroom.core.stores.base import Folder, Source


class SearchesDocuments(Protocol):
    """Searches documents for one call."""

    def within(self, deadline: Deadline, *, alone: bool) -> Deadline:
        """The deadline for one document."""

    def show(
        self,
        source: Source,
        page: Collects,
        path: WorkPath,
        relative: str,
        after: int,
        deadline: Deadline,
        reached: Reached,
    ) -> None:
        """Add the matches of a document to the page, from a place on."""

    def added_to(self, rounds: Rounds, scope: Scope) -> Rounds:
        """The rounds of a search with documents added to the first."""


class SearchesArchives(Protocol):
    """Opens archives for one search, and archives inside them."""

    def holds(self, path: WorkPath) -> bool:
        """Whether a path is that of a member of an open archive."""

    def open(self, path: WorkPath) -> Source:
        """Open a member of an open archive."""

    def added_to(self, rounds: Rounds, top: Folder, scope: Scope) -> Rounds:
        """The rounds of a search with members added to the first."""
