"""The native tool git: changes, log and blame. Files of a revision are read with the other tools."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from readroom.core.contracts.base import Tool, Wording
from readroom.core.contracts.native.calls import GIT, closing, ending
from readroom.core.contracts.native.render import body_within, render_error, reply, warning_parts
from readroom.core.contracts.schema import DIGITS, NEVER_ZERO
from readroom.core.errors import BadValue
from readroom.core.limits import CLOSING_BYTES
from readroom.core.quoting import as_value, quote, shortened
from readroom.core.text.encodings import visible
from readroom.core.text.select import byte_size
from readroom.core.values import Cap, Fact, Reply, Request
from readroom.core.values.git import (
    LOGGED,
    BlamedLines,
    By,
    ChangedFile,
    Commit,
    GitBlameRequest,
    GitBlameResult,
    GitChangesRequest,
    GitChangesResult,
    GitLogRequest,
    GitLogResult,
    LoggedCommit,
)

ID_DIGITS = 10
"""Digits of a commit's id: git shows 7 to 12, by the size of the repository."""

NAME_CHARS = 40
"""Characters of an author's name."""

SUBJECT_CHARS = 120
"""Characters of the first line of a message."""

Show = Literal["changes", "log", "blame"]


class GitArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of git."""

    show: Show
    path: str = "."
    revision: Annotated[str, Meta(description="HEAD~2 or A..B; default for changes: HEAD to now")] | None = (
        None
    )
    lines: Annotated[str, Meta(description="10-20, for log, blame", extra=DIGITS)] | None = None
    by: By = "lines"
    limit: Annotated[int, Meta(ge=1, extra=NEVER_ZERO)] | None = None
    cursor: str | None = None


_LINES = re.compile(r"(\d{1,9})(?:\s*[-,:]\s*(\d{1,9}))?\Z")


def _to_request(arguments: GitArguments) -> Request:
    path, revision, cursor = arguments.path, arguments.revision or "HEAD", arguments.cursor
    lines = None if arguments.lines is None else _lines(arguments.lines)
    if arguments.show == "changes":
        if lines is not None:
            raise BadValue("lines", arguments.lines, "is not for changes", "Use show=log for these lines.")
        return GitChangesRequest(path, revision, arguments.by, cursor)
    if arguments.show == "log":
        return GitLogRequest(path, revision, lines, arguments.limit or LOGGED, cursor)
    return GitBlameRequest(path, arguments.revision or None, lines)


def _lines(text: str) -> tuple[int, int]:
    found = _LINES.match(text.strip())
    first = int(found[1]) if found else 0
    last = int(found[2] or first) if found else 0
    if not 1 <= first <= last:
        raise BadValue("lines", text, "is no range of lines", "Send the first and the last, like 10-20.")
    return first, last


# -----------------------------------------------------------------------------
# Words.
# -----------------------------------------------------------------------------


def _day(commit: Commit) -> str:
    """The day of a commit as its author had it, as git shows it."""
    try:
        zone = timezone(timedelta(minutes=commit.offset))
        return datetime.fromtimestamp(commit.time, zone).strftime("%Y-%m-%d")
    except (OverflowError, ValueError, OSError):
        return "?"


def _who(commit: Commit) -> str:
    return _short(commit.author, NAME_CHARS) or "-"


def _short(text: str, most: int) -> str:
    """Words of strangers on one line, with marks for what would drive a terminal or turn text round."""
    text = "".join(char if char.isprintable() else "\ufffd" for char in " ".join(text.split()))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def render_changes(request: GitChangesRequest, result: GitChangesResult, cap: Cap) -> Reply:
    """The reply for changes: below each file its hunks, or its definitions."""
    old = result.old.id[:ID_DIGITS]
    new = "files as they are" if result.new is None else result.new.id[:ID_DIGITS]
    counted = [file for file in result.files if file.added is not None]
    added, removed = (sum(getattr(file, side) or 0 for file in counted) for side in ("added", "removed"))
    of = (
        f"{len(result.files):,} of {result.total:,}"
        if len(result.files) < result.total
        else f"{result.total:,}"
    )
    head = f"{old} to {new} | {of} file{_s(result.total)} | +{added:,} -{removed:,}"
    rows = [head]
    for file in result.files:
        rows += _file_rows(file, cap)
    parts: list[str] = list(warning_parts(result.warnings))
    if result.hidden:
        parts.append(f"{result.hidden:,} denied by policy.")
    following = None if result.cursor is None else replace(request, cursor=result.cursor)
    closed = ending(parts, following, request.path) or ["end of changes" if result.total else "no changes"]
    return _reply(rows, closed, cap, partial(_facts_of_changes, result, following))


def _file_rows(file: ChangedFile, cap: Cap) -> Iterator[str]:
    counts = "" if file.added is None else f" +{file.added:,} -{file.removed or 0:,}"
    note = f" ({file.note})" if file.note else ""
    old = "" if file.old is None else f"{_path(file.old, cap)} -> "
    yield f"{file.letter}{counts}{note} {old}{_path(file.path, cap)}"
    if file.diff is not None:
        yield from file.diff.text.split("\n")[:-1]
    for one in file.definitions:
        what = "" if one.what == "changed" else f"{one.what} "
        place = f"{one.first}-{one.last} " if one.first else ""
        yield f"  {place}{what}+{one.added} -{one.removed} {visible(one.name) or 'outside of definitions'}"


def _path(path: str, cap: Cap) -> str:
    return shortened(quote(path), max(40, cap.size // 20))


def render_log(request: GitLogRequest, result: GitLogResult, cap: Cap) -> Reply:
    """The reply for a log: a row for each commit, newest first."""
    rows = [f"{len(result.commits):,} commit{_s(len(result.commits))}"]
    for commit in result.commits:
        rows.append(f"{commit.id[:ID_DIGITS]} {_day(commit)} {_who(commit)}: {_about(commit, cap)}")
    parts: list[str] = list(warning_parts(result.warnings))
    if result.hidden:
        parts.append(f"{result.hidden:,} under denied names.")
    following = None if result.cursor is None else replace(request, cursor=result.cursor)
    closed = ending(parts, following, request.path) or ["end of log"]
    return _reply(rows, closed, cap, partial(_facts_of_log, result, following))


def _about(commit: LoggedCommit, cap: Cap) -> str:
    subject = _short(commit.subject, SUBJECT_CHARS)
    match commit.letter:
        case "A":
            return f"{subject} (added)"
        case "D":
            return f"{subject} (deleted)"
        case "R":
            return f"{subject} (renamed{f' from {_path(commit.source, cap)}' if commit.source else ''})"
    return subject


def render_blame(request: GitBlameRequest, result: GitBlameResult, cap: Cap) -> Reply:
    """The reply for a blame: above lines that belong together the commit that changed them last."""
    texts = dict(enumerate(result.texts, (request.lines or (1, 0))[0]))
    shown = result.lines
    last = max((line.last for line in shown), default=0)
    first = shown[0].first if shown else 0
    rows = [f"{_path(result.path, cap)} | lines {first:,}-{last:,} of {result.total:,}"]
    room = cap.size - byte_size(rows[0]) - CLOSING_BYTES - 3 * byte_size(quote(result.path))
    told: set[str] = set()
    reached = first - 1
    for line in shown:
        own = [
            _blamed(line, told, cap),
            *(f"{at}\t{texts[at]}" for at in range(line.first, line.last + 1) if at in texts),
        ]
        fitting = 0
        for row in own:
            room -= byte_size(row) + 1
            if room < 0 and reached >= first:
                break
            fitting += 1
        rows += own[:fitting]
        reached = line.first + fitting - 2 if texts else line.last
        if fitting < len(own):
            break
    parts: list[str] = list(warning_parts(result.warnings))
    if result.left:
        places = ", ".join(f"{at}-{at + count - 1}" for at, count in list(result.left)[:5])
        parts.append(
            f"There was no time for lines {places}, older than {result.reached[:ID_DIGITS]}: ask for fewer."
        )
    asked_last = request.lines[1] if request.lines else result.total
    following = None
    if not result.left and last and reached < min(asked_last, result.total):
        following = replace(request, lines=(max(reached, first - 1) + 1, min(asked_last, result.total)))
    closed = ending(parts, following, request.path) or ["end of lines"]
    return _reply(rows, closed, cap, partial(_facts_of_blame, result, following))


def _blamed(line: BlamedLines, told: set[str], cap: Cap) -> str:
    commit = line.commit
    if commit is None:
        return "not committed"
    own = commit.id[:ID_DIGITS]
    moved = f" as {_path(line.path, cap)}" if line.path is not None else ""
    if commit.id in told:
        return f"{own}{moved}"
    told.add(commit.id)
    end = ", or older" if commit.is_end else ""
    return f"{own}{moved} {_day(commit)} {_who(commit)}: {_short(commit.subject, SUBJECT_CHARS)}{end}"


def _reply(rows: Sequence[str], closed: Sequence[str], cap: Cap, facts: partial[dict[str, Fact]]) -> Reply:
    body = body_within("\n".join(rows), cap)
    return reply(f"{body}\n{closing(closed, cap.size - byte_size(body) - 1)}", facts)


# -----------------------------------------------------------------------------
# Facts.
# -----------------------------------------------------------------------------


def _commit(commit: Commit) -> dict[str, Fact]:
    return {
        "id": commit.id,
        "author": _short(commit.author, 200),
        "time": commit.time,
        "subject": _short(commit.subject, 300),
    }


def _next(following: Request | None) -> Fact:
    from readroom.core.contracts.native.calls import to_call

    if following is None:
        return None
    call = to_call(following)
    return {"tool": call.tool, "arguments": call.arguments}


def _facts_of_changes(result: GitChangesResult, following: Request | None) -> dict[str, Fact]:
    files: list[Fact] = [
        {
            "path": as_value(file.path),
            "change": file.letter,
            "old_path": None if file.old is None else as_value(file.old),
            "added": file.added,
            "removed": file.removed,
            "note": file.note,
            "left_out_hunks": 0 if file.diff is None else file.diff.left_out,
        }
        for file in result.files
    ]
    return {
        "path": as_value(result.path),
        "old": _commit(result.old),
        "new": None if result.new is None else _commit(result.new),
        "files": files,
        "total": result.total,
        "denied": result.hidden,
        "next": _next(following),
        "warnings": [{"code": warn.code, "detail": warn.detail} for warn in result.warnings],
    }


def _facts_of_log(result: GitLogResult, following: Request | None) -> dict[str, Fact]:
    commits: list[Fact] = [
        {**_commit(commit), "path": as_value(commit.path), "change": commit.letter}
        for commit in result.commits
    ]
    return {
        "path": as_value(result.path),
        "commits": commits,
        "denied": result.hidden,
        "next": _next(following),
        "warnings": [{"code": warn.code, "detail": warn.detail} for warn in result.warnings],
    }


def _facts_of_blame(result: GitBlameResult, following: Request | None) -> dict[str, Fact]:
    lines: list[Fact] = [
        {"first": line.first, "last": line.last, "commit": None if line.commit is None else line.commit.id}
        for line in result.lines
    ]
    return {
        "path": as_value(result.path),
        "total_lines": result.total,
        "lines": lines,
        "not_finished": [list(span) for span in result.left],
        "next": _next(following),
        "warnings": [{"code": warn.code, "detail": warn.detail} for warn in result.warnings],
    }


def _wording(arguments: GitArguments) -> Wording:
    request = _to_request(arguments)

    def render(result: Any, cap: Cap) -> Reply:
        if isinstance(request, GitChangesRequest):
            return render_changes(request, result, cap)
        if isinstance(request, GitLogRequest):
            return render_log(request, result, cap)
        assert isinstance(request, GitBlameRequest)
        return render_blame(request, result, cap)

    return Wording(render, render_error)


GIT_TOOL = Tool(
    name=GIT,
    title="Ask git",
    description=(
        "Changes (a diff), log or blame. Other tools read a revision as a folder: @HEAD~1/src/app.py."
    ),
    arguments=GitArguments,
    to_request=_to_request,
    wording=_wording,
)
