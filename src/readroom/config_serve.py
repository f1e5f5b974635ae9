"""What a server is told: the sections [serve] and [workspaces.NAME] of the operator's file.

    [serve]
    default = "docs"                    # the workspace of addresses without a name; default the first
    hosts = ["agent.internal"]          # names of this machine that clients may use
    origins = ["http://localhost:3000"] # pages that may use it, beside those of its own address
    auth = "required"                   # only tokens made with `readroom token create`; "open": none at all;
                                        # "auto", the default: those, or the token of the folder, and
                                        # none on a Unix socket until one was made
    rate = 6000                         # requests a minute of one token; 0 is no limit
    address_rate = 60000                # and of one address
    workers = 8                         # calls that run at once
    queue = 128                         # calls that wait
    access_log = true                   # one line of JSON for each request, on standard error
    max_chars = 20000                   # of a reply over MCP, instead of what each client passes on

    [workspaces.docs]
    root = "/srv/docs"                  # relative to this file
    config = "docs.toml"                # its own rules and limits; default those of this file

A folder's own `readroom.toml` has no such sections: what is served is the operator's to say.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast, get_args

from readroom.errors import BadConfig
from readroom.limits import (
    CONFIG_FILE_BYTES,
    MAX_REPLY_BYTES,
    MCP_WORKERS,
    MIN_REPLY_BYTES,
    SERVE_ADDRESS_RATE,
    SERVE_CALL_S,
    SERVE_QUEUE,
    SERVE_RATE,
)
from readroom.session.admission import Auth

DEFAULT = "default"
"""The name of the one workspace of a server that was given a folder."""

NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
"""Names that need no escapes in an address."""

_HOST = re.compile(r"[A-Za-z0-9.-]{1,253}|\[?[0-9A-Fa-f:]{2,45}\]?")

ORIGIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[A-Za-z0-9._:\[\]-]{1,300}")
ORIGIN_ADVICE = "Write it as a browser sends it: http://localhost:3000, without a path."


@dataclass(frozen=True, slots=True)
class Place:
    """A workspace to serve: its root, and the operator's file for it."""

    root: str
    config: str | None = None


@dataclass(frozen=True, slots=True)
class Serving:
    """How to serve. Rates are requests a minute, 0 for no limit; see the module's form."""

    workspaces: Mapping[str, Place] = field(default_factory=dict)
    default: str | None = None
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    auth: Auth = "auto"
    rate: int = SERVE_RATE
    address_rate: int = SERVE_ADDRESS_RATE
    workers: int = MCP_WORKERS
    queue: int = SERVE_QUEUE
    access_log: bool = False
    max_chars: int | None = None
    call_s: float = SERVE_CALL_S


_NUMBERS: Mapping[str, tuple[int, int]] = {
    "rate": (0, 10**9),
    "address_rate": (0, 10**9),
    "workers": (1, 256),
    "queue": (0, 100_000),
    "max_chars": (MIN_REPLY_BYTES, MAX_REPLY_BYTES),
}
_KEYS = ("default", "hosts", "origins", "auth", *_NUMBERS, "access_log")
_PLACE_KEYS = ("root", "config")


def load(path: str | None) -> Serving:
    """What the operator's file says of serving; the defaults without a file. Raises BadConfig."""
    if path is None:
        return Serving()
    import tomllib

    try:
        with open(path, "rb") as file:
            document = tomllib.loads(file.read(CONFIG_FILE_BYTES).decode("utf-8-sig"))
    except OSError as error:
        problem = os.strerror(error.errno) if error.errno else type(error).__name__
        raise BadConfig(path, "", problem, "Name a readable TOML file.") from None
    except (ValueError, RecursionError) as error:
        raise BadConfig(path, "", f"it is not TOML: {error}", "Correct the syntax.") from None
    reader = _Reader(path)
    found = reader.serve(document.get("serve", {}))
    return reader.checked(replace(found, workspaces=reader.workspaces(document.get("workspaces", {}))))


