"""Answers and failures of coder's `/api/v0/`, as values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, final
from urllib.parse import quote
from uuid import UUID

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

    old_text: str
    new_text: str
    replace_all: bool = False

    def sent(self) -> dict[str, str | bool]:
        """Its fields for agents of today, with a copy for older ones, as coder's own client sends them."""
        copy: dict[str, str | bool] = {"search": self.old_text, "replace": self.new_text}
        return {**to_builtins(self), **copy}


@final
class FileEdits(Struct, frozen=True):
    """Replacements in one file, each applied to the result of the ones before it."""

    path: str
    edits: Sequence[FileEdit]


@final
class FileDiff(Struct, frozen=True):
    """The changes of an edited file as a unified diff; empty if nothing changed."""

    path: str
    diff: str


@final
class ToolCall(Struct, frozen=True):
    """The tool call of a chat for which a request is made: the agent applies it once.

    Attributes:
        chat_id: The chat, a UUID.
        message_id: The message with the call, above 0; a newer one ends the calls of older ones.
        id: The provider's id of the call, any text.
        age_ms: How long ago the call was made, in milliseconds.
    """

    chat_id: str
    message_id: int
    id: str
    age_ms: int = 0

    @property
    def headers(self) -> dict[str, str]:
        """The headers of its requests."""
        return {
            "Coder-Chat-Id": self.chat_id,
            "Coder-Tool-Call-Message-Id": str(self.message_id),
            "Coder-Tool-Call-Id": quote(self.id, safe="$&+=:@"),
            "Coder-Tool-Call-Age-Ms": str(max(0, self.age_ms)),
        }

    @property
    def uuid(self) -> str:
        """The id by which it is cancelled, and that of a process that it starts."""
        named = _TOOL_CALLS.bytes + UUID(self.chat_id).bytes + self.message_id.to_bytes(8, "big")
        digest = hashlib.sha1(named + self.id.encode(), usedforsecurity=False).digest()
        return str(UUID(bytes=digest[:16], version=5))


_TOOL_CALLS = UUID("c5773f4c-0b3f-57bc-9147-36daf7921a1b")
"""The namespace of the ids of tool calls."""


@final
class Process(Struct, frozen=True):
    """A process of the agent; times are in seconds since 1970, None for what has not happened."""

    id: str
    command: str
    background: bool
    running: bool
    started_at_unix: int
    workdir: str = ""
    exit_code: int | None = None
    exited_at_unix: int | None = None


@final
class ProcessTruncation(Struct, frozen=True):
    """How an output was shortened."""

    original_bytes: int
    retained_bytes: int
    omitted_bytes: int
    strategy: str


@final
class ProcessOutput(Struct, frozen=True):
    """The output of a process, and its state."""

    output: str
    running: bool
    exit_code: int | None = None
    truncated: ProcessTruncation | None = None
    command: str = ""


@final
class CancelledProcess(Struct, frozen=True):
    """The process of a cancelled tool call; `canceled` says that it was stopped for that."""

    canceled: bool
    output: str
    running: bool
    exit_code: int | None = None
    run_age_ms: int = 0
    truncated: ProcessTruncation | None = None


@final
class CancelledCall(Struct, frozen=True):
    """A tool call that was cancelled: the answer it had, if it was applied before, and its process."""

    started: bool
    status_code: int = 0
    content_type: str = ""
    body: bytes = b""
    process: CancelledProcess | None = None


@final
class ChatFile(Struct, frozen=True):
    """A file that was kept for a chat; its name may have got a number.

    Attributes:
        path: Absolute.
        name: The last part of the path.
        size: Bytes.
    """

    path: str
    name: str
    size: int


@final
class FileEntry(Struct, frozen=True, rename={"absolute_path": "absolute_path_string"}):
    """One name of a folder."""

    name: str
    absolute_path: str
    is_dir: bool


@final
class Listing(Struct, frozen=True, rename={"absolute_path": "absolute_path_string", "entries": "contents"}):
    """A folder. `notes` name omitted entries."""

    absolute_path: str
    entries: Sequence[FileEntry]
    notes: Sequence[str] = ()


class AgentError(Exception):
    """The agent refused or failed.

    Attributes:
        status: Of the HTTP answer; 0 if there was none.
        message: The agent's words.
        code: Stable name of the failure; empty if the agent gives none.
        validations: Errors of the query, by parameter.
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
    """The token, the policy or the system denies it (401, 403)."""

    __str__ = AgentError.__str__


class MissingError(AgentError, FileNotFoundError):
    """There is nothing at that path (404)."""

    __str__ = AgentError.__str__


class UnavailableError(AgentError, ConnectionError):
    """The agent cannot be reached, or accepts no more requests now (429, 503)."""

    __str__ = AgentError.__str__


class ConflictError(AgentError):
    """A tool call is not applied, or a process does not run (409); `code` says why a call is not."""


_BY_STATUS: Mapping[int, type[AgentError]] = {
    400: BadRequestError,
    401: NotAllowedError,
    403: NotAllowedError,
    404: MissingError,
    409: ConflictError,
    429: UnavailableError,
    503: UnavailableError,
}


def object_of(response: httpx2.Response) -> dict[str, Any] | None:
    """The object of an answer, if it is one."""
    try:
        value = json.loads(response.content)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def failure_of(response: httpx2.Response) -> AgentError:
    """The failure that an answer reports."""
    status, body = response.status_code, object_of(response) or {}
    error = body.get("error")
    inner = error if isinstance(error, dict) else {}
    words = body.get("message") or inner.get("message") or (error if isinstance(error, str) else "")
    validations = {
        str(validation.get("field")): str(validation.get("detail"))
        for validation in body.get("validations") or ()
    }
    kind = _BY_STATUS.get(status, AgentError)
    message = str(words or f"The agent answered {status} without a reason")
    code = str(inner.get("code") or body.get("code") or "")
    return kind(status, message, code=code, validations=validations)
