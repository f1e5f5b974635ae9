"""The architecture as tests: wings that know each other in one direction, and floors inside each of them.

Imports inside functions and under TYPE_CHECKING count like any other.  A wing reaches one that it may
not know through tables of names alone, and each place that has such a table is listed here.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SRC = Path(__file__).parents[1] / "src"

WINGS: Mapping[str, frozenset[str]] = {
    "core": frozenset(),
    "documents": frozenset({"core"}),
    "contracts": frozenset({"core"}),
    "mcp": frozenset({"core"}),
    "cli": frozenset({"core", "mcp"}),
    "server": frozenset({"core", "contracts", "cli", "mcp"}),
    "lens": frozenset({"core", "documents", "cli"}),
}
"""Every wing, and the wings that it may know."""

PUBLIC: Mapping[str, str] = {"adapters": "contracts", "client": "contracts"}
"""Folders at a public address, and the wing whose rules they keep; of other wings they know public names."""

FLOORS: Mapping[str, int] = {
    # ground
    "core.values": 0,
    "core.errors": 0,
    "core.limits": 0,
    "core.log": 0,
    "core.lru": 0,
    "core.caller": 0,
    "core.closeable": 0,
    "core.context": 0,
    "core.deadline": 0,
    "core.extras": 0,
    "core.kernel": 0,
    "core.quoting": 0,
    "core.parquet": 0,
    "core.release": 0,
    "core.short_ids": 0,
    "core.tool_kinds": 0,
    "core.tasks": 0,
    # pure
    "core.moments": 1,
    "core.paths": 1,
    "core.git": 1,
    "core.repository": 1,
    "core.text": 1,
    "core.formats": 1,
    "core.outline": 1,
    "core.search": 1,
    "core.ranking": 1,
    "core.contracts": 1,
    "core.policy.rules": 1,
    "core.stores": 2,
    "core.secrets": 2,
    "core.policy": 3,
    "core.sandbox": 3,
    "core.session": 3,
    "core.history": 3,
    "core.rows": 4,
    "core.engine": 4,
    "core.review": 4,
    "core.since": 4,
    "core.methods": 5,
    "core.config": 5,
    "core.workspace": 5,
    "core.async_workspace": 5,
}
"""Inside core, by folder; only the rules of the policy lie lower than what asks them."""


TABLES: Mapping[str, frozenset[str]] = {
    "core.config.file": frozenset({"server"}),
    "core.contracts": frozenset({"contracts"}),
    "core.formats.registry": frozenset({"documents"}),
    "core.rows": frozenset({"lens"}),
    "cli.commands": frozenset({"server", "lens"}),
}
"""Modules that name modules of a wing which they may not know, to be imported when they are used."""


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


def _pairs() -> list[tuple[str, str]]:
    return [(name, target) for name, targets in imports().items() for target in sorted(targets)]


def wing(name: str) -> str:
    """The wing of a module; empty for the two modules at the top."""
    folder = name.split(".")[1] if "." in name else ""
    return "" if folder == "__main__" else PUBLIC.get(folder, folder)


def test_every_module_is_in_a_wing() -> None:
    assert {wing(name) for name in MODULES} == {"", *WINGS}


def test_wings_know_each_other_in_one_direction() -> None:
    crossing = [(name, target) for name, target in _pairs() if wing(name) and wing(target)]
    crossing = [pair for pair in crossing if wing(pair[0]) != wing(pair[1])]
    assert [pair for pair in crossing if wing(pair[1]) not in WINGS[wing(pair[0])]] == []


def _named(name: str) -> set[str]:
    """Wings whose modules a text of the module names."""
    nodes = ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8")))
    texts = (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return {wing(module) for text in texts if (module := text.partition(":")[0]) in MODULES}


def test_only_tables_name_what_their_wing_may_not_know() -> None:
    found = {
        name.removeprefix("readroom."): frozenset(_named(name) - WINGS[wing(name)] - {wing(name), ""})
        for name in MODULES
        if wing(name)
    }
    assert {name: others for name, others in found.items() if others} == TABLES


def test_only_public_names_are_found_at_the_top() -> None:
    """The package names what users import, and `python -m readroom` starts the command line."""
    assert {wing(target) for target in imports()["readroom"]} <= {"", "core"}
    assert {wing(target) for target in imports()["readroom.__main__"]} == {"cli"}


def floor(name: str) -> int:
    """The floor of a module of core: that of the longest prefix in the table."""
    inside = name.removeprefix("readroom.")
    return FLOORS[max((p for p in FLOORS if f"{inside}.".startswith(f"{p}.")), key=len)]


def test_every_module_of_core_has_a_floor() -> None:
    inside = [name.removeprefix("readroom.") for name in MODULES if wing(name) == "core"]
    assert [n for n in inside if n != "core" and not any(f"{n}.".startswith(f"{p}.") for p in FLOORS)] == []
    assert [prefix for prefix in FLOORS if f"readroom.{prefix}" not in MODULES] == []


def test_imports_inside_core_point_down() -> None:
    own = [pair for pair in _pairs() if wing(pair[0]) == wing(pair[1]) == "core"]
    own = [pair for pair in own if "readroom.core" not in pair]
    assert [pair for pair in own if floor(pair[1]) > floor(pair[0])] == []


def test_imported_modules_exist() -> None:
    assert [pair for pair in _pairs() if pair[1] not in MODULES] == []


def test_no_import_cycles() -> None:
    try:
        tuple(TopologicalSorter(imports()).static_order())
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None


def storey(name: str) -> str:
    """Where a module is: in core its floor, elsewhere its folder."""
    inside = name.split(".")[1:3]
    return f"core, floor {floor(name)}" if inside[:1] == ["core"] and inside[1:] else ".".join(inside)


ABSENT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.startswith(tuple(sys.argv[2].split())):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
from readroom import Workspace
with Workspace(sys.argv[1]) as workspace:
    known = workspace.write("a.txt", "one\\n", "absent").facts["content_hash"]
    workspace.edit("a.txt", known, [{"old_text": "one", "new_text": "two"}])
    for reply in (workspace.read("a.txt"), workspace.grep("two"), workspace.find("two"), workspace.list()):
        print(reply.text)
"""


def test_a_workspace_works_where_there_is_only_core(tmp_path: Path) -> None:
    others = " ".join(f"readroom.{name}" for name in (*WINGS, *PUBLIC) if name != "core")
    line = [sys.executable, "-c", ABSENT, str(tmp_path), others]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("two") >= 3
