"""Tell the places of a name apart: the search as it is, and the syntax around each match.

The pattern is a name, taken literally and as a whole word.  A search below the path finds every line with it;
each file is parsed with the grammar of its language when its first match is found, and every place in a line
gets a kind.  A file that cannot be parsed keeps its matches, without a label: they are counted, and the reply
names the file.

    by kind    the default: all definitions come first, so a page needs all matches of its batch.  A batch
               ends with the time of the call, or after so many lines; the cursor names its beginning, its
               size, and the last row that was shown, and the next page labels the same lines again.  The
               files that took too long to parse are named as well: no later page judges them anew
    by path    as a search: a page ends where it is full

Knows: rows, their order, and how far a page came.
Does not know: how files are found and opened, and how a reply is worded.
May be touched: with a run of the benchmarks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TypeAlias

from msgspec.structs import replace

from readroom.core.engine.cursors import UsesCursor, read_uses_cursor, within_uses, write_uses_cursor
from readroom.core.engine.grep.left import hidden_in, shown_in
from readroom.core.engine.grep.page import Collects, cut_columns
from readroom.core.engine.grep.references.rows import Collector, Row
from readroom.core.engine.services import Job
from readroom.core.errors import BadValue
from readroom.core.limits import GREP_MAX_TIMEOUT_S, MAX_OMITTED, Limits
from readroom.core.paths import WorkPath
from readroom.core.quoting import quote
from readroom.core.search.names import whole_word
from readroom.core.values import GrepFile, GrepRequest, GrepResult, Omission, Request, Warn

Search: TypeAlias = "Callable[[Job[GrepRequest], Collects], GrepResult]"
"""Performs a search whose matches a collector takes."""


def told_apart(job: Job[GrepRequest], limits: Limits, search: Search) -> GrepResult:
    """One page of the places of a name.

    Raises:
        BadValue: The pattern is no name, or another argument does not fit.
        BadCursor: The cursor belongs to other arguments.
        Others: Those of the search.
    """
    request = _checked(job.request)
    cursor = read_uses_cursor(request)
    inner = _search_of(request, cursor.start)
    seconds = min(request.timeout_s or limits.grep_timeout_s, GREP_MAX_TIMEOUT_S)
    found = Collector(request, limits, job.cap, cursor, job.deadline.within(seconds))
    result = search(replace(job, request=inner), found)
    return _page(request, cursor, result, found)


# -----------------------------------------------------------------------------
# The search for a name.
# -----------------------------------------------------------------------------


def _checked(request: GrepRequest) -> GrepRequest:
    """The request, if its arguments fit together. Raises BadValue."""
    name = request.pattern
    if not name.strip() or any(mark in name for mark in "\r\n\0"):
        shown = name[:100]
        raise BadValue("pattern", shown, "is no name", "With references, send one name, such as parse_args.")
    problem = next(
        (
            (argument, value)
            for argument, value in (
                ("sort", request.sort if request.sort not in (None, "path") else None),
                ("documents", request.documents or None),
                ("multiline", request.multiline or None),
                ("context", (request.before or request.after) or None),
            )
            if value is not None
        ),
        None,
    )
    if problem is None:
        return request
    plain = replace(request, documents=False, multiline=False, before=0, after=0)
    raise BadValue(
        *problem,
        "cannot be combined with references",
        "Leave it out.",
        next_request=replace(plain, sort=None if request.sort != "path" else "path"),
    )


def _search_of(request: GrepRequest, start: str | None) -> GrepRequest:
    """The search that finds the lines, from the beginning of a batch on."""
    inner = replace(
        request,
        pattern=whole_word(request.pattern),
        fixed=False,
        output="content",
        kinds=(),
        sort="path",
        limit=None,
        symbols=False,
        cursor=None,
    )
    return inner if start is None else replace(inner, cursor=within_uses(inner, start))


def _outer(asked: GrepRequest, inner: Request) -> Request:
    """The request for references that means what one of the search means."""
    if not isinstance(inner, GrepRequest):
        return inner
    whole = replace(
        inner,
        **{
            name: getattr(asked, name)
            for name in ("pattern", "fixed", "output", "kinds", "sort", "limit", "symbols")
        },
        cursor=None,
        documents=False,  # only names in code are told apart
    )
    if "archives" in whole.include:
        whole = replace(whole, sort=None)
    if inner.cursor is None:
        return whole
    return replace(whole, cursor=write_uses_cursor(whole, UsesCursor(inner.cursor.partition(".")[2])))


# -----------------------------------------------------------------------------
# The page.
# -----------------------------------------------------------------------------


BEGINS_AGAIN = Warn(
    "unsorted", "not enough time to find the same matches again, so the next call begins anew"
)
"""For a later page of a batch that took all of the longest time limit."""


def _page(request: GrepRequest, cursor: UsesCursor, result: GrepResult, found: Collector) -> GrepResult:
    """The result of the search as a page of places."""
    rows, full = found.page()
    warnings, following, reason = list(result.warnings), None, result.reason
    inner = result.next
    if result.reason == "timeout" and found.shown < cursor.lines:
        # Its rows would be others than those that the page before went on from.
        rows, following = (), None if inner is None else replace(request, timeout_s=inner.timeout_s)
        if following is None or following == request:
            following = replace(request, cursor=write_uses_cursor(request, UsesCursor(cursor.start)))
            warnings.append(BEGINS_AGAIN)
    elif full is not None:
        lines = 0 if request.sort == "path" else found.shown
        place = replace(cursor, lines=lines, place=rows[-1].place, slow=found.slow)
        following, reason = replace(request, cursor=write_uses_cursor(request, place)), full
    elif inner is not None:
        following = replace(request, timeout_s=inner.timeout_s)
        if inner.cursor is not None:
            rest = UsesCursor(inner.cursor.partition(".")[2])
            following = replace(following, cursor=write_uses_cursor(request, rest))
    files = _files(rows, by_path=request.sort == "path")
    cuts = [cut for file in files for cut in cut_columns(WorkPath(file.path), file.lines)]
    return replace(
        result,
        request=request,
        files=shown_in(files),
        shown=len(rows),
        complete=following is None and result.complete,
        reason=None if following is None and result.complete else reason,
        omitted=[*(_meant(item, request) for item in result.omitted), *cuts[:MAX_OMITTED]],
        next=following,
        warnings=[*warnings, *hidden_in(files), *_unparsed(found)],
        uses=found.counts,
    )


def _files(rows: Sequence[Row], *, by_path: bool) -> list[GrepFile]:
    """The rows by file; in another kind, a file comes again."""
    files: list[GrepFile] = []
    for (kind, path), group in groupby(rows, key=lambda row: (None if by_path else row.kind, row.path)):
        lines = [row.line for row in group]
        files.append(GrepFile(path, len(lines), lines, kind))
    return files


def _meant(item: Omission, asked: GrepRequest) -> Omission:
    if item.request is None:
        return item
    request = _outer(asked, item.request)
    return replace(item, request=None if request == replace(asked, cursor=None) else request)


def _unparsed(found: Collector) -> Iterator[Warn]:
    """The warning about code that was not parsed."""
    if found.unparsed:
        named = "; ".join(f"{quote(path)}: {why}" for path, why in found.unparsed.items())
        yield Warn("not_parsed", f"matches marked ? are not told apart: {named}")
