"""Errors of files that exist and may be seen, but cannot be read as asked."""

from __future__ import annotations

from collections.abc import Sequence

from readroom.errors.usage import AbsentError, FailedError, ReadroomError, UsageError, _brief
from readroom.quoting import as_value, joined, quote
from readroom.values import Fact, ListRequest, ReadRequest, Request
from readroom.values.files import Row


class Closed(FailedError):
    """The workspace was closed before the call."""

    code = "closed"

    def __init__(self) -> None:
        super().__init__("the workspace was closed", "Open it again: `Workspace(root)`.")


class NotAFile(FailedError, IsADirectoryError):
    """The path names a folder, a device, a pipe or a socket."""

    code = "not_a_file"

    def __init__(self, path: str, what: str) -> None:
        """`what` is folder, device, pipe or socket."""
        folder = what == "folder"
        super().__init__(
            f"{quote(path)} is a {what}, not a file",
            "List it instead." if folder else "Only regular files can be opened.",
            facts={"path": as_value(path), "what": what},
            next_request=ListRequest(path) if folder else None,
        )


class NotAFolder(FailedError, NotADirectoryError):
    """The path names a file where a folder is needed."""

    code = "not_a_folder"

    def __init__(self, path: str, what: str, *, readable: bool = True, advice: str | None = None) -> None:
        """`what` is file, device, pipe or socket; `readable` is False for a file that no read shows."""
        readable = readable and what == "file"
        super().__init__(
            f"{quote(path)} is a {what}, not a folder",
            advice or ("Read it instead." if readable else "Only folders can be listed."),
            facts={"path": as_value(path), "what": what},
            next_request=ReadRequest(path) if readable else None,
        )


class Binary(FailedError):
    """A file whose content is not text."""

    code = "binary"

    def __init__(
        self,
        path: str,
        media_type: str,
        size_bytes: int,
        advice: str,
        *,
        next_request: Request | None = None,
    ) -> None:
        self.path, self.media_type, self.size_bytes = path, media_type, size_bytes
        super().__init__(
            f"{quote(path)} is binary ({media_type}, {size_bytes:,} bytes), not text",
            advice,
            facts={"path": as_value(path), "media_type": media_type, "size_bytes": size_bytes},
            next_request=next_request,
        )


class BrokenData(FailedError):
    """A compressed file of whose content nothing can be expanded."""

    code = "broken_data"

    def __init__(self, path: str, compression: str, size_bytes: int, problem: str) -> None:
        """`problem` is a sentence about the data without its full stop."""
        super().__init__(
            f"Nothing of {quote(path)} ({compression}, {size_bytes:,} bytes) can be read: {problem}",
            "Look for another copy, or ask for one.",
            facts={
                "path": as_value(path),
                "compression": compression,
                "size_bytes": size_bytes,
                "problem": problem,
            },
        )


class BadImage(FailedError):
    """An image that cannot be decoded or is too large to decode safely."""

    code = "bad_image"

    def __init__(
        self, path: str, media_type: str, size_bytes: int, problem: str, advice: str | None = None
    ) -> None:
        super().__init__(
            f"{quote(path)} is {media_type} ({size_bytes:,} bytes) that cannot be shown: {problem}",
            advice
            or "Use another copy of the image, or convert it to a smaller PNG or JPEG outside this tool.",
            facts={
                "path": as_value(path),
                "media_type": media_type,
                "size_bytes": size_bytes,
                "problem": problem,
            },
        )


class BadEncoding(FailedError, UnicodeError):
    """An unknown encoding, or bytes that are not valid in the one asked for."""

    code = "bad_encoding"

    def __init__(
        self,
        path: str,
        encoding: str,
        problem: str,
        advice: str,
        *,
        line: int | None = None,
        next_request: Request | None = None,
    ) -> None:
        super().__init__(
            f"{quote(path)} cannot be read as {encoding}: {problem}",
            advice,
            facts={"path": as_value(path), "encoding": encoding, "problem": problem, "line": line},
            next_request=next_request,
        )


