"""Names are looked at, deleted and moved by requests: no native tool means them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from readroom.core.contracts.native import NATIVE
from readroom.core.deadline import Deadline
from readroom.core.paths import WorkPath, join
from readroom.core.values import Cap, EntryKind
from readroom.core.values.changes import NameRequest, NameResult
from readroom.core.workspace import Workspace
from tests.core.engine.edit.changing import Room

CAP = Cap(NATIVE.reply_bytes, NATIVE.measure)


def perform(room: Room | Workspace, request: NameRequest, deadline: Deadline | None = None) -> NameResult:
    """What a contract would word; every result also has native words and facts."""
    workspace = room.workspace if isinstance(room, Room) else room
    result = workspace.engine.perform(request, CAP, deadline or Deadline())
    assert not isinstance(result, tuple)
    reply = NATIVE.render(result, CAP)
    assert reply.text
    assert reply.facts["path"] is not None
    return result  # type: ignore[return-value]  # a name request gives a name result


def tree(room: Room) -> dict[str, bytes | None]:
    """All files with their bytes, folders and links with None, past all rules."""
    found: dict[str, bytes | None] = {}
    pending = [WorkPath(".")]
    while pending:
        at = pending.pop()
        with room.world.store.open_folder(at) as opened:
            for entry in opened.entries():
                name = join(at, entry.name)
                found[name] = room.data(name) if entry.kind is EntryKind.FILE else None
                if entry.kind is EntryKind.FOLDER:
                    pending.append(name)
    return found


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def at_each_check(act: Callable[[], None], run: Callable[[Deadline], None], count: int) -> bool:
    """Run something and act when it looks at the clock for the `count`-th time; whether it did."""
    left = count

    def clock() -> float:
        nonlocal left
        left -= 1
        if left == 0:
            with contextlib.suppress(FileNotFoundError, FileExistsError):
                act()
        return 0.0

    run(Deadline(1e9, clock=clock))
    return left <= 0
