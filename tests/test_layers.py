"""The architecture as a test: every module has a layer, and imports point down.

A module's layer is that of the longest prefix in the table.  Imports inside
functions and under TYPE_CHECKING count like any other.
"""

from __future__ import annotations

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SRC = Path(__file__).parents[1] / "src"

LAYERS = {
    # 0 ground
    "readroom.values": 0,
    "readroom.errors": 0,
    "readroom.limits": 0,
    "readroom.log": 0,
    "readroom.lru": 0,
    "readroom.caller": 0,
    "readroom.closeable": 0,
    "readroom.deadline": 0,
    "readroom.extras": 0,
    "readroom.kernel": 0,
    "readroom.quoting": 0,
    "readroom.release": 0,
    "readroom.protocol": 0,
    # 1 pure
    "readroom.paths": 1,
    "readroom.git": 1,
    "readroom.parquet": 1,
    "readroom.text": 1,
    "readroom.formats": 1,
    "readroom.outline": 1,
    "readroom.search": 1,
    "readroom.ranking": 1,
    "readroom.contracts": 1,
    "readroom.policy.rules": 1,
    # 2 stores, databases
    "readroom.stores": 2,
    "readroom.database": 2,
    # 3 guard, confinement, session
    "readroom.policy": 3,
    "readroom.sandbox": 3,
    "readroom.session": 3,
    "readroom.ledger": 3,
    "readroom.rows": 3,
    # 4 engine
    "readroom.engine": 4,
    # 5 workspace, and what a server adds to it
    "readroom.async_workspace": 5,
    "readroom.config": 5,
    "readroom.ledger.settings": 5,
    "readroom.session.budgets": 5,
    "readroom.workspace": 5,
    "readroom.lens": 5,
    "readroom.ledger.replay": 5,
    # 6 contracts of others; faces, and the client of one: it knows what goes over the wire
    "readroom.client": 6,
    "readroom.contracts.coder": 6,
    "readroom.contracts.everruns": 6,
    "readroom.contracts.inspect_agents": 6,
    "readroom.contracts.kilo": 6,
    "readroom.contracts.rnd": 6,
    "readroom.faces": 6,
    "readroom.adapters": 6,
    # above all: names for users, and `python -m readroom`
    "readroom": 7,
}
"""By folder; only the rules of the policy lie lower than what asks them."""


def module_name(path: Path) -> str:
    """The name by which a file below `src` is imported."""
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted((SRC / "readroom").rglob("*.py"))}


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


@cache
def imports() -> dict[str, set[str]]:
    """What each module imports."""
    return {name: _imports(name) for name in MODULES}


def layer(name: str) -> int:
    """The layer of a module."""
    fits = [prefix for prefix in LAYERS if name == prefix or name.startswith(prefix + ".")]
    return LAYERS[max(fits, key=len)]


def _is_listed(name: str) -> bool:
    """Whether a prefix below the top package covers it: the top package alone would cover everything."""
    return name in LAYERS or any(name.startswith(p + ".") for p in LAYERS if p != "readroom")


def test_every_module_has_a_layer() -> None:
    assert [name for name in MODULES if not _is_listed(name) and name != "readroom.__main__"] == []


def test_every_layer_entry_names_a_module() -> None:
    assert [prefix for prefix in LAYERS if prefix not in MODULES] == []


def _pairs() -> list[tuple[str, str]]:
    return [(name, target) for name, targets in imports().items() for target in sorted(targets)]


def test_imports_point_down() -> None:
    assert [pair for pair in _pairs() if layer(pair[1]) > layer(pair[0])] == []


def test_imported_modules_exist() -> None:
    assert [pair for pair in _pairs() if pair[1] not in MODULES] == []


def test_no_import_cycles() -> None:
    try:
        tuple(TopologicalSorter(imports()).static_order())
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None


def test_faces_never_import_each_other() -> None:
    faces = [(pair, _face(pair[0]), _face(pair[1])) for pair in _pairs()]
    crossing = [pair for pair, own, other in faces if own and other and own != other]
    crossing = [pair for pair in crossing if (_face(pair[0]), _face(pair[1])) != ("http", "mcp")]
    assert [pair for pair in crossing if pair not in STARTERS] == []


STARTERS: set[tuple[str, str]] = {
    ("readroom.faces.cli.service", "readroom.faces.http.access_log"),
    ("readroom.faces.cli.service", "readroom.faces.http.gate"),
    ("readroom.faces.cli.service", "readroom.faces.http.server"),
    ("readroom.faces.cli.service", "readroom.faces.http.supervisor"),
    ("readroom.faces.cli.service", "readroom.faces.mcp.log_lines"),
    ("readroom.faces.cli.mcp", "readroom.faces.mcp.stdio"),
    ("readroom.faces.cli.connect", "readroom.faces.mcp.client_configs"),
    ("readroom.faces.cli.connect", "readroom.faces.mcp.server"),
    ("readroom.faces.cli.doctor", "readroom.faces.mcp.server"),
    ("readroom.faces.cli.early", "readroom.faces.mcp.listing"),
    ("readroom.faces.cli.early", "readroom.faces.mcp.stdio"),
    ("readroom.faces.cli.servers", "readroom.faces.http.server"),
    ("readroom.faces.cli.ui", "readroom.faces.http.server"),
    ("readroom.faces.cli.servers", "readroom.faces.mcp.client_configs"),
}
"""Where one face starts another as a program would; HTTP, which carries MCP, may know all of it."""


def _face(name: str) -> str | None:
    parts = name.split(".")
    return parts[2] if len(parts) > 3 and parts[1] == "faces" else None
