"""Answers as JSON: one shape for all errors, with the status of their class."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from http import HTTPStatus

import msgspec
from starlette.responses import Response

from readroom.core import errors
from readroom.core.contracts.native.facts import of_error
from readroom.core.errors import ReadroomError
from readroom.core.values import Fact
from readroom.mcp.protocol.eras import INTERNAL_ERROR, INVALID_REQUEST

_STATUS: tuple[tuple[type[ReadroomError], HTTPStatus], ...] = (
    (errors.UnknownTool, HTTPStatus.NOT_FOUND),
    (errors.WrongMethod, HTTPStatus.METHOD_NOT_ALLOWED),
    (errors.BodyTooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (errors.WrongMediaType, HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
    (errors.UnknownCoding, HTTPStatus.NOT_IMPLEMENTED),
    (errors.WrongVersion, HTTPStatus.HTTP_VERSION_NOT_SUPPORTED),
    (errors.UsageError, HTTPStatus.BAD_REQUEST),
    (errors.NotThisHost, HTTPStatus.MISDIRECTED_REQUEST),
    (errors.Unauthorized, HTTPStatus.UNAUTHORIZED),
    (errors.TooManyRequests, HTTPStatus.TOO_MANY_REQUESTS),
    (errors.RefusedError, HTTPStatus.FORBIDDEN),
    (errors.AbsentError, HTTPStatus.NOT_FOUND),
    (errors.ConflictError, HTTPStatus.CONFLICT),
    (errors.SlowRequest, HTTPStatus.REQUEST_TIMEOUT),
    (errors.Busy, HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.Closing, HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.DatabaseFailed, HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.Cancelled, HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.TimedOut, HTTPStatus.GATEWAY_TIMEOUT),
    (errors.NoSpace, HTTPStatus.INSUFFICIENT_STORAGE),
    (errors.Internal, HTTPStatus.INTERNAL_SERVER_ERROR),
    (errors.StoreFailed, HTTPStatus.INTERNAL_SERVER_ERROR),
    (errors.BadTokenStore, HTTPStatus.INTERNAL_SERVER_ERROR),
    (ReadroomError, HTTPStatus.UNPROCESSABLE_ENTITY),
)
"""The first matching class decides."""

JSON = "application/json"


def status_of(error: type[ReadroomError]) -> HTTPStatus:
    """The status of a class of errors."""
    return next(status for base, status in _STATUS if issubclass(error, base))


@cache
def status_of_code(code: str) -> HTTPStatus:
    """The status of an error code."""
    return status_of(errors.of_code(code))


def as_body(value: Mapping[str, Fact]) -> bytes:
    """A JSON object; lone surrogates, which JSON cannot carry, become question marks."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_sendable(value))


def headers_of(status: int, body: bytes) -> list[tuple[bytes, bytes]]:
    """The headers of a JSON object, with Retry-After if the server was busy."""
    headers = [(b"content-type", JSON.encode("ascii")), (b"content-length", b"%d" % len(body))]
    return [*headers, (b"retry-after", b"1")] if status == HTTPStatus.SERVICE_UNAVAILABLE else headers


def ok(value: Mapping[str, Fact], status: int = HTTPStatus.OK) -> Response:
    """An answer with a JSON object."""
    return Response(as_body(value), status, media_type=JSON)


def refused(error: ReadroomError, *, rpc: bool = False, agent: bool = False) -> Response:
    """A refusal before a contract is known, in the shape of the tools' structured errors.

    With `rpc` that object is the data of a JSON-RPC error: MCP clients show people nothing else.  With
    `agent` it also has the message where clients of coder's agent look for it.
    """
    status = status_of(type(error))
    body = _rpc(error, status) if rpc else of_error(error)
    response = ok({"message": str(error), **body} if agent else body, status)
    if isinstance(error, errors.Unauthorized):
        why = f', error="invalid_token", error_description="{error.problem}"' if error.presented else ""
        response.headers["WWW-Authenticate"] = f'Bearer realm="readroom"{why}'
    if isinstance(error, errors.TooManyRequests):
        response.headers["Retry-After"] = str(error.retry_after_s)
    if isinstance(error, errors.WrongMethod):
        response.headers["Allow"] = ", ".join(error.allowed)
    return again_later(response)


def again_later(response: Response) -> Response:
    """The response, with Retry-After if the server was busy."""
    if response.status_code == HTTPStatus.SERVICE_UNAVAILABLE:
        response.headers["Retry-After"] = "1"
    return response


def _rpc(error: ReadroomError, status: int) -> dict[str, Fact]:
    code = INTERNAL_ERROR if status >= HTTPStatus.INTERNAL_SERVER_ERROR else INVALID_REQUEST
    failure: dict[str, Fact] = {"code": code, "message": str(error), "data": of_error(error)["error"]}
    return {"jsonrpc": "2.0", "id": None, "error": failure}


def _sendable(value: Fact) -> Fact:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {str(_sendable(key)): _sendable(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_sendable(inner) for inner in value]
    return value
