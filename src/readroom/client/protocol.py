"""Requests, answers and failures of coder's `/api/v0/`, as values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, final
from urllib.parse import quote_from_bytes

from msgspec import Struct, to_builtins

if TYPE_CHECKING:
    import httpx2


@final
class ReadFileLinesResponse(Struct, frozen=True):
    """The result of a read by lines; fields that the answer leaves out are zero or empty.

    Attributes:
        success: Whether it was read.
        file_size: Bytes of the whole file.
        total_lines: Lines of the whole file.
        lines_read: Lines in `content`.
        content: Each line with its number and a tab before it, joined by line feeds.
        error: Why it was not read.
    """

    success: bool
    file_size: int = 0
    total_lines: int = 0
    lines_read: int = 0
    content: str = ""
    error: str = ""


@final
class ReadFileLinesLimits(Struct, frozen=True):
    """Other limits of one read than the agent's own; None leaves them as they are."""

    max_file_size: int | None = None
    max_line_bytes: int | None = None
    max_response_lines: int | None = None
    max_response_bytes: int | None = None


@final
class FileEdit(Struct, frozen=True):
    """A text to replace, which occurs once, or is replaced everywhere."""

    search: str
    replace: str
    replace_all: bool = False


@final
class FileEdits(Struct, frozen=True):
    """Replacements in one file, each made in what the ones before it left."""

    path: str
    edits: Sequence[FileEdit]


@final
class FileDiff(Struct, frozen=True):
    """How an edited file changed, as a unified diff; empty when it did not."""

    path: str
    diff: str


@final
class FileEntry(Struct, frozen=True):
    """One name of a folder."""

    name: str
    absolute_path: str
    is_dir: bool


@final
class Listing(Struct, frozen=True):
    """A folder. `notes` name what is left out."""

    absolute_path: str
    entries: Sequence[FileEntry]
    notes: Sequence[str] = ()


