"""The roots of a workspace with several: how they are named, what is refused, and the settings of each.

    NAME=PATH[:ro]      as arguments, after the first, which has no name: /srv/docs:ro, api=/srv/api

    [roots]             in the operator's file
    docs = "/srv/docs:ro"   # relative to this file; ":ro": nothing in it can be changed

    [roots.api]
    path = "/srv/api"
    read_only = true
    config = "api.toml"     # its own rules; default those of this file

The operator's rules hold in each root, relative to it, and so do those of the `readroom.toml` in it.  What
concerns the whole workspace (limits, budgets, network, indexes) is as strict as the strictest of them says.

Knows: which folders can be served together.
Does not know: how they are guarded.
May be touched: with a security review.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import fields, replace

from readroom.core.config.file import ConfigFile, Section, from_disk
from readroom.core.config.settings import Settings
from readroom.core.errors import BadValue
from readroom.core.paths import ROOT, WorkPath, lies_in
from readroom.core.policy.changes import WriteTargets
from readroom.core.policy.guard import Guard
from readroom.core.policy.names import file_system_names
from readroom.core.policy.roots import JoinedGuard, JoinedTargets, shadowed
from readroom.core.policy.rules.names import foldable
from readroom.core.quoting import quote
from readroom.core.stores.base import Store
from readroom.core.stores.roots.joined import JoinedStore, RootStore
from readroom.core.stores.roots.names import Place

if TYPE_CHECKING:
    from readroom.core.sandbox import Area

_READ_ONLY = ":ro"

_NAME = re.compile(
    r"(?![.\-~ ])[^/\\:*?\"'<>|!\[\]{}=#@\0-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]{1,64}(?<![. ])"
)
"""Names that mean the same in a path, a glob and a shell, on every system; no hidden ones."""

_WRITE = "Give it another name: NAME=PATH."


class RootOption(Struct, frozen=True):
    """A root as the operator gives it.

    Attributes:
        path: The folder, or a store.
        name: The name of the folder in paths; None for the last part of its path.
        read_only: Whether nothing in it may be changed.
        config: The operator's file for it; None for that of the workspace.
    """

    path: str | os.PathLike[str] | Store
    name: str | None = None
    read_only: bool = False
    config: str | None = None


RootLike: TypeAlias = str | os.PathLike[str] | Store | RootOption


RootPath: TypeAlias = Annotated[
    str, Meta(pattern=r"\A[^\0]+\Z", title="must be a path", description='Write it as "/a/folder".')
]


class RootSection(Section, frozen=True):
    """[roots.NAME]."""

    path: Annotated[
        str, Meta(pattern=r"\A[^\0]+\Z", title="must be a path", description='Write "/a/folder".')
    ]
    read_only: bool = False
    config: Annotated[str, Meta(pattern=r"\A[^\0]+\Z", title="must be a path")] | UnsetType = UNSET


def root_option(given: RootLike, expanded: Callable[[str], str] = str) -> RootOption:
    """A root from its spelling `NAME=PATH[:ro]`; anything but a text is taken as it is."""
    if isinstance(given, RootOption):
        return given
    if not isinstance(given, str):
        return RootOption(given)
    name, path = None, given
    before, equals, after = given.partition("=")
    if equals and "/" not in before:
        name, path = before, after
    elif equals and not os.path.lexists(given):
        raise BadValue("root", quote(before), "cannot be the name of a folder here", f"{_WRITE} {_ALLOWED}")
    read_only = path.endswith(_READ_ONLY)
    path = path.removesuffix(_READ_ONLY)
    if not path:
        raise BadValue("root", given, "names no folder", "Write NAME=PATH, or PATH:ro.")
    return RootOption(expanded(path), name, read_only)


def configured(file: str | None) -> list[RootOption]:
    """The roots that an operator's file adds. Raises BadConfig."""
    if file is None:
        return []
    parsed = ConfigFile(file, from_disk(file))
    beside = os.path.dirname(os.path.abspath(file))
    found = []
    for name, value in parsed.table("roots").items():
        if isinstance(value, str):
            option = replace(root_option(f"{name}={value}" if "/" not in name else value), name=name)
        else:
            option = _in_section(parsed, name, beside)
        path = os.path.join(beside, os.path.expanduser(str(option.path)))
        found.append(replace(option, path=os.path.normpath(path)))
    return found


def _in_section(file: ConfigFile, name: str, beside: str) -> RootOption:
    section = file.section(RootSection, "roots", name)
    if isinstance(section.path, UnsetType):
        raise file.bad(f"roots.{name}.path", "is missing", 'Write path = "/a/folder".')
    config = (
        None
        if isinstance(section.config, UnsetType)
        else os.path.join(beside, os.path.expanduser(section.config))
    )
    return RootOption(section.path, name, section.read_only, config)


