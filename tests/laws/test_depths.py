"""The law that no depth of folders hides a file in silence, or ends a call with a failure of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from readroom import Reply, Workspace
from readroom.core import config
from readroom.core.limits import LIST_MAX_DEPTH, MAX_PATH_DEPTH
from readroom.core.values.commands import Confinement
from tests.core.sandbox.cells import in_each_confinement
from tests.each import each

DEPTHS = (1, LIST_MAX_DEPTH - 1, LIST_MAX_DEPTH, LIST_MAX_DEPTH + 1, MAX_PATH_DEPTH - 1, MAX_PATH_DEPTH, 1400)


@contextmanager
def nested(depth: int) -> Iterator[Path]:
    """A folder with a file below so many others, deeper than one path can name if they are many."""
    with TemporaryDirectory(prefix="readroom-deep-") as top:
        folder = os.open(top, os.O_RDONLY)
        for _ in range(depth):
            os.mkdir("dd", dir_fd=folder)
            below = os.open("dd", os.O_RDONLY, dir_fd=folder)
            os.close(folder)
            folder = below
        file = os.open("needle.txt", os.O_CREAT | os.O_WRONLY, dir_fd=folder)
        os.write(file, b"a needle\n")
        os.close(file)
        os.close(folder)
        try:
            yield Path(top)
        finally:
            _clear(top)


def _clear(top: str) -> None:
    """Take the folders away from the top, since no path leads to the last of them."""
    lower = os.path.join(top, "dd")
    while os.path.isdir(lower):
        upper = os.path.join(top, "upper")
        os.rename(lower, upper)
        if os.path.isdir(os.path.join(upper, "dd")):
            os.rename(os.path.join(upper, "dd"), lower)
        shutil.rmtree(upper)


def followed(workspace: Workspace, reply: Reply, times: int = 40) -> list[Reply]:
    """A reply, and those that its calls lead to."""
    replies = [reply]
    while len(replies) < times and (call := named_in(replies[-1])) is not None:
        replies.append(workspace.call(*call))
    return replies


def named_in(reply: Reply) -> tuple[str, dict[str, object]] | None:
    """The call that continues, or that looks into what was left out."""
    if reply.next is not None:
        return reply.next.tool, dict(reply.next.arguments)
    found = re.search(r"To include them: (list_directory) (\{.*\})\]", reply.text)
    return None if found is None else (found[1], json.loads(found[2]))


@each("depth", DEPTHS)
def test_a_file_at_any_depth_is_found_or_named_as_left_out(depth: int) -> None:
    with nested(depth) as top, Workspace(top) as workspace:
        for tool, arguments in (
            ("list_directory", {"glob": "**/*.txt"}),
            ("list_directory", {"glob": "*.txt", "depth": 64}),
            ("grep_files", {"pattern": "needle"}),
            ("grep_files", {"pattern": "needle", "output": "count"}),
            ("find_relevant", {"query": "needle"}),
        ):
            replies = followed(workspace, workspace.call(tool, arguments))
            assert "failed inside" not in replies[-1].text, (tool, arguments)
            assert not replies[0].is_error, (tool, replies[0].text)
            text = "".join(reply.text for reply in replies)
            if depth < MAX_PATH_DEPTH:
                assert "needle.txt" in text, (tool, arguments, text[-300:])
            else:
                said = "not searched" in text or "not looked into" in text or "more than" in text
                assert said or "needle.txt" in text, (tool, arguments, text[-300:])


@in_each_confinement
def test_a_command_runs_beside_folders_of_any_depth(confinement: Confinement) -> None:
    for depth in (MAX_PATH_DEPTH - 2, MAX_PATH_DEPTH, 1400):
        with nested(depth) as top:
            found = config.load(config.open_store(top), allow_commands=True)
            commands = replace(found.commands, confinement=confinement)
            with Workspace(top, settings=replace(found, commands=commands)) as workspace:
                reply = workspace.call("run_command", {"command": "ls"})
                assert not reply.is_error, reply.text
                assert "dd" in reply.text
