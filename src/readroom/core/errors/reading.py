"""Errors of files that exist and may be seen, but cannot be read as asked."""

from __future__ import annotations

from collections.abc import Sequence

from readroom.core.errors import base
from readroom.core.quoting import as_value, joined, quote
from readroom.core.values import Fact, ListRequest, ReadRequest
from readroom.core.values.files import Row


class Closed(base.FailedError):
    """The workspace was closed before the call."""

    message = "the workspace was closed"
    advice = "Open it again: `Workspace(root)`."


class NotAFile(base.FailedError, IsADirectoryError):
    """The path names a folder, a device, a pipe or a socket."""

    message = "{path} is a {what}, not a file"
    advice = "Only regular files can be opened."
    path: base.Name
    what: str  # folder, device, pipe or socket

    def _fill(self) -> None:
        if self.what == "folder":
            self.advice = "List it instead."
            self.next = ListRequest(self.path)


class NotAFolder(base.FailedError, NotADirectoryError):
    """The path names a file where a folder is needed."""

    message = "{path} is a {what}, not a folder"
    path: base.Name
    what: str  # file, device, pipe or socket
    _: base.KW_ONLY
    readable: base.Aside[bool] = True  # False for a file that no read shows
    advice: str = ""

    def _fill(self) -> None:
        readable = self.readable and self.what == "file"
        self.advice = self.advice or ("Read it instead." if readable else "Only folders can be listed.")
        self.next = ReadRequest(self.path) if readable else None


class Binary(base.FailedError):
    """A file whose content is not text."""

    message = "{path} is binary ({media_type}, {size_bytes:,} bytes), not text"
    path: base.Name
    media_type: str
    size_bytes: int
    advice: str


class BrokenData(base.FailedError):
    """A compressed file that cannot be decompressed at all."""

    message = "{path} ({compression}, {size_bytes:,} bytes) cannot be decompressed: {problem}"
    advice = "Look for another copy, or ask for one."
    path: base.Name
    compression: str
    size_bytes: int
    problem: str  # a sentence about the data without its full stop


class BadImage(base.FailedError):
    """An image that cannot be decoded or is too large to decode safely."""

    message = "{path} is {media_type} ({size_bytes:,} bytes) that cannot be shown: {problem}"
    path: base.Name
    media_type: str
    size_bytes: int
    problem: str
    advice: str = "Use another copy of the image, or convert it to a smaller PNG or JPEG outside this tool."


class BadEncoding(base.FailedError, UnicodeError):
    """An unknown encoding, or bytes that are not valid in the one asked for."""

    message = "{path} cannot be read as {encoding}: {problem}"
    path: base.Name
    encoding: str
    problem: str
    advice: str
    _: base.KW_ONLY
    line: int | None = None


class NoPermission(base.FailedError, PermissionError):
    """The operating system refuses the access."""

    message = "The operating system does not let this process {action} {path}"
    advice = "Ask the user to change the file's permissions, or continue without it."
    path: base.Name
    action: base.Aside[str] = "read"  # or change


class Changed(base.FailedError):
    """The file changed while it was being read, twice."""

    message = "{path} changed while it was being read, and again on the second try"
    advice = "Something is writing to it; read it again in a moment."
    path: base.Name


class TooMuch(base.FailedError):
    """More lines than one reply shows, for a contract that refuses instead of cutting."""

    message = "The requested lines exceed {limit:,} {unit}"
    advice = "Ask for at most {fitting:,} lines."
    limit: int
    unit: str  # bytes or lines
    _: base.KW_ONLY
    fitting: int = 0  # lines that would have fitted, 0 when none does

    def _fill(self) -> None:
        if not self.fitting:
            self.advice = "Not even one line fits."


class TimedOut(base.FailedError, TimeoutError):
    """The time limit passed before there was anything to show."""

    message = "The call reached its {limit}"
    seconds: float
    advice: str = "Ask for less, or give it more time."
    _: base.KW_ONLY
    processor: base.Aside[bool] = False  # the limit is one of processor time, not of the clock

    def _fill(self) -> None:
        spent = f"limit of {self.seconds:g} s"
        self.limit = f"{spent} of processor time" if self.processor else f"time {spent}"


class Cancelled(base.FailedError):
    """The caller went away or cancelled the call."""

    message = "The call was cancelled"
    advice = "Send it again if its answer is still wanted."


