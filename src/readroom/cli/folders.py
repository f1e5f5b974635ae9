"""The folders that a command line names: with the expansions of a shell, from where readroom was started.

Clients run no shell on their settings: a value arrives unchanged, with `~` and variables in it.
"""

from __future__ import annotations

import os
import re
from typing import Any

import click

from readroom.cli.roots import Roots

_HOMES = ("~", "$HOME", "${HOME}", "${env:HOME}", "${userHome}", "%USERPROFILE%", "${env:USERPROFILE}")
"""Spellings of a person's own folder in shells and editors."""

_VARIABLE = re.compile(
    r"\$\{[^{}]*\}|\$[A-Za-z_]\w*|%[A-Za-z_]\w*%|\{\{?[A-Za-z_][\w.]*\}?\}|<[A-Za-z][\w ./-]*>"
)
"""Variables and placeholders, also of templates and documentation."""

_URL = "file://"


def expanded(path: str) -> str:
    """The named folder; an existing path is used as it is. Raises ValueError."""
    if not path.strip():
        raise ValueError("it is empty, perhaps because a variable is not set. Name a folder; . is this one.")
    if os.path.lexists(path):
        return path
    if path.startswith(_URL):
        from urllib.parse import unquote, urlsplit  # takes long, and is seldom needed

        return unquote(urlsplit(path).path)
    for home in _HOMES:
        if path == home or path.startswith((f"{home}/", f"{home}\\")):
            return os.path.expanduser("~") + path[len(home) :].replace("\\", "/")
    if path.startswith("~"):
        return os.path.expanduser(path)
    variable = _VARIABLE.search(path)
    if variable is not None:
        problem = f"the program that started readroom did not replace {variable[0]} in {path!r}"
        raise ValueError(f"{problem}. Write the path itself.")
    return path


class Folder(click.Path):
    """A folder that is named on the command line."""

    def __init__(self) -> None:
        """Whether it can be read is seen where it is used."""
        super().__init__(readable=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The named folder. Raises a usage error if `expanded` fails."""
        try:
            folder = expanded(os.fspath(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return super().convert(folder, param, ctx)


class RootType(click.ParamType[str]):
    """A root: a folder, an address of another machine, or NAME=PATH, either with `:ro` at its end."""

    name = "root"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The root with its path expanded. Raises a usage error if `expanded` fails."""
        from readroom.cli.remote.address import is_address

        text: str = os.fspath(value)
        if is_address(text):
            return text
        before, equals, path = text.partition("=")
        if not equals or "/" in before or os.path.lexists(text):
            before, path = "", text
        ending = ":ro" if path.endswith(":ro") and path != ":ro" else ""
        try:
            path = expanded(path.removesuffix(ending))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return f"{before}={path}{ending}" if before else f"{path}{ending}"


def joined_roots(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> str | None:
    """The roots of an option or argument that may be repeated, as one value; None for none."""
    return Roots.of(value) if len(value) > 1 else value[0] if value else None
