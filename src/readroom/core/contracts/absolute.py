"""The absolute paths of a workspace, for contracts that speak in those: each root has its own."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from readroom.core.text.select import byte_size

if TYPE_CHECKING:
    from readroom.core.contracts import Setup


class Absolute(str):
    """The absolute path of the first root, with those of the others.

    Attributes:
        others: The absolute paths of the other roots by their names.
    """

    others: Mapping[str, str]

    @classmethod
    def of(cls, root: str, others: Mapping[str, str]) -> Self:
        """The path of the first root, which knows the others."""
        made = cls(root)
        made.others = MappingProxyType(dict(others))
        return made


def absolute(path: str, root: str) -> str:
    """The absolute path of a path of the workspace; `root` is the first root, which may know others."""
    if path in (".", ""):
        return root
    name, _, rest = path.partition("/")
    other = root.others.get(name) if isinstance(root, Absolute) else None
    if other is None:
        return posixpath.join(root, path)
    return posixpath.join(other, rest) if rest else other


def longest(root: str) -> int:
    """The bytes of the longest root, with a slash."""
    others = root.others.values() if isinstance(root, Absolute) else ()
    return max(map(byte_size, (root, *others))) + 1


def of_roots(setup: Setup, folders: Mapping[str, Sequence[str]]) -> Setup:
    """The setup for a workspace with several roots; `folders` are the absolute paths of the others."""
    asked = {name: roots[0] for name, roots in folders.items()}
    real = {name: roots[-1] for name, roots in folders.items()}
    known = (*asked.items(), *real.items())
    return replace(
        setup, root=Absolute.of(setup.root, asked), real=Absolute.of(setup.real, real), others=known
    )
