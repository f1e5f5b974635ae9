"""What a search looks for: checked before anything is opened."""

from __future__ import annotations

from readroom.deadline import Deadline
from readroom.engine import grep_ripgrep
from readroom.errors import BadPattern, MissingProgram
from readroom.limits import GREP_PATTERN_BYTES
from readroom.model import GrepRequest
from readroom.search.pattern import Pattern


def require_usable(request: GrepRequest) -> None:
    """Raise BadPattern when the pattern or a glob is nothing that can be searched for."""
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
    """The pattern, which one of the two engines takes.

    Raises:
        BadPattern: None does, or only the one that this store does not have.
    """
    found = Pattern(
        request.pattern, fixed=request.fixed, ignore_case=request.ignore_case, multiline=request.multiline
    )
    if found.problem is not None:
        try:
            grep_ripgrep.require_valid(request, deadline)
        except MissingProgram:
            if local:
                raise
        if not local:
            advice = "Write it with plain sets and repetitions, or set fixed for literal text."
            problem = f"RE2, which searches documents and what is not on disk, {found.problem}"
            raise BadPattern("pattern", request.pattern, problem, advice, at=found.problem_at)
    return found
