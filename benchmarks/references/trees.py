"""The syntax of places, by parsers that are not ours: what is called, imported and defined in each file.

A server says which places are of one symbol.  Its hierarchy of calls is no truth about each place: tsserver
leaves out calls inside of functions without a name, pyright decorators, gopls calls through an interface, and
it names ranges that cover the arguments.  So each place is judged by the parser of its own language: Python's
`ast`, TypeScript's and Go's.  C has none beside clangd: there calls are those of clangd, which has them by
place, and imports are told by how lines begin.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

Place: TypeAlias = "tuple[int, int]"
"""A line and a column, both from 1."""

_HERE = Path(__file__).parent
_INCLUDE = re.compile(r"^[ \t]*(?:#[ \t]*include\b[^\n]*|using\s+(?!namespace\b)[\w:]+\s*;)", re.MULTILINE)


class Syntax(NamedTuple):
    """Names in one file: those that are called, imported and defined; imports may be told by lines alone."""

    calls: frozenset[Place] = frozenset()
    imports: frozenset[Place] = frozenset()
    definitions: frozenset[Place] = frozenset()
    import_lines: frozenset[int] = frozenset()

    def is_import(self, line: int, column: int) -> bool:
        """Whether a name is imported there."""
        return (line, column) in self.imports or (line in self.import_lines and not self.imports)


Trees: TypeAlias = "Mapping[Path, Syntax]"


def of_python(paths: Sequence[Path]) -> Trees:
    """By Python's own parser."""
    return {path: _python(path.read_text(encoding="utf-8", errors="replace")) for path in paths}


def _python(text: str) -> Syntax:
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return Syntax()
    lines = text.split("\n")
    calls, imported = set[Place](), set[int]()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=called):
                calls.add(_last_name(called, lines))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                calls.update(_last_name(called, lines) for called in node.decorator_list)
            case ast.Import() | ast.ImportFrom():
                imported.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return Syntax(frozenset(calls), import_lines=frozenset(imported))


def _last_name(node: ast.expr, lines: Sequence[str]) -> Place:
    """Where the last name of `a.b.c` begins; for anything else a place that no name has."""
    if not isinstance(node, ast.Name | ast.Attribute) or node.end_lineno is None:
        return 0, 0
    end = len(lines[node.end_lineno - 1].encode()[: node.end_col_offset].decode())
    last = node.id if isinstance(node, ast.Name) else node.attr
    return node.end_lineno, end - len(last) + 1


def of_typescript(paths: Sequence[Path]) -> Trees:
    """By TypeScript's own parser, which NODE_PATH has to lead to; for JavaScript too."""
    return _asked(["node", str(_HERE / "syntax.cjs")], paths)


def of_go(paths: Sequence[Path]) -> Trees:
    """By Go's own parser."""
    return _asked(["go", "run", str(_HERE / "syntax.go")], paths)


def _asked(command: Sequence[str], paths: Sequence[Path]) -> Trees:
    """Ask a program that reads names of files, and says in a line of JSON what each has."""
    environment = {**os.environ, "GO111MODULE": "off"}
    names = "\n".join(map(str, paths)).encode()
    done = subprocess.run(command, input=names, stdout=subprocess.PIPE, check=True, env=environment)
    found = {}
    for path, line in zip(paths, done.stdout.splitlines(), strict=True):
        said = json.loads(line)
        calls, imports, definitions = (_places(said[kind]) for kind in ("calls", "imports", "definitions"))
        spans = (range(first, last + 1) for first, last in said["lines"] or ())
        found[path] = Syntax(calls, imports, definitions, frozenset(line for span in spans for line in span))
    return found


def _places(said: Iterable[tuple[int, int]] | None) -> frozenset[Place]:
    return frozenset((line, column) for line, column in said or ())


def of_c(paths: Sequence[Path]) -> Trees:
    """Imports alone, by how lines begin."""
    found = {}
    for path in paths:
        text = path.read_text(encoding="utf-8", errors="replace")
        lines: set[int] = set()
        for match in _INCLUDE.finditer(text):
            first = text.count("\n", 0, match.start()) + 1
            lines.update(range(first, first + match[0].count("\n") + 1))
        found[path] = Syntax(import_lines=frozenset(lines))
    return found


Parser: TypeAlias = "Callable[[Sequence[Path]], Trees]"
