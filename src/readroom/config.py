"""From what an operator and a folder say to a guarded store and limits."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from readroom.limits import Limits
from readroom.policy.defaults import denials
from readroom.policy.guard import Guard, HardLinks
from readroom.policy.rules import Rules
from readroom.stores.base import Store


@dataclass(frozen=True, slots=True)
class Settings:
    """Policy and limits of one workspace."""

    rules: Rules = field(default_factory=lambda: Rules([denials()]))
    limits: Limits = field(default_factory=Limits)
    hardlinks: HardLinks = "warn"


def open_store(root: str | os.PathLike[str] | Store) -> Store:
    """The store of a root: a local folder by its path, or a store as it is."""
    if isinstance(root, (str, os.PathLike)):
        from readroom.stores.local import LocalStore

        return LocalStore(root)
    return root


def load(store: Store, explicit: str | os.PathLike[str] | None = None) -> Settings:
    """The settings of a workspace."""
    return Settings()


def guard(store: Store, settings: Settings) -> Guard:
    """The store under the settings' policy."""
    return Guard(store, settings.rules, settings.hardlinks)
