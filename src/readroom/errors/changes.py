"""Errors of edits and writes.

Whichever is raised, the file is as it was before the call.
"""

from __future__ import annotations

from collections.abc import Sequence

from readroom.errors.usage import FailedError, ReadroomError, RefusedError, UsageError
from readroom.quoting import as_value, joined, quote
from readroom.values import EntryKind, ListRequest, ReadRequest, Request


class ConflictError(FailedError):
    """The file is not what the call takes it for."""

    code = "conflict"


class Stale(ConflictError):
    """The file has changed since the state that the call names."""

    code = "stale"

    def __init__(
        self,
        path: str,
        expected: str,
        found: str,
        *,
        changed: str | None,
        complete: bool = True,
        next_request: Request | None = None,
    ) -> None:
        """Say what changed, if that is known.

        Args:
            path: The file.
            expected: The hash in the call, as "sha256:...".
            found: The hash of the file.
            changed: A diff between the two states; None if the expected state is no longer known.
            complete: Whether the diff has all changes.
            next_request: The request that shows the present state.
        """
        if changed is None:
            advice = "Read it again, then send the call with the new hash."
        elif complete:
            advice = "What changed since is below; send the call with the new hash if it still fits."
        else:
            advice = "Part of what changed since is below; read the file again, then use the new hash."
        super().__init__(
            f"{quote(path)} has changed: expected {expected[:_SHOWN_HASH]}, found {found[:_SHOWN_HASH]}",
            advice,
            facts={"path": as_value(path), "expected": expected, "found": found, "changed": changed},
            next_request=next_request or ReadRequest(path),
            detail=changed or "",
        )


_SHOWN_HASH = len("sha256:") + 12
"""Length of a hash in replies; the facts have all of it."""


class Exists(ConflictError, FileExistsError):
    """A file that was to be created is already there."""

    code = "exists"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{quote(path)} already exists",
            "Read it first; to replace it, send its current hash as expected_hash.",
            facts={"path": as_value(path)},
            next_request=ReadRequest(path),
        )


class Vanished(ConflictError):
    """A file that was to be replaced is not there."""

    code = "vanished"

    def __init__(self, path: str, expected: str) -> None:
        super().__init__(
            f"There is no file {quote(path)}; expected {expected[:_SHOWN_HASH]}",
            'It was removed, renamed or never there. Send expected_hash="absent" to create it.',
            facts={"path": as_value(path), "expected": expected},
            next_request=ListRequest(),
        )


class NoMatch(ConflictError):
    """The text to be replaced is not in the file."""

    code = "no_match"

    def __init__(
        self,
        path: str,
        edit: int,
        hint: str,
        *,
        place: str = "",
        first: int | None = None,
        last: int | None = None,
        others: Sequence[int] = (),
        next_request: Request | None = None,
    ) -> None:
        """Say why, if that is known.

        Args:
            path: The file.
            edit: Which edit of the call, from 0.
            hint: Why the text does not match, or the closest match.
            place: The most similar lines, with their numbers.
            first: The first of them.
            last: The last of them.
            others: Further edits of the call that do not match.
            next_request: The request that shows the place.
        """
        super().__init__(
            f"edits[{edit}].old_text is not in {quote(path)}{_others(others)}",
            hint,
            facts={
                "path": as_value(path),
                "edit": edit,
                "hint": hint,
                "place": place,
                "first": first,
                "last": last,
                "others": list(others),
            },
            next_request=next_request or ReadRequest(path),
            detail=place,
        )


class ManyMatches(ConflictError):
    """The text to be replaced stands in the file more than once."""

    code = "many_matches"

    def __init__(
        self,
        path: str,
        edit: int,
        lines: Sequence[int],
        count: int,
        *,
        exact: bool = True,
        others: Sequence[int] = (),
        next_request: Request | None = None,
    ) -> None:
        """`lines` are those of the first matches, `count` is how many there are, or more when not `exact`."""
        different = list(dict.fromkeys(lines))
        numbers = ", ".join(map(str, different)) + (", ..." if count > len(lines) else "")
        where = f"in line{'' if len(different) == 1 and count <= len(lines) else 's'} {numbers}"
        super().__init__(
            f"edits[{edit}].old_text is in {quote(path)} {'' if exact else 'at least '}{count} times, "
            f"{where}{_others(others)}",
            "Make it longer so that it fits one place only, or set replace_all to change them all.",
            facts={
                "path": as_value(path),
                "edit": edit,
                "lines": list(lines),
                "count": count,
                "others": list(others),
            },
            next_request=next_request or ReadRequest(path),
        )


