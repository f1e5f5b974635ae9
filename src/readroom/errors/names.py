"""The failures of removing and moving what has a name; their place in the tree is drawn in the package."""

from __future__ import annotations

from readroom.errors.base import FailedError, ReadroomError, RefusedError
from readroom.errors.changes import ConflictError
from readroom.model import EntryKind, ListRequest, ReadRequest
from readroom.quoting import as_value, quote


class HoldsDenied(RefusedError):
    """A folder with names in it that policy denies: they are not removed or moved with it."""

    code = "holds_denied"

    def __init__(self, path: str, count: int) -> None:
        """`count` names are denied; which ones is not told."""
        super().__init__(
            f"{quote(path)} holds {_names(count)} that policy denies, so it stays where it is",
            "Change what may be seen in it, one by one, or ask the user to do it.",
            facts={"path": as_value(path), "denied": count},
            next_request=ListRequest(path),
        )


class FolderNotEmpty(ConflictError, OSError):
    """A folder that was to be removed alone has something in it."""

    code = "folder_not_empty"
    __str__ = ReadroomError.__str__

    def __init__(self, path: str, count: int) -> None:
        super().__init__(
            f"{quote(path)} is a folder with {_names(count)} in it",
            "Delete those first, or ask for the folder to be deleted with all that is in it.",
            facts={"path": as_value(path), "entries": count},
            next_request=ListRequest(path),
        )


class Taken(ConflictError, FileExistsError):
    """The name that was to be given to something has another thing."""

    code = "taken"
    __str__ = ReadroomError.__str__

    def __init__(self, path: str, kind: EntryKind, *, replaceable: bool = False) -> None:
        """`replaceable` says that the call may ask for it to be replaced."""
        advice = "Choose another name, or move or delete what is there first"
        super().__init__(
            f"{quote(path)} already exists ({kind.value})",
            f"{advice}; overwrite replaces a file." if replaceable else f"{advice}.",
            facts={"path": as_value(path), "kind": kind.value, "replaceable": replaceable},
            next_request=_look(path, kind),
        )


class PartlyDeleted(FailedError):
    """A folder that was to be removed lost part of what was in it before something failed."""

    code = "partly_deleted"

    def __init__(self, path: str, removed: int, why: str) -> None:
        """`removed` names are gone."""
        super().__init__(
            f"{quote(path)} is still there; what was deleted in it: {_names(removed)}. Then: {why}",
            "See what is left, then send the call again or ask the user.",
            facts={"path": as_value(path), "removed": removed, "why": why},
            next_request=ListRequest(path.rpartition("/")[0] or "."),
        )


def _look(path: str, kind: EntryKind) -> ReadRequest | ListRequest:
    if kind is EntryKind.FILE:
        return ReadRequest(path)
    return ListRequest(path if kind is EntryKind.FOLDER else path.rpartition("/")[0] or ".")


def _names(count: int) -> str:
    return f"{count:,} name{'' if count == 1 else 's'}"
