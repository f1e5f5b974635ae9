"""What contracts with a tool `apply_patch` say of its calls, in the words of Codex and its likes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from readroom.core import errors
from readroom.core.contracts.native import render as native_render
from readroom.core.values import Fact, Reply
from readroom.core.values.changes import EditFilesResult

Spell: TypeAlias = Callable[[str], str]
"""How a contract writes a path of the workspace."""

_LETTERS = {"add": "A", "copy": "A", "delete": "D"}


def done(result: EditFilesResult, spell: Spell) -> Reply:
    """The reply for a patch that was applied: a letter and a name for each file."""
    rows = [f"{_LETTERS.get(file.action, 'M')} {spell(file.path)}" for file in result.files]
    text = "\n".join(["Success. Updated the following files:", *dict.fromkeys(rows)])
    return native_render.reply(text, partial(facts_of, result))


def facts_of(result: EditFilesResult) -> dict[str, Fact]:
    """Facts about each file."""
    files: list[Fact] = [
        {
            "path": file.path,
            "action": file.action,
            "previous_hash": file.previous_hash,
            "content_hash": file.content_hash,
            "warnings": [{"code": warn.code, "detail": warn.detail} for warn in file.warnings],
        }
        for file in result.files
    ]
    return {"files": files}


def problem(error: errors.ReadroomError, spell: Spell) -> str | None:
    """The problem of a patch in Codex's words, None if it has none for it."""
    match error:
        case errors.EditsFailed():
            return problem(error.failures[0][1], spell)
        case errors.HunkMissing(is_anchor=True):
            return f"Failed to find context '{error.expected}' in {spell(error.path)}"
        case errors.HunkMissing() if error.expected:
            return f"Failed to find expected lines in {spell(error.path)}:\n{error.expected}"
        case errors.HunkAmbiguous():
            lines = ", ".join(map(str, error.lines))
            return (
                f"Found {error.count} places for hunk {error.hunk}, at lines {lines} of {spell(error.path)}. "
                "Provide more surrounding context to make it unique."
            )
        case errors.NotFound():
            return f"Failed to read file to update: {spell(str(error.facts['path']))}"
        case errors.BadPatch(kind="form" | "markers"):
            return "Invalid patch format: missing Begin/End markers"
    return None


def causes(error: errors.ReadroomError) -> Sequence[errors.ReadroomError]:
    """The failures of the files of a call, or the failure itself."""
    return [one for _, one in error.failures] if isinstance(error, errors.EditsFailed) else [error]