class NoPermission(FailedError, PermissionError):
    """The operating system refuses the access."""

    code = "no_permission"

    def __init__(self, path: str, action: str = "read") -> None:
        """`action` is read or change."""
        super().__init__(
            f"The operating system does not let this process {action} {quote(path)}",
            "Ask the user to change the file's permissions, or go on without it.",
            facts={"path": as_value(path)},
        )


class Changed(FailedError):
    """The file changed while it was being read, twice."""

    code = "changed"

    def __init__(self, path: str, *, next_request: Request | None = None) -> None:
        super().__init__(
            f"{quote(path)} changed while it was being read, and again on the second try",
            "Something is writing to it; read it again in a moment.",
            facts={"path": as_value(path)},
            next_request=next_request,
        )


class TooMuch(FailedError):
    """More lines than one reply shows, for a contract that refuses instead of cutting."""

    code = "too_much"

    def __init__(
        self, limit: int, unit: str, *, fitting: int = 0, next_request: Request | None = None
    ) -> None:
        """`unit` is bytes or lines, `fitting` how many lines would have fitted, 0 when none does."""
        super().__init__(
            f"What is asked for takes more than {limit:,} {unit}",
            f"Ask for {fitting:,} lines at most." if fitting else "Not even one line fits.",
            facts={"limit": limit, "unit": unit, "fitting": fitting},
            next_request=next_request,
        )


class TimedOut(FailedError, TimeoutError):
    """The time limit passed before there was anything to show."""

    code = "timed_out"

    def __init__(
        self,
        seconds: float,
        advice: str = "Ask for less, or give it more time.",
        *,
        next_request: Request | None = None,
        processor: bool = False,
    ) -> None:
        """`processor` is whether the limit is one of processor time, not of the clock."""
        limit = f"limit of {seconds:g} s of processor time" if processor else f"time limit of {seconds:g} s"
        super().__init__(
            f"The call reached its {limit}",
            advice,
            facts={"seconds": seconds},
            next_request=next_request,
        )
        self.seconds = seconds
        self.processor = processor


class Cancelled(FailedError):
    """The caller went away or cancelled the call."""

    code = "cancelled"

    def __init__(self) -> None:
        super().__init__("The call was cancelled", "Send it again if its answer is still wanted.")


class MissingProgram(FailedError):
    """A program or optional package that this call needs is not installed."""

    code = "missing_program"

    def __init__(self, program: str, install: str) -> None:
        super().__init__(
            f"{program} is not installed",
            f"Install it: {install}",
            facts={"program": program, "install": install},
        )


class StoreFailed(FailedError, OSError):
    """The operating system or the store failed in a way that nothing above explains."""

    code = "store_failed"

    def __init__(
        self,
        path: str,
        problem: str,
        advice: str = "Try again; if it stays, tell the user what the system said.",
    ) -> None:
        super().__init__(
            f"{quote(path)} cannot be used: {problem}",
            advice,
            facts={"path": as_value(path), "problem": problem},
        )


def reason_of(error: OSError) -> str:
    """What the system said, for the end of a sentence."""
    return error.strerror or type(error).__name__


def store_failure(error: OSError, path: str) -> ReadroomError:
    """The failure to raise for one of the system about which no more can be said; one of ours stays."""
    return error if isinstance(error, ReadroomError) else StoreFailed(path, reason_of(error))


class Internal(FailedError):
    """A defect of readroom itself; the traceback is in the server's log, never in a reply."""

    code = "internal"

    def __init__(self, what: str) -> None:
        super().__init__(
            f"readroom failed inside ({what})",
            "This is a defect, not your mistake; try another call and report it with the server's log.",
            facts={"what": what},
        )


