"""The settings of each root and of the workspace, and the guard, targets and commands of all roots."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import fields, replace

from readroom.core.config.roots import RootOption
from readroom.core.config.settings import Settings
from readroom.core.history import History
from readroom.core.history.joined import JoinedHistory
from readroom.core.paths import ROOT, WorkPath
from readroom.core.policy.changes import WriteTargets
from readroom.core.policy.guard import Guard
from readroom.core.policy.roots import JoinedGuard, JoinedTargets, shadowed
from readroom.core.quoting import quote
from readroom.core.stores.base import Store
from readroom.core.stores.roots.joined import JoinedStore
from readroom.core.stores.roots.names import Place

if TYPE_CHECKING:
    from readroom.core.sandbox import Area


def settings_of(
    store: Store,
    options: Sequence[RootOption],
    explicit: str | os.PathLike[str] | None,
    load: Callable[[Store, str | os.PathLike[str] | None], Settings],
) -> Settings:
    """The settings of a workspace with those roots. Raises BadConfig."""
    stores = [root.store for root in store.every] if isinstance(store, JoinedStore) else [store]
    every = []
    for option, own in zip(options, stores, strict=True):
        place = Place(WorkPath(option.name) if option.name else ROOT)
        with place.naming():
            settings = load(own, option.config or explicit)
        every.append(read_only(settings) if option.read_only else settings)
    if len(every) == 1:
        return every[0]
    return joined(
        every[0], {str(option.name): one for option, one in zip(options[1:], every[1:], strict=True)}
    )


def read_only(settings: Settings) -> Settings:
    """The settings of a root in which nothing may be changed."""
    return replace(settings, changes=replace(settings.changes, read_only=True))


def joined(settings: Settings, others: Mapping[str, Settings]) -> Settings:
    """The settings of a workspace: those of its first root, as strict as each other one says."""
    every = [settings, *others.values()]
    index, commands = settings.index, settings.commands
    commands = replace(commands, network=all(one.commands.network for one in every))
    if not all(one.index.keep for one in every):
        index = replace(index, keep=False)
    named = {
        name: replace(one, changes=replace(one.changes, what=f"the folder {quote(name)}"))
        for name, one in others.items()
    }
    return replace(
        settings,
        changes=replace(settings.changes, what="the first folder"),
        limits=_least([one.limits for one in every]),
        budgets=_least([one.budgets for one in every]),
        commands=commands,
        index=index,
        others=named,
    )


def _least(every: Sequence[Any]) -> Any:
    """The first of them with the lowest number of each field; None is no bound, or the default one."""
    known = [one for one in every if one is not None]
    if not known:
        return None
    lowest = {}
    for field in fields(known[0]):
        values = [getattr(one, field.name) for one in known]
        numbers = [value for value in values if isinstance(value, (int, float))]
        lowest[field.name] = min(numbers) if numbers else values[0]
    return replace(known[0], **lowest)


def joined_guard(store: Store, settings: Settings, guard: Callable[[Store, Settings], Guard]) -> Guard:
    """The guards of all roots as one; `guard` makes that of one. Raises BadConfig, Denied."""
    assert isinstance(store, JoinedStore)
    guards = [guard(store.top.store, first_alone(settings))]
    for name, root in store.others.items():
        with root.place.naming():
            guards.append(guard(root.store, settings.others[name]))
    return JoinedGuard(store, guards)


def joined_targets(
    guarded: Guard, settings: Settings, places: Callable[[Guard, Settings], WriteTargets]
) -> WriteTargets:
    """The targets of all roots; `places` makes those of one."""
    assert isinstance(guarded, JoinedGuard)
    every = (replace(settings, others={}), *settings.others.values())
    return JoinedTargets(guarded, [places(own, one) for own, one in zip(guarded.guards, every, strict=True)])


def areas_of(
    guarded: Guard,
    targets: WriteTargets,
    settings: Settings,
    area: Callable[[Place, Guard, WriteTargets, Settings], Area],
) -> list[Area]:
    """The roots that commands see: all folders of this machine whose own file does not forbid commands.

    Only the first root, which there always is, decides whether commands run at all.
    """
    assert isinstance(guarded, JoinedGuard)
    assert isinstance(targets, JoinedTargets)
    every = (first_alone(settings), *settings.others.values())
    return [
        area(guarded.own(top)[1], own, targets.of(top), one)
        for top, own, one in zip(guarded.all_tops, guarded.guards, every, strict=True)
        if own.folder is not None and not one.commands.forbidden_by
    ]


def first_alone(settings: Settings) -> Settings:
    """The settings of the first root, whose names of other roots are denied."""
    return replace(settings, others={}, layers=(*settings.layers, shadowed([*settings.others])))


def joined_history(
    store: Store, settings: Settings, history: Callable[[Store, Settings], History | None]
) -> History | None:
    """The histories of all roots as one; None where one of them keeps none."""
    assert isinstance(store, JoinedStore)
    every = (replace(settings, others={}), *settings.others.values())
    found = {
        root.place.at: own
        for root, one in zip(store.every, every, strict=True)
        if (own := history(root.store, one)) is not None
    }
    return JoinedHistory(found) if len(found) == len(every) else None
