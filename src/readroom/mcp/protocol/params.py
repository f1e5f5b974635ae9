"""Validate the parameters of a request, by its method."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from readroom.mcp.protocol import eras
from readroom.mcp.protocol.messages import halves

Params: TypeAlias = Mapping[str, Any]


def meta(params: Params | None) -> Mapping[str, Any] | None:
    """The `_meta` of parameters, if it is an object."""
    value = None if params is None else params.get("_meta")
    return value if isinstance(value, dict) else None


def problem(method: str, params: Params) -> str | None:
    """The error in the parameters of a method; None if there is none."""
    if params.get("_meta") is not None and not isinstance(params["_meta"], dict):
        return "'_meta' must be an object"
    check = _CHECKS.get(method)
    return None if check is None else check(params)


def _paginated(params: Params) -> str | None:
    return None if isinstance(params.get("cursor"), str | None) else "'cursor' must be a string"


def _call(params: Params) -> str | None:
    if not isinstance(params.get("name"), str):
        return "'name' must be the name of a tool"
    return None if isinstance(params.get("arguments"), dict | None) else "'arguments' must be an object"


def _read(params: Params) -> str | None:
    return None if isinstance(params.get("uri"), str) else "'uri' must be a string"


def _listen(params: Params) -> str | None:
    wanted = params.get("notifications")
    if not isinstance(wanted, dict):
        return "'notifications' must be an object"
    uris = wanted.get("resourceSubscriptions")
    fits = uris is None or (isinstance(uris, list) and all(isinstance(uri, str) for uri in uris))
    return None if fits else "'resourceSubscriptions' must be a list of strings"


def _initialize(params: Params) -> str | None:
    if not isinstance(params.get("protocolVersion"), str):
        return "'protocolVersion' must be a string"
    if not isinstance(params.get("capabilities"), dict):
        return "'capabilities' must be an object"
    return _implementation("clientInfo", params.get("clientInfo"))


def _implementation(name: str, value: object) -> str | None:
    if not isinstance(value, dict) or not all(isinstance(value.get(key), str) for key in ("name", "version")):
        return f"'{name}' must be an object with 'name' and 'version'"
    return f"the name in '{name}' has half of a surrogate pair" if halves(value["name"]) else None


def _level(params: Params) -> str | None:
    return None if params.get("level") in eras.LEVELS else f"'level' must be one of {', '.join(eras.LEVELS)}"


_CHECKS: Final[Mapping[str, Callable[[Params], str | None]]] = {
    "initialize": _initialize,
    "logging/setLevel": _level,
    "tools/list": _paginated,
    "tools/call": _call,
    "resources/list": _paginated,
    "resources/templates/list": _paginated,
    "resources/read": _read,
    eras.SUBSCRIBE: _read,
    eras.UNSUBSCRIBE: _read,
    eras.LISTEN: _listen,
}


def envelope_problem(envelope: Mapping[str, Any]) -> str | None:
    """The error in the metadata of a request of 2026-07-28; None if there is none."""
    if not isinstance(envelope[eras.CAPABILITIES_META], dict):
        return f"{eras.CAPABILITIES_META!r} must be an object"
    if envelope.get(eras.CLIENT_META) is not None:
        wrong = _implementation(eras.CLIENT_META, envelope[eras.CLIENT_META])
        if wrong is not None:
            return wrong
    level = envelope.get(eras.LEVEL_META)
    return None if level is None or level in eras.LEVELS else f"{eras.LEVEL_META!r} is not a level"


def progress_token(envelope: Mapping[str, Any] | None) -> int | str | None:
    """The token for progress notifications, if the client wants them."""
    token = None if envelope is None else envelope.get("progressToken")
    fits = isinstance(token, (int, str)) and not isinstance(token, bool) and not halves(str(token))
    return token if fits else None
