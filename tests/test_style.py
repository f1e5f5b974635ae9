"""Rules of the style guide that a program can check."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "readroom"
MAX_FUNCTION_LINES = 80
MAX_MODULE_LINES = 400


def _files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def _named(paths: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", paths, ids=lambda path: str(path.relative_to(ROOT)))


every_file = _named(_files("src", "tests", "benchmarks", "scripts", "docs_src", "examples"))
every_module = _named(_files("src"))
every_test = _named(_files("tests"))


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _calls(path: Path) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every call."""
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Call):
            yield node.lineno, ast.unparse(node.func)


@every_file
def test_no_function_is_longer_than_a_screen(path: Path) -> None:
    long = [
        f"{node.name} in line {node.lineno}"
        for node in ast.walk(_tree(path))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and (node.end_lineno or 0) - node.lineno >= MAX_FUNCTION_LINES
    ]
    assert long == []


@every_module
def test_no_module_is_longer_than_a_sitting(path: Path) -> None:
    assert path.read_text(encoding="utf-8").count("\n") <= MAX_MODULE_LINES


@every_module
def test_every_module_says_what_it_knows(path: Path) -> None:
    assert ast.get_docstring(_tree(path))


@every_module
def test_only_the_configuration_reads_the_environment(path: Path) -> None:
    names = {ast.unparse(node) for node in ast.walk(_tree(path)) if isinstance(node, ast.Attribute)}
    used = names & {"os.environ", "os.environb", "os.getenv", "os.getenvb", "os.putenv"}
    assert used == set() or path == SRC / "config.py"


@every_module
def test_no_text_is_split_at_more_than_line_feeds(path: Path) -> None:
    """splitlines() also breaks at form feed, NEL and U+2028, and then every later number is wrong."""
    assert [line for line, name in _calls(path) if name.endswith(".splitlines")] == []


@every_module
def test_only_the_command_line_prints(path: Path) -> None:
    allowed = SRC / "faces" / "cli" in path.parents
    assert allowed or [line for line, name in _calls(path) if name in {"print", "click.echo"}] == []


@every_test
def test_tests_wait_for_nothing_and_pretend_nothing(path: Path) -> None:
    banned = {"time.sleep", "asyncio.sleep", "anyio.sleep", "pytest.skip", "pytest.xfail", "mock.patch"}
    assert [(line, name) for line, name in _calls(path) if name in banned] == []
    imported = {
        name
        for node in ast.walk(_tree(path))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in [getattr(node, "module", None), *(alias.name for alias in node.names)]
    }
    assert imported & {"mock", "unittest.mock", "MagicMock"} == set()
