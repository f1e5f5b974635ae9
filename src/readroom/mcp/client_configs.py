"""The text that `readroom serve` prints at its start: addresses, and configuration to paste into clients.

Everything in it works as it is: absolute paths, quoted for the shell, JSON and TOML.  Control characters
in names never reach the terminal.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Sequence
from urllib.parse import unquote

from msgspec import Struct

from readroom.core.extras import one_file
from readroom.core.quoting import quote

SERVER_NAME = "readroom"
"""The server's name in clients."""

TOKEN_VARIABLE = "READROOM_TOKEN"
AUTHORIZATION = "Authorization"
VARIABLE_HEADER = f"{AUTHORIZATION}: Bearer ${{{TOKEN_VARIABLE}}}"
"""The header, with the token in a variable."""

_PASSING = (
    f"{os.sep}uv{os.sep}archive-",
    f"{os.sep}uv{os.sep}environments-",
    f"{os.sep}pipx{os.sep}.cache{os.sep}",
    f"{os.sep}.cache{os.sep}pipx{os.sep}",
)
"""Temporary environments of `uvx` and `pipx run`."""


class Entry(Struct, frozen=True):
    """How clients are admitted.

    Attributes:
        token: The token of the served folder, to paste; empty if another one is needed, or none.
        needs_token: A token is needed.
        command: The `readroom token` command to type here.
        options: Its options, so that the token is made where this server looks for it.
        who: Who is admitted without a token.
    """

    token: str = ""
    needs_token: bool = True
    command: str = "readroom token"
    who: str = ""
    options: str = ""

    @property
    def header(self) -> str:
        """The header that clients send; empty if they need none."""
        if self.token:
            return f"{AUTHORIZATION}: Bearer {self.token}"
        return VARIABLE_HEADER if self.needs_token else ""

    def introduction(self, root: str) -> str:
        """Facts about it for a person."""
        folder = shell_word(root)
        if self.token:
            return (
                "Clients send the token of this folder, which is shown below: keep it to yourself.\n"
                "It stays the same until you replace it, here and on every port.\n\n"
                f"  show it     {self.command} show {folder}\n"
                f"  replace it  {self.command} renew {folder}"
            )
        if self.needs_token:
            return (
                f"Clients need a token: the header {VARIABLE_HEADER}, made by "
                f"`{self.command} create NAME{self.options}`."
            )
        return self.who


def startup_text(
    *,
    url: str,
    root: str,
    command: Sequence[str],
    entry: Entry,
    names: Sequence[str] = (),
    everywhere: bool = False,
) -> str:
    """The text that is printed when the server is ready.

    Args:
        url: Of the protocol, as clients need it.
        root: The served folder.
        command: Program and arguments, absolute, that serve the same over standard input and output.
        entry: How clients get in.
        names: The workspaces that are served, the default one first.
        everywhere: The server listens on every address of this machine.
    """
    who = entry.introduction(root)
    base = url.rpartition("/")[0]
    if len(names) > 1:
        each = [f"  {name:10} {base}/w/{name}/mcp" for name in names]
        if entry.token:
            each += ["", "Each folder has a token of its own; the one below is that of the first."]
        who = "\n".join([*each, "", who])
    header = f' --header "{entry.header}"' if entry.header else ""
    stdio = " ".join(map(shell_word, command))
    # Browsers cannot open a Unix socket.
    pages = f"\n  UI     {base}/ui  what agents did, in a browser" if base.startswith("http://") else ""
    if everywhere:
        place = base.partition("://")[2].rpartition(":")[0]
        pages += (
            "\n\nIt listens on every address of this machine: other machines put one of them"
            f"\nin place of {place}, or a name of this machine that was given with --allow-host."
        )
    return f"""\
readroom serves {quote(root)} to MCP clients until you press Ctrl-C.

  URL    {url}
  stdio  {stdio}{pages}

{who}

Claude Code, in the project's folder:

{_indented(f"claude mcp add --transport http {SERVER_NAME} {url}{header}")}

Clients with a JSON file (.mcp.json of Claude Code, .cursor/mcp.json of Cursor, ...):

{_indented(json_config(url, entry))}

Codex, in ~/.codex/config.toml:

{_indented(toml_config(url, entry))}

Programs, and you, without a client:

{_indented(curl_line(base, entry))}

A client that starts readroom itself needs no running server and no token:

{_indented(f"claude mcp add {SERVER_NAME} -- {stdio}")}
{_indented(f"codex mcp add {SERVER_NAME} -- {stdio}")}

Codex then needs the line `required = true` in the table that it has made in ~/.codex/config.toml:
otherwise it may begin without the tools.
"""


def json_config(url: str, entry: Entry) -> str:
    """The `mcpServers` object that most clients read."""
    server: dict[str, object] = {"type": "http", "url": url}
    if entry.header:
        name, _, value = entry.header.partition(": ")
        server["headers"] = {name: value}
    return json.dumps({"mcpServers": {SERVER_NAME: server}}, indent=2)


def toml_config(url: str, entry: Entry) -> str:
    """The table that Codex reads."""
    lines = [f"[mcp_servers.{SERVER_NAME}]", f"url = {json.dumps(url)}"]
    if entry.token:
        name, _, value = entry.header.partition(": ")
        lines.append(f"http_headers = {{ {name} = {json.dumps(value)} }}")
    elif entry.needs_token:
        lines.append(f'bearer_token_env_var = "{TOKEN_VARIABLE}"')
    return "\n".join(lines)


def curl_line(base: str, entry: Entry) -> str:
    """A shell command for a call. The header goes through a pipe, because arguments are visible to all."""
    scheme, _, place = base.partition("://")
    where = base
    if scheme.endswith("+unix"):
        where = f"--unix-socket {shell_word(unquote(place))} http://localhost"
    call = f"{where}/v1/native/list_directory -H 'Content-Type: application/json' -d '{{}}'"
    return f'printf %s "{entry.header}" | curl -s -H @- {call}' if entry.header else f"curl -s {call}"


def program() -> list[str]:
    """The command that starts this readroom again, from anywhere and later."""
    if any(part in sys.prefix for part in _PASSING):
        source = _source()
        if f"{os.sep}uv{os.sep}" in sys.prefix:
            return ["uvx", *(["--from", source] if source else []), "readroom"]
        return ["pipx", "run", *(["--spec", source] if source else []), "readroom"]
    file = one_file()
    if file is not None:
        return [file]
    script = os.path.join(os.path.dirname(sys.executable), "readroom")
    return [script] if os.path.exists(script) else [sys.executable, "-P", "-m", "readroom"]


def _source() -> str | None:
    """The repository, archive or folder that readroom was installed from; None for a package index."""
    from importlib import metadata  # takes long, and only temporary environments need it

    try:
        record = json.loads(metadata.distribution("readroom").read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return None
    url = record.get("url")
    if not isinstance(url, str):
        return None
    kind = record.get("vcs_info", {}).get("vcs")
    return f"{kind}+{url}" if kind else unquote(url.removeprefix("file://"))


def shell_word(word: str) -> str:
    """A word quoted for a shell; as $'...' if it has control characters or is not text."""
    return shlex.quote(word) if word.isprintable() else f"$'{_ODD.sub(_octal, word)}'"


_ODD = re.compile(r"[^ -~]|['\\]")
"""Everything but printable ASCII, and characters that end or escape inside $'...'."""


def _octal(match: re.Match[str]) -> str:
    return "".join(f"\\{byte:03o}" for byte in match[0].encode("utf-8", "surrogateescape"))


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
