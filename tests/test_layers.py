"""The architecture as a test: every module has a layer, and imports point down.

A module's layer is that of the longest prefix in the table.  Imports inside
functions and under TYPE_CHECKING count like any other.
"""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SRC = Path(__file__).parents[1] / "src"

LAYERS = {
    # 0 ground
    "readroom.model": 0,
    "readroom.errors": 0,
    "readroom.limits": 0,
    "readroom.limits_outline": 0,
    "readroom.limits_everruns": 0,
    "readroom.limits_giant": 0,
    "readroom.limits_inspect": 0,
    "readroom.limits_keeping": 0,
    "readroom.limits_names": 0,
    "readroom.limits_rnd": 0,
    "readroom.limits_documents": 0,
    "readroom.limits_kilo": 0,
    "readroom.limits_coder": 0,
    "readroom.manner": 0,
    "readroom.raw": 0,
    "readroom.batch": 0,
    "readroom.entries": 0,
    "readroom.notes": 0,
    "readroom.outlines": 0,
    "readroom.shown": 0,
    "readroom.changes": 0,
    "readroom.moves": 0,
    "readroom.caller": 0,
    "readroom.commands": 0,
    "readroom.deadline": 0,
    "readroom.quoting": 0,
    "readroom.release": 0,
    "readroom.protocol": 0,
    # 1 pure
    "readroom.paths": 1,
    "readroom.text": 1,
    "readroom.formats": 1,
    "readroom.outline": 1,
    "readroom.search": 1,
    "readroom.contracts": 1,
    "readroom.policy.wildmatch": 1,
    "readroom.policy.patterns": 1,
    "readroom.policy.near": 1,
    "readroom.policy.rules": 1,
    "readroom.policy.defaults": 1,
    "readroom.policy.fnmatches": 1,
    # 2 stores
    "readroom.stores": 2,
    # 3 guard and session
    "readroom.policy": 3,
    "readroom.session": 3,
    "readroom.ledger": 3,
    # 4 engine
    "readroom.engine": 4,
    # 5 toolbox
    "readroom.config": 5,
    "readroom.config_commands": 5,
    "readroom.config_contracts": 5,
    "readroom.config_file": 5,
    "readroom.config_keeping": 5,
    "readroom.config_rnd": 5,
    "readroom.config_serve": 5,
    "readroom.config_index": 5,
    "readroom.config_kilo": 5,
    "readroom.instances": 5,
    "readroom.offers": 5,
    "readroom.toolbox": 5,
    # 6 faces, and the client of one: it knows what goes over the wire, and nothing of what is behind it
    "readroom.client": 6,
    "readroom.client_wire": 6,
    "readroom.faces": 6,
    "readroom.adapters": 6,
    # above all: names for users, and `python -m readroom`
    "readroom": 7,
}
"""Packages themselves hold nothing but a docstring; `readroom.policy` has members in two layers."""

PACKAGES_IN_SEVERAL_LAYERS = {"readroom.policy"}


def _modules() -> dict[str, Path]:
    found = {}
    for path in sorted((SRC / "readroom").rglob("*.py")):
        parts = path.relative_to(SRC).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = _modules()


def _imports(name: str) -> set[str]:
    """Modules of this project that `name` imports, wherever in its text."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: relative import in line {node.lineno}"
            found |= {_target(node.module or "", alias.name) for alias in node.names}
    return {target for target in found if target == "readroom" or target.startswith("readroom.")}


def _target(module: str, name: str) -> str:
    return f"{module}.{name}" if f"{module}.{name}" in MODULES else module


IMPORTS = {name: _imports(name) for name in MODULES}


def _layer(name: str) -> int:
    fits = [prefix for prefix in LAYERS if name == prefix or name.startswith(prefix + ".")]
    return LAYERS[max(fits, key=len)]


def _is_listed(name: str) -> bool:
    """Whether a prefix below the top package covers it: the top package alone would cover everything."""
    return name in LAYERS or any(name.startswith(p + ".") for p in LAYERS if p != "readroom")


def test_every_module_has_a_layer() -> None:
    allowed = {"readroom.__main__", *PACKAGES_IN_SEVERAL_LAYERS}
    assert [name for name in MODULES if not _is_listed(name) and name not in allowed] == []


def test_every_layer_entry_names_a_module() -> None:
    assert [prefix for prefix in LAYERS if prefix not in MODULES] == []


def _pairs() -> list[tuple[str, str]]:
    return [(name, target) for name, targets in IMPORTS.items() for target in sorted(targets)]


def test_imports_point_down() -> None:
    assert [pair for pair in _pairs() if _layer(pair[1]) > _layer(pair[0])] == []


def test_imported_modules_exist() -> None:
    assert [pair for pair in _pairs() if pair[1] not in MODULES] == []


def test_no_import_cycles() -> None:
    try:
        tuple(TopologicalSorter(IMPORTS).static_order())
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None


def test_faces_never_import_each_other() -> None:
    faces = [(pair, _face(pair[0]), _face(pair[1])) for pair in _pairs()]
    crossing = [pair for pair, own, other in faces if own and other and own != other]
    assert [pair for pair in crossing if pair not in STARTERS] == []


STARTERS: set[tuple[str, str]] = {
    ("readroom.faces.cli.servers", "readroom.faces.mcp.stdio"),
    ("readroom.faces.cli.early", "readroom.faces.mcp.begun"),
    ("readroom.faces.cli.early", "readroom.faces.mcp.listing"),
    ("readroom.faces.cli.early", "readroom.faces.mcp.stdio"),
    ("readroom.faces.cli.early", "readroom.faces.mcp.streams"),
    ("readroom.faces.cli.servers", "readroom.faces.http.serve"),
    ("readroom.faces.http.app", "readroom.faces.mcp.server"),
    ("readroom.faces.http.streamable", "readroom.faces.mcp.server"),
    ("readroom.faces.http.serve", "readroom.faces.mcp.logs"),
    ("readroom.faces.cli.servers", "readroom.faces.mcp.hello"),
}
"""Where one face starts another as a program would, and where HTTP carries MCP; nothing else may cross."""


def _face(name: str) -> str | None:
    parts = name.split(".")
    return parts[2] if len(parts) > 3 and parts[1] == "faces" else None


def test_packages_hold_nothing_but_a_docstring() -> None:
    """A name has one place; the top package re-exports for users, that of errors is one tree."""
    for name, path in MODULES.items():
        if path.name == "__init__.py" and name not in ("readroom", "readroom.errors"):
            body = ast.parse(path.read_text(encoding="utf-8")).body
            assert [type(node) for node in body] == [ast.Expr], name
