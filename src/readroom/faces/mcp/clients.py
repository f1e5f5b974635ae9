"""How much of a reply each MCP client passes on to its model.

A client that is given more cuts it, mostly in the middle, and nobody says so;
the reply is therefore made to fit.  The numbers were measured on released
clients (November 2026) and carry a margin for what a client adds of its own.

Clients count characters or UTF-16 units.  A cap is applied to the UTF-8 bytes of
the whole text part, header and closing line included: never fewer than either.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Client:
    """One client: how its name starts in `clientInfo`, and what it passes on.

    Attributes:
        title: As people know it.
        prefix: Of its name.
        chars: The longest text.
        lines: The most lines of it; None where they do not count.
        shows_meta: Its model sees the whole JSON of a result that is an error, `_meta` included.
    """

    title: str
    prefix: str
    chars: int
    lines: int | None = None
    shows_meta: bool = False


CLAUDE_CODE = Client("Claude Code", "claude-code", 49_000)
"""Passes on 50,000, then a file and a preview of 2 KB. A tool's `_meta` can raise it; nothing needs that."""

CLIENTS = (
    Client("Codex", "codex", 11_500),  # 12,000: the first and the last 6,000
    CLAUDE_CODE,
    Client("opencode", "opencode", 49_000, lines=1990),  # 50 KiB of whole lines, and 2,000 of them
    # 40,000: the first 8,000 and the last 32,000
    Client("Gemini CLI", "gemini-cli", 39_000, shows_meta=True),
    Client("Qwen Code", "qwen", 25_000, shows_meta=True),  # about 25,500; qwen-cli-mcp-client-NAME
)
"""Bridges keep the name in front, as in "claude-code (via mcp-remote 0.1.37)"; some clients append more."""


def reply_bytes(client_name: str | None, asked_chars: int | None = None) -> int | None:
    """The cap on a reply's text in UTF-8 bytes; None for a client that is not known to cut.

    Of eleven clients that were measured five cut, and only one of those below 25,000; a cap for the others
    would keep them from what a contract promises.

    Args:
        client_name: `clientInfo.name` of the handshake or of the request; None when it was not sent.
        asked_chars: What the operator asked for with `--max-chars`: it counts for every client.
    """
    if asked_chars is not None:
        return asked_chars
    client = known(client_name)
    return None if client is None else client.chars


def known(client_name: str | None) -> Client | None:
    """The client of that name; None for one that was not measured."""
    name = (client_name or "").lower().replace(" ", "-")
    return next((client for client in CLIENTS if name.startswith(client.prefix)), None)
