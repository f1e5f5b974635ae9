"""What `from readroom import ...` offers, and that the import itself does nothing."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import readroom
from readroom.core import errors


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


def test_every_class_of_the_tree_is_public() -> None:
    """Also one of a module that somebody adds."""
    pending, found = [errors.ReadroomError], set()
    for info in pkgutil.iter_modules(errors.__path__):
        importlib.import_module(f"readroom.core.errors.{info.name}")
    while pending:
        kind = pending.pop()
        pending += kind.__subclasses__()
        if kind.__module__.startswith("readroom."):
            found.add(kind.__name__)
    assert set(errors.names()) == found


def test_type_checkers_see_the_same_names() -> None:
    """They read what is written and run nothing: names as themselves, and stars (`tests/typing/api.py`)."""
    tree = ast.parse(Path(readroom.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    lines = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    seen = {alias.asname: line.module for line in lines for alias in line.names if alias.name != "*"}
    assert set(seen) == set(readroom.__all__) - set(errors.names())
    assert [
        name
        for name, module in seen.items()
        if getattr(readroom, str(name)) is not getattr(importlib.import_module(str(module)), str(name))
    ] == []
    assert [line.module for line in lines if line.names[0].name == "*"] == ["readroom.core.errors"]
    tree = ast.parse(Path(errors.__file__).read_text(encoding="utf-8"))
    lines = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    stars = {line.module for line in lines if line.names[0].name == "*"}
    assert stars == {f"readroom.core.errors.{info.name}" for info in pkgutil.iter_modules(errors.__path__)}


def test_a_star_brings_the_public_names() -> None:
    namespace: dict[str, object] = {}
    exec("from readroom import *", namespace)
    assert set(namespace) - {"__builtins__"} == set(readroom.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(readroom, "Wrokspace")


def test_dir_shows_the_public_names() -> None:
    assert set(readroom.__all__) <= set(dir(readroom))


def test_importing_readroom_imports_none_of_its_modules() -> None:
    code = "import sys, readroom; print(*[m for m in sys.modules if m.startswith('readroom')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == ["readroom", "readroom.core", "readroom.core.release"]
    assert done.stderr == ""
