"""Values of git: requests and results of changes, log and blame, and what a repository answers.

Times are seconds since the epoch. Lines count from 1. No I/O here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from readroom.core.values.changes import Diff
from readroom.core.values.files import Warn

# -----------------------------------------------------------------------------
# What a repository answers.
# -----------------------------------------------------------------------------


class Commit(Struct, frozen=True):
    """A commit; `time` is that of its author, `offset` his time zone in minutes."""

    id: str
    parents: list[str]
    author: str
    email: str
    time: int
    committed: int
    offset: int
    subject: str


class Delta(Struct, frozen=True, array_like=True):
    """A file that differs between two trees: A, D, M, R or T, and both sides."""

    letter: str
    old: str
    new: str
    old_id: str
    new_id: str
    old_mode: int
    new_mode: int
    likeness: int = 0


class LoggedCommit(Commit, frozen=True, kw_only=True):
    """A commit that changed a path.

    Attributes:
        path: The name of the path there.
        letter: What it did: A, D, M or R; empty for a whole repository.
        source: The name before, if it was renamed.
        is_end: Whether a shallow clone ends there.
        number: How many commits were looked at when it was found.
    """

    path: str = ""
    letter: str = ""
    source: str = ""
    is_end: bool = False
    number: int = 0


class LogAnswer(Struct, frozen=True):
    """Commits, and how far the walk came."""

    commits: list[LoggedCommit]
    visited: int
    is_complete: bool
    reached: str = ""
    broken: str = ""


class BlamedCommit(Commit, frozen=True, kw_only=True):
    """A commit that last changed lines."""

    is_end: bool = False


class BlameRow(Struct, frozen=True, array_like=True):
    """Lines that one commit last changed: the first, how many, and the commit, path and first line there.

    `commit` and `path` are positions in lists; -1 for a change that is not committed.
    """

    first: int
    count: int
    commit: int
    path: int
    line: int


class BlameAnswer(Struct, frozen=True):
    """The blame of lines, and lines that were not finished in time: first and how many."""

    total: int
    rows: list[BlameRow]
    commits: list[BlamedCommit]
    paths: list[str]
    left: list[tuple[int, int]]
    reached: str = ""


# -----------------------------------------------------------------------------
# Requests and results.
# -----------------------------------------------------------------------------

By: TypeAlias = Literal["lines", "definition", "file"]
"""How much of changes is shown: hunks, hunks by definition, or the names of the files alone."""

LOGGED = 20
"""Commits of a page of a log, unless the request says otherwise."""

LOGGED_MAXIMUM = 500


class GitChangesRequest(Struct, frozen=True):
    """The changes of the files as they are, or of a revision, since another one.

    Attributes:
        path: A file, or a folder with everything below it.
        revision: `OLD` for the files as they are, `OLD..NEW`, or `OLD...NEW` from what both have in common.
        by: How much is shown.
        cursor: Where the page before ended.
    """

    path: str = "."
    revision: str = "HEAD"
    by: By = "lines"
    cursor: str | None = None
    show: Literal["changes"] = "changes"


class GitLogRequest(Struct, frozen=True):
    """The commits that changed a path, or some lines of it, newest first.

    `revision` is the newest, or `OLD..NEW` without those that OLD has.
    """

    path: str = "."
    revision: str = "HEAD"
    lines: tuple[int, int] | None = None
    limit: int = LOGGED
    cursor: str | None = None
    show: Literal["log"] = "log"


class GitBlameRequest(Struct, frozen=True):
    """The last change of each line of a file: as it is, or, with a revision, as it was then."""

    path: str
    revision: str | None = None
    lines: tuple[int, int] | None = None
    show: Literal["blame"] = "blame"


class ChangedDefinition(Struct, frozen=True):
    """A definition with changes: its name, and its lines in the new text, or, if it is gone, the old one."""

    name: str
    what: Literal["changed", "added", "deleted"]
    first: int
    last: int
    added: int = 0
    removed: int = 0


class ChangedFile(Struct, frozen=True):
    """The change of one file.

    Attributes:
        path: Its name now, or the last one.
        letter: A, D, M, R (renamed) or T (of another kind).
        old: Its name before, if it was renamed.
        added: Lines that only the new text has; None where they were not counted.
        removed: Lines that only the old text has.
        diff: The hunks, as far as there was room.
        definitions: Those with changes.
        note: Why there are no hunks, or what the file is.
    """

    path: str
    letter: str
    old: str | None = None
    added: int | None = None
    removed: int | None = None
    diff: Diff | None = None
    definitions: Sequence[ChangedDefinition] = ()
    note: str = ""


class GitChangesResult(Struct, frozen=True):
    """Changes in the order of names.

    Attributes:
        path: What was asked about.
        old: The commit of the one side.
        new: That of the other; None for the files as they are.
        files: Those of this page.
        total: How many files differ, as far as they may be seen.
        hidden: How many may not.
        cursor: Where the next page begins; None if there is none.
    """

    path: str
    old: Commit
    new: Commit | None
    files: Sequence[ChangedFile]
    total: int
    hidden: int = 0
    cursor: str | None = None
    warnings: Sequence[Warn] = ()


class GitLogResult(Struct, frozen=True):
    """Commits, and the cursor of the next page; None if there are no more."""

    path: str
    commits: Sequence[LoggedCommit]
    visited: int
    hidden: int = 0
    cursor: str | None = None
    warnings: Sequence[Warn] = ()


class BlamedLines(Struct, frozen=True):
    """Lines with the commit that last changed them, None for one that is not there yet.

    `path` is the name of the file there, if it is another one.
    """

    first: int
    last: int
    commit: BlamedCommit | None
    line: int
    path: str | None = None


class GitBlameResult(Struct, frozen=True):
    """The blame of lines of a file.

    Attributes:
        path: The file.
        total: Its lines.
        lines: In order.
        left: Lines whose last change is older than `reached`, which was as far as there was time for.
        texts: The lines themselves, from the first asked for on, where they were read.
    """

    path: str
    total: int
    lines: Sequence[BlamedLines]
    left: Sequence[tuple[int, int]] = ()
    reached: str = ""
    texts: Sequence[str] = ()
    warnings: Sequence[Warn] = ()


GitRequest: TypeAlias = GitChangesRequest | GitLogRequest | GitBlameRequest
GitResult: TypeAlias = GitChangesResult | GitLogResult | GitBlameResult