# -----------------------------------------------------------------------------
# Documents that cannot be read, as a whole or in part.
# -----------------------------------------------------------------------------


class BadDocument(FailedError):
    """A document, or a part of one, that cannot be extracted."""

    code = "bad_document"

    def __init__(
        self,
        path: str,
        kind: str,
        problem: str,
        advice: str,
        *,
        part: int | None = None,
        next_request: Request | None = None,
    ) -> None:
        """`problem` is a clause; `part` is the one that it is about, None for the whole document."""
        super().__init__(
            f"{quote(path)} ({kind}) cannot be read: {problem}",
            advice,
            facts={"path": as_value(path), "format": kind, "problem": problem, "part": part},
            next_request=next_request,
        )


class EncryptedDocument(BadDocument):
    """A document that only a password opens."""

    code = "encrypted"


# -----------------------------------------------------------------------------
# Errors of outlines and of names of definitions.
# -----------------------------------------------------------------------------

_LISTED = 20
"""Candidates that an error names; more are counted."""


def _fact(row: Row) -> dict[str, Fact]:
    item = row.item
    return {
        "name": row.name,
        "kind": item.kind,
        "signature": item.signature,
        "start": item.start,
        "end": item.end,
    }


class Ambiguous(UsageError):
    """A name that several definitions of a file have."""

    code = "ambiguous"

    def __init__(self, request: ReadRequest, rows: Sequence[Row], next_request: Request) -> None:
        """`rows` are the candidates; `next_request` reads the first."""
        more = f"\n… and {len(rows) - _LISTED} more" if len(rows) > _LISTED else ""
        differ = len({row.name for row in rows}) > 1
        listed = "\n".join(
            f"{row.item.start}-{row.item.end} {f'{quote(row.name)}: ' if differ else ''}{row.item.signature}"
            for row in rows[:_LISTED]
        )
        super().__init__(
            f"{len(rows)} definitions in {quote(request.path)} are named {_brief(request.symbol or '')!r}",
            "Send `offset` with the first line of the one you mean, or its qualified name.",
            facts={
                "path": as_value(request.path),
                "symbol": _brief(request.symbol or ""),
                "count": len(rows),
                "candidates": [_fact(row) for row in rows[:_LISTED]],
            },
            next_request=next_request,
            detail=listed + more,
        )


class UnknownSymbol(AbsentError):
    """No definition of a file has that name."""

    code = "unknown_symbol"

    def __init__(
        self,
        request: ReadRequest,
        near: Sequence[Row],
        next_request: Request,
        *,
        partial: str | None = None,
        lines: Sequence[int] = (),
    ) -> None:
        """`near` are definitions with similar names; `next_request` reads one, the outline, or a line.

        `partial` says why the file may define it nevertheless, and `lines` where the name occurs in it.
        """
        guess = f"Did you mean {joined((row.name for row in near), ' or ')}? " if near else ""
        name = _brief(request.symbol or "")
        problem = f"{quote(request.path)} defines no {name!r}"
        advice = f'{guess}view="outline" lists what it defines.'
        if lines:
            problem = f"{quote(request.path)} has no definition of {name!r} that was found, but {partial}"
            numbers = ", ".join(map(str, lines))
            advice = f"The name stands in line{'' if len(lines) == 1 else 's'} {numbers}. {guess}".rstrip()
        super().__init__(
            problem,
            advice,
            facts={
                "path": as_value(request.path),
                "symbol": name,
                "near": [_fact(row) for row in near],
                "lines": list(lines),
            },
            next_request=next_request,
        )


class NoOutline(FailedError):
    """A file whose definitions are not known."""

    code = "no_outline"

    def __init__(self, path: str, problem: str, next_request: Request) -> None:
        super().__init__(
            f"{quote(path)} has no outline: {problem}",
            "Read it, or find definitions in it with grep_files.",
            facts={"path": as_value(path), "problem": problem},
            next_request=next_request,
        )
