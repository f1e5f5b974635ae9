"""Answers about git reduced to their counts, for a low budget."""

from __future__ import annotations

from msgspec.structs import replace

from readroom.core.values.git import (
    GitBlameRequest,
    GitBlameResult,
    GitChangesRequest,
    GitChangesResult,
    GitLogRequest,
    GitLogResult,
)


def of_changes(result: GitChangesResult, request: GitChangesRequest) -> GitChangesResult:
    """The names of the files, without hunks and definitions."""
    return replace(result, files=[replace(file, diff=None, definitions=()) for file in result.files])


def of_log(result: GitLogResult, request: GitLogRequest) -> GitLogResult:
    """The newest commit alone."""
    return replace(result, commits=result.commits[:1])


def of_blame(result: GitBlameResult, request: GitBlameRequest) -> GitBlameResult:
    """The commits, without the lines themselves."""
    return replace(result, texts=())
