"""Errors of a wrong call, which can never succeed as it is, and of names that are denied or absent."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from msgspec.structs import replace

from readroom.core.errors.base import KW_ONLY, AbsentError, Aside, Brief, Name, RefusedError, UsageError
from readroom.core.limits import SHOWN_PATH_CHARS
from readroom.core.quoting import as_value, joined, quote
from readroom.core.values import Fact, ListRequest, ReadRequest, Request


class UnknownTool(UsageError):
    """No tool has that name in this contract."""

    message = "There is no tool named {tool!r}"
    advice = "The tools are: {known}."
    tool: Brief
    known: Sequence[str]


class UnknownArgument(UsageError):
    """An argument that the tool does not have."""

    message = "{tool} takes no argument {argument!r}"
    advice = "{guess}It takes: {known}."
    tool: str
    argument: Brief
    near: str | None
    known: Sequence[str]

    def _fill(self) -> None:
        self.guess = f"Did you mean {self.near!r}? " if self.near else ""


class MissingArgument(UsageError):
    """A required argument was not given."""

    message = "{tool} needs the argument {argument!r}"
    advice = "Call {tool} again with {argument!r}{value}."
    tool: str
    argument: str
    meaning: Aside[str] = ""  # the value that it wants, if its name does not say it

    def _fill(self) -> None:
        self.value = f": {self.meaning[0].lower()}{self.meaning[1:]}" if self.meaning else ""


class WrongType(UsageError, TypeError):
    """An argument of the wrong type."""

    message = "{tool}: {argument!r} must be {expected}, not {got}"
    advice = "Send {argument!r} as {expected}{without}."
    tool: str
    argument: str
    expected: str
    got: str
    _: KW_ONLY
    optional: Aside[bool] = False  # the call works without it

    def _fill(self) -> None:
        self.without = ", or leave it out" if self.optional else ""


class BadValue(UsageError):
    """An argument of the right type whose value makes no sense."""

    message = "{argument}={value!r} {problem}"
    argument: str
    value: Fact
    problem: Aside[str]
    advice: str

    def _fill(self) -> None:
        # JSON has no infinity, but parsers turn 1e999 into one.
        if isinstance(self.value, float) and not isfinite(self.value):
            self.facts["value"] = str(self.value)


def negative_limit(limit: int | None, *, next_request: Request) -> BadValue:
    """The error for a negative limit where lines are not those of one text."""
    problem = "is for lines of text, which it reads up to `offset`"
    return BadValue("limit", limit, problem, "Use a limit of 1 or more.", next_request=next_request)


class BadRange(UsageError):
    """Lines, columns or parts that the file does not have."""

    message: str
    advice: str
    _: KW_ONLY
    total_lines: int | None = None
    total_columns: int | None = None
    total_parts: int | None = None
    titles: Sequence[str] = ()

    def _fill(self) -> None:
        self.facts = {name: value for name, value in self.facts.items() if value is not None and value != []}


def past_column(
    request: ReadRequest, line: int, total: int, *, of: str = "", total_lines: int | None = None
) -> BadRange:
    """The error for a column past the end of a line, which has `total` characters."""
    return BadRange(
        f"column={request.column} is past the end of line {line}{of}, which has {total} characters",
        f"Use a column from 1 to {max(total, 1)}.",
        total_lines=total_lines,
        total_columns=total,
        next_request=replace(request, column=1),
    )


class BadPattern(UsageError):
    """A search pattern, glob or file type that cannot be used."""

    message = "{argument} cannot be used: {problem}"
    argument: str
    value: str
    problem: str
    advice: str
    _: KW_ONLY
    at: int | None = None  # the character of `value` where the problem starts, from 0


class BadCursor(UsageError):
    """A cursor that was not made for this call."""

    message = "The cursor {problem}"
    advice = "Start again without a cursor; send a cursor only with the arguments that it was given for."
    problem: str


class BadPath(UsageError):
    """A path that no file can have."""

    message = "The path {shown} {problem}"
    path: str
    problem: str
    advice: str = "Give a path relative to the workspace root; list_directory shows what is there."

    def _fill(self) -> None:
        self.shown = quote(self.path[:SHOWN_PATH_CHARS]) or '""'
        if len(self.path) > SHOWN_PATH_CHARS:
            self.shown += "..."
        self.facts["path"] = self.shown
        self.next = None if self.path else ListRequest()


class NotAbsolute(UsageError):
    """A relative path, for a contract with absolute ones."""

    message = "The path {shown} is not absolute"
    advice = "The workspace is {root}; give the path below it."
    path: str
    root: Name

    def _fill(self) -> None:
        self.facts["path"] = self.shown = quote(self.path[:SHOWN_PATH_CHARS])


class BadConfig(UsageError):
    """A configuration file or setting that cannot be used."""

    message = "{place}: {problem}"
    where: str
    key: str
    problem: str
    advice: str

    def _fill(self) -> None:
        self.place = f"{self.where}: {self.key}" if self.key else self.where


# -----------------------------------------------------------------------------
# Denied by policy, or no such name.
# -----------------------------------------------------------------------------


class Denied(RefusedError):
    """A policy rule denies the path."""

    message = "Access to {path} is denied by the rule {rule!r} of {source} ({reason})"
    path: Name
    rule: str
    source: str
    reason: str
    advice: str = "Continue without this file, or ask the user to change the policy."


class OutsideRoot(RefusedError):
    """The path, or a link on the way, leads out of the workspace."""

    message = "{path} is outside the workspace ({how})"
    advice = "Only files under the workspace root can be used; give a path relative to it.{guess}"
    path: Name
    how: str
    _: KW_ONLY
    meant: Aside[str | None] = None  # a place inside that its end names

    def _fill(self) -> None:
        self.guess = ""
        if self.meant is not None:
            self.facts["near"] = [as_value(self.meant)]
            self.guess = f" Did you mean {quote(self.meant)}?"
        if not self.path.strip("/"):  # "/" alone means the root of the workspace
            self.next = ListRequest()


class AcrossRoots(RefusedError):
    """Changes in two roots that cannot be made in one step: in two file systems, or kinds of stores."""

    message = "{path} and {other} are in two folders of this workspace that cannot be changed in one step"
    advice = "Send a call for each folder. To move a file, copy it first, then delete the old one."
    path: Name
    other: Name


class HardLinked(RefusedError):
    """A file with several names: one of them is denied, or policy refuses all such files."""

    message = "{path} has {links} names on this file system and {how}"
    path: Name
    links: int
    how: str
    advice: str = "Ask the user for a copy of the file under a name that policy allows."
    _: KW_ONLY
    known: bool = True  # False while other names are searched for: another call may succeed


class NotFound(AbsentError):
    """There is no such file or folder."""

    path: Name
    near: Sequence[str] = ()  # names that exist
    _: KW_ONLY
    advice: str = "Use list_directory or grep_files to find the right path."
    inside: Aside[str | None] = None  # the file on the way to it that should be a folder
    link_to: Aside[str | None] = None  # the target of the link that is there

    def _fill(self) -> None:
        path = quote(self.path)
        self.facts["near"] = [as_value(name) for name in self.near]
        self.message = f"There is no file or folder {path}"
        if self.inside:
            self.facts["file"] = as_value(self.inside)
            self.message += f": {quote(self.inside)} is a file"
        if self.link_to is not None:
            self.message = f"{path} is a link to {quote(self.link_to)}, which is not there"
        if self.near:
            self.advice = f"Did you mean {joined(self.near, ' or ')}?"
            self.next = self.next or ReadRequest(self.near[0])
