"""The one tree of failures.

Each class has a stable `code`, a sentence that says what happened, advice that
says what to do, typed facts for programs, and, where one exists, `next`: the
request that will work.  Engines raise them where they know; `toolbox` catches
them once; a contract words them for its callers.

    ReadroomError
    ├── UsageError                 the call itself is wrong
    │   ├── UnknownTool
    │   ├── UnknownArgument
    │   ├── MissingArgument
    │   ├── WrongType
    │   ├── BadValue
    │   ├── BadRange
    │   ├── BadPattern
    │   ├── BadCursor
    │   ├── BadPath
    │   └── BadConfig
    ├── RefusedError               policy says no
    │   ├── Denied
    │   ├── OutsideRoot
    │   ├── HardLinked
    │   ├── Protected              (change_errors)
    │   └── SymbolicLink           (change_errors)
    ├── AbsentError                there is nothing at that name
    │   └── NotFound
    └── FailedError                it is there and allowed, and cannot be served
        ├── NotAFile
        ├── NotAFolder
        ├── Binary
        ├── BadImage
        ├── BadEncoding
        ├── NoPermission
        ├── Changed
        ├── TimedOut
        ├── Cancelled
        ├── MissingProgram
        ├── StoreFailed
        ├── Internal
        ├── ConflictError          the file is not what the call takes it for (this and below: change_errors)
        │   ├── Stale
        │   ├── Exists
        │   ├── Vanished
        │   ├── NoMatch
        │   ├── ManyMatches
        │   └── Overlap
        ├── Unencodable
        ├── BrokenPlace
        ├── TooLarge
        ├── ReadOnlyFile
        ├── ReadOnlyPlace
        └── NoSpace
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from readroom.limits import SHOWN_PATH_CHARS
from readroom.model import Fact, ListRequest, ReadRequest, Request
from readroom.quoting import quote


class ReadroomError(Exception):
    """A refusal or failure with a code, facts and a next step.

    Attributes:
        message: What happened, one sentence without the final full stop.
        advice: What to do about it, one or two sentences.
        facts: Values a program can act on, JSON-ready.
        next: The request that works instead, when there is one.
        detail: Lines to show below the sentences, such as a diff; empty without.
    """

    code: ClassVar[str] = "error"

    def __init__(
        self,
        message: str,
        advice: str,
        *,
        facts: dict[str, Fact] | None = None,
        next_request: Request | None = None,
        detail: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice
        self.facts: dict[str, Fact] = facts or {}
        self.next = next_request
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.message}. {self.advice}"


class UsageError(ReadroomError, ValueError):
    """The call itself is wrong; the same call can never succeed."""

    code = "usage"


class RefusedError(ReadroomError, PermissionError):
    """Policy or confinement refuses; nothing about the content is said."""

    code = "refused"

    # OSError formats itself from errno; the sentence is ours.
    __str__ = ReadroomError.__str__


class AbsentError(ReadroomError, FileNotFoundError):
    """Nothing is at that name."""

    code = "absent"

    __str__ = ReadroomError.__str__


class FailedError(ReadroomError):
    """The thing is there and allowed, and cannot be served as asked."""

    code = "failed"


def _brief(name: str) -> str:
    """A name that a caller sent; it may be a whole document by mistake, and is not sent back whole."""
    return name if len(name) <= SHOWN_PATH_CHARS else f"{name[:SHOWN_PATH_CHARS]}..."


class UnknownTool(UsageError):
    """No tool has that name in this contract."""

    code = "unknown_tool"

    def __init__(self, tool: str, known: Sequence[str]) -> None:
        tool = _brief(tool)
        super().__init__(
            f"There is no tool named {tool!r}",
            f"The tools are: {', '.join(known)}.",
            facts={"tool": tool, "known": list(known)},
        )


class UnknownArgument(UsageError):
    """An argument that the tool does not take."""

    code = "unknown_argument"

    def __init__(self, tool: str, argument: str, near: str | None, known: Sequence[str]) -> None:
        guess = f"Did you mean {near!r}? " if near else ""
        argument = _brief(argument)
        super().__init__(
            f"{tool} takes no argument {argument!r}",
            f"{guess}It takes: {', '.join(known)}.",
            facts={"tool": tool, "argument": argument, "near": near, "known": list(known)},
        )


class MissingArgument(UsageError):
    """A required argument was not given."""

    code = "missing_argument"

    def __init__(self, tool: str, argument: str) -> None:
        super().__init__(
            f"{tool} needs the argument {argument!r}",
            f"Call {tool} again with {argument!r}.",
            facts={"tool": tool, "argument": argument},
        )


class WrongType(UsageError, TypeError):
    """An argument of the wrong type."""

    code = "wrong_type"

    def __init__(self, tool: str, argument: str, expected: str, got: str) -> None:
        super().__init__(
            f"{tool}: {argument!r} must be {expected}, not {got}",
            f"Send {argument!r} as {expected}, or leave it out if it is optional.",
            facts={"tool": tool, "argument": argument, "expected": expected, "got": got},
        )


class BadValue(UsageError):
    """An argument of the right type whose value makes no sense."""

    code = "bad_value"

    def __init__(
        self, argument: str, value: Fact, problem: str, advice: str, *, next_request: Request | None = None
    ) -> None:
        super().__init__(
            f"{argument}={value!r} {problem}",
            advice,
            facts={"argument": argument, "value": value},
            next_request=next_request,
        )


class BadRange(UsageError):
    """A line or column range that the file does not have."""

    code = "bad_range"

    def __init__(
        self,
        message: str,
        advice: str,
        *,
        total_lines: int,
        total_columns: int | None = None,
        next_request: Request | None = None,
    ) -> None:
        facts: dict[str, Fact] = {"total_lines": total_lines}
        if total_columns is not None:
            facts["total_columns"] = total_columns
        super().__init__(message, advice, facts=facts, next_request=next_request)


class BadPattern(UsageError):
    """A search pattern, glob or file type that cannot be used."""

    code = "bad_pattern"

    def __init__(
        self,
        argument: str,
        value: str,
        problem: str,
        advice: str,
        *,
        at: int | None = None,
        next_request: Request | None = None,
    ) -> None:
        """`at` is the 0-based character of `value` where the problem starts."""
        super().__init__(
            f"{argument} cannot be used: {problem}",
            advice,
            facts={"argument": argument, "value": value, "problem": problem, "at": at},
            next_request=next_request,
        )


class BadCursor(UsageError):
    """A cursor that was not made for this call."""

    code = "bad_cursor"

    def __init__(self, problem: str, *, next_request: Request | None = None) -> None:
        super().__init__(
            f"The cursor {problem}",
            "Start again without a cursor; send a cursor only with the arguments that it was given for.",
            facts={"problem": problem},
            next_request=next_request,
        )


class BadPath(UsageError):
    """A path that no file can have."""

    code = "bad_path"

    def __init__(self, path: str, problem: str) -> None:
        shown = quote(path[:SHOWN_PATH_CHARS]) or '""'
        if len(path) > SHOWN_PATH_CHARS:
            shown += "..."
        super().__init__(
            f"The path {shown} {problem}",
            "Give a path relative to the workspace root; list_directory shows what is there.",
            facts={"path": shown, "problem": problem},
        )


class BadConfig(UsageError):
    """A configuration file or setting that cannot be used."""

    code = "bad_config"

    def __init__(self, where: str, key: str, problem: str, advice: str) -> None:
        super().__init__(
            f"{where}: {key}: {problem}" if key else f"{where}: {problem}",
            advice,
            facts={"where": where, "key": key, "problem": problem},
        )


class Denied(RefusedError):
    """A policy rule denies the path."""

    code = "denied"

    def __init__(self, path: str, rule: str, source: str, reason: str) -> None:
        super().__init__(
            f"Access to {quote(path)} is denied by the rule {rule!r} of {source} ({reason})",
            "Go on without this file, or ask the user to change the policy.",
            facts={"path": quote(path), "rule": rule, "source": source, "reason": reason},
        )


class OutsideRoot(RefusedError):
    """The path, or a link on the way, leads out of the workspace."""

    code = "outside_root"

    def __init__(self, path: str, how: str) -> None:
        super().__init__(
            f"{quote(path)} is outside the workspace ({how})",
            "Only files under the workspace root can be used; give a path relative to it.",
            facts={"path": quote(path), "how": how},
        )


class HardLinked(RefusedError):
    """A file with several names, of which one is denied or policy refuses all such files."""

    code = "hard_linked"

    def __init__(
        self,
        path: str,
        links: int,
        how: str,
        advice: str = "Ask the user for a copy of the file under a name that policy allows.",
    ) -> None:
        super().__init__(
            f"{quote(path)} has {links} names on this file system and {how}",
            advice,
            facts={"path": quote(path), "links": links, "how": how},
        )


class NotFound(AbsentError):
    """There is no such file or folder."""

    code = "not_found"

    def __init__(self, path: str, near: Sequence[str] = (), *, next_request: Request | None = None) -> None:
        """`near` are names that exist; the next request reads the first of them unless another is given."""
        if near:
            advice = f"Did you mean {' or '.join(map(quote, near))}?"
        else:
            advice = "Use list_directory or grep_files to find the right path."
        super().__init__(
            f"There is no file or folder {quote(path)}",
            advice,
            facts={"path": quote(path), "near": [quote(name) for name in near]},
            next_request=next_request or (ReadRequest(near[0]) if near else None),
        )
        self.path = path


class NotAFile(FailedError, IsADirectoryError):
    """The path names a folder, a device, a pipe or a socket."""

    code = "not_a_file"
    __str__ = ReadroomError.__str__

    def __init__(self, path: str, what: str) -> None:
        """`what` is folder, device, pipe or socket."""
        folder = what == "folder"
        super().__init__(
            f"{quote(path)} is a {what}, not a file",
            "List it instead." if folder else "Only regular files can be read.",
            facts={"path": quote(path), "what": what},
            next_request=ListRequest(path) if folder else None,
        )


class NotAFolder(FailedError, NotADirectoryError):
    """The path names a file where a folder is needed."""

    code = "not_a_folder"
    __str__ = ReadroomError.__str__

    def __init__(self, path: str, what: str) -> None:
        super().__init__(
            f"{quote(path)} is a {what}, not a folder",
            "Read it instead.",
            facts={"path": quote(path), "what": what},
            next_request=ReadRequest(path),
        )


class Binary(FailedError):
    """A file whose content is not text."""

    code = "binary"

    def __init__(self, path: str, media_type: str, size_bytes: int, advice: str) -> None:
        super().__init__(
            f"{quote(path)} is binary ({media_type}, {size_bytes:,} bytes) and is not shown as text",
            advice,
            facts={"path": quote(path), "media_type": media_type, "size_bytes": size_bytes},
        )


class BadImage(FailedError):
    """An image that cannot be decoded or is too large to decode safely."""

    code = "bad_image"

    def __init__(self, path: str, media_type: str, size_bytes: int, problem: str) -> None:
        super().__init__(
            f"{quote(path)} is {media_type} ({size_bytes:,} bytes) that cannot be shown: {problem}",
            "Use another copy of the image, or convert it to a smaller PNG or JPEG outside this tool.",
            facts={
                "path": quote(path),
                "media_type": media_type,
                "size_bytes": size_bytes,
                "problem": problem,
            },
        )


class BadEncoding(FailedError, UnicodeError):
    """An unknown encoding, or bytes that are not valid in the one asked for."""

    code = "bad_encoding"
    __str__ = ReadroomError.__str__

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
            facts={"path": quote(path), "encoding": encoding, "problem": problem, "line": line},
            next_request=next_request,
        )


class NoPermission(FailedError, PermissionError):
    """The operating system refuses the access."""

    code = "no_permission"
    __str__ = ReadroomError.__str__

    def __init__(self, path: str, action: str = "read") -> None:
        """`action` is read or change."""
        super().__init__(
            f"The operating system does not let this process {action} {quote(path)}",
            "Ask the user to change the file's permissions, or go on without it.",
            facts={"path": quote(path)},
        )


class Changed(FailedError):
    """The file changed while it was being read, twice."""

    code = "changed"

    def __init__(self, path: str, *, next_request: Request | None = None) -> None:
        super().__init__(
            f"{quote(path)} changed while it was being read, and again on the second try",
            "Something is writing to it; read it again in a moment.",
            facts={"path": quote(path)},
            next_request=next_request,
        )


class TimedOut(FailedError, TimeoutError):
    """The time limit passed before there was anything to show."""

    code = "timed_out"
    __str__ = ReadroomError.__str__

    def __init__(self, seconds: float, advice: str = "Ask for less, or give it more time.") -> None:
        super().__init__(
            f"The call reached its time limit of {seconds:g} s",
            advice,
            facts={"seconds": seconds},
        )


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
    __str__ = ReadroomError.__str__

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(
            f"{quote(path)} cannot be used: {problem}",
            "Try again; if it stays, tell the user what the system said.",
            facts={"path": quote(path), "problem": problem},
        )


class Internal(FailedError):
    """A defect of readroom itself; the traceback is in the server's log, never in a reply."""

    code = "internal"

    def __init__(self, what: str) -> None:
        super().__init__(
            f"readroom failed inside ({what})",
            "This is a defect, not your mistake; try another call and report it with the server's log.",
            facts={"what": what},
        )
