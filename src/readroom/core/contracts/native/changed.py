"""Words and facts about the changes in the workspace while a command ran, for every contract that says it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from readroom.core.contracts.native.facts import named
from readroom.core.quoting import as_value, in_quotes, quote
from readroom.core.values import Fact
from readroom.core.values.commands import TreeAction, TreeChange, TreeChanges
from readroom.core.values.files import EntryKind

_NAMED = 10
"""Changed names that a reply says; the facts have more."""

_ACTIONS: Sequence[TreeAction] = ("created", "changed", "deleted", "moved")

_FIRST = 3
"""The number of changes of each kind that are always named."""


def sentences(changes: TreeChanges, spelled: Callable[[str], str] = str) -> list[str]:
    """Sentences about the changes; none if nothing changed.

    `spelled` gives a path the form that it has in a contract.
    """
    if changes.problem:
        return [f"Changes of files were not followed: {changes.problem}.", *_undo(changes)]
    parts = [part for action in _ACTIONS if (part := _part(changes, action, spelled))]
    unnamed = [
        f"{count:,} {word}"
        for count, word in ((changes.ignored, "ignored"), (changes.denied, "denied"))
        if count
    ]
    if not parts and not unnamed:
        return []
    left = changes.total - sum(len(_shown(changes, action)) for action in _ACTIONS)
    if left:
        parts.append(f"{left:,} more")
    if unnamed:
        count = changes.ignored + changes.denied
        parts.append(f"{' and '.join(unnamed)} name{'' if count == 1 else 's'}")
    said = [f"Changed while it ran: {'; '.join(parts)}."]
    return [*said, *_undo(changes)]


def _undo(changes: TreeChanges) -> list[str]:
    """The sentence about taking it back."""
    if changes.undo is not None:
        return [f"Change {changes.undo} undoes it."]
    if changes.lasting:
        return [f"It cannot be undone: {changes.lasting}."]
    return ["It cannot be undone."] if changes.total and not changes.apart else []


def _of(changes: TreeChanges, action: TreeAction) -> list[TreeChange]:
    return [change for change in changes.named if change.action == action]


def _shown(changes: TreeChanges, action: TreeAction) -> list[TreeChange]:
    """The changes of one kind that are said."""
    count = len(changes.named)
    return _of(changes, action)[: _NAMED if count <= _NAMED else _FIRST]


def _part(changes: TreeChanges, action: TreeAction, spelled: Callable[[str], str]) -> str:
    names = ", ".join(_name(change, spelled) for change in _shown(changes, action))
    return f"{action} {names}" if names else ""


def _name(change: TreeChange, spelled: Callable[[str], str]) -> str:
    slash = "/" if change.kind is EntryKind.FOLDER else ""
    paths = (spelled(path) + slash for path in (change.path, change.to) if path is not None)
    name = " -> ".join(in_quotes(path) if ", " in path else quote(path) for path in paths)
    return f"{name} and {change.names} more in it" if change.names else name


def facts(changes: TreeChanges) -> Fact:
    """The fact `changes`; null if nothing changed."""
    if not changes:
        return None
    return {
        "named": [
            {
                "action": change.action,
                "kind": change.kind.value,
                "path": as_value(change.path),
                "to": None if change.to is None else as_value(change.to),
                **named(change, "names", "content_hash"),
            }
            for change in changes.named
        ],
        **named(changes, "total", "ignored", "denied", "followed", "problem"),
        "undo": changes.undo,
    }
