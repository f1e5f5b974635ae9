"""Additions of Streamable HTTP to messages: headers that repeat them, statuses, and event streams."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from readroom.mcp.protocol import eras, params
from readroom.mcp.protocol.connection import supported
from readroom.mcp.protocol.messages import Answer, Notification, Request, refusal

SESSION: Final = "mcp-session-id"
VERSION: Final = "mcp-protocol-version"
METHOD: Final = "mcp-method"
NAME: Final = "mcp-name"

JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"

_NAMED: Final = {"tools/call": "name", "resources/read": "uri"}
"""Methods with a parameter that a header repeats."""

_ENCODED: Final = re.compile(r"=\?base64\?(.*)\?=")

_STATUS: Final = {
    eras.PARSE_ERROR: 400,
    eras.INVALID_REQUEST: 400,
    eras.INVALID_PARAMS: 400,
    eras.HEADER_MISMATCH: 400,
    eras.UNSUPPORTED_VERSION: 400,
    eras.METHOD_NOT_FOUND: 404,
}
"""HTTP statuses by error code, since 2026-07-28; all others are 200."""


def is_stateless(version: str | None) -> bool:
    """Whether a version header means 2026-07-28 or later; an unknown version counts as such."""
    return version is not None and version not in eras.HANDSHAKE_VERSIONS


def status(answer: Answer) -> int:
    """The HTTP status of an answer, since 2026-07-28."""
    return 200 if answer.failure is None else _STATUS.get(answer.failure.code, 200)


def unspoken(version: str | None) -> str | None:
    """The error about an unsupported version header; None if the version is supported."""
    if version is None or version in (*eras.HANDSHAKE_VERSIONS, *eras.STATELESS_VERSIONS):
        return None
    agreed, own = ", ".join(eras.HANDSHAKE_VERSIONS), ", ".join(eras.STATELESS_VERSIONS)
    return (
        f"The header {VERSION} says {version[:_VERSION_CHARS]!r}, which is not spoken here: send the version "
        f"that initialize was answered with ({agreed}), or {own} with what that wants in params._meta"
    )


_VERSION_CHARS = 40
"""How much of a version is shown; real ones have ten characters."""


@lru_cache(64)  # clients say the same again and again
def accepted(header: str) -> tuple[bool, bool]:
    """Whether a client accepts JSON, and whether it accepts a stream of events."""
    kinds = {kind.partition(";")[0].strip().lower() for kind in header.split(",")}
    takes_all = "*/*" in kinds
    takes_json = takes_all or not kinds.isdisjoint((JSON, "application/*"))
    return takes_json, takes_all or not kinds.isdisjoint((EVENTS, "text/*"))


def event(message: bytes) -> bytes:
    """A message as one event of a stream."""
    return b"event: message\r\ndata: " + message + b"\r\n\r\n"


STILL_HERE: Final = b": still here\r\n\r\n"
"""A comment in a stream, which keeps proxies from closing it."""


def contradiction(
    message: Request | Notification, headers: Mapping[str, str], names: Iterable[str]
) -> Answer | None:
    """The error for a message of 2026-07-28 that contradicts its headers; None if they agree.

    Args:
        message: The body.
        headers: By names in lower case.
        names: Those names as they came: each header once.
    """
    if isinstance(message, Notification):
        return None if headers.get(VERSION) in eras.STATELESS_VERSIONS else _unsupported(headers.get(VERSION))
    counted = list(names)
    for name in (VERSION, METHOD, NAME):
        if counted.count(name) > 1:
            return _mismatch(message, f"The header {name} stands there more than once")
    meta = params.meta(message.params) or {}
    words = unspoken(headers.get(VERSION))
    if words is not None and eras.VERSION_META not in meta:
        return refusal(message.id, eras.INVALID_PARAMS, words)
    if not meta.keys() >= {eras.VERSION_META, eras.CAPABILITIES_META}:
        return None  # the connection reports that first
    if headers.get(VERSION) != meta[eras.VERSION_META]:
        return _mismatch(message, f"The header {VERSION} is not the version in params._meta")
    if headers.get(METHOD) != message.method:
        return _mismatch(message, f"The header {METHOD} is not the method of the body")
    return _misnamed(message, message.params or {}, headers)


def _misnamed(message: Request, parameters: Mapping[str, Any], headers: Mapping[str, str]) -> Answer | None:
    key = _NAMED.get(message.method)
    if key is None or parameters.get(key) is None or _decoded(headers.get(NAME)) == parameters[key]:
        return None
    return _mismatch(message, f"The header {NAME} is not the parameter {key!r} of the body")


def _mismatch(message: Request, words: str) -> Answer:
    return refusal(message.id, eras.HEADER_MISMATCH, words)


def _unsupported(version: str | None) -> Answer:
    return refusal(None, eras.UNSUPPORTED_VERSION, "Unsupported protocol version", supported(version))


def _decoded(value: str | None) -> str | None:
    """The value of a header, which may be base64; None if that is invalid."""
    match = None if value is None else _ENCODED.fullmatch(value)
    if match is None:
        return value
    try:
        data = base64.b64decode(match[1], validate=True)
        # Only one spelling of each value: two parsers must not read it differently.
        return data.decode() if base64.b64encode(data).decode("ascii") == match[1] else None
    except (binascii.Error, UnicodeDecodeError):
        return None
