"""Metadata keys, error codes and methods in each version of the protocol.

Up to 2025-11-25 a connection begins with a handshake.  Since 2026-07-28 each request states its version,
and no handshake precedes it.
"""

from __future__ import annotations

from typing import Final

HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
BATCHES: Final = "2025-03-26"
"""The only version with batches, which every receiver has to take."""

MOST_BATCH: Final = 100
"""Maximum messages of a batch: each may be a call, and a client may send any number at once."""

STATELESS_VERSIONS: Final = ("2026-07-28",)

VERSION_META: Final = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_META: Final = "io.modelcontextprotocol/clientCapabilities"
CLIENT_META: Final = "io.modelcontextprotocol/clientInfo"
SERVER_META: Final = "io.modelcontextprotocol/serverInfo"
LEVEL_META: Final = "io.modelcontextprotocol/logLevel"

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
HEADER_MISMATCH: Final = -32020
UNSUPPORTED_VERSION: Final = -32022
CANCELLED: Final = -32800
"""For a cancelled request, where HTTP requires an answer all the same; the code is LSP's."""

RESOURCE_ABSENT: Final = -32002
"""Until 2025-11-25; since 2026-07-28 it is `INVALID_PARAMS`."""

LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""Levels of log messages, the lowest first."""

_BOTH: Final = frozenset(
    ("tools/list", "tools/call", "resources/list", "resources/read", "resources/templates/list")
)
SUBSCRIBE: Final = "resources/subscribe"
UNSUBSCRIBE: Final = "resources/unsubscribe"
LISTEN: Final = "subscriptions/listen"
"""Since 2026-07-28 in place of the other two: its answer comes when the client hears no more."""

HANDSHAKE_METHODS: Final = _BOTH | {"initialize", "ping", "logging/setLevel", SUBSCRIBE, UNSUBSCRIBE}
STATELESS_METHODS: Final = _BOTH | {"server/discover", LISTEN}

SUBSCRIPTION_META: Final = "io.modelcontextprotocol/subscriptionId"
"""In all messages of a subscription: the id of the request that opened it."""

CACHEABLE: Final = frozenset(
    ("tools/list", "resources/list", "resources/read", "resources/templates/list", "server/discover")
)
"""Methods whose results have a cache lifetime since 2026-07-28."""


def is_stateless(version: str) -> bool:
    """Whether a version has no handshake."""
    return version in STATELESS_VERSIONS
