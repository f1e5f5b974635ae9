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

TOKEN_VARIABLE = "READROOM_TOKEN"
AUTHORIZATION = f"Authorization: Bearer ${{{TOKEN_VARIABLE}}}"
"""The header, with the token in a variable: configuration files are shared."""


def startup_text(
    *, url: str, root: str, command: Sequence[str], tokens: bool = False, names: Sequence[str] = ()
) -> str:
    """The text that is printed when the server is ready.

    Args:
        url: Of the protocol, as clients need it.
        root: The served folder.
        command: Program and arguments, absolute, that serve the same over standard input and output.
        tokens: Clients need one.
        names: The workspaces that are served, the default one first.
    """
    if tokens:
        who = f"Clients need a token: the header {AUTHORIZATION}, made by `readroom token create NAME`."
    else:
        who = (
            "Whoever has an account on this machine can use the URL, until a token is made "
            "(`readroom token create NAME`). Over stdio a client has readroom to itself."
        )
    if len(names) > 1:
        base = url.rpartition("/")[0]
        who = "\n".join([f"  {name:10} {base}/w/{name}/mcp" for name in names] + ["", who])
    header = f' --header "{AUTHORIZATION}"' if tokens else ""
    stdio = " ".join(map(shell_word, command))
    return f"""\
readroom serves {quote(root)} to MCP clients until you press Ctrl-C.

  URL    {url}
  stdio  {stdio}

{who}

Claude Code, in the project's folder:

{_indented(f"claude mcp add --transport http {SERVER_NAME} {url}{header}")}

Clients with a JSON file (.mcp.json of Claude Code, .cursor/mcp.json of Cursor, ...):

{_indented(json_config(url, tokens=tokens))}

Codex, in ~/.codex/config.toml:

{_indented(toml_config(url, tokens=tokens))}

A client that starts readroom itself needs no running server:

{_indented(f"claude mcp add {SERVER_NAME} -- {stdio}")}
{_indented(f"codex mcp add {SERVER_NAME} -- {stdio}")}
"""


def json_config(url: str, *, tokens: bool = False) -> str:
    """The `mcpServers` object that most clients read."""
    server: dict[str, object] = {"type": "http", "url": url}
    if tokens:
        name, _, value = AUTHORIZATION.partition(": ")
        server["headers"] = {name: value}
    return json.dumps({"mcpServers": {SERVER_NAME: server}}, indent=2)


def toml_config(url: str, *, tokens: bool = False) -> str:
    """The table that Codex reads; the token comes from a variable, as it has it."""
    token = f'\nbearer_token_env_var = "{TOKEN_VARIABLE}"' if tokens else ""
    return f"[mcp_servers.{SERVER_NAME}]\nurl = {json.dumps(url)}{token}"


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
