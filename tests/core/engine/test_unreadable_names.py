"""What cannot be read is called by its name, whatever rg or the command line say about it."""

from __future__ import annotations

import os

import click
import pytest

from readroom.cli.explain import explain
from readroom.cli.options import parameters
from readroom.core.contracts.native import READ_FILE
from readroom.core.search.ripgrep import unreadable


@pytest.mark.parametrize("name", ["./none", "./a: b", "./a: IO error for operation on x"])
def test_rg_names_a_folder_twice_and_a_file_once(name: str) -> None:
    folder = f"rg: {name}: IO error for operation on {name}: Permission denied (os error 13)\n"
    file = f"rg: {name}: Permission denied (os error 13)\n"
    assert unreadable(os.fsencode(folder + file)) == [name, name]


def test_the_command_line_leaves_permissions_to_the_store() -> None:
    """It looks from the current folder, not from the root, and would call it a wrong usage."""
    every = [*explain.params, *parameters(READ_FILE.arguments, ("path",))]
    paths = [one.type for one in every if isinstance(one.type, click.Path)]
    assert len(paths) >= 2
    assert not any(path.readable for path in paths)
