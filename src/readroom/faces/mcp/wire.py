"""JSON-RPC messages as lines of JSON: decoded leniently, encoded always.

What no client should send still gets an answer that names its request, wherever
the request can be told: a client that is not answered waits for minutes.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from readroom.limits import MCP_MESSAGE_BYTES

_LOG = logging.getLogger("readroom")


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is answered to a line that is no message."""

    answer: types.JSONRPCError


def decode(line: bytes) -> types.JSONRPCMessage | Refusal:
    """The message of a line.

    Bytes that are not UTF-8 and halves of surrogate pairs are kept as characters
    that no file name has: the tool then says what is wrong with its argument.
    """
    if len(line) > MCP_MESSAGE_BYTES:
        return _refused(
            None,
            types.INVALID_REQUEST,
            f"The line is longer than {MCP_MESSAGE_BYTES:,} bytes, the most a message may have",
        )
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        if not isinstance(message, types.JSONRPCNotification):
            return message
    except ValidationError:
        pass
    try:
        return _checked(json.loads(line.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return _refused(None, types.PARSE_ERROR, "The line is not JSON")


def _checked(value: object) -> types.JSONRPCMessage | Refusal:
    """A decoded value as a message. What has an id is no notification, though the SDK takes it for one."""
    try:
        message = types.jsonrpc_message_adapter.validate_python(value, by_name=False)
        if not (isinstance(message, types.JSONRPCNotification) and isinstance(value, dict) and "id" in value):
            return message
    except ValidationError:
        pass
    return _refused(_id(value), types.INVALID_REQUEST, "The line is not one JSON-RPC 2.0 message")


def encode(message: types.JSONRPCMessage) -> bytes:
    """The line of a message; an error instead when it cannot be put into JSON."""
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
    except (PydanticSerializationError, UnicodeEncodeError):
        _LOG.exception("a message could not be encoded")
        failed = _error(
            getattr(message, "id", None), types.INTERNAL_ERROR, "The reply could not be put into JSON"
        )
        return failed.model_dump_json().encode() + b"\n"


def _id(value: object) -> types.RequestId | None:
    found = value.get("id") if isinstance(value, dict) else None
    valid = isinstance(found, (int, str)) and not isinstance(found, bool)
    return found if valid and not (isinstance(found, str) and _halves(found)) else None


def _halves(text: str) -> bool:
    """Whether it holds halves of surrogate pairs, which no answer can repeat."""
    return text != text.encode("utf-8", "replace").decode()


def _refused(request_id: types.RequestId | None, code: int, message: str) -> Refusal:
    return Refusal(_error(request_id, code, message))


def _error(request_id: types.RequestId | None, code: int, message: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=types.ErrorData(code=code, message=message))


class Outbox:
    """The write stream that the SDK's server wants, around a function that takes lines."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write

    async def send(self, item: SessionMessage, /) -> None:
        """Encode and pass on."""
        self._write(encode(item.message))

    async def aclose(self) -> None:
        """The SDK closes at the end of the input; what was passed on is still written."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None
