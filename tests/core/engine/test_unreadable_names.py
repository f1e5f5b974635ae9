"""What cannot be read is called by its name, whatever rg or the command line say about it."""

from __future__ import annotations

import os

import pytest

from readroom.core.search.ripgrep import unreadable


@pytest.mark.parametrize("name", ["./none", "./a: b", "./a: IO error for operation on x"])
def test_rg_names_a_folder_twice_and_a_file_once(name: str) -> None:
    folder = f"rg: {name}: IO error for operation on {name}: Permission denied (os error 13)\n"
    file = f"rg: {name}: Permission denied (os error 13)\n"
    assert unreadable(os.fsencode(folder + file)) == [name, name]
