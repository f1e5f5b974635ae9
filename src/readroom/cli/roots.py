"""The roots of a command line as one value: the first, with all that was said of it and of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from readroom.core.errors import UsageError


class Roots(str):
    """The first root of a command line, as its folder, with all that was said of it and of the others.

    Attributes:
        given: All roots as they were written, with the expansions of a shell in their paths.
    """

    given: tuple[str, ...]

    @classmethod
    def of(cls, given: Sequence[str]) -> Self:
        """The roots, of which there is one at least."""
        made = cls(given[0])
        made.given = tuple(given)
        return made


def roots_of(root: str | None) -> tuple[str, ...]:
    """All roots as they were written; the current folder for none."""
    return root.given if isinstance(root, Roots) else (root or ".",)


def one_folder(folder: str | None, root: str | None) -> str | None:
    """The folder that is named as DIR or with --root, if any. Raises UsageError for two."""
    if folder is not None and root is not None and roots_of(folder) != roots_of(root):
        raise UsageError("Two folders were given", "Name the folder once, as DIR or with --root.")
    return folder if root is None else root
