"""The native tools change_files and apply_patch: deleting, moving and copying, and patches."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from readroom.core.contracts.base import Tool
from readroom.core.contracts.native.calls import CHANGE, PATCH
from readroom.core.errors import BadValue, MissingArgument
from readroom.core.values import changes

Action = Literal["delete", "move", "copy", "mkdir"]


class ChangeItem(msgspec.Struct, frozen=True, kw_only=True):
    """One change of change_files."""

    action: Action
    path: str
    to: str | None = None
    expected_hash: str | None = None
    entries: Annotated[int, Meta(ge=0, description="Names in a folder, at any depth")] | None = None


class ChangeArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of change_files."""

    changes: list[ChangeItem]
    dry_run: bool = False


class PatchArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of apply_patch."""

    patch: str
    dry_run: bool = False


def _to_patch(arguments: PatchArguments) -> changes.EditFilesRequest:
    from readroom.core.text.patches import read  # few calls bring one

    return changes.EditFilesRequest(tuple(read(arguments.patch)), arguments.dry_run)


def _to_changes(arguments: ChangeArguments) -> changes.ChangesRequest:
    every = tuple(_change(item, number) for number, item in enumerate(arguments.changes))
    return changes.ChangesRequest(every, arguments.dry_run)


def _change(item: ChangeItem, number: int) -> changes.FileChange:
    path, to, known, entries = item.path, item.to, item.expected_hash, item.entries
    if item.action in ("move", "copy"):
        if to is None:
            raise MissingArgument(CHANGE, f"changes[{number}].to", "the whole new name")
        kind = changes.MoveRequest if item.action == "move" else changes.CopyRequest
        return kind(path, to, expected_hash=known, entries=entries)
    if to is not None:
        raise BadValue(f"changes[{number}].to", to, f"is not for {item.action}", "Leave it out.")
    if item.action == "delete":
        return changes.DeleteRequest(path, True, known, entries)
    return changes.MakeFolderRequest(path)


CHANGE_FILES = Tool(
    name=CHANGE,
    title="Delete, move and copy",
    description=(
        "Delete, move or copy files and folders, or make folders, all or none. Files need expected_hash, "
        "folders entries."
    ),
    arguments=ChangeArguments,
    to_request=_to_changes,
    read_only=False,
)

APPLY_PATCH = Tool(
    name=PATCH,
    title="Apply a patch",
    description="Apply a unified diff or V4A patch to files, all or none.",
    arguments=PatchArguments,
    to_request=_to_patch,
    read_only=False,
)
