"""The base classes of all errors, and those of a wrong call, which can never succeed as it is."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import ClassVar

from msgspec.structs import replace

from readroom.limits import SHOWN_PATH_CHARS
from readroom.quoting import as_value, joined, quote
from readroom.values import Fact, ListRequest, ReadRequest, Request


class ReadroomError(Exception):
    """A refusal or failure with a code, facts and a next step.

    Attributes:
        message: What happened: one sentence, without the final full stop.
        advice: What to do about it, one or two sentences.
        facts: Values a program can act on, JSON-ready.
        next: The request that works instead, when there is one.
        detail: Lines to show below the sentences, such as a diff; may be empty.
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


class AbsentError(ReadroomError, FileNotFoundError):
    """Nothing is at that name."""

    code = "absent"


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
    """A required argument was not given; `meaning` says which value it wants where the name does not."""

    code = "missing_argument"

    def __init__(self, tool: str, argument: str, meaning: str = "") -> None:
        value = f": {meaning[0].lower()}{meaning[1:]}" if meaning else ""
        super().__init__(
            f"{tool} needs the argument {argument!r}",
            f"Call {tool} again with {argument!r}{value}.",
            facts={"tool": tool, "argument": argument},
        )


class WrongType(UsageError, TypeError):
    """An argument of the wrong type."""

    code = "wrong_type"

    def __init__(self, tool: str, argument: str, expected: str, got: str, *, optional: bool = False) -> None:
        """`optional` says that the call works without the argument."""
        super().__init__(
            f"{tool}: {argument!r} must be {expected}, not {got}",
            f"Send {argument!r} as {expected}{', or leave it out' if optional else ''}.",
            facts={"tool": tool, "argument": argument, "expected": expected, "got": got},
        )


class BadValue(UsageError):
    """An argument of the right type whose value makes no sense."""

    code = "bad_value"

    def __init__(
        self, argument: str, value: Fact, problem: str, advice: str, *, next_request: Request | None = None
    ) -> None:
        # JSON has no infinity, but parsers turn 1e999 into one.
        shown_value = str(value) if isinstance(value, float) and not isfinite(value) else value
        super().__init__(
            f"{argument}={value!r} {problem}",
            advice,
            facts={"argument": argument, "value": shown_value},
            next_request=next_request,
        )


def negative_limit(limit: int | None, *, next_request: Request) -> BadValue:
    """What is said of a limit that counts lines up to a place, where there are no lines of one text."""
    problem = "is for lines of text, which it reads up to `offset`"
    return BadValue("limit", limit, problem, "Use a limit of 1 or more.", next_request=next_request)


class BadRange(UsageError):
    """Lines, columns or parts that the file does not have."""

    code = "bad_range"

    def __init__(
        self,
        message: str,
        advice: str,
        *,
        total_lines: int | None = None,
        total_columns: int | None = None,
        total_parts: int | None = None,
        titles: Sequence[str] = (),
        next_request: Request | None = None,
    ) -> None:
        totals = {"total_lines": total_lines, "total_columns": total_columns, "total_parts": total_parts}
        facts: dict[str, Fact] = {name: value for name, value in totals.items() if value is not None}
        if titles:
            facts["titles"] = list(titles)
        super().__init__(message, advice, facts=facts, next_request=next_request)


def past_column(
    request: ReadRequest, line: int, total: int, *, of: str = "", total_lines: int | None = None
) -> BadRange:
    """What is said of a column behind the end of a line, which has so many characters."""
    return BadRange(
        f"column={request.column} is past the end of line {line}{of}, which has {total} characters",
        f"Use a column from 1 to {max(total, 1)}.",
        total_lines=total_lines,
        total_columns=total,
        next_request=replace(request, column=1),
    )


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

    def __init__(
        self,
        path: str,
        problem: str,
        advice: str = "Give a path relative to the workspace root; list_directory shows what is there.",
    ) -> None:
        shown_path = quote(path[:SHOWN_PATH_CHARS]) or '""'
        if len(path) > SHOWN_PATH_CHARS:
            shown_path += "..."
        super().__init__(
            f"The path {shown_path} {problem}",
            advice,
            facts={"path": shown_path, "problem": problem},
            next_request=None if path else ListRequest(),
        )


