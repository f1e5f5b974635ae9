"""The words of the contract `coder` for failures: the documented strings, with paths as callers wrote them.

A failure without a documented string begins like the nearest one and continues in our words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from http import HTTPStatus

from msgspec import Struct

from readroom.core import errors
from readroom.core.contracts.absolute import absolute as absolute_path
from readroom.core.contracts.base import Sentences, call_of, sentence
from readroom.core.errors import ReadroomError
from readroom.core.quoting import as_given, quote
from readroom.core.values import Call, Fact, ReadRequest, Request

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
    """The text in double quotes, with unprintable characters as escapes."""
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


def lines_status(error: ReadroomError) -> int:
    """The status of a failure of read-file-lines: problems of the file are reported with status 200."""
    unserved = (errors.NotGranted, errors.Busy, errors.Closing, errors.Closed, errors.Internal)
    return status_of(error) if isinstance(error, unserved) else HTTPStatus.OK.value


def absolute(path: str) -> bool:
    """Whether a path is absolute; unusual names are quoted."""
    return path.startswith(("/", '"/'))


# -----------------------------------------------------------------------------
# Sentences by what failed, for each address its tables in order: templates of the path as it was written
# (`call.name`), the same in quotes of Go (`call.quoted`), and what the system says of one that leads nowhere.
# -----------------------------------------------------------------------------


class _Failed(Struct, frozen=True):
    """Facts about a call for sentences: its path, and its first line."""

    path: str
    offset: int
    missing: str

    @property
    def name(self) -> str:
        return as_given(self.path)

    @property
    def quoted(self) -> str:
        return go_quoted(self.path)


def words(error: ReadroomError, tables: Sequence[Sentences], path: str = "", offset: int = 0) -> str:
    """The words for a failure, from the tables of an address."""
    missing = "not a directory" if "file" in error.facts else "no such file or directory"
    return sentence(error, _Failed(path, offset, missing), *tables, _OTHERWISE)


def _refused(call: _Failed, error: ReadroomError) -> str | None:
    unsaid = isinstance(error, errors.NotGranted | errors.TooManyRequests)
    return None if unsaid else f"permission denied: {call.name}: {error}"


_LACKS: Sentences = {errors.MissingArgument: "{facts[argument]} is required"}
SPENT: Sentences = {
    # Without the tools that still work: they are not those of this contract.
    errors.BudgetSpent: "{error.message}. Work with what you have seen, or ask the user for a larger budget.",
}
OPEN: Sentences = {
    errors.NotAFile: "open {call.name}: not a file",
    errors.NotFound: "open {call.name}: {call.missing}",
}
ANY: Sentences = {
    errors.NotAbsolute: "file path must be absolute: {call.quoted}",
    errors.NoPermission: "permission denied: {call.name}",
    errors.OutsideRoot: "permission denied: {call.name}: it is outside the workspace",
    errors.RefusedError: _refused,
    errors.NotAFolder: "open {call.name}: not a directory",
    errors.BadPath: "open {call.name}: the path {facts[problem]}",
}
_OTHERWISE: Sentences = {ReadroomError: "{error}"}

CHAT = (_LACKS, SPENT)
"""Arguments of a chat loop's call."""

_LARGE = "Use grep, sed, or awk to extract the content you need, or use offset and limit to read a portion."


def _too_large(call: _Failed, error: errors.TooLarge) -> str | None:
    size, most = error.facts["size"], error.facts["limit"]
    large = f"file is {size} bytes which exceeds the maximum of {most} bytes. {_LARGE}"
    return large if error.facts.get("unit") == "bytes" else None


def _past_end(call: _Failed, error: errors.BadRange) -> str:
    lines = error.facts.get("total_lines", 0)
    return f"offset {call.offset} is beyond the file length of {lines} lines"


def _absent(call: _Failed, error: errors.NotFound) -> str:
    through_a_file = f"open file: open {call.name}: {call.missing}"
    return through_a_file if "file" in error.facts else f"file does not exist: {call.name}"


_READ: Sentences = {
    errors.TooLarge: _too_large,
    errors.BadRange: _past_end,
    errors.TooMuch: (
        "output would exceed {facts[limit]} {facts[unit]}. "
        "Read less at a time using offset and limit parameters."
    ),
    errors.Binary: "file is binary, not text: {call.name} ({facts[media_type]}, {facts[size_bytes]} bytes)",
    errors.NotAFile: "not a file: {call.name}",
    errors.NotFound: _absent,
}
LINES: Sequence[Sentences] = (_LACKS, SPENT, _READ, ANY, {ReadroomError: "read file: {error}"})
BYTES = (SPENT, OPEN, ANY)
WRITTEN: Sequence[Sentences] = (SPENT, {errors.NotAFile: "open {call.name}: is a directory"}, ANY)


RESOLVED: Sequence[Sentences] = (
    SPENT,
    {errors.TooManyLinks: "too many levels of symlinks resolving {call.quoted}"},
    ANY,
)


def _relativity(call: _Failed, error: errors.BadValue) -> str | None:
    unsupported = f"unsupported relativity type {go_quoted(str(error.facts['value']))}"
    return unsupported if error.facts.get("argument") == "relativity" else None


_LIST: Sentences = {
    errors.BadValue: _relativity,
    errors.NotAbsolute: "path must be absolute: {call.quoted}",
    errors.NotFound: "failed to open directory {call.quoted}: open {call.name}: {call.missing}",
    errors.NotAFolder: "path {call.quoted} is not a directory",
    errors.NoPermission: "failed to open directory {call.quoted}: open {call.name}: permission denied",
}
LISTED = (SPENT, _LIST, ANY)


_STATUS: Sequence[tuple[type[ReadroomError], HTTPStatus]] = (
    (errors.UsageError, HTTPStatus.BAD_REQUEST),
    (errors.AbsentError, HTTPStatus.NOT_FOUND),
    (errors.NoPermission, HTTPStatus.FORBIDDEN),
    (errors.Exists, HTTPStatus.CONFLICT),
    (errors.TooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
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


# -----------------------------------------------------------------------------
# The call of the contract `coder` for a request, where it has one.
# -----------------------------------------------------------------------------

READ, WORKSPACE_READ = "read_file", "coder_workspace_read_file"


def spelled(path: str, root: str) -> str:
    """A path of the workspace as callers write it; odd bytes as listings show them."""
    full = f"{root.rstrip('/')}/{path}" if path.startswith("/") else absolute_path(path, root)
    # Unchanged, unless it cannot be sent: only a name that begins with a quote is parsed as quoted.
    try:
        full.encode()
    except UnicodeEncodeError:
        return quote(full)
    return full


def own_calls(root: str) -> Callable[[Request], Call | None]:
    """A function from requests to calls of this contract, for a workspace with this root."""
    return partial(to_call, root=root)


def to_call(request: Request, root: str) -> Call | None:
    """The call for `request`; None if this contract has none."""
    if not isinstance(request, ReadRequest) or request.column != 1 or (request.offset or 1) < 1:
        return None
    path = request.path if request.path.startswith(("/", '"/')) else spelled(request.path, root)
    limit = request.limit if (request.limit or 0) < RESPONSE_LINES else None
    return call_of(READ, path=path, offset=request.offset, limit=limit)
