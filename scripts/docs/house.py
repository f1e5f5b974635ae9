"""Blocks of the documentation that are made of the house itself: its rooms, and the roads of calls."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from scripts.measures import HOUSE, roads

_GROUND = "the package itself"


def first_line(path: Path) -> str:
    """What a module says of itself, in one line."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.split("\n", maxsplit=1)[0]


def rooms() -> str:
    """One section for each room at the top: what its package says, and its files."""
    return "\n\n".join([_ground(), *(_room(path) for path in sorted(HOUSE.iterdir()) if _is_package(path))])


def _is_package(path: Path) -> bool:
    return path.is_dir() and (path / "__init__.py").exists()


def _ground() -> str:
    files = [path for path in sorted(HOUSE.glob("*.py")) if path.name != "__init__.py"]
    return "\n".join([f"### {_GROUND}", "", *(f"- `{path.name}`: {first_line(path)}" for path in files)])


def _room(folder: Path) -> str:
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    lead, _, rest = docstring.partition("\n")
    lines = [f"### {folder.name}/", "", lead, *_bounds(rest)]
    return "\n".join([*lines, "", *_files(folder, folder)])


def _bounds(text: str) -> Iterator[str]:
    """The paragraph that says what a room knows, as one line for each sentence."""
    paragraph = text.rpartition("\n\n")[2]
    for line in paragraph.replace("\n    ", " ").split("\n"):
        head, _, words = line.partition(":")
        if words:
            yield f"*{head}:* {words.strip()}"


def _files(folder: Path, room: Path) -> Iterator[str]:
    for path in sorted(folder.iterdir()):
        if _is_package(path):
            yield f"- `{path.relative_to(room).as_posix()}/`: {first_line(path / '__init__.py')}"
            yield from _files(path, room)
        elif path.suffix == ".py" and path.name != "__init__.py":
            yield f"- `{path.relative_to(room).as_posix()}`: {first_line(path)}"


def road(tool: str) -> str:
    """The files of a warm call, in the order in which it enters them."""
    went = roads()[tool]
    return "\n".join(
        f"{number}. `{file}`: {first_line(HOUSE / file)}" for number, file in enumerate(went.files, 1)
    )


BLOCKS: Mapping[str, Callable[..., str]] = {"rooms": rooms, "road": road}
