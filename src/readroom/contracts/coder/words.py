"""The words of the contract `coder` for failures: the documented strings, with paths as callers wrote them.

A failure without a documented string begins like the nearest one and goes on in our words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import TypeAlias

from readroom import errors
from readroom.errors import ReadroomError
from readroom.quoting import as_given, quote
from readroom.values import Call, Fact, ReadRequest, Request

RESPONSE_LINES = 2_000
"""Lines of one reply, also without a limit."""

# -----------------------------------------------------------------------------
# Quoted names and omitted fields as programs written in Go send them: what callers compare with.
# -----------------------------------------------------------------------------

_ESCAPES = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    '"': '\\"', "\\": "\\\\",
}  # fmt: skip


def go_quoted(text: str) -> str:
    """The text in double quotes, with what cannot be printed as escapes."""
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(char: str) -> str:
    escape = _ESCAPES.get(char)
    if escape is not None or char.isprintable():
        return escape or char
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"  # a byte that is not a character
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def present(**values: Fact) -> dict[str, Fact]:
    """The values without those that are empty, zero or false."""
    return {name: value for name, value in values.items() if value}


QUERY = "Query parameters have invalid values."

_LESS = "Read less at a time using offset and limit parameters."
_LARGE = "Use grep, sed, or awk to extract the content you need, or use offset and limit to read a portion."


def lines_status(error: ReadroomError) -> int:
    """The status of a failure of read-file-lines: problems of the file are reported with status 200."""
    unserved = (errors.NotGranted, errors.Busy, errors.Closing, errors.Closed, errors.Internal)
    return status_of(error) if isinstance(error, unserved) else HTTPStatus.OK.value


def absolute(path: str) -> bool:
    """Whether a path is absolute; unusual names are quoted."""
    return path.startswith(("/", '"/'))


# -----------------------------------------------------------------------------
# Sentences by what failed: templates of the path as it was written (`name`), the same in quotes of Go
# (`quoted`), what the system says of one that leads nowhere (`missing`), and the error with its facts.
# The first class that fits decides.
# -----------------------------------------------------------------------------

_Sentences: TypeAlias = "Mapping[type[ReadroomError], str]"

_READ: _Sentences = {
    errors.TooMuch: "output would exceed {facts[limit]} {facts[unit]}. " + _LESS,
    errors.Binary: "file is binary, not text: {name} ({facts[media_type]}, {facts[size_bytes]} bytes)",
    errors.NotAFile: "not a file: {name}",
    errors.NotFound: "file does not exist: {name}",
}
_OPEN: _Sentences = {errors.NotAFile: "open {name}: not a file", errors.NotFound: "open {name}: {missing}"}
_WRITE: _Sentences = {errors.NotAFile: "open {name}: is a directory"}
_LIST: _Sentences = {
    errors.NotAbsolute: "path must be absolute: {quoted}",
    errors.NotFound: "failed to open directory {quoted}: open {name}: {missing}",
    errors.NotAFolder: "path {quoted} is not a directory",
    errors.NoPermission: "failed to open directory {quoted}: open {name}: permission denied",
}
_EDIT: _Sentences = {
    errors.NoMatch: (
        "edit {name}: search string not found in file. Verify the search string matches the file content "
        "exactly, including whitespace and indentation"
    ),
    errors.ManyMatches: (
        "edit {name}: search string matches {facts[count]} occurrences (expected exactly 1). Include more "
        "surrounding context to make the match unique, or set replace_all to true"
    ),
    errors.BadValue: "edit {name}: search string must not be empty; include the text you want to match",
    errors.Binary: "edit {name}: file is binary, not text ({facts[media_type]}, {facts[size_bytes]} bytes)",
    **_OPEN,
}
_ANY: _Sentences = {
    errors.NotAbsolute: "file path must be absolute: {quoted}",
    errors.NoPermission: "permission denied: {name}",
    errors.OutsideRoot: "permission denied: {name}: it is outside the workspace",
    errors.RefusedError: "permission denied: {name}: {error}",
    errors.NotAFolder: "open {name}: not a directory",
    errors.BadPath: "open {name}: the path {facts[problem]}",
}
"""Used after the sentences of an address."""


def _sentence(sentences: _Sentences, error: ReadroomError, path: str) -> str | None:
    """The sentence for a failure about a path, if there is one."""
    if isinstance(error, errors.BudgetSpent):
        return _spent(error)
    unsaid = isinstance(error, errors.NotGranted | errors.TooManyRequests)
    for kind, template in (*sentences.items(), *(() if unsaid else _ANY.items())):
        if isinstance(error, kind):
            words = {"name": as_given(path), "quoted": go_quoted(path), "missing": _missing(error)}
            sentence: str = template.format(**words, error=error, facts=error.facts)
            return sentence
    return None


def _missing(error: ReadroomError) -> str:
    """The system's message for a path that does not exist, or that goes through a file."""
    return "not a directory" if "file" in error.facts else "no such file or directory"


def of_read(error: ReadroomError, path: str, offset: int = 0) -> str:
    """Why lines of a file are not read."""
    facts = error.facts
    match error:
        case errors.MissingArgument():
            return of_chat(error)
        case errors.TooLarge() if facts.get("unit") == "bytes":
            size, most = facts["size"], facts["limit"]
            return f"file is {size} bytes which exceeds the maximum of {most} bytes. {_LARGE}"
        case errors.BadRange():
            lines = facts.get("total_lines", 0)
            return f"offset {offset} is beyond the file length of {lines} lines"
        case errors.NotFound() if "file" in facts:
            return f"open file: open {as_given(path)}: {_missing(error)}"
        case _:
            return _sentence(_READ, error, path) or f"read file: {error}"


