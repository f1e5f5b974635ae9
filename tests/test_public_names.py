"""What `from readroom import ...` offers, and that the import itself does nothing."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import readroom
from readroom import errors


def test_public_names_are_sorted_and_unique() -> None:
    assert readroom.__all__ == sorted(set(readroom.__all__))


def test_every_public_name_exists() -> None:
    assert all(getattr(readroom, name).__name__ == name for name in readroom.__all__)


def test_every_error_is_public() -> None:
    classes = {
        name
        for name, value in inspect.getmembers(errors, inspect.isclass)
        if issubclass(value, errors.ReadroomError)
    }
    assert classes <= set(readroom.__all__)


def test_type_checkers_see_the_same_names() -> None:
    """The block under TYPE_CHECKING and `__all__` are two lists of one thing."""
    tree = ast.parse(Path(readroom.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == set(readroom.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(readroom, "Wrokspace")


def test_dir_shows_the_public_names() -> None:
    assert set(readroom.__all__) <= set(dir(readroom))


def test_importing_readroom_imports_none_of_its_modules() -> None:
    code = "import sys, readroom; print(*[m for m in sys.modules if m.startswith('readroom')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == ["readroom", "readroom.release"]  # which holds the version
    assert done.stderr == ""
