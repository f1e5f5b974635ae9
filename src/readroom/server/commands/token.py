"""token: make, show, list, renew and revoke tokens for the HTTP server."""

from __future__ import annotations

import os
import re
import time
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from readroom.cli import output
from readroom.cli.exits import ExitCode
from readroom.cli.near import did_you_mean
from readroom.cli.options import database_option, folder_argument, json_option, option, subcommand
from readroom.core.errors import BadValue

if TYPE_CHECKING:
    from readroom.server.admission import FolderToken
    from readroom.server.tokens import Grant, MadeTokens

_WHOLE = "all tools; no end"
"""What the token of a folder is good for."""

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_SPAN = re.compile(rf"(\d{{1,9}})([{''.join(_UNITS)}])")


def _tokens(config: str | None) -> MadeTokens:
    """Those of this account, or of the servers that share the database of a configuration file."""
    from readroom.core.config import token_file
    from readroom.server import settings as serve
    from readroom.server.shared.state import SharedState
    from readroom.server.tokens import Tokens

    url = serve.load(config).state
    if url is not None:
        return SharedState(serve.shared_state(url), "", several=True).tokens
    return Tokens(token_file())


def _create(
    name: str,
    workspaces: tuple[str, ...],
    tools: tuple[str, ...],
    policy: str | None,
    expires: str | None,
    config: str | None,
) -> ExitCode:
    """Create a token for NAME and print it once: only its hash is kept.

    Only the token goes to standard output, so that a script can use it.
    """
    from readroom.core.contracts import NAMES, contract
    from readroom.core.contracts.native.calls import HISTORY
    from readroom.core.review import REVIEW

    known = {tool.name for name_ in NAMES for tool in contract(name_).offered(commands=True)}
    known |= {HISTORY, REVIEW}
    for tool in tools:
        if tool not in known:
            advice = f"{did_you_mean(tool, known)}The tools are: {', '.join(sorted(known))}."
            raise BadValue("tool", tool, "is not a tool", advice)
    if policy is not None:
        policy = _policy(policy)
    lifetime_s = None if expires is None else _seconds(expires)
    chosen: Any = {"workspaces": workspaces or None, "tools": tools or None}
    with closing(_tokens(config)) as tokens:
        grant, token = tokens.create(name, policy=policy, lifetime_s=lifetime_s, **chosen)
    output.complain(f"Token {grant.token}: {_words(grant)}. It is not shown again.")
    output.write(f"{token}\n".encode())
    return ExitCode.OK


def _show(folder: str) -> ExitCode:
    """Print the token that `readroom serve` made for a folder.

    Only the token goes to standard output, so that a script can use it.
    """
    from readroom.server.settings import folder_tokens

    output.write(f"{folder_tokens().shown(_folder(folder)).token}\n".encode())
    return ExitCode.OK


def _renew(folder: str) -> ExitCode:
    """Replace the token of a folder and print the new one. The old one stops working at once.

    Running servers accept the new one; give it to your clients.
    """
    from readroom.server.settings import folder_tokens

    renewed = folder_tokens().renewed(_folder(folder))
    where = output.visible(renewed.folder)
    output.complain(f"Token {renewed.id} opens {where} from now on; the old one no longer does.")
    output.write(f"{renewed.token}\n".encode())
    return ExitCode.OK


def _folder(root: str) -> str:
    """The root that `readroom serve` would serve. Raises NotFound or NotAFolder."""
    from readroom.core import config

    return config.open_store(root).folder or root


def _list(as_json: bool, config: str | None) -> ExitCode:
    """List the tokens that were created and those of folders, without their secrets."""
    from readroom.server.settings import folder_tokens

    with closing(_tokens(config)) as tokens:
        grants = tokens.all()
    kept = folder_tokens().all()
    now = time.time()
    if as_json:
        rows = [{**_row(grant), "folder": None, "state": grant.state(now)} for grant in grants]
        rows += [{**_row(token.grant()), "folder": token.folder, "state": "valid"} for token in kept]
        output.write_json({"tokens": rows})
        return ExitCode.OK
    for grant in grants:
        _print_line(grant, _words(grant), now)
    for token in kept:
        _print_line(token.grant(), f"{token.folder}; {_WHOLE}", now)
    if not grants and not kept:
        output.complain("No token was made yet.")
    return ExitCode.OK


def _print_line(grant: Grant, words: str, now: float) -> None:
    output.write_text(f"{grant.token}  {grant.state(now):7}  {grant.name}  {words}")


def _revoke(identifier: str, config: str | None) -> ExitCode:
    """Revoke the token with this ID. It stops working at once, even in running servers.

    If a folder's token was revoked, serving the folder makes a new one.
    """
    from readroom.server.settings import folder_tokens

    kept: FolderToken | None = folder_tokens().remove(identifier)
    if kept is not None:
        output.complain(f"Token {kept.id} of {output.visible(kept.folder)} is revoked.")
        return ExitCode.OK
    with closing(_tokens(config)) as tokens:
        grant = tokens.revoke(identifier)
    output.complain(f"Token {grant.token} of {output.visible(grant.name)} is revoked.")
    return ExitCode.OK


def _policy(path: str) -> str:
    """The absolute path of a policy file that can be used."""
    from readroom.core import config

    absolute = os.path.abspath(path)
    config.restricted(config.Settings(), absolute)
    return absolute


def _seconds(span: str) -> float:
    match = _SPAN.fullmatch(span)
    if match is None or int(match[1]) == 0:
        raise BadValue("expires", span, "is not a length of time", "Write 30m, 12h, 7d or 4w.")
    return float(int(match[1]) * _UNITS[match[2]])


def _words(grant: Grant) -> str:
    parts = [
        "all workspaces" if grant.workspaces is None else "workspaces " + ", ".join(sorted(grant.workspaces)),
        "all tools" if grant.tools is None else "tools " + ", ".join(sorted(grant.tools)),
    ]
    if grant.policy is not None:
        parts.append(f"policy {grant.policy}")
    parts.append("no end" if grant.expires is None else f"until {_moment(grant.expires)}")
    return "; ".join(parts)


def _row(grant: Grant) -> dict[str, object]:
    return {
        "id": grant.token, "name": grant.name,
        "workspaces": None if grant.workspaces is None else sorted(grant.workspaces),
        "tools": None if grant.tools is None else sorted(grant.tools), "policy": grant.policy,
        **{name: _moment(getattr(grant, name)) for name in ("created", "expires", "revoked")},
    }  # fmt: skip


def _moment(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


token = click.Group(
    "token",
    help="Create, show, replace, list and revoke the tokens that clients of `readroom serve` need.",
    commands=[
        subcommand(
            "create",
            _create,
            click.Argument(["name"]),
            option(
                "--workspace workspaces",
                "A workspace that it gives access to; may be repeated. Default: all.",
                multiple=True,
                metavar="NAME",
            ),
            option(
                "--tool tools",
                "A tool that it may call, or review; may be repeated. Default: all tools.",
                multiple=True,
                metavar="TOOL",
            ),
            option(
                "--policy", "A file like readroom.toml with rules that restrict it further.", metavar="FILE"
            ),
            option("--expires", "How long the token is valid: 30m, 12h, 7d, 4w.", metavar="SPAN"),
            database_option(),
        ),
        subcommand("show", _show, folder_argument(help="The folder; the current one by default.")),
        subcommand("renew", _renew, folder_argument(help="The folder; the current one by default.")),
        subcommand("list", _list, json_option("Print one JSON object."), database_option()),
        subcommand("revoke", _revoke, click.Argument(["identifier"], metavar="ID"), database_option()),
    ],
)
