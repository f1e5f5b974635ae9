"""Words for one change of a file in native replies, and its facts."""

from __future__ import annotations

from msgspec.structs import fields

from readroom.core.contracts.native import facts as native_facts
from readroom.core.contracts.native.calls import shown
from readroom.core.contracts.native.render import HASH_DIGITS, short
from readroom.core.quoting import as_value
from readroom.core.values import Cap, EntryKind, Fact, changes


def what_changed(result: changes.EditResult) -> str:
    """How much an edit replaced, and where."""
    count = f"{result.replacements} replacement{'' if result.replacements == 1 else 's'}"
    place = f"{count}, now empty"
    if result.cells is not None:
        place = f"{count} in {_span('cell', result.cells.first, result.cells.last)} of {result.cells.total}"
    elif result.total_lines:
        first = min(result.first_line, result.last_line)
        place = f"{count} in {_span('line', first, result.last_line)} of {result.total_lines}"
    cut = " (diff cut)" if result.diff.left_out else ""
    return f"{'dry run, ' if result.dry_run else ''}{place}{cut}"


def _span(unit: str, first: int, last: int) -> str:
    return f"{unit} {first}" if first == last else f"{unit}s {first}-{last}"


def hunks_left_out(result: changes.EditResult) -> list[str]:
    """Sentences about the hunks that a reply leaves out."""
    parts = []
    for item in native_facts.omitted_hunks(result):
        count = result.diff.left_out
        unit = "lines" if result.cells is None else "cells"
        text = f"{count} hunk{'' if count == 1 else 's'} in {unit} {item.first}-{item.last} not shown."
        parts.append(f"{text} To read them: {shown(item.request)}." if item.request else text)
    return parts


def short_hash(content_hash: str) -> str:
    """A hash as replies show it."""
    return content_hash[: len("sha256:") + HASH_DIGITS]


def name_changed(result: changes.NameResult, cap: Cap) -> str:
    """The words for what became of a name."""
    match result:
        case changes.StatResult():
            return _stat(result)
        case changes.DeleteResult():
            inside = result.entries - 1
            return f"deleted with {inside:,} name{'' if inside == 1 else 's'} in it" if inside else "deleted"
        case changes.FolderResult():
            return "folder created" if result.created else "folder already existed"
        case changes.MoveResult():
            over = ", replacing a file" if result.replaced else ""
            return f"moved to {short(result.destination, cap)}{over}"
        case changes.TrashResult():
            return f"moved to {short(result.trashed_to, cap)}"


def _stat(result: changes.StatResult) -> str:
    if not result.exists or result.kind is None:
        return "does not exist"
    about = result.kind.value
    if about == "file":
        about += f", {result.size_bytes:,} bytes"
    return f"{about}, read-only" if result.read_only else about


def facts_of_name(result: changes.NameResult | changes.CopyResult) -> dict[str, Fact]:
    """The facts of a change of a name."""
    facts: dict[str, Fact] = {}
    for field in fields(result):
        value = getattr(result, field.name)
        if field.name in _PATHS and value is not None:
            value = as_value(value)
        if isinstance(value, EntryKind):
            value = value.value
        if field.name == "folders":
            value = [as_value(folder) for folder in value]
        if field.name != "warnings":
            facts[field.name] = value
    return {**facts, **native_facts.common((), None, result.warnings)}


_PATHS = ("path", "destination", "trashed_to", "target")