class MissingProgram(base.FailedError):
    """A program or optional package that this call needs is not installed."""

    message = "{program} is not installed"
    advice = "Install it: {install}"
    program: str
    install: str


class StoreFailed(base.FailedError, OSError):
    """The operating system or the store failed in a way that nothing above explains."""

    message = "{path} cannot be used: {problem}"
    path: base.Name
    problem: str
    advice: str = "Try again; if it persists, tell the user what the system said."


class TooManyLinks(StoreFailed):
    """The path leads through more symbolic links than are followed, or through a loop of them."""

    problem: str = "it leads through too many symbolic links, or a loop of them"
    advice: str = "Use a path without links, or ask the user to mend them."


def reason_of(error: OSError) -> str:
    """The message of the system, for the end of a sentence."""
    return error.strerror or type(error).__name__


def store_failure(error: OSError, path: str) -> base.ReadroomError:
    """The failure to raise for an OSError without a more specific one; a ReadroomError stays."""
    return error if isinstance(error, base.ReadroomError) else StoreFailed(path, reason_of(error))


class Internal(base.FailedError):
    """A defect of readroom itself; the traceback is in the server's log, never in a reply."""

    message = "readroom failed inside ({what})"
    advice = "This is a defect, not your mistake; try another call and report it with the server's log."
    what: str


# -----------------------------------------------------------------------------
# Documents that cannot be read, as a whole or in part.
# -----------------------------------------------------------------------------


class BadDocument(base.FailedError):
    """A document, or a part of one, that cannot be extracted."""

    message = "{path} ({format}) cannot be read: {problem}"
    path: base.Name
    format: str
    problem: str  # a clause
    advice: str
    _: base.KW_ONLY
    part: int | None = None  # None for the whole document


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


class Ambiguous(base.UsageError):
    """A name that several definitions of a file have."""

    message = "{count} definitions in {path} are named {name!r}"
    advice = "Send `offset` with the first line of the one you mean, or its qualified name."
    request: ReadRequest
    rows: Sequence[Row]  # the candidates; the next request reads the first

    def _fill(self) -> None:
        self.count, self.path = len(self.rows), quote(self.request.path)
        self.name = base.brief(self.request.symbol or "")
        differ = len({row.name for row in self.rows}) > 1
        self.detail = "\n".join(
            f"{row.item.start}-{row.item.end} {f'{quote(row.name)}: ' if differ else ''}{row.item.signature}"
            for row in self.rows[:_LISTED]
        )
        if self.count > _LISTED:
            self.detail += f"\n… and {self.count - _LISTED} more"
        self.facts = {
            "path": as_value(self.request.path),
            "symbol": self.name,
            "count": self.count,
            "candidates": [_fact(row) for row in self.rows[:_LISTED]],
        }


class UnknownSymbol(base.AbsentError):
    """No definition of a file has that name."""

    message = "{path} defines no {name!r}"
    advice = '{guess}view="outline" lists what it defines.'
    request: ReadRequest
    near: Sequence[Row]  # definitions with similar names
    _: base.KW_ONLY
    partial: str | None = None  # why the file may define it nevertheless
    lines: Sequence[int] = ()  # where the name occurs

    def _fill(self) -> None:
        self.path, self.name = quote(self.request.path), base.brief(self.request.symbol or "")
        self.guess = f"Did you mean {joined((row.name for row in self.near), ' or ')}? " if self.near else ""
        if self.lines:
            self.message = (
                f"{self.path} has no definition of {self.name!r} that was found, but {self.partial}"
            )
            numbers = f"line{'' if len(self.lines) == 1 else 's'} {_enumerated(self.lines)}"
            self.advice = f"The name appears in {numbers}. {self.guess}".rstrip()
        self.facts = {
            "path": as_value(self.request.path),
            "symbol": self.name,
            "near": [_fact(row) for row in self.near],
            "lines": list(self.lines),
        }


def _enumerated(numbers: Sequence[int]) -> str:
    """Numbers for a sentence: "3, 9 and 12"."""
    *first, last = map(str, numbers)
    return f"{', '.join(first)} and {last}" if first else last


class NoOutline(base.FailedError):
    """A file whose definitions are not known."""

    message = "{path} has no outline: {problem}"
    advice = "Read it, or find definitions in it with grep_files."
    path: base.Name
    problem: str
