"""The roots that are refused: one elsewhere, one in another, the same one twice, a name that is taken."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from readroom.core.errors import BadValue
from readroom.core.paths import ROOT, lies_in
from readroom.core.policy.names import file_system_names
from readroom.core.policy.rules.names import foldable
from readroom.core.quoting import quote
from readroom.core.stores.base import Store

RENAME = "Give it another name: NAME=PATH."


_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def require_local(root: str) -> None:
    """Raise BadValue for the address of what is no folder of this machine."""
    if _ADDRESS.match(root) and not os.path.lexists(root):
        advice = (
            "Give a folder of this machine, or s3://bucket/prefix. For a folder of another machine: "
            "`readroom connect CLIENT ssh://host/folder`, or `--at ssh://host/folder` for one command."
        )
        raise BadValue("root", root, "is no folder of this machine", advice)


def _folded(name: str) -> str:
    """A form in which names are equal if any file system takes them for the same."""
    return foldable(name).lower()


def require_apart(roots: Sequence[tuple[str, Store]]) -> None:
    """Raise BadValue for two roots with one name, or with a file in common."""
    for at, (name, store) in enumerate(roots):
        for other, before in roots[:at]:
            if other and _folded(other) == _folded(name):
                raise BadValue("root", name, f"is the name of two folders, also as {other!r}", RENAME)
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


def require_free(first: Store, names: Sequence[str]) -> None:
    """Raise BadValue if the first root has something under the name of another."""
    taken = {_folded(name): name for name in names}
    with first.open_folder(ROOT) as top:
        for some in top.names(_NAMES):
            for entry in some.names:
                name = taken.get(_folded(entry))
                if name is not None:
                    problem = f"is the name of a folder, and the first folder has {quote(entry)} of its own"
                    raise BadValue("root", name, problem, RENAME)
