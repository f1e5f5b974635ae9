"""Processes that change files of one folder at the same time, told what to do line by line.

Each line that they read is a JSON list: an action and its arguments. Each line that they write is what
came of it, in JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from readroom import OneEdit
from readroom.core.errors import Changed, ConflictError, ReadroomError
from readroom.core.stores.local import Confinement, LocalStore
from readroom.core.workspace import Workspace


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


def append_to_several(workspace: Workspace, calls: Sequence[tuple[str, Sequence[str]]]) -> int:
    """Append each word to all of its files in one call, reading again whenever another was faster."""
    lost = 0
    for word, paths in calls:
        while True:
            edits: list[OneEdit] = [
                {
                    "path": path,
                    "expected_hash": workspace.read(path).hash,
                    "insert": "end",
                    "new_text": f"{word}\n",
                }
                for path in paths
            ]
            try:
                workspace.edit_files(edits)
                break
            except (ConflictError, Changed):
                lost += 1
    return lost


ACTIONS = {"edit": edit, "create": create, "append": append, "append_to_several": append_to_several}


def main(root: str, *places: str) -> None:
    """One process for each place, `way:orders:answers`, of which the latter are descriptors: it does what
    each line says until there are no more. Imported is once, before they part.
    """
    children = []
    for place in places:
        way, orders, answers = place.split(":")
        if not (child := os.fork()):
            for other in places:
                for fd in other.split(":")[1:]:
                    if fd not in (orders, answers):
                        os.close(int(fd))
            _work(root, way, int(orders), int(answers))  # type: ignore[arg-type]  # one of the ways
            os._exit(0)
        children.append(child)
    for place in places:
        for fd in place.split(":")[1:]:
            os.close(int(fd))
    ended = [os.waitpid(child, 0)[1] for child in children]
    sys.exit(max(ended) != 0)


def _work(root: str, way: Confinement, orders: int, answers: int) -> None:
    with (
        Workspace(LocalStore(root, way)) as workspace,
        open(orders, encoding="utf-8") as lines,
        open(answers, "w", encoding="utf-8") as said,
    ):
        print("ready", file=said, flush=True)
        for line in lines:
            action, *arguments = json.loads(line)
            came = ACTIONS[action](workspace, *arguments)  # type: ignore[operator]  # one of four
            print(json.dumps(came), file=said, flush=True)


@dataclass(frozen=True)
class Crew:
    """The processes, by what they are told and what they answer."""

    orders: Sequence[TextIO]
    answers: Sequence[TextIO]

    def do(self, orders: Sequence[Sequence[Any]]) -> list[Any]:
        """What came of one order for each, all given before any answer is waited for."""
        for stream, order in zip(self.orders, orders, strict=True):
            stream.write(json.dumps(order) + "\n")
        for stream in self.orders:
            stream.flush()
        return [json.loads(stream.readline()) for stream in self.answers]


@contextmanager
def crew(root: Path, ways: Sequence[Confinement]) -> Iterator[Crew]:
    """One process for each way, at work in one root."""
    told = [os.pipe() for _ in ways]
    said = [os.pipe() for _ in ways]
    theirs = [(order[0], answer[1]) for order, answer in zip(told, said, strict=True)]
    places = [f"{way}:{order}:{answer}" for way, (order, answer) in zip(ways, theirs, strict=True)]
    with (
        subprocess.Popen(
            [sys.executable, __file__, str(root), *places], pass_fds=[fd for pair in theirs for fd in pair]
        ) as parent,
        ExitStack() as stack,
    ):
        for pair in theirs:
            for fd in pair:
                os.close(fd)
        answers = [stack.enter_context(open(read, encoding="utf-8")) for read, _ in said]
        orders = [stack.enter_context(open(write, "w", encoding="utf-8")) for _, write in told]
        assert [answer.readline() for answer in answers] == ["ready\n"] * len(ways)
        yield Crew(orders, answers)
    assert parent.returncode == 0


if __name__ == "__main__":
    main(*sys.argv[1:])
