"""serve: start a server."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import click
from msgspec.structs import replace

from readroom.cli.answers import Where
from readroom.cli.exits import ExitCode
from readroom.cli.mcp import repeated_options, server_options
from readroom.cli.options import flag, open_option, option, place_options, port_option, subcommand
from readroom.cli.roots import one_folder
from readroom.core.errors import BadValue, UsageError
from readroom.core.extras import OF_SERVING, serves
from readroom.core.limits import HTTP_PORT
from readroom.core.limits.session import WORKERS_MOST

if TYPE_CHECKING:
    from readroom.core.workspace import Workspace
    from readroom.mcp.client_configs import Entry
    from readroom.server.admission import Admission, Auth
    from readroom.server.http.server import Served
    from readroom.server.settings import ServePlace

_HOST = "127.0.0.1"
"""Loopback: other machines cannot connect."""


def _serve(
    folder: str | None,
    root: str | None,
    config: str | None,
    contract_name: str,
    max_chars: int | None,
    allow_commands: bool,
    mask_secrets: bool,
    front_matter: str | None,
    host: str,
    port: int,
    socket: str | None,
    allow_host: tuple[str, ...],
    allow_origin: tuple[str, ...],
    require_token: bool,
    open_to_all: bool,
    access_log: bool,
    workers: int | Literal["auto"] | None,
) -> ExitCode:
    """Serve folders over HTTP: MCP at /mcp, tools at /v1, a description at /docs.

    Prints the URL and the entry for a client's configuration, with the token that
    clients need.  Without DIR, the workspaces of the configuration file are served, if it
    has any.
    """
    from readroom.server import settings as config_serve

    with serves(OF_SERVING):
        from readroom.server.commands.service import Service
        from readroom.server.http.server import Address, is_everywhere

    configured = config_serve.load(config)
    serving = replace(
        configured,
        hosts=(*configured.hosts, *(name.lower() for name in allow_host)),
        origins=(*configured.origins, *map(_origin, allow_origin)),
        auth=_auth(configured.auth, require_token=require_token, open_to_all=open_to_all),
        access_log=access_log or configured.access_log,
        workers=configured.workers if workers is None else workers,
    )
    named = one_folder(folder, root)
    every = Where(
        None, config, allow_commands, lasting=True, front_matter=front_matter, mask_secrets=mask_secrets
    )
    places = _places(serving.workspaces, named, every)
    default = (None if named is not None else serving.default) or next(iter(places))
    first = places.pop(default)
    service = Service(
        {default: first, **places},
        Address(host, port, socket),
        replace(serving, default=default),
        contract_name,
        max_chars or serving.max_chars,
    )

    def text(served: Served, url: str) -> str:
        from readroom.mcp.client_configs import program, startup_text

        root = served.workspaces[default].guard.folder or first.root or "."
        command = [*program(), "mcp", *repeated_options(every, contract_name, max_chars), "--", root]
        shared = None if serving.state is None else config
        entry = _entry(served.admission, served.workspaces, default, shared)
        names, everywhere = list(served.workspaces), socket is None and is_everywhere(host)
        return startup_text(
            url=url, root=root, command=command, entry=entry, names=names, everywhere=everywhere
        )

    service.run(text)
    return ExitCode.OK


def _auth(configured: Auth, *, require_token: bool, open_to_all: bool) -> Auth:
    if require_token and open_to_all:
        raise UsageError("--open and --require-token exclude each other", "Leave one of them out.")
    if open_to_all:
        return "open"
    return "required" if require_token else configured


def _origin(origin: str) -> str:
    from readroom.server.settings import ORIGIN, ORIGIN_ADVICE

    if not ORIGIN.fullmatch(origin):
        raise BadValue("allow-origin", origin, "is not an origin", ORIGIN_ADVICE)
    return origin.lower()


def _entry(
    admission: Admission, workspaces: Mapping[str, Workspace], default: str, shared: str | None
) -> Entry:
    """How clients are admitted; the tokens of folders are created here.

    `shared` is the configuration of a server that keeps its tokens in a database.
    """
    from readroom.mcp.client_configs import Entry, program, shell_word

    token = admission.prepare().get(default, "")
    if not token and admission.private:
        who = "Only this account can connect to the socket; clients need no token."
    else:
        can = _abilities(workspaces)
        who = f"Open: every account on this machine can {can} the files served here, as you, "
        who += 'without a token. Start it without --open (auth = "open") to require one.'
    command = f"{' '.join(map(shell_word, program()))} token"
    options = "" if shared is None else f" --config {shell_word(os.path.abspath(shared))}"
    return Entry(token, admission.asks, command, who, options)


def _abilities(workspaces: Mapping[str, Workspace]) -> str:
    """The capabilities of clients."""
    verbs = ["read"]
    if not all(workspace.settings.changes.read_only for workspace in workspaces.values()):
        verbs.append("change")
    if any(workspace.runs_commands for workspace in workspaces.values()):
        verbs.append("run commands in")
    return " and ".join(", ".join(verbs).rsplit(", ", 1))


def _places(listed: Mapping[str, ServePlace], named: str | None, every: Where) -> dict[str, Where]:
    """The workspaces by name, opened as in `every`, the default one first."""
    from readroom.server.settings import DEFAULT

    places = {name: replace(every, root=place.root, config=place.config) for name, place in listed.items()}
    if named is None and places:
        return places
    return {DEFAULT: replace(every, root=named), **places}


class _Workers(click.ParamType["int | str"]):
    """A number of processes, or `auto`."""

    name = "workers"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | Literal["auto"]:
        """Fails for anything else."""
        if value == "auto":
            return "auto"
        if not str(value).isdecimal():
            self.fail(f"{value!r} is neither a number nor auto.", param, ctx)
        return click.IntRange(1, WORKERS_MOST).convert(value, param, ctx)


serve = subcommand(
    "serve",
    _serve,
    *server_options(),
    *place_options(),
    option("--host", "Address to listen on.", default=_HOST),
    port_option(HTTP_PORT),
    option("--socket", "Listen on a Unix socket instead, for this user only.", metavar="PATH"),
    option(
        "--allow-host",
        "Another name of this machine that clients use, besides localhost.",
        multiple=True,
        metavar="NAME",
    ),
    option(
        "--allow-origin",
        "Origin of web pages that may use it, like http://localhost:3000.",
        multiple=True,
        metavar="ORIGIN",
    ),
    flag(
        "--require-token",
        "Accept only tokens made with `readroom token create`, and make none for the folder.",
    ),
    open_option("use it, as you"),
    option(
        "--workers",
        "Number of server processes; auto is one for each processor.  [default: 1]",
        type=_Workers(),
        metavar="N",
    ),
    flag("--access-log", "Write a line of JSON for each request to standard error."),
)
