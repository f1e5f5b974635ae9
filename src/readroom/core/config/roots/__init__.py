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
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Annotated, Any, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from readroom.core.config.file import ConfigFile, Section, from_disk
from readroom.core.config.roots.apart import RENAME, require_apart, require_free, require_local
from readroom.core.errors import BadValue
from readroom.core.paths import WorkPath
from readroom.core.quoting import quote
from readroom.core.stores.base import Store
from readroom.core.stores.bucket.address import is_bucket
from readroom.core.stores.roots.joined import JoinedStore, RootStore
from readroom.core.stores.roots.names import Place

_READ_ONLY = ":ro"

_NAME = re.compile(
    r"(?![.\-~ ])[^/\\:*?\"'<>|!\[\]{}=#@\0-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]{1,64}(?<![. ])"
)
"""Names that mean the same in a path, a glob and a shell, on every system; no hidden ones."""


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

    path: RootPath | UnsetType = UNSET
    read_only: bool = False
    config: RootPath | UnsetType = UNSET


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
    elif equals and not is_bucket(given) and not os.path.lexists(given):
        raise BadValue("root", quote(before), "cannot be the name of a folder here", f"{RENAME} {_ALLOWED}")
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
        given = str(option.path)
        if not is_bucket(given):
            require_local(given)
            given = os.path.normpath(os.path.join(beside, os.path.expanduser(given)))
        found.append(replace(option, path=given))
    return found


def _in_section(file: ConfigFile, name: str, beside: str) -> RootOption:
    section = file.section(RootSection, "roots", name)
    if isinstance(section.path, UnsetType):
        raise file.bad(f"roots.{name}.path", "is missing", 'Write path = "/a/folder".')
    own = section.config
    config = None if isinstance(own, UnsetType) else os.path.join(beside, os.path.expanduser(own))
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
    names, stores = [str(option.name) for option in options], list[Store]()
    with ExitStack() as made:
        for option in (top, *options):
            stores.append(open_store(option.path))
            if stores[-1] is not option.path:
                made.callback(stores[-1].close)
        require_apart([*zip(["", *names], stores, strict=True)])
        require_free(stores[0], names)
        made.pop_all()
    if not options:
        return stores[0], [top]
    named = zip(names, stores[1:], strict=True)
    roots = {name: RootStore(Place(WorkPath(name)), store) for name, store in named}
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
        if is_bucket(path):
            path = str(path).rstrip("/")
        if not isinstance(path, (str, os.PathLike)):
            raise BadValue(
                "root", str(path.name), "is a store without a name", "Give one: RootOption(store, name)."
            )
        name = os.path.basename(
            os.path.realpath(path) if os.fspath(path) in (".", "..") else os.path.abspath(path)
        )
    if not _NAME.fullmatch(name):
        shown = quote(name.encode("utf-8", "replace").decode())[:80]
        raise BadValue("root", shown, "cannot be the name of a folder here", f"{RENAME} {_ALLOWED}")
    return replace(option, name=name)


_ALLOWED = "Use letters, digits, '_', '-' and '.', and do not begin with '.' or '-'."
