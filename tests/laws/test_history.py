"""No change escapes the history: whatever tool of whatever contract made it, it can be taken back."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.paths import ROOT, join
from readroom.core.stores.base import Store
from readroom.core.values import EntryKind
from readroom.core.values.history import HistoryRequest, UndoRequest
from readroom.core.workspace import Workspace
from tests.contracts import cases
from tests.contracts.cases import SYSTEMS
from tests.test_wings import MODULES

CHANGING = {"put", "make", "remove", "remove_folder", "move", "commit", "enter", "enter_with"}
"""Methods of targets and stores that change something."""


def tree(store: Store) -> Mapping[str, Any]:
    """Every name of a store with what it is, without times."""
    found: dict[str, Any] = {}
    pending = [ROOT]
    while pending:
        at = pending.pop()
        with store.open_folder(at) as folder:
            for entry in folder.entries():
                path, stat = join(at, entry.name), folder.stat(entry.name)
                found[path] = (stat.kind, stat.mode, folder.target(entry.name))
                if stat.kind is EntryKind.FOLDER:
                    pending.append(path)
                elif stat.kind is EntryKind.FILE:
                    with suppress(errors.NoPermission), folder.open(entry.name) as source:
                        found[path] = (stat.mode, source.read_at(0, source.size))
    return found


def take_back(workspace: Workspace) -> None:
    """Take back everything that the history has, the newest first."""
    cap = workspace.cap(workspace.contract("native"))
    result: Any = workspace.engine.perform(HistoryRequest(maximum=200), cap, Deadline())
    for change in result.changes:
        with suppress(errors.NothingToUndo):
            workspace.engine.perform(UndoRequest(change=change.id), cap, Deadline())


@pytest.mark.parametrize("contract", SYSTEMS)
def test_what_any_tool_changed_is_taken_back(contract: str, tmp_path: Path) -> None:
    changed, left = set[str](), []
    for number, (case, store) in enumerate(cases.playable()):
        if case.contract != contract:
            continue
        folder = tmp_path / str(number)
        folder.mkdir()
        with cases.played_in(case, store, folder) as room:
            before = tree(room.store)
            cases.play(room)
            if tree(room.store) == before:
                continue
            changed.add(case.data["op"])
            take_back(room.workspace)
            if tree(room.store) != before:
                left.append((case.id, store))
    assert left == []
    assert changed or contract in ("rnd", "kilo"), "no case changes anything"


def test_only_one_module_changes_files() -> None:
    """Engines and contracts change what targets mean through `WriteTargets`, where it is kept."""
    found = set()
    for name, path in MODULES.items():
        if not name.startswith(("readroom.core.engine", "readroom.contracts", "readroom.core.contracts")):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                receiver = ast.unparse(node.func.value)
                on_target = receiver in ("place", "to", "target", "store") or receiver.endswith(
                    (".place", ".store")
                )
                if on_target and node.func.attr in CHANGING:
                    found.add(f"{name}: {ast.unparse(node.func)}")
    assert found == {"readroom.core.engine.snapshot: store.put"}, "that one fills a copy in memory"