def _others(numbers: Sequence[int]) -> str:
    if not numbers:
        return ""
    return f" (nor do these fit one place: {', '.join(f'edits[{number}]' for number in numbers)})"


class WrongCount(ConflictError):
    """The caller said how often a text would be replaced, and it is another number."""

    code = "wrong_count"

    def __init__(self, path: str, edit: int, expected: int, found: int) -> None:
        super().__init__(
            f"edits[{edit}] would replace {found} place{'' if found == 1 else 's'} in {quote(path)}, "
            f"not {expected}",
            f"Send count={found} if that is what you mean, or a longer old_text.",
            facts={"path": as_value(path), "edit": edit, "expected": expected, "found": found},
        )


class SameFile(UsageError):
    """Two paths of one call are one file."""

    code = "same_file"

    def __init__(self, path: str, other: str) -> None:
        super().__init__(
            f"{joined((path, other), ' and ')} are the same file",
            "Send all edits of a file together.",
            facts={"path": as_value(path), "other": as_value(other)},
        )
        self.path, self.other = path, other


class EditsFailed(ConflictError):
    """Some of the files of one call cannot be changed as it says; none was."""

    code = "edits_failed"

    def __init__(self, failures: Sequence[tuple[str, ReadroomError]]) -> None:
        """`failures` are the paths as asked for, each with its failure."""
        super().__init__(
            "; ".join(f"{quote(path)}: {error.message}" for path, error in failures),
            "No file was changed. Mend these edits, then send all of them again.",
            facts={
                "files": [
                    {"path": as_value(path), "code": error.code, "facts": error.facts}
                    for path, error in failures
                ]
            },
            next_request=failures[0][1].next,
        )
        self.failures = failures


