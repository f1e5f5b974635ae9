"""Checks of a search before it starts, and warnings about what it could not look into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from readroom.deadline import Deadline
from readroom.engine.cursors import path_key
from readroom.engine.grep.coverage import NAMED
from readroom.engine.grep.lines import Searcher
from readroom.engine.grep.order import Symbols
from readroom.engine.grep.process import require_valid
from readroom.engine.scope import join_below
from readroom.errors import BadPattern, Binary, MissingProgram
from readroom.formats.kinds import SEARCHED, suffix, told_of_stored_lines
from readroom.limits import GREP_PATTERN_BYTES, MAX_WARNINGS
from readroom.paths import WorkPath
from readroom.quoting import first_of, quote
from readroom.search.pattern import Pattern
from readroom.stores.base import Source
from readroom.text import hidden
from readroom.values import GrepFile, GrepRequest, Warn


def require_usable(request: GrepRequest) -> None:
    """Raise BadPattern if the pattern or a glob cannot be searched for."""
    for argument, values in (("pattern", [request.pattern]), ("glob", request.glob)):
        for value in values:
            problem = _problem(value)
            if problem:
                raise BadPattern(argument, value[:GREP_PATTERN_BYTES], problem, "Send it as plain text.")


def _problem(value: str) -> str | None:
    if "\0" in value:
        return "it holds a NUL character; \\x00 with include binary finds one"
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        return "it holds half of a surrogate pair"
    return f"it is longer than {GREP_PATTERN_BYTES:,} bytes" if size > GREP_PATTERN_BYTES else None


def pattern_of(request: GrepRequest, deadline: Deadline, *, local: bool) -> Pattern:
    """The pattern, which at least one of the two engines accepts.

    Raises:
        BadPattern: None does, or only the one that this store does not have.
    """
    pattern = Pattern(
        request.pattern, fixed=request.fixed, ignore_case=request.ignore_case, multiline=request.multiline
    )
    if pattern.problem is not None:
        try:
            require_valid(request, deadline)
        except MissingProgram:
            if local:
                raise
        if not local:
            advice = "Write it with plain sets and repetitions, or set fixed for literal text."
            problem = f"RE2, which searches documents and what is not on disk, {pattern.problem}"
            raise BadPattern("pattern", request.pattern, problem, advice, at=pattern.problem_at)
    return pattern


# -----------------------------------------------------------------------------
# Warnings about what a search could not read, so that its result is not taken for complete.
# -----------------------------------------------------------------------------


def warnings_of(
    request: GrepRequest,
    unreadable: Sequence[str],
    searcher: Searcher,
    files: Sequence[GrepFile],
    symbols: Symbols | None,
) -> list[Warn]:
    """The warnings of a search that shows `files`; `unreadable` are relative to its path."""
    warnings = []
    if unreadable:
        top = WorkPath(request.path)
        whole = [
            top if name == "." else join_below(top, name) for name in sorted({*unreadable}, key=path_key)
        ]
        warnings.append(Warn("unreadable", f"{first_of(whole, NAMED)} cannot be read"))
    cells = next(filter(None, (told_of_stored_lines(file.path) for file in files)), None)
    if cells is not None and not request.documents and request.output == "content":
        warnings.append(Warn("notebook", cells))
    if searcher.too_wide:
        names = first_of([*dict.fromkeys(searcher.too_wide)], NAMED)
        warnings.append(
            Warn("too_large", f"{names}: too large to be searched in UTF-16; read_file reads them")
        )
    if searcher.as_bytes:
        names = first_of([*dict.fromkeys(searcher.as_bytes)], NAMED)
        why = "too large to be searched in an encoding other than UTF-8, so only what is ASCII was found"
        warnings.append(Warn("searched_as_bytes", f"{names}: {why}; read_file reads them"))
    if symbols is not None and symbols.gave_up:
        warnings.append(Warn("no_symbols", "time did not suffice for the symbols of all files"))
    return warnings


TEXTS_UNKNOWN = Warn(
    "left_out",
    "time did not suffice to find texts that hold a NUL; a search of one by its path looks into all of it",
)
"""For a later page of a search in a tree that cannot be scanned within its time."""


NOT_SORTED = Warn("unsorted", "too many files to know their order in time, so they come by path")
"""For the first page of a search in another order."""

BEGINS_AGAIN = Warn(
    "unsorted",
    "the order is no longer known in time, so the next call begins again, by path: "
    "it shows again what the pages before showed",
)
"""For a later page of a search in another order, at the longest time limit."""


def linked(names: Mapping[str, int]) -> list[Warn]:
    """A warning about shown files that have several names."""
    if not names:
        return []
    paths = first_of(list(names), NAMED)
    several = f" has {next(iter(names.values()))} names" if len(names) == 1 else ": several names each"
    return [Warn("hard_link", f"{paths}{several}")]


def hidden_in(files: Sequence[GrepFile]) -> list[Warn]:
    """Warnings about hidden characters in the shown lines, each with its file."""
    lines = [(file, line) for file in files for line in file.lines]
    if not hidden.scan([line.text for _, line in lines], 1, limit=1):
        return []
    warnings = [
        Warn(warn.code, f"{quote(file.path)}: {warn.detail}", warn.line, warn.column)
        for file, line in lines
        for warn in hidden.scan([line.text], line.number, limit=MAX_WARNINGS, first_column=line.column)
    ]
    rest = len(warnings) - MAX_WARNINGS
    more = f"{rest} more about hidden characters in the lines shown"
    return [*warnings[:MAX_WARNINGS], Warn(hidden.MORE, more)] if rest > 0 else warnings


def in_documents(request: GrepRequest) -> GrepRequest:
    """The same search in documents, too, which are searched in path order."""
    return replace(request, documents=True, sort=None, cursor=None)


def not_text(request: GrepRequest, source: Source) -> tuple[Warn, GrepRequest]:
    """A warning that the only file of a search was not searched, and the search that does it."""
    from readroom.engine.grep.documents import form_of  # most searches do not need it

    if form_of(source) is not None:
        detail = "the file is a document and was not searched"
        return Warn("binary", detail), in_documents(request)
    detail = "the file is binary and was not searched"
    return Warn("binary", detail), replace(request, include=request.include | {"binary"}, cursor=None)


def with_documents(error: Binary, request: GrepRequest) -> Binary:
    """The failure of a search in one compressed file, with the search that looks into it as a document."""
    if request.documents or suffix(request.path.rpartition(".")[0]) not in SEARCHED:
        return error
    again = in_documents(request)
    advice = "Search its text with documents."
    return Binary(error.path, error.media_type, error.size_bytes, advice, next_request=again)