class AgentError(Exception):
    """The agent refused or failed.

    Attributes:
        status: Of the HTTP answer; 0 when there was none.
        message: The agent's words.
        code: Stable name of the failure where the agent gives one, else empty.
        validations: What is wrong with the query, by parameter.
    """

    def __init__(
        self, status: int, message: str, *, code: str = "", validations: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code
        self.validations = dict(validations or {})

    def __str__(self) -> str:
        details = "; ".join(self.validations.values())
        return f"{self.message} {details}" if details else self.message


class BadRequestError(AgentError, ValueError):
    """The call itself is wrong (400)."""


class NotAllowedError(AgentError, PermissionError):
    """The token, the policy or the system says no (401, 403)."""

    __str__ = AgentError.__str__


class MissingError(AgentError, FileNotFoundError):
    """There is nothing at that path (404)."""

    __str__ = AgentError.__str__


class UnavailableError(AgentError, ConnectionError):
    """The agent cannot be reached, or takes no more requests now (429, 503)."""

    __str__ = AgentError.__str__


_BY_STATUS: Mapping[int, type[AgentError]] = {
    400: BadRequestError,
    401: NotAllowedError,
    403: NotAllowedError,
    404: MissingError,
    429: UnavailableError,
    503: UnavailableError,
}


class WireCall(Struct, frozen=True):
    """One request: how it is sent is all that differs between the two kinds of connections."""

    method: str
    name: str
    query: Mapping[str, str | int | None]
    body: bytes | None = None
    json: bool = False

    @property
    def url(self) -> str:
        """The address, with everything escaped that could mean something else."""
        stated = {name: value for name, value in self.query.items() if value is not None}
        pairs = (f"{name}={escaped(str(value))}" for name, value in stated.items())
        return f"api/v0/{self.name}" + ("?" + "&".join(pairs) if stated else "")

    @property
    def headers(self) -> dict[str, str]:
        """Those of its body."""
        if self.body is None:
            return {}
        return {"Content-Type": "application/json" if self.json else "application/octet-stream"}


def escaped(text: str) -> str:
    """A text in an address."""
    # Names with bytes that are not characters come from os.fsdecode.
    return quote_from_bytes(text.encode("utf-8", "surrogateescape"), safe="/")


# --- calls ------------------------------------------------------------------------------------


def read_lines_call(path: str, offset: int, limit: int, limits: ReadFileLinesLimits | None) -> WireCall:
    """GET read-file-lines."""
    own = limits or ReadFileLinesLimits()
    query: dict[str, str | int | None] = {
        "path": path,
        "offset": offset,
        "limit": limit,
        "max_file_size": own.max_file_size,
        "max_line_bytes": own.max_line_bytes,
        "max_response_lines": own.max_response_lines,
        "max_response_bytes": own.max_response_bytes,
    }
    return WireCall("GET", "read-file-lines", query)


def read_call(path: str, offset: int, limit: int) -> WireCall:
    """GET read-file."""
    return WireCall("GET", "read-file", {"path": path, "offset": offset, "limit": limit})


def write_call(path: str, data: bytes) -> WireCall:
    """POST write-file."""
    return WireCall("POST", "write-file", {"path": path}, data)


def edit_call(files: Sequence[FileEdits], *, include_diff: bool) -> WireCall:
    """POST edit-files."""
    body = json.dumps({"files": to_builtins(files), "include_diff": include_diff}).encode()
    return WireCall("POST", "edit-files", {}, body, json=True)


def list_call(path: str) -> WireCall:
    """POST list-directory."""
    return WireCall("POST", "list-directory", {"path": path}, b"{}", json=True)


# --- answers ----------------------------------------------------------------------------------


def value_of(response: httpx2.Response) -> dict[str, Any]:
    """The object of an answer. Raises AgentError."""
    value = _object(response)
    if response.status_code == 200 and value is not None:
        return value
    raise _failure(response.status_code, value)


def _object(response: httpx2.Response) -> dict[str, Any] | None:
    try:
        value = json.loads(response.content)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _failure(status: int, value: dict[str, Any] | None) -> AgentError:
    body = value or {}
    error = body.get("error")
    inner = error if isinstance(error, dict) else {}
    words = body.get("message") or inner.get("message") or (error if isinstance(error, str) else "")
    validations = {
        str(validation.get("field")): str(validation.get("detail"))
        for validation in body.get("validations") or ()
    }
    kind = _BY_STATUS.get(status, AgentError)
    message = str(words or f"The agent answered {status} without a reason")
    return kind(status, message, code=str(inner.get("code", "")), validations=validations)


def unreached(error: Exception) -> UnavailableError:
    """The failure of a request that got no answer."""
    return UnavailableError(0, f"The agent cannot be reached: {error or type(error).__name__}")


def lines_of(value: Mapping[str, Any]) -> ReadFileLinesResponse:
    """The response of read-file-lines."""
    return ReadFileLinesResponse(
        bool(value.get("success")),
        int(value.get("file_size", 0)),
        int(value.get("total_lines", 0)),
        int(value.get("lines_read", 0)),
        str(value.get("content", "")),
        str(value.get("error", "")),
    )


def bytes_of(response: httpx2.Response) -> bytes:
    """The bytes of an answer. Raises AgentError."""
    if response.status_code != 200:
        raise _failure(response.status_code, _object(response))
    return response.content


def diffs_of(value: Mapping[str, Any]) -> list[FileDiff]:
    """The diffs in an answer of edit-files."""
    return [FileDiff(str(diff["path"]), str(diff["diff"])) for diff in value.get("files") or ()]


def listing_of(value: Mapping[str, Any]) -> Listing:
    """The listing in an answer of list-directory."""
    entries = [
        FileEntry(str(item["name"]), str(item["absolute_path_string"]), bool(item["is_dir"]))
        for item in value["contents"]
    ]
    return Listing(
        str(value["absolute_path_string"]), entries, [str(item) for item in value.get("notes", ())]
    )
