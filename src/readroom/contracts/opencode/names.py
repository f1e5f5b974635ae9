"""Paths as opencode spells them: absolute, below the real path of the root."""

from __future__ import annotations

import posixpath

from msgspec import Struct

from readroom.core.contracts.absolute import absolute
from readroom.core.paths import OUTPUTS
from readroom.core.quoting import as_value, quote, unquoted


class Names(Struct, frozen=True):
    """The names of files in a workspace with that root."""

    root: str

    def shown(self, path: str) -> str:
        """A path of the workspace in lines and sentences."""
        return quote(self._absolute(path))

    def value(self, path: str) -> str:
        """The same as an argument."""
        return as_value(self._absolute(path))

    def below(self, folder: str, name: str) -> str:
        """The same of something below a folder, in a line."""
        return self.shown(name if folder == "." else f"{folder}/{name}")

    def meant(self, text: str) -> str:
        """The path of a request for a path as a caller writes it: relative, if it begins with the root."""
        name = unquoted(text)
        inner, top = text if name is None else name, self.root.rstrip("/")
        if inner == self.root:
            return "."
        if not inner.startswith(f"{top}/"):
            return text
        rest = inner[len(top) :].lstrip("/") or "."
        # A leading quote marks a quoted name; this one is part of the name.
        return quote(rest) if name is not None else f"./{rest}" if rest.startswith('"') else rest

    def given(self, text: str) -> str:
        """A path as its caller wrote it, made absolute, in sentences."""
        name = unquoted(text)
        name = text if name is None else name
        if not name.startswith("/"):
            name = posixpath.normpath(absolute(name, self.root))
        return quote(name)

    def _absolute(self, path: str) -> str:
        if path == OUTPUTS or path.startswith(f"{OUTPUTS}/"):
            return path
        return absolute(path, self.root)
