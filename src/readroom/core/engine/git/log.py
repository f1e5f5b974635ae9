"""Show which commits changed a path, or lines of it."""

from __future__ import annotations

from collections.abc import Iterator

from readroom.core import errors
from readroom.core.engine.git.asked import GitQuestion, asked, patience
from readroom.core.engine.revision import brief
from readroom.core.engine.services import Job, Services
from readroom.core.limits import MAX_WARNINGS
from readroom.core.text import hidden
from readroom.core.values.files import Warn
from readroom.core.values.git import (
    LOGGED_MAXIMUM,
    GitLogRequest,
    GitLogResult,
    LogAnswer,
    LoggedCommit,
)

COMMIT_BYTES = 450
"""The longest row of a commit."""


def perform(services: Services, job: Job[GitLogRequest]) -> GitLogResult:
    """The newest commits that changed a path.

    Raises:
        Denied, NoRepository, RepositoryRefused, NoSuchRevision, RepositoryFailed, MissingProgram: From git.
        BadValue: An argument cannot be meant.
    """
    request = job.request
    if not 1 <= request.limit <= LOGGED_MAXIMUM:
        raise errors.BadValue("limit", request.limit, "is out of range", f"Send 1 to {LOGGED_MAXIMUM}.")
    about = asked(services, request.path, job.deadline)
    newest, without = _range(about, request.revision)
    if request.lines is not None and not about.inner:
        asked_for = "-".join(map(str, request.lines))
        problem = "are lines of a file, and the path is a folder"
        raise errors.BadValue("lines", asked_for, problem, "Name the file.")
    start, after = _place(request, newest)
    limit = min(request.limit, max(1, job.cap.size // COMMIT_BYTES))
    answer = about.repository.log(
        start,
        about.inner,
        job.deadline,
        lines=request.lines,
        without=without,
        after=after,
        limit=limit,
        seconds=patience(job.deadline),
    )
    if answer.is_complete and not answer.commits and not without:
        about.exists()
    shown, hidden = _judged(about, answer)
    cursor = None if answer.is_complete else f"{max(answer.visited, after)}-{start}"
    return GitLogResult(
        about.path, shown, answer.visited, hidden, cursor, list(_warnings(about, answer, shown))
    )


def _range(about: GitQuestion, revision: str) -> tuple[str, str]:
    """The newest commit, and the one whose ancestors are left out."""
    old, dots, new = revision.partition("..")
    if not dots:
        return about.revision(revision).commit.id, ""
    new = new.removeprefix(".")
    newest = about.revision(new).commit.id
    return newest, about.revision(old).commit.id


def _place(request: GitLogRequest, newest: str) -> tuple[str, int]:
    """The commit at which the walk began, and how many commits it has looked at."""
    if request.cursor is None:
        return newest, 0
    number, _, start = request.cursor.partition("-")
    if not number.isdecimal() or len(number) > 9 or len(start) != 40 or set(start) - set("0123456789abcdef"):
        raise errors.BadValue("cursor", request.cursor, "is not from a log", "Send the call without it.")
    return start, int(number)


def _judged(about: GitQuestion, answer: LogAnswer) -> tuple[list[LoggedCommit], int]:
    """The commits whose names of the path may be seen; a denied name before a rename is left out."""
    shown: list[LoggedCommit] = []
    hidden = 0
    for commit in answer.commits:
        if not (about.allows(commit.path) and about.allows(commit.path, folder=True)):
            hidden += 1
            continue
        shown.append(_named(about, commit))
    return shown, hidden


def _named(about: GitQuestion, commit: LoggedCommit) -> LoggedCommit:
    from msgspec.structs import replace

    source = commit.source if commit.source and about.allows(commit.source) else ""
    path = about.named(commit.path) if commit.path else ""
    return replace(commit, path=path, source=about.named(source) if source else "")


def _warnings(about: GitQuestion, answer: LogAnswer, shown: list[LoggedCommit]) -> Iterator[Warn]:
    ends = [commit for commit in shown if commit.is_end]
    if ends or (answer.is_complete and about.repository.place.shallow):
        yield Warn("shallow", "this is a shallow clone: what is older is not here, and nothing is fetched")
    words = (text for commit in shown for text in (commit.subject, commit.author, commit.path, commit.source))
    yield from hidden.in_names(words, limit=MAX_WARNINGS)
    if answer.broken:
        yield Warn("broken", answer.broken)
    if not answer.is_complete and len(shown) < 1:
        yield Warn("time", f"{answer.visited:,} commits were looked at, back to {brief(answer.reached)}")