class _Reader:
    def __init__(self, where: str) -> None:
        self._where = where
        self._folder = os.path.dirname(os.path.abspath(where))

    def serve(self, section: object) -> Serving:
        keys = self._section("serve", section, _KEYS)
        # Each value has the type of the field it replaces.
        values = {name: self._value(name, value) for name, value in keys.items()}
        return replace(Serving(), **cast("dict[str, Any]", values))

    def workspaces(self, section: object) -> dict[str, Place]:
        if not isinstance(section, dict):
            raise self._bad("workspaces", "must be sections", "Write [workspaces.NAME] and its root below.")
        return {name: self._place(name, keys) for name, keys in section.items()}

    def checked(self, found: Serving) -> Serving:
        if found.default is not None and found.default not in found.workspaces:
            known = ", ".join(found.workspaces) or "none"
            raise self._bad(
                "serve.default", f"there is no workspace {found.default!r}", f"There are: {known}."
            )
        return found

    def _place(self, name: str, keys: object) -> Place:
        if not NAME.fullmatch(name):
            advice = "Use up to 64 small letters, digits, '_', '.' and '-', with a letter or digit first."
            raise self._bad(f"workspaces.{name}", "is no name for an address", advice)
        section = self._section(f"workspaces.{name}", keys, _PLACE_KEYS)
        root, config = (self._path(f"workspaces.{name}.{key}", section.get(key)) for key in _PLACE_KEYS)
        if root is None or not os.path.isdir(root):
            raise self._bad(f"workspaces.{name}.root", "is no folder", 'Write root = "/a/folder".')
        return Place(root, config or self._where)

    def _path(self, key: str, value: object) -> str | None:
        if value is None:
            return None
        if not isinstance(value, str) or "\0" in value or not value:
            raise self._bad(key, "must be a path", f'Write {key.rpartition(".")[2]} = "...".')
        return os.path.normpath(os.path.join(self._folder, os.path.expanduser(value)))

    def _section(self, key: str, section: object, known: tuple[str, ...]) -> Mapping[str, object]:
        if not isinstance(section, dict):
            raise self._bad(key, "must be a section", f"Write [{key}] and its keys below.")
        for name in section:
            if name not in known:
                raise self._bad(f"{key}.{name}", "is not known", f"The keys are: {', '.join(known)}.")
        return section

    def _value(self, name: str, value: object) -> object:
        key = f"serve.{name}"
        match name:
            case "default":
                if not isinstance(value, str):
                    raise self._bad(key, "must be the name of a workspace", 'Write default = "NAME".')
                return value
            case "hosts":
                return tuple(self._host(key, host) for host in self._texts(key, value))
            case "origins":
                return tuple(self._origin(key, one) for one in self._texts(key, value))
            case "auth":
                if value not in get_args(Auth):
                    raise self._bad(key, f"{value!r} is none of them", f"Use {' or '.join(get_args(Auth))}.")
                return value
            case "access_log":
                if not isinstance(value, bool):
                    raise self._bad(key, "must be true or false", "Write access_log = true.")
                return value
        least, most = _NUMBERS[name]
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self._bad(key, "is out of range", f"Use a whole number from {least} to {most}.")
        return value

    def _texts(self, key: str, value: object) -> list[object]:
        if not isinstance(value, list):
            name = key.rpartition(".")[2]
            raise self._bad(key, "must be a list of texts", f'Write {name} = ["..."].')
        return value

    def _host(self, key: str, host: object) -> str:
        if not isinstance(host, str) or not _HOST.fullmatch(host):
            raise self._bad(key, f"{host!r} is no name of a machine", "Write names without a port.")
        return host.lower()

    def _origin(self, key: str, given: object) -> str:
        if not isinstance(given, str) or not ORIGIN.fullmatch(given):
            raise self._bad(key, f"{given!r} is not an origin", ORIGIN_ADVICE)
        return given.lower()

    def _bad(self, key: str, problem: str, advice: str) -> BadConfig:
        return BadConfig(self._where, key, problem, advice)
