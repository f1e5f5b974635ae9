"""Rules of the style guide that a program can check. Each failure lists the places."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.test_wings import module_name, storey

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "readroom"
MAX_FUNCTION_LINES = 80
MAX_MODULE_LINES = 500

CORPORA = ROOT / "benchmarks" / "corpora"
"""Made by a script, and nobody's code."""


@cache
def _files(*folders: str) -> tuple[Path, ...]:
    found = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return tuple(sorted(path for path in found if CORPORA not in path.parents))


def _modules() -> tuple[Path, ...]:
    return _files("src")


@cache
def _tree(path: Path) -> ast.Module:
    """Kept to the end, and not looked through for garbage while others are made: most time went there."""
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        gc.freeze()
        gc.enable()


def _place(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def _calls(paths: tuple[Path, ...]) -> Iterator[tuple[Path, int, str]]:
    """File, line and dotted name of every call."""
    for path in paths:
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.Call):
                yield path, node.lineno, ast.unparse(node.func)


def _documented(docstring: str) -> list[str]:
    """The names below `Args:`, which are indented least of what follows it."""
    _, _, section = docstring.partition("\nArgs:\n")
    section = section.partition("\n\n")[0]
    return [
        name.strip("`* ")
        for line in section.splitlines()
        if line.startswith("    ") and not line.startswith("     ")
        for name in line.partition(":")[0].split(",")
    ]


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> set[str]:
    """Of a class those that make an object of it, and its fields."""
    if isinstance(node, ast.ClassDef):
        fields = {
            each.target.id
            for each in node.body
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
        }
        makers = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
        return fields.union(*map(_parameters, makers))
    given = node.args
    every = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
    return {each.arg for each in every if each is not None}


def test_arguments_that_are_documented_are_those_of_the_signature() -> None:
    wrong = [
        f"{_place(path, node.lineno)} {node.name}: {name}"
        for path in _modules()
        for node in ast.walk(_tree(path))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        for name in _documented(ast.get_docstring(node) or "")
        if name not in _parameters(node)
    ]
    assert wrong == []


def test_no_function_is_longer_than_a_screen() -> None:
    long = [
        f"{_place(path, node.lineno)} {node.name}"
        for path in _files("src", "tests", "benchmarks", "scripts", "docs_src", "examples")
        for node in ast.walk(_tree(path))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and (node.end_lineno or 0) - node.lineno >= MAX_FUNCTION_LINES
    ]
    assert long == []


def test_no_module_is_longer_than_a_sitting() -> None:
    sizes = {path: path.read_text(encoding="utf-8").count("\n") for path in _modules()}
    assert [_place(path, size) for path, size in sizes.items() if size > MAX_MODULE_LINES] == []


def test_a_public_method_is_documented_by_itself_or_by_another_class() -> None:
    """What a protocol says of a method is not said again by each of its classes."""
    methods = [
        (path, node, method)
        for path in _modules()
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.ClassDef)
        for method in node.body
        if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)) and not method.name.startswith("_")
    ]
    documented = {method.name for _, _, method in methods if ast.get_docstring(method)}
    assert [
        f"{_place(path, method.lineno)} {node.name}.{method.name}"
        for path, node, method in methods
        if method.name not in documented and not node.name.startswith("_")
    ] == []


def test_no_name_of_a_file_begins_with_that_of_a_sibling() -> None:
    """A prefix that siblings share wants to be a folder."""
    names = {path: path.parent.name if path.name == "__init__.py" else path.stem for path in _modules()}
    homes = {path: path.parent.parent if path.name == "__init__.py" else path.parent for path in names}
    assert [
        f"{homes[path].relative_to(ROOT)}: {name}, {names[other]}"
        for path, name in names.items()
        for other in names
        if homes[other] == homes[path] and names[other].startswith(name + "_")
    ] == []


def test_no_floor_has_two_classes_of_one_name() -> None:
    homes: dict[tuple[str, str], list[str]] = {}
    for path in _modules():
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.ClassDef):
                homes.setdefault((storey(module_name(path)), node.name), []).append(_place(path, node.lineno))
    assert [places for places in homes.values() if len(places) > 1] == []


def test_every_module_says_what_it_knows() -> None:
    assert [str(path) for path in _modules() if not ast.get_docstring(_tree(path))] == []


def test_every_room_says_what_it_knows_and_what_may_be_touched() -> None:
    marks = ("Knows:", "Does not know:", "May be touched:")
    packages = [path for path in _modules() if path.name == "__init__.py"]
    assert [
        f"{path.parent.relative_to(ROOT)}: {mark}"
        for path in packages
        for mark in marks
        if mark not in (ast.get_docstring(_tree(path)) or "")
    ] == []


def test_only_the_configuration_reads_the_environment() -> None:
    environment = {"os.environ", "os.environb", "os.getenv", "os.getenvb", "os.putenv"}
    used = [
        _place(path, node.lineno)
        for path in _modules()
        if path.parent != SRC / "core" / "config"
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Attribute) and ast.unparse(node) in environment
    ]
    assert used == []


def test_no_text_is_split_at_more_than_line_feeds() -> None:
    """splitlines() also breaks at form feed, NEL and U+2028, and then every later number is wrong."""
    splits = [_place(path, line) for path, line, name in _calls(_modules()) if name.endswith(".splitlines")]
    assert splits == []


def test_only_the_command_line_prints() -> None:
    prints = [
        _place(path, line)
        for path, line, name in _calls(_modules())
        if name in {"print", "click.echo"} and SRC / "cli" not in path.parents
    ]
    assert prints == []


FOREIGN = frozenset(("_element", "_exit", "_replace"))
"""Of the standard library and of libraries, whose documentation names them."""


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__") and name not in FOREIGN


def test_tests_reach_into_no_private_names() -> None:
    """They drive from outside; what they cannot see from there wants a public name."""
    reached = [
        f"{_place(path, node.lineno)} {ast.unparse(node)}"
        for path in _files("tests")
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Attribute)
        and _is_private(node.attr)
        and ast.unparse(node.value) not in {"self", "cls"}
    ]
    imported = [
        f"{_place(path, node.lineno)} {name.name}"
        for path in _files("tests")
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.ImportFrom)
        for name in node.names
        if _is_private(name.name)
    ]
    assert reached + imported == []


def test_tests_wait_for_nothing_and_pretend_nothing() -> None:
    banned = {
        "time.sleep",
        "asyncio.sleep",
        "anyio.sleep",
        "pytest.skip",
        "pytest.xfail",
        "mock.patch",
    }
    tests = _files("tests")
    assert [f"{_place(path, line)} {name}" for path, line, name in _calls(tests) if name in banned] == []
    imports = [
        _place(path, node.lineno)
        for path in tests
        for node in ast.walk(_tree(path))
        if isinstance(node, (ast.Import, ast.ImportFrom)) and "mock" in ast.unparse(node).split()
    ]
    assert imports == []
