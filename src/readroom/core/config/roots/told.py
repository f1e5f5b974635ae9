"""A sentence about the roots for models, and facts for people."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from readroom.core.config.settings import Settings
from readroom.core.paths import ROOT
from readroom.core.stores.base import Store
from readroom.core.stores.roots.joined import JoinedStore


class FolderFacts(Struct, frozen=True):
    """One root, as callers know it.

    Attributes:
        name: The name in paths; "." for the first.
        path: Its absolute path; None where it is no folder of this machine.
        read_only: Whether nothing in it may be changed.
        confinement: The barrier that keeps links inside it: "kernel", "walk" or "none".
        commands: Whether commands see it.
    """

    name: str
    path: str | None
    read_only: bool
    confinement: str
    commands: bool


def described(store: Store, settings: Settings) -> Sequence[FolderFacts]:
    """The roots of a workspace that has several."""
    assert isinstance(store, JoinedStore)
    every = zip(store.every, (settings, *settings.others.values()), strict=True)
    runs = settings.commands.enabled
    return [
        FolderFacts(
            root.place.at,
            root.store.folder,
            own.changes.read_only,
            root.store.confinement,
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


_CONFINED = {
    "kernel": "Links stay inside each folder (by the kernel)",
    "walk": "Links stay inside each folder (checked part by part)",
    "none": "No folder has links that lead out",
}


def _confined(folders: Sequence[FolderFacts]) -> str:
    kinds = dict.fromkeys(one.confinement for one in folders)
    if len(kinds) == 1:
        return _CONFINED[folders[0].confinement]
    return "Confinement of links: " + ", ".join(f"{one.name} {one.confinement}" for one in folders)
