"""What a person reads when the HTTP server starts: where it is, and what to paste into which client.

Everything shown works as it stands: absolute paths, quoted for the shell, JSON
and TOML; a name that holds control characters cannot reach the terminal.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence

from readroom.quoting import quote

SERVER_NAME = "readroom"
"""What clients call the server."""


def startup_text(*, url: str, root: str, command: Sequence[str]) -> str:
    """The text that is printed when the server is ready.

    Args:
        url: Of the protocol, as clients need it.
        root: The served folder.
        command: Program and arguments, absolute, that serve the same over standard input and output.
    """
    stdio = " ".join(map(shell_word, command))
    return f"""\
readroom serves {quote(root)} to MCP clients until you press Ctrl-C.

  URL    {url}
  stdio  {stdio}

Whoever has an account on this machine can use the URL. Over stdio a client has readroom to itself.

Claude Code, in the project's folder:

{_indented(f"claude mcp add --transport http {SERVER_NAME} {url}")}

Clients with a JSON file (.mcp.json of Claude Code, .cursor/mcp.json of Cursor, ...):

{_indented(json_config(url))}

Codex, in ~/.codex/config.toml:

{_indented(toml_config(url))}

A client that starts readroom itself needs no running server:

{_indented(f"claude mcp add {SERVER_NAME} -- {stdio}")}
{_indented(f"codex mcp add {SERVER_NAME} -- {stdio}")}
"""


def json_config(url: str) -> str:
    """The `mcpServers` object that most clients read."""
    return json.dumps({"mcpServers": {SERVER_NAME: {"type": "http", "url": url}}}, indent=2)


def toml_config(url: str) -> str:
    """The table that Codex reads."""
    return f"[mcp_servers.{SERVER_NAME}]\nurl = {json.dumps(url)}"


def shell_word(word: str) -> str:
    """One word for a shell; as $'...' when it holds what must not reach a terminal or is not text."""
    if word.isprintable():
        return shlex.quote(word)
    return f"$'{_ODD.sub(_octal, word)}'"


_ODD = re.compile(r"[^ -~]|['\\]")
"""All but printable ASCII, and what ends or escapes inside $'...'."""


def _octal(found: re.Match[str]) -> str:
    return "".join(f"\\{byte:03o}" for byte in found[0].encode("utf-8", "surrogateescape"))


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
