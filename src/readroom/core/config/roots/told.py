"""A sentence about the roots for models, and facts for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from readroom.core.config.settings import Settings
from readroom.core.paths import ROOT
from readroom.core.stores.base import Store
from readroom.core.stores.promises import Promises, differing
from readroom.core.stores.roots.joined import JoinedStore


class FolderFacts(Struct, frozen=True):
    """One root, as callers know it.

    Attributes:
        name: The name in paths; "." for the first.
        path: Its absolute path; None where it is no folder of this machine.
        at: The name of its store for people.
        read_only: Whether nothing in it may be changed.
        promises: What holds in it, and by what.
        commands: Whether commands see it.
    """

    name: str
    path: str | None
    at: str
    read_only: bool
    promises: Promises
    commands: bool

    @property
    def confinement(self) -> str:
        """Whether the kernel keeps every path inside it: "kernel" or "none"."""
        return self.promises.confinement

    @property
    def facts(self) -> Mapping[str, Any]:
        """The facts about it in the first reply."""
        return {"name": self.name, "read_only": self.read_only, **self.promises.facts}


def described(store: Store, settings: Settings) -> Sequence[FolderFacts]:
    """The roots of a workspace that has several."""
    assert isinstance(store, JoinedStore)
    every = zip(store.every, (settings, *settings.others.values()), strict=True)
    runs = settings.commands.enabled
    return [
        FolderFacts(
            root.place.at,
            root.store.folder,
            root.store.name,
            own.changes.read_only,
            root.store.promises,
            runs and root.store.folder is not None and not own.commands.forbidden_by,
        )
        for root, own in every
    ]


def about(folders: Sequence[FolderFacts]) -> str:
    """A sentence about the folders for a model."""
    first, *others = folders
    named = ", ".join(f"{one.name}/ ({_rights(one)})" for one in others)
    return f"Folders: {named}; all other paths are in the first ({_rights(first)}). {_confined(folders)}."


def _rights(folder: FolderFacts) -> str:
    rights = "read-only" if folder.read_only else "can be changed"
    return f"{rights}, {folder.path} for commands" if folder.commands and folder.name != ROOT else rights


def _confined(folders: Sequence[FolderFacts]) -> str:
    """Who keeps links inside, and what is not the same there; once for each kind of folder."""
    kinds: dict[str, list[str]] = {}
    for one in folders:
        kinds.setdefault(differing(one.promises), []).append(one.name)
    if len(kinds) == 1:
        (words,) = kinds
        return f"Each: {words}" if words else "Links stay inside each folder (by the kernel)"
    named = (
        f"{', '.join('the first' if name == ROOT else name for name in names)}: {words}"
        for words, names in kinds.items()
        if words
    )
    return f"Not the same: {'. '.join(named)}"
