"""The name under which a root is a folder of the tree, and errors that name it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import final

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.errors import ReadroomError
from readroom.core.errors.base import policy_named, renamed
from readroom.core.paths import ROOT, WorkPath, join
from readroom.core.values import Request
from readroom.core.values.verbs import BY_REQUEST


@final
class Place(Struct, frozen=True):
    """The place of a root in the tree: a name below the first root, or ROOT for the first."""

    at: WorkPath

    @property
    def is_first(self) -> bool:
        """Whether paths of the root and of the tree are the same."""
        return self.at == ROOT

    def inner(self, path: str) -> WorkPath:
        """The path in the root of a path of the tree."""
        if self.is_first:
            return WorkPath(path)
        return ROOT if path == self.at else WorkPath(path[len(self.at) + 1 :])

    def outer(self, path: str) -> WorkPath:
        """The path in the tree of a path of the root."""
        if self.is_first:
            return WorkPath(path)
        return self.at if path == ROOT else join(self.at, path)

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Give the names of the tree to errors of the root."""
        if self.is_first:
            yield
            return
        try:
            yield
        except ReadroomError as error:
            raise self.named(error) from None

    def named(self, error: ReadroomError) -> ReadroomError:
        """The error with the names of the tree."""
        following = None if error.next is None else self.requested(error.next)
        return error if self.is_first else renamed(error, self.outer, following)

    def source(self, source: str) -> str:
        """The source of a rule of the root, named as in the tree."""
        return policy_named(source, self.outer)

    def requested(self, request: Request) -> Request:
        """The request with the names of the tree."""
        names = BY_REQUEST[type(request)].paths
        return replace(request, **{name: self.outer(getattr(request, name)) for name in names})


FIRST = Place(ROOT)
"""The place of the first root, or of the only one."""
