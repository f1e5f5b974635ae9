"""The server's description of itself: the results of `initialize` and `server/discover`, and metadata."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from readroom.mcp.protocol import eras


class Fresh(msgspec.Struct, frozen=True):
    """How long a client may keep a result, and whether it may show it to others."""

    milliseconds: int = 0
    scope: Literal["public", "private"] = "private"


class Card(msgspec.Struct, frozen=True):
    """The description of a server.

    Attributes:
        name: Its name for programs.
        version: The version of the server.
        title: Its name for people.
        instructions: For models: how to use the tools.
        methods: Methods that it serves in addition to those of the protocol itself.
        notices: Further notifications that it wants to receive.
        fresh: How long clients may cache results, by method; other results may not be cached.
        most: The longest message that it accepts, in bytes.
    """

    name: str
    version: str
    title: str
    instructions: str
    methods: frozenset[str]
    notices: frozenset[str]
    fresh: dict[str, Fresh]
    most: int

    @property
    def info(self) -> dict[str, Any]:
        """The value of `serverInfo`."""
        return {"name": self.name, "title": self.title, "version": self.version}

    def capabilities(self, *, stateless: bool) -> dict[str, Any]:
        """The server's capabilities; of changes it tells only those of single resources.

        `logging` has been deprecated since 2026-07-28: a request may still ask for messages about itself.
        """
        offered: dict[str, Any] = {} if stateless else {"logging": {}}
        if "resources/list" in self.methods:
            subscribe = (eras.LISTEN if stateless else eras.SUBSCRIBE) in self.methods
            offered["resources"] = {"listChanged": False, "subscribe": subscribe}
        if "tools/list" in self.methods:
            offered["tools"] = {"listChanged": False}
        return offered

    def greeting(self, version: str) -> dict[str, Any]:
        """The result of `initialize`, for the version that a client asks for."""
        known = version in eras.HANDSHAKE_VERSIONS
        return {
            "protocolVersion": version if known else eras.HANDSHAKE_VERSIONS[-1],
            "capabilities": self.capabilities(stateless=False),
            "serverInfo": self.info,
            "instructions": self.instructions,
        }

    def discovered(self) -> dict[str, Any]:
        """The result of `server/discover`."""
        return {
            "supportedVersions": list(eras.STATELESS_VERSIONS),
            "capabilities": self.capabilities(stateless=True),
            "instructions": self.instructions,
        }

    def shaped(self, method: str, version: str, result: dict[str, Any]) -> dict[str, Any]:
        """A result with what its version of the protocol adds to every result."""
        if not eras.is_stateless(version):
            return result
        shaped = {**result, "resultType": "complete"}
        if method in eras.CACHEABLE:
            fresh = self.fresh.get(method, Fresh())
            shaped |= {"ttlMs": fresh.milliseconds, "cacheScope": fresh.scope}
        shaped["_meta"] = {**result.get("_meta", {}), eras.SERVER_META: self.info}
        return shaped
