"""Processes that change files of one folder at the same time, told what to do line by line.

Each line on standard input is a JSON list: an action and its arguments. Each line
on standard output is what came of it, in JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from readroom.errors import ConflictError, ReadroomError
from readroom.stores.local import Confinement, LocalStore
from readroom.workspace import Workspace


def edit(workspace: Workspace, path: str, expected: str, old: str, new: str) -> str:
    """The code of what came of one edit, "won" for success."""
    try:
        workspace.edit(path, expected, [{"old_text": old, "new_text": new}])
    except ReadroomError as error:
        return error.code
    return "won"


def create(workspace: Workspace, path: str, content: str) -> str:
    """The code of what came of making a file."""
    try:
        workspace.write(path, content, "absent")
    except ReadroomError as error:
        return error.code
    return "won"


def append(workspace: Workspace, path: str, words: Sequence[str]) -> int:
    """Add each word with an edit, reading again whenever another was faster; how often that was."""
    lost = 0
    for word in words:
        while True:
            known = workspace.read(path).facts["content_hash"]
            try:
                workspace.edit(path, str(known), [{"old_text": "\nend", "new_text": f"\n{word}\nend"}])
                break
            except ConflictError:
                lost += 1
    return lost


ACTIONS = {"edit": edit, "create": create, "append": append}


def main(root: str, way: Confinement) -> None:
    """Do what each line says until there are no more."""
    with Workspace(LocalStore(root, way)) as workspace:
        print("ready", flush=True)
        for line in sys.stdin:
            action, *arguments = json.loads(line)
            print(json.dumps(ACTIONS[action](workspace, *arguments)), flush=True)  # type: ignore[operator]  # one of three


class Crew:
    """The processes."""

    def __init__(self, children: Sequence[subprocess.Popen[str]]) -> None:
        self._children = children

    def do(self, orders: Sequence[Sequence[Any]]) -> list[Any]:
        """What came of one order for each, all given before any answer is waited for."""
        for child, order in zip(self._children, orders, strict=True):
            assert child.stdin is not None
            child.stdin.write(json.dumps(order) + "\n")
        for child in self._children:
            assert child.stdin is not None
            child.stdin.flush()
        return [json.loads(_line(child)) for child in self._children]


def _line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline()


@contextmanager
def crew(root: Path, ways: Sequence[Confinement]) -> Iterator[Crew]:
    """One process for each way, at work in one root."""
    children = [
        subprocess.Popen(
            [sys.executable, __file__, str(root), way],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        for way in ways
    ]
    try:
        assert [_line(child) for child in children] == ["ready\n"] * len(children)
        yield Crew(children)
    finally:
        for child in children:
            child.communicate()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])  # type: ignore[arg-type]  # one of the ways