def opened(
    first: RootLike, others: Iterable[RootLike], open_store: Callable[[Any], Store]
) -> tuple[Store, list[RootOption]]:
    """The store of several roots, and the roots themselves in its order.

    Raises:
        BadValue: They cannot be served together, or one has a name that cannot be used.
        NotFound, NotAFolder, NoPermission: There is no such folder.
    """
    top = root_option(first)
    if top.name is not None:
        raise BadValue("root", top.name, "names the first folder, whose paths have no name", "Leave it out.")
    options = [_named(root_option(other)) for other in others]
    stores: list[Store] = []
    try:
        for option in (top, *options):
            stores.append(open_store(option.path))
        _require_apart(
            [(option.name or "", store) for option, store in zip((top, *options), stores, strict=True)]
        )
        _require_free(stores[0], [str(option.name) for option in options])
    except BaseException:
        for store in stores:
            store.close()
        raise
    if not options:
        return stores[0], [top]
    roots = {
        str(option.name): RootStore(Place(WorkPath(str(option.name))), store)
        for option, store in zip(options, stores[1:], strict=True)
    }
    return JoinedStore(stores[0], roots), [top, *options]


def joined_again(store: Store, open_store: Callable[[Any], Store]) -> Store:
    """Another store of the same roots; one that is no folder is shared."""
    assert isinstance(store, JoinedStore)
    every = [open_store(root.store.folder or root.store) for root in store.every]
    named = zip(store.others.items(), every[1:], strict=True)
    return JoinedStore(every[0], {name: replace(root, store=own) for (name, root), own in named})


def _named(option: RootOption) -> RootOption:
    """A root with a name that can be used. Raises BadValue."""
    name = option.name
    if name is None:
        path = option.path
        if not isinstance(path, (str, os.PathLike)):
            raise BadValue(
                "root", str(path.name), "is a store without a name", "Give one: RootOption(store, name)."
            )
        name = os.path.basename(
            os.path.realpath(path) if os.fspath(path) in (".", "..") else os.path.abspath(path)
        )
    if not _NAME.fullmatch(name):
        shown = quote(name.encode("utf-8", "replace").decode())[:80]
        raise BadValue("root", shown, "cannot be the name of a folder here", f"{_WRITE} {_ALLOWED}")
    return replace(option, name=name)


_ALLOWED = "Use letters, digits, '_', '-' and '.', and do not begin with '.' or '-'."


def _folded(name: str) -> str:
    return foldable(name).lower()


# -----------------------------------------------------------------------------
# Which roots are refused: one in another, the same one twice, a name that is taken.
# -----------------------------------------------------------------------------


def _require_apart(roots: Sequence[tuple[str, Store]]) -> None:
    """Raise BadValue for two roots with one name, or with a file in common."""
    for at, (name, store) in enumerate(roots):
        for other, before in roots[:at]:
            if other and _folded(other) == _folded(name):
                raise BadValue("root", name, f"is the name of two folders, also as {other!r}", _WRITE)
            if store is before:
                raise BadValue("root", name, "is the same store twice", "Name it once.")
            if store.folder is not None and before.folder is not None:
                _require_disjoint(store.folder, before.folder)


def _require_disjoint(folder: str, before: str) -> None:
    advice = "Serve the outer one alone, or two folders that have nothing in common."
    if _identity(folder) == _identity(before):
        raise BadValue("root", folder, f"is the same folder as {quote(before)}", "Name it once.")
    for inner, outer in ((folder, before), (before, folder)):
        if lies_in(inner, outer) or _identity(outer) in _identities_above(inner):
            raise BadValue("root", inner, f"lies in {quote(outer)}, which is served as well", advice)
    for device, path in file_system_names(folder):
        for other_device, other in file_system_names(before):
            if device == other_device and (lies_in(path, other) or lies_in(other, path)):
                problem = f"shares a folder with {quote(before)}: one is mounted in the other"
                raise BadValue("root", folder, problem, advice)


def _identity(folder: str) -> tuple[int, int]:
    status = os.stat(folder)
    return status.st_dev, status.st_ino


def _identities_above(folder: str) -> set[tuple[int, int]]:
    found, above = set[tuple[int, int]](), os.path.dirname(os.path.realpath(folder))
    while True:
        found.add(_identity(above))
        if above == os.path.dirname(above):
            return found
        above = os.path.dirname(above)


_NAMES = 1000


def _require_free(first: Store, names: Sequence[str]) -> None:
    """Raise BadValue if the first root has something under the name of another."""
    taken = {_folded(name): name for name in names}
    with first.open_folder(ROOT) as top:
        for some in top.names(_NAMES):
            for entry in some.names:
                name = taken.get(_folded(entry))
                if name is not None:
                    problem = f"is the name of a folder, and the first folder has {quote(entry)} of its own"
                    raise BadValue("root", name, problem, _WRITE)


# -----------------------------------------------------------------------------
# The settings of each root, and those of the workspace.
# -----------------------------------------------------------------------------


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


# -----------------------------------------------------------------------------
# The guard of all roots, and what may be changed in each.
# -----------------------------------------------------------------------------


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
    """What finds the targets of all roots; `places` makes that of one."""
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