def of_chat(error: ReadroomError) -> str:
    """The message for invalid arguments of a chat loop's call."""
    if isinstance(error, errors.MissingArgument):
        return f"{error.facts['argument']} is required"
    return _spent(error) if isinstance(error, errors.BudgetSpent) else str(error)


def of_open(error: ReadroomError, path: str) -> str:
    """Why the bytes of a file are not read."""
    return _sentence(_OPEN, error, path) or str(error)


def of_write(error: ReadroomError, path: str) -> str:
    """Why a file is not written."""
    return _sentence(_WRITE, error, path) or str(error)


def of_list(error: ReadroomError, path: str) -> str:
    """Why a folder is not listed."""
    if isinstance(error, errors.BadValue) and error.facts.get("argument") == "relativity":
        return f"unsupported relativity type {go_quoted(str(error.facts['value']))}"
    return _sentence(_LIST, error, path) or str(error)


def of_edits(error: ReadroomError) -> str:
    """Why files are not edited."""
    match error:
        case errors.EditsFailed():
            return "\n".join(of_edit(inner, path) for path, inner in error.failures)
        case errors.SameFile():
            also = "" if error.path == error.other else f" aliases {go_quoted(error.other)} (same real file)"
            return f"duplicate file path {go_quoted(error.path)}{also}: {_COMBINE}"
        case errors.MissingArgument():
            return "must specify at least one file"
        case _:
            return str(error)


_COMBINE = 'combine edits into a single entry\'s "edits" list'


def of_edit(error: ReadroomError, path: str) -> str:
    """Why one file is not edited."""
    if isinstance(error, errors.MissingArgument):
        return '"path" is required' if error.facts["argument"] == "path" else "must specify at least one edit"
    return _sentence(_EDIT, error, path) or f"edit {as_given(path)}: {error}"


def _spent(error: errors.BudgetSpent) -> str:
    """Without the tools that still work: they are not those of this contract."""
    return f"{error.message}. Work with what you have seen, or ask the user for a larger budget."


_STATUS: Sequence[tuple[type[ReadroomError], HTTPStatus]] = (
    (errors.UsageError, HTTPStatus.BAD_REQUEST),
    (errors.AbsentError, HTTPStatus.NOT_FOUND),
    (errors.NoPermission, HTTPStatus.FORBIDDEN),
    (errors.ReadOnlyFile, HTTPStatus.FORBIDDEN),
    (errors.ReadOnlyPlace, HTTPStatus.FORBIDDEN),
    (errors.RefusedError, HTTPStatus.FORBIDDEN),
    (errors.Changed, HTTPStatus.CONFLICT),
    (errors.Busy, HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.Closing, HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.Cancelled, HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.Closed, HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.TimedOut, HTTPStatus.GATEWAY_TIMEOUT),
    (errors.NoSpace, HTTPStatus.INSUFFICIENT_STORAGE),
    (errors.Internal, HTTPStatus.INTERNAL_SERVER_ERROR),
    (errors.StoreFailed, HTTPStatus.INTERNAL_SERVER_ERROR),
    (errors.DatabaseFailed, HTTPStatus.SERVICE_UNAVAILABLE),
    (ReadroomError, HTTPStatus.BAD_REQUEST),
)
"""The first class that matches decides."""


def status_of(error: ReadroomError) -> int:
    """The status of a failure at an address of this contract; of several, the highest."""
    if isinstance(error, errors.EditsFailed):
        return max(status_of(failure) for _, failure in error.failures)
    if isinstance(error, errors.NotFound) and "file" in error.facts:
        return HTTPStatus.BAD_REQUEST.value
    return next(status for kind, status in _STATUS if isinstance(error, kind)).value


def query_problem(problems: Mapping[str, str]) -> dict[str, Fact]:
    """The answer for an invalid query, by parameter."""
    validations: list[Fact] = [
        {"field": name, "detail": f"Query param {go_quoted(name)} {problem}"}
        for name, problem in problems.items()
    ]
    return {"message": QUERY, "validations": validations}


Words = Callable[[ReadroomError], str]
"""Words a failure of one call."""

# -----------------------------------------------------------------------------
# The call of the contract `coder` for a request, where it has one.
# -----------------------------------------------------------------------------

READ, WORKSPACE_READ = "read_file", "coder_workspace_read_file"


def spelled(path: str, root: str) -> str:
    """A path of the workspace as callers write it; odd bytes as listings show them."""
    absolute = root if path == "." else f"{root.rstrip('/')}/{path}"
    # As it is, unless it cannot be sent: only what begins with a quote is read as quoted.
    try:
        absolute.encode()
    except UnicodeEncodeError:
        return quote(absolute)
    return absolute


def own_calls(root: str) -> Callable[[Request], Call | None]:
    """A function from requests to calls of this contract, for a workspace with this root."""
    return partial(to_call, root=root)


def to_call(request: Request, root: str) -> Call | None:
    """The call for `request`; None if this contract has none."""
    if not isinstance(request, ReadRequest) or request.column != 1 or (request.offset or 1) < 1:
        return None
    path = request.path if request.path.startswith(("/", '"/')) else spelled(request.path, root)
    arguments: dict[str, Fact] = {"path": path}
    if request.offset is not None:
        arguments["offset"] = request.offset
    if request.limit is not None and request.limit < RESPONSE_LINES:
        arguments["limit"] = request.limit
    return Call(READ, arguments)
