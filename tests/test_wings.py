"""The wings of the house as a test: what each may not know, not even inside a function or by name.

A module's wing is that of the longest prefix in the table.  `tests/test_layers.py` has their order.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_layers import MODULES, imports

WINGS = {
    "readroom": "core",
    # ways in without a server
    "readroom.__main__": "cli",
    "readroom.faces": "cli",
    "readroom.protocol": "cli",
    # contracts of others, and what puts them into other programs
    "readroom.adapters": "contracts",
    "readroom.client": "contracts",
    "readroom.contracts.coder": "contracts",
    "readroom.contracts.everruns": "contracts",
    "readroom.contracts.inspect_agents": "contracts",
    "readroom.contracts.kilo": "contracts",
    "readroom.contracts.rnd": "contracts",
    # documents, data and archives
    "readroom.engine.archives": "documents",
    "readroom.engine.documents": "documents",
    "readroom.engine.find.documents": "documents",
    "readroom.engine.grep.inside": "documents",
    "readroom.formats.containers": "documents",
    "readroom.formats.data": "documents",
    "readroom.formats.documents": "documents",
    # HTTP, tokens, budgets, the ledger, the dashboard
    "readroom.config.serve": "server",
    "readroom.database": "server",
    "readroom.faces.cli.budget": "server",
    "readroom.faces.cli.ledger": "server",
    "readroom.faces.cli.servers": "server",
    "readroom.faces.cli.service": "server",
    "readroom.faces.cli.token": "server",
    "readroom.faces.cli.ui": "server",
    "readroom.faces.http": "server",
    "readroom.ledger": "server",
    "readroom.session.admission": "server",
    "readroom.session.budgets": "server",
    "readroom.session.shared": "server",
    "readroom.session.tokens": "server",
    # what agents have read, judged afterwards
    "readroom.faces.cli.audit": "lens",
    "readroom.lens": "lens",
}
"""By prefix; everything else is core."""

APART = [("core", "contracts"), ("core", "server")]
"""The first knows nothing of the second."""

TABLES: dict[str, set[str]] = {
    "readroom.contracts": {
        "readroom.adapters.deepagents",
        "readroom.contracts.coder",
        "readroom.contracts.everruns",
        "readroom.contracts.inspect_agents",
        "readroom.contracts.kilo",
        "readroom.contracts.kilo.settings",
        "readroom.contracts.rnd",
        "readroom.contracts.rnd.settings",
    },
    "readroom.config.file": {"readroom.ledger.settings", "readroom.session.budgets"},
}
"""Modules that name modules of another wing as `module:name`, to be imported when they are needed."""


def wing(name: str) -> str:
    """The wing of a module."""
    fits = [prefix for prefix in WINGS if name == prefix or name.startswith(prefix + ".")]
    return WINGS[max(fits, key=len)]


def named(name: str) -> set[str]:
    """Modules of this project that the text of a module names."""
    nodes = ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8")))
    texts = (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return {module for text in texts if (module := text.partition(":")[0]) in MODULES}


def test_every_prefix_names_a_module() -> None:
    assert [prefix for prefix in WINGS if prefix not in MODULES] == []


@pytest.mark.parametrize(("one", "other"), APART)
def test_a_wing_imports_none_that_it_may_not_know(one: str, other: str) -> None:
    mine = [name for name in MODULES if wing(name) == one]
    assert [(name, to) for name in mine for to in sorted(imports()[name]) if wing(to) == other] == []


@pytest.mark.parametrize(("one", "other"), APART)
def test_only_tables_name_modules_of_a_wing_that_may_not_be_known(one: str, other: str) -> None:
    mine = [name for name in MODULES if wing(name) == one]
    found = {name: {to for to in named(name) if wing(to) == other} for name in mine}
    allowed = {name: {to for to in others if wing(to) == other} for name, others in TABLES.items()}
    assert {name: others for name, others in found.items() if others} == {
        name: others for name, others in allowed.items() if others
    }


WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in sys.argv[2:]:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
from readroom import Workspace
with Workspace(sys.argv[1]) as workspace:
    known = workspace.write("a.txt", "one\\n", "absent").facts["content_hash"]
    workspace.edit("a.txt", known, [{"old_text": "one", "new_text": "two"}])
    for reply in (workspace.read("a.txt"), workspace.grep("two"), workspace.find("two"), workspace.list()):
        print(reply.text)
"""


def test_a_workspace_of_the_library_works_without_a_server(tmp_path: Path) -> None:
    absent = [name for name in MODULES if wing(name) == "server"]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, tmp_path, *absent], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("two") >= 3
