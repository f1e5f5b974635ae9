"""The command line explains no error of a store by its own permissions."""

from __future__ import annotations

import click

from readroom.cli.explain import explain
from readroom.cli.options import parameters
from readroom.core.contracts.native import READ_FILE


def test_the_command_line_leaves_permissions_to_the_store() -> None:
    """It looks from the current folder, not from the root, and would call it a wrong usage."""
    every = [*explain.params, *parameters(READ_FILE.arguments, ("path",))]
    paths = [one.type for one in every if isinstance(one.type, click.Path)]
    assert len(paths) >= 2
    assert not any(path.readable for path in paths)
