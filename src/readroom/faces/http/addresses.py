"""What is asked for: addresses without escapes, and as far as they may be written down."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

from starlette.types import Scope

from readroom.contracts.registry import NAMES, contract
from readroom.errors import NoSuchRoute
from readroom.limits import SERVE_PATH_BYTES

_PLAIN = re.compile(rb"(?:/[A-Za-z0-9_.~-]*)+")
_DOTS = re.compile(rb"(?:^|/)\.{1,2}(?:/|$)")
_IN_WORKSPACE = re.compile(r"/w/([^/]+)(/.*)")

_WORDS = frozenset(
    ("", "w", "v1", "mcp", "sessions", "compacted", "healthz", "metrics", "openapi.json", "docs", "api", "v0")
)
_DEEPEST = 6
"""Names in the longest address that is one of ours: /w/NAME/v1/CONTRACT/TOOL."""


def checked(scope: Scope) -> str:
    """The path, which has no escapes: none of our names needs one, and those who send them try something.

    Raises:
        NoSuchRoute: It has, or is none that anything could be served at.
    """
    raw = _raw(scope)
    if len(raw) > SERVE_PATH_BYTES or not _PLAIN.fullmatch(raw) or b"//" in raw or _DOTS.search(raw):
        raise NoSuchRoute
    return raw.decode("ascii")


def split(path: str) -> tuple[str | None, str]:
    """The name of a workspace, if there is one, and the address in it."""
    found = _IN_WORKSPACE.fullmatch(path)
    return (found[1], found[2]) if found else (None, path)


def told(scope: Scope, workspaces: Collection[str]) -> str:
    """The path for a record: whatever is not a name of ours, and could be anybody's secret, stands as *."""
    names = _raw(scope)[:SERVE_PATH_BYTES].decode("latin-1").split("/")
    kept = [name if name in _WORDS or name in _tools() or name in workspaces else "*" for name in names]
    return "/".join(kept[:_DEEPEST] + ["*"] * (len(kept) > _DEEPEST))


def _raw(scope: Scope) -> bytes:
    raw: bytes = scope.get("raw_path") or scope["path"].encode("utf-8", "replace")
    return raw.partition(b"?")[0]


@cache
def _tools() -> frozenset[str]:
    """The names of all contracts and their tools."""
    tools = (tool.name for name in NAMES for tool in contract(name).callable)
    return frozenset((*NAMES, *tools))