class NotAbsolute(UsageError):
    """A relative path, for a contract that speaks in absolute ones."""

    code = "not_absolute"

    def __init__(self, path: str, root: str) -> None:
        shown_path = quote(path[:SHOWN_PATH_CHARS])
        super().__init__(
            f"The path {shown_path} is not absolute",
            f"The workspace is {quote(root)}; give the path below it.",
            facts={"path": shown_path, "root": as_value(root)},
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


# -----------------------------------------------------------------------------
# Denied by policy, or no such name.
# -----------------------------------------------------------------------------


_WITHOUT = "Go on without this file, or ask the user to change the policy."


class Denied(RefusedError):
    """A policy rule denies the path."""

    code = "denied"

    def __init__(self, path: str, rule: str, source: str, reason: str, advice: str = _WITHOUT) -> None:
        super().__init__(
            f"Access to {quote(path)} is denied by the rule {rule!r} of {source} ({reason})",
            advice,
            facts={"path": as_value(path), "rule": rule, "source": source, "reason": reason},
        )


class OutsideRoot(RefusedError):
    """The path, or a link on the way, leads out of the workspace."""

    code = "outside_root"

    def __init__(
        self, path: str, how: str, *, meant: str | None = None, next_request: Request | None = None
    ) -> None:
        """`meant` is a place inside that its end names."""
        advice = "Only files under the workspace root can be used; give a path relative to it."
        super().__init__(
            f"{quote(path)} is outside the workspace ({how})",
            advice if meant is None else f"{advice} Did you mean {quote(meant)}?",
            facts={
                "path": as_value(path),
                "how": how,
                **({"near": [as_value(meant)]} if meant is not None else {}),
            },
            # "/" alone means the root of the workspace.
            next_request=next_request if path.strip("/") else ListRequest(),
        )


class HardLinked(RefusedError):
    """A file with several names: one of them is denied, or policy refuses all such files."""

    code = "hard_linked"

    def __init__(
        self,
        path: str,
        links: int,
        how: str,
        advice: str = "Ask the user for a copy of the file under a name that policy allows.",
        *,
        known: bool = True,
    ) -> None:
        """`known` is false while the other names are still searched for: another call may succeed."""
        self.known = known
        super().__init__(
            f"{quote(path)} has {links} names on this file system and {how}",
            advice,
            facts={"path": as_value(path), "links": links, "how": how, "known": known},
        )


class NotFound(AbsentError):
    """There is no such file or folder."""

    code = "not_found"

    def __init__(
        self,
        path: str,
        near: Sequence[str] = (),
        *,
        next_request: Request | None = None,
        advice: str = "Use list_directory or grep_files to find the right path.",
        inside: str | None = None,
        link_to: str | None = None,
    ) -> None:
        """Say it.

        Args:
            path: The missing path.
            near: Names that exist.
            next_request: A next step other than reading the first of them.
            advice: What to do if there are none.
            inside: The file on the way to it that should be a folder.
            link_to: The target of the link that is there.
        """
        missing = f"There is no file or folder {quote(path)}"
        if inside:
            missing += f": {quote(inside)} is a file"
        if link_to is not None:
            missing = f"{quote(path)} is a link to {quote(link_to)}, which is not there"
        if near:
            advice = f"Did you mean {joined(near, ' or ')}?"
        super().__init__(
            missing,
            advice,
            facts={
                "path": as_value(path),
                "near": [as_value(name) for name in near],
                **({"file": as_value(inside)} if inside else {}),
            },
            next_request=next_request or (ReadRequest(near[0]) if near else None),
        )
        self.path = path
