"""Listings of the code itself, which the site has and the repository has not: modules, and limits."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from scripts.docs.tables import table
from scripts.measures import HOUSE


def first_line(path: Path) -> str:
    """What a module says of itself, in one line."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.split("\n", maxsplit=1)[0]


def rooms() -> str:
    """A section for each wing and each of its rooms: what its package says, and its modules."""
    wings = (path for path in sorted(HOUSE.iterdir()) if _is_package(path))
    return "\n\n".join(["\n".join(_files(HOUSE)), *(part for wing in wings for part in _wing(wing))])


def _is_package(path: Path) -> bool:
    return path.is_dir() and (path / "__init__.py").exists()


def _wing(wing: Path) -> Iterator[str]:
    yield "\n".join([*_lead(wing, "##"), "", *_files(wing)])
    for room in sorted(wing.iterdir()):
        if _is_package(room):
            yield "\n".join([*_lead(room, "###"), "", *_files(room, deep=True)])


def _lead(folder: Path, mark: str) -> Iterator[str]:
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    lead, _, rest = docstring.partition("\n")
    yield from (f"{mark} {folder.relative_to(HOUSE).as_posix()}/", "", lead)
    paragraph = rest.rpartition("\n\n")[2]
    for line in paragraph.replace("\n    ", " ").split("\n"):
        head, _, words = line.partition(":")
        if words:
            yield f"*{head}:* {words.strip()}"


def _files(folder: Path, *, deep: bool = False) -> Iterator[str]:
    found = folder.rglob("*.py") if deep else folder.glob("*.py")
    for path in sorted(found):
        if path.parent / "__init__.py" != path or path.parent != folder:
            yield f"- `{path.relative_to(folder).as_posix()}`: {first_line(path)}"


def limits() -> Iterator[tuple[str, str, str, str]]:
    """Name, value, reason and module of every documented number of the code."""
    for path in sorted(HOUSE.rglob("*.py")):
        for statement, following in pairwise(ast.parse(path.read_text(encoding="utf-8")).body):
            if not isinstance(statement, ast.Assign) or not isinstance(following, ast.Expr):
                continue
            name, value, reason = ast.unparse(statement.targets[0]), _number(statement.value), following.value
            if value is not None and name.isupper() and isinstance(reason, ast.Constant):
                yield name, value, str(reason.value), path.relative_to(HOUSE).as_posix()


def _number(value: ast.expr) -> str | None:
    """A number, or how it is made of others; None for anything else."""
    if any(not isinstance(node, _ARITHMETIC) for node in ast.walk(value)):
        return None
    if any(isinstance(node, ast.Name) for node in ast.walk(value)):
        return ast.unparse(value) if isinstance(value, ast.BinOp) else None
    number = eval(compile(ast.Expression(value), "limit", "eval"), {})
    return f"{number:,}" if isinstance(number, int | float) and not isinstance(number, bool) else None


_ARITHMETIC = (ast.BinOp, ast.UnaryOp, ast.Constant, ast.Name, ast.operator, ast.unaryop, ast.expr_context)


def limits_table() -> str:
    """Every documented number: what it is, why, and where."""
    rows = [[f"`{name}`", value, reason, f"`{module}`"] for name, value, reason, module in limits()]
    return table(["limit", "value", "reason", "module"], rows)


SITE: Mapping[str, Callable[[], str]] = {"rooms": rooms, "limits": limits_table}
"""What `<!-- site: NAME -->` on a page becomes in the site."""
