"""Decode JSON-RPC messages, leniently, and encode answers.

Even a message that no client should send gets an answer that names its request, if the request can be
identified, because a client without an answer waits for minutes.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, TypeAlias, TypeGuard

import msgspec
from msgspec import UNSET, Raw, UnsetType

from readroom.core.log import log
from readroom.mcp.protocol import eras

Id: TypeAlias = int | str


class Request(msgspec.Struct, frozen=True):
    """A message that requires an answer."""

    id: Id
    method: str
    params: dict[str, Any] | None = None


class Notification(msgspec.Struct, frozen=True):
    """A message without an answer."""

    method: str
    params: dict[str, Any] | None = None


class Unsolicited(msgspec.Struct, frozen=True):
    """An answer to a request that this server never sent."""


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """The error of an answer."""

    code: int
    message: str
    data: Any = None


class Answer(msgspec.Struct, frozen=True):
    """A result or an error, for a request whose id may be unknown."""

    id: Id | None
    result: dict[str, Any] | None = None
    failure: Failure | None = None


Message: TypeAlias = Request | Notification | Unsolicited


class _Wire(msgspec.Struct):
    """The form of any message, as far as msgspec checks it."""

    jsonrpc: Literal["2.0"]
    id: int | str | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: dict[str, Any] | None = None
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


_DECODER: Final = msgspec.json.Decoder(_Wire)


def decode(data: bytes, most: int) -> Message | Answer:
    """The message in `data`, or the answer to invalid data.

    Bytes that are not UTF-8 and halves of surrogate pairs are kept as characters
    that no file name has: the tool then reports the invalid argument.

    Args:
        data: One line, or one body.
        most: The longest accepted message, in bytes.
    """
    if len(data) > most:
        words = f"The message is longer than {most:,} bytes, the most that one may have"
        return refusal(None, eras.INVALID_REQUEST, words)
    data = data.removeprefix(BOM_UTF8)  # pipes of PowerShell begin with one
    try:
        message = _message(_DECODER.decode(data))
        if message is not None:
            return message
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return _lenient(json.loads(data.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return refusal(None, eras.PARSE_ERROR, "The message is not JSON")


def decode_batch(data: bytes, most: int) -> list[Message | Answer] | None:
    """The messages of a batch, or the answers to invalid ones; None for anything that is not a batch."""
    if len(data) > most or not data.removeprefix(BOM_UTF8).lstrip().startswith(b"["):
        return None
    try:
        values = json.loads(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None
    return [_lenient(value) for value in values] or None


def ids_of(batch: Sequence[Message | Answer]) -> list[Id]:
    """The ids of the requests in a batch, for which their client waits."""
    return [one.id for one in batch if isinstance(one, (Request, Answer)) and one.id is not None]


def _message(wire: _Wire) -> Message | None:
    if not isinstance(wire.method, UnsetType):
        if isinstance(wire.id, UnsetType):
            return Notification(wire.method, wire.params)
        return Request(wire.id, wire.method, wire.params)
    if isinstance(wire.result, UnsetType) and isinstance(wire.error, UnsetType):
        return None
    return Unsolicited()


def _lenient(value: object) -> Message | Answer:
    """A message from a decoded value, in spite of unusual characters."""
    if isinstance(value, list):
        return refusal(None, eras.INVALID_REQUEST, NO_BATCH)
    if isinstance(value, dict):
        request_id, method, params = value.get("id"), value.get("method"), value.get("params")
        formed = value.get("jsonrpc") == "2.0" and (params is None or isinstance(params, dict))
        if formed and isinstance(method, str) and "id" not in value:
            return Notification(method, params)
        if formed and isinstance(method, str) and _is_id(request_id) and not halves(str(request_id)):
            return Request(request_id, method, params)
        if formed and method is None and ("result" in value or "error" in value):
            return Unsolicited()
        if _is_id(request_id) and not halves(str(request_id)):
            return refusal(request_id, eras.INVALID_REQUEST, _NO_MESSAGE)
    return refusal(None, eras.INVALID_REQUEST, _NO_MESSAGE)


NO_BATCH: Final = "Batches are taken in sessions of 2025-03-26 alone. Send the messages singly"
_NO_MESSAGE: Final = "This is not one JSON-RPC 2.0 message"


def _is_id(value: object) -> TypeGuard[Id]:
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def halves(text: str) -> bool:
    """Whether a text has halves of surrogate pairs, which an answer cannot repeat."""
    return text != text.encode("utf-8", "replace").decode()


def refusal(request_id: Id | None, code: int, message: str, data: object = None) -> Answer:
    """An answer with an error."""
    return Answer(request_id, failure=Failure(code, message, data))


_ENCODER: Final = msgspec.json.Encoder()


def encode(answer: Answer) -> bytes:
    """The bytes of an answer, without line feeds; an error answer if JSON cannot represent it.

    A refusal that repeats half of a surrogate pair, which only its client can have sent, has "?" for it.
    """
    try:
        return _encoded(answer, _ENCODER.encode)
    except UnicodeEncodeError:
        if answer.failure is not None or (answer.result or {}).get("isError"):
            return _encoded(Answer(_sendable(answer.id), answer.result, answer.failure), _replaced)
        log().exception("an answer could not be put into JSON")
    except (TypeError, ValueError, RecursionError):
        log().exception("an answer could not be put into JSON")
    failed = refusal(_sendable(answer.id), eras.INTERNAL_ERROR, "The reply could not be put into JSON")
    return _encoded(failed, _ENCODER.encode)


def _encoded(answer: Answer, put: Callable[[object], bytes]) -> bytes:
    inner = answer.failure if answer.result is None else answer.result
    name = b'"result":' if answer.result is not None else b'"error":'
    return b"".join((b'{"jsonrpc":"2.0","id":', put(answer.id), b",", name, put(inner), b"}"))


def _sendable(request_id: Id | None) -> Id | None:
    return None if halves(str(request_id)) else request_id


def _replaced(value: object) -> bytes:
    text = json.dumps(msgspec.to_builtins(value), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def notification(method: str, params: dict[str, Any]) -> bytes:
    """The bytes of a notification to the client."""
    return _ENCODER.encode({"jsonrpc": "2.0", "method": method, "params": params})


class Refusal(Exception):
    """Raised when a call fails; becomes the error of its answer."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
