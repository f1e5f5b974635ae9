"""A parameter of a test hides no fixture: the choice of the fixture would end, in silence."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def fixtures_of(file: Path) -> Iterator[str]:
    """Names of the fixtures that a file defines, or takes from a conftest."""
    for node in parsed(file).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("conftest"):
            yield from (name.asname or name.name for name in node.names)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for each in node.decorator_list:
                call = each.func if isinstance(each, ast.Call) else each
                if isinstance(call, ast.Attribute) and call.attr == "fixture":
                    given = each.keywords if isinstance(each, ast.Call) else []
                    names = [one.value for one in given if one.arg == "name"]
                    yield str(names[0].value) if names and isinstance(names[0], ast.Constant) else node.name


def parameters_of(file: Path) -> Iterator[tuple[int, str]]:
    """The lines and names of direct parameters."""
    for node in ast.walk(parsed(file)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node.func.attr != "parametrize" or any(one.arg == "indirect" for one in node.keywords):
            continue
        for word in ast.walk(node.args[0]):
            if isinstance(word, ast.Constant) and isinstance(word.value, str):
                yield from ((node.lineno, name.strip()) for name in word.value.split(","))


def hidden_in(file: Path) -> Iterator[str]:
    above = [folder / "conftest.py" for folder in file.parents if folder.is_relative_to(TESTS)]
    seen = {name for place in (file, *filter(Path.exists, above)) for name in fixtures_of(place)}
    for line, name in parameters_of(file):
        if name in seen:
            yield f"{file.relative_to(TESTS)}:{line}: {name}"


def test_no_parameter_hides_a_fixture() -> None:
    assert [place for file in sorted(TESTS.rglob("test_*.py")) for place in hidden_in(file)] == []


def test_a_hidden_fixture_is_found(tmp_path: Path) -> None:
    file = tmp_path / "test_some.py"
    file.write_text(
        "from a.conftest import world as world\n@pytest.fixture\ndef kind(): ...\n@pytest.fixture(name='b')\n"
        "def c(): ...\n@pytest.mark.parametrize(('x', 'kind'), [])\ndef test_a(): ...\n"
        "@pytest.mark.parametrize('kind', [], indirect=True)\ndef test_b(): ...\n"
    )
    assert list(fixtures_of(file)) == ["world", "kind", "b"]
    assert list(parameters_of(file)) == [(6, "x"), (6, "kind")]
