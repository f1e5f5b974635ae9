"""Deleting, moving and their like in native words, though no native tool does them.

Other contracts have such tools; here is what stands in the ledger for their calls, what a
hint that means one falls back to, and words for results that nobody else words.
"""

from __future__ import annotations

from dataclasses import fields
from functools import partial

from readroom.contracts import native_facts
from readroom.contracts.native_closing import closing
from readroom.contracts.native_text import reply, short, size_bytes, warning_parts
from readroom.model import Cap, Fact, Reply
from readroom.moves import (
    DeleteResult,
    FolderResult,
    MoveResult,
    NameResult,
    StatResult,
    TrashResult,
)
from readroom.quoting import as_value


def render(result: NameResult, cap: Cap) -> Reply:
    """The reply for a result: one line, and a second one for warnings."""
    header = f"{short(result.path, cap)} | {_what(result, cap)}"
    parts = warning_parts(result.warnings)
    text = f"{header}\n{closing(parts, cap.size - size_bytes(header) - 1)}" if parts else header
    return reply(text, partial(_facts, result))


def _what(result: NameResult, cap: Cap) -> str:
    match result:
        case StatResult():
            return _stat(result)
        case DeleteResult():
            return "deleted" if result.entries == 1 else f"deleted, {result.entries:,} names"
        case FolderResult():
            return "folder created" if result.created else "folder was there already"
        case MoveResult():
            over = ", replacing a file" if result.replaced else ""
            return f"moved to {short(result.destination, cap)}{over}"
        case TrashResult():
            return f"moved to {short(result.trashed_to, cap)}"


def _stat(result: StatResult) -> str:
    if not result.exists or result.kind is None:
        return "not there"
    about = result.kind.value
    if about == "file":
        about += f", {result.size_bytes:,} bytes"
    return f"{about}, read-only" if result.read_only else about


def _facts(result: NameResult) -> dict[str, Fact]:
    found: dict[str, Fact] = {}
    for field in fields(result):
        value = getattr(result, field.name)
        if field.name in _PATHS and value is not None:
            value = as_value(value)
        if field.name == "folders":
            value = [as_value(folder) for folder in value]
        if field.name != "warnings":
            found[field.name] = value
    return {**found, **native_facts.common((), None, result.warnings)}


_PATHS = ("path", "destination", "trashed_to", "target")
