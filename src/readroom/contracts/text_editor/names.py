"""Paths as text_editor spells them: absolute, below the root of the workspace."""

from __future__ import annotations

from msgspec import Struct

from readroom.core.contracts.absolute import absolute
from readroom.core.errors import NotAbsolute
from readroom.core.paths import OUTPUTS
from readroom.core.quoting import as_value, quote, unquoted


class EditorNames(Struct, frozen=True):
    """The names of files in a workspace with those roots; the first is the one that is shown."""

    roots: tuple[str, ...]

    @property
    def root(self) -> str:
        """The root that is shown."""
        return self.roots[0]

    def absolute(self, path: str) -> str:
        """A path of the workspace with the root in front."""
        if path.startswith("/"):
            return path
        return absolute(path, self.root)

    def shown(self, path: str) -> str:
        """The same in lines and sentences."""
        return quote(self.absolute(path))

    def value(self, path: str) -> str:
        """The same as an argument."""
        return as_value(self.absolute(path))

    def meant(self, text: str) -> str:
        """The path of a request for a path as a caller writes it. Raises NotAbsolute."""
        name = unquoted(text)
        inner = text if name is None else name
        if not inner.startswith("/"):
            raise NotAbsolute(text, absolute(inner, self.root))
        for root in self.roots:
            top = root.rstrip("/")
            if inner.rstrip("/") == top:
                return "."
            if inner.startswith(f"{top}/") and not inner.startswith(f"{OUTPUTS}/"):
                rest = inner[len(top) :].lstrip("/")
                return quote(rest) if name is not None or rest.startswith('"') else rest
        return text

    def given(self, text: str) -> str:
        """A path as its caller wrote it, in sentences."""
        name = unquoted(text)
        return quote(text if name is None else name)