class Overlap(ConflictError):
    """Two edits of one call change the same place."""

    code = "overlap"

    def __init__(self, path: str, first: int, second: int, line: int) -> None:
        """The edits, from 0, and the line where the second begins."""
        super().__init__(
            f"edits[{first}] and edits[{second}] overlap in line {line} of {quote(path)}",
            "Join them into one edit; all edits are matched against the text as it is before the call.",
            facts={"path": as_value(path), "edits": [first, second], "line": line},
            next_request=ReadRequest(path, offset=max(1, line - AROUND // 2), limit=AROUND),
        )


AROUND = 20
"""Lines of a suggested read around a place."""


class Unencodable(FailedError, UnicodeError):
    """Text that the encoding of the file cannot hold."""

    code = "unencodable"

    def __init__(self, path: str, where: str, char: str, line: int, encoding: str, advice: str) -> None:
        """`where` names the argument, `line` is the line in it, from 1."""
        name = f"{char!r} (U+{ord(char):04X})"
        super().__init__(
            f"{quote(path)} is {encoding}, which cannot hold {name} in line {line} of {where}",
            advice,
            facts={"path": as_value(path), "where": where, "char": char, "line": line, "encoding": encoding},
        )


class BrokenPlace(FailedError):
    """A change beside bytes that are not characters, or that depend on it, would alter what they are."""

    code = "broken_place"

    def __init__(self, path: str, line: int, encoding: str, *, stateful: bool = False) -> None:
        """`stateful`: the bytes behind a change mean something only together with those before it."""
        problem = (
            f"Line {line} of {quote(path)} has bytes that are not {encoding}, which the new text would join"
        )
        advice = "Choose old_text that keeps a character away from them, shown as \ufffd."
        if stateful:
            problem = (
                f"{quote(path)} is {encoding}, whose bytes depend on those before them; it is not edited"
            )
            advice = "write_file replaces all of it, in this encoding or with encoding=utf-8."
        super().__init__(
            problem,
            advice,
            facts={"path": as_value(path), "line": line, "encoding": encoding},
            next_request=ReadRequest(path, offset=line, limit=1),
        )


class TooLarge(FailedError):
    """More than one call may carry or change."""

    code = "too_large"

    def __init__(self, what: str, size: int, limit: int, unit: str, advice: str) -> None:
        super().__init__(
            f"{what}: {size:,} {unit}, more than the {limit:,} that one call may have",
            advice,
            facts={"size": size, "limit": limit, "unit": unit},
        )


class Protected(RefusedError):
    """Policy lets the file be read, not changed."""

    code = "protected"

    def __init__(self, path: str, why: str, *, pattern: str | None = None, exception: str = "") -> None:
        """Say why, and how the operator allows it.

        Args:
            path: The file.
            why: Why it is protected.
            pattern: The pattern of the built-in rule; None if it cannot be overridden.
            exception: The pattern with which an operator allows it, as a TOML string.
        """
        advice = "Go on without changing it, or ask the user to do it."
        if pattern is not None:
            advice = (
                "Go on without changing it, or ask the user to do it, or to allow it: "
                f"exceptions = [{exception}] under [changes] of the file given with --config."
            )
        super().__init__(
            f"{quote(path)} cannot be changed: {why}",
            advice,
            facts={"path": as_value(path), "why": why, "pattern": pattern},
        )


class SymbolicLink(RefusedError):
    """The name is a link, and policy does not let changes go through links."""

    code = "symbolic_link"

    def __init__(self, path: str, target: str | None) -> None:
        """`target` is the file in the workspace that it leads to, None when it leads to none."""
        file = None if target is None else quote(target)
        super().__init__(
            f"{quote(path)} is a symbolic link {f'to {file}' if file else 'that leads to no file here'}",
            f"Changes do not follow links; change {file} itself." if file else "Change another file.",
            facts={"path": as_value(path), "target": None if target is None else as_value(target)},
            next_request=ReadRequest(target) if target is not None else ListRequest(_folder(path)),
        )


def _folder(path: str) -> str:
    return path.rpartition("/")[0] or "."


class ReadOnlyFile(FailedError, PermissionError):
    """The file's mode or attribute lets no user, or not this process, write to it."""

    code = "read_only_file"

    def __init__(self, path: str, mode: int, *, immutable: bool = False) -> None:
        why = "by its immutable attribute, lsattr shows it" if immutable else f"mode {mode:04o}"
        super().__init__(
            f"{quote(path)} is write-protected ({why})",
            "Ask the user to make it writable, or write to another file.",
            facts={"path": as_value(path), "mode": f"{mode:04o}"},
        )


class ReadOnlyPlace(FailedError, OSError):
    """The file system or store takes no changes."""

    code = "read_only_place"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{quote(path)} is on a file system that is mounted read-only",
            "Nothing can be changed there; ask the user for another place.",
            facts={"path": as_value(path)},
        )


class NoSpace(FailedError, OSError):
    """The disk or the quota is full."""

    code = "no_space"

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(
            f"{quote(path)} was not changed: {problem}",
            "Ask the user to free some space, then send the call again.",
            facts={"path": as_value(path), "problem": problem},
        )


# -----------------------------------------------------------------------------
# Errors of deleting and moving files and folders.
# -----------------------------------------------------------------------------


class HoldsDenied(RefusedError):
    """A folder with names in it that policy denies: they are not removed or moved with it."""

    code = "holds_denied"

    def __init__(self, path: str, count: int) -> None:
        """`count` names are denied; which ones is not said."""
        super().__init__(
            f"{quote(path)} holds {_names(count)} that policy denies, so it stays where it is",
            "Change what may be seen in it, one by one, or ask the user to do it.",
            facts={"path": as_value(path), "denied": count},
            next_request=ListRequest(path),
        )


class FolderNotEmpty(ConflictError, OSError):
    """A folder that was to be removed alone has something in it."""

    code = "folder_not_empty"

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
