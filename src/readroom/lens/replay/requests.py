"""The calls of our native contract that ask for what a recorded call showed."""

from __future__ import annotations

from typing import Any, TypeAlias

from readroom.lens.evidence import Run, commands, tools
from readroom.lens.sessions import Result
from readroom.limits.lens import REPLAY_REPLIES

NativeCall: TypeAlias = tuple[str, dict[str, Any]]
"""A tool of the native contract and its arguments."""


def requests(result: Result) -> list[NativeCall]:
    """The calls of our native contract that ask for what a recorded call showed; none where none fits."""
    seen, arguments = result.seen, result.called.arguments
    if seen.kind == "read" and seen.file and not seen.error:
        return _reads(seen.file, seen.runs)
    if seen.kind == "search":
        pattern = arguments.get("pattern", arguments.get("query", arguments.get("regex")))
        if not isinstance(pattern, str) or not pattern:
            return []
        glob = arguments.get("glob", arguments.get("include"))
        where = {"path": seen.file} if seen.file else {}
        chosen = {"glob": glob} if isinstance(glob, str) else {}
        return [("grep_files", {"pattern": pattern, **where, **chosen})]
    if seen.kind == "list":
        return [("list_directory", {"path": seen.file or "."})]
    return _of_command(result) if seen.kind == "command" else []


def _reads(file: str, runs: tuple[Run, ...]) -> list[NativeCall]:
    """One read for each stretch of lines that was shown: what was cut out of the middle is not asked for."""
    if not runs:
        return [("read_file", {"path": file})]
    return [
        ("read_file", {"path": run.file, "offset": run.first, "limit": len(run.lines)})
        for run in runs[:REPLAY_REPLIES]
    ]


def _of_command(result: Result) -> list[NativeCall]:
    pieces = commands.pieces(tools.command_of(result.called.arguments))
    # A search may be in the syntax of another program, and what printed no lines of files is not a read.
    if not result.seen.runs or any(piece.search for piece in pieces):
        return []
    return _reads(result.seen.file, result.seen.runs)
