"""Configuration of a server: [serve] and [workspaces.NAME] in the operator's file.

    [serve]
    default = "docs"                    # the workspace of addresses without a name; default the first
    hosts = ["agent.internal"]          # names of this machine that clients may use
    public_url = "https://files.example" # where clients elsewhere reach it; publishes an MCP server card
    origins = ["http://localhost:3000"] # pages that may use it, beside those of its own address
    auth = "required"                   # only tokens made with `readroom token create`; "open": none at all;
                                        # "auto", the default: those, or the token of the folder, and
                                        # none on a Unix socket until one was made
    rate = 6000                         # requests a minute of one token; 0 means no limit
    address_rate = 60000                # and of one address, without a token that works
    workers = 2                         # processes; "auto" is one for each processor
    threads = 8                         # calls that run at once in each of them
    queue = 512                         # calls that wait in each of them
    state = "postgresql://me@db/agents" # what servers of several machines share, instead of a file
    access_log = true                   # one line of JSON for each request, on standard error
    max_chars = 20000                   # of a reply over MCP, instead of what each client passes on

    [workspaces.docs]
    root = "/srv/docs"                  # relative to this file
    config = "docs.toml"                # its own rules and limits; default those of this file

A folder's own `readroom.toml` has no such sections: only the operator decides what is served.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType, field

from readroom.core.config import own_file, token_file
from readroom.core.config.file import ConfigFile, PostgresUrl, Section, Text, UnusableText, from_disk
from readroom.core.config.settings import STATE_FILE
from readroom.core.config.settings import folder_tokens as folder_tokens_beside
from readroom.core.limits import MAX_REPLY_BYTES, MCP_WORKERS, MIN_REPLY_BYTES, SERVE_QUEUE
from readroom.core.limits.session import WORKERS_MOST
from readroom.core.quoting import quote
from readroom.core.stores.bucket.address import is_bucket
from readroom.server.admission import Auth, FolderTokens
from readroom.server.shared import StatePolicy

DEFAULT = "default"
"""The name of the one workspace of a server that was given a folder."""

NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
"""Names that need no escapes in an address."""

_HOST = r"[A-Za-z0-9.-]{1,253}|\[?[0-9A-Fa-f:]{2,45}\]?"

ORIGIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[A-Za-z0-9._:\[\]-]{1,300}")
ORIGIN_ADVICE = "Write it as a browser sends it: http://localhost:3000, without a path."


class ServePlace(Struct, frozen=True):
    """A workspace to serve: its root, and the operator's file for it."""

    root: str
    config: str | None = None


Host: TypeAlias = Annotated[
    str,
    Meta(
        pattern=rf"\A({_HOST})\Z",
        title="{} cannot be the name of a machine",
        description="Write names without a port.",
    ),
]
Origin: TypeAlias = Annotated[
    str, Meta(pattern=rf"\A({ORIGIN.pattern})\Z", title="{} is not an origin", description=ORIGIN_ADVICE)
]
ServedPath: TypeAlias = Annotated[
    str, Meta(pattern=r"\A[^\0]+\Z", title="must be a path", description='Write it as "/a/folder".')
]
SERVE_RATE = 6_000
"""Requests per minute with one token: ten times what a busy agent sends."""

Requests: TypeAlias = Annotated[int, Meta(ge=0, le=10**9, examples=[SERVE_RATE])]


SERVE_ADDRESS_RATE = 60_000
"""Requests per minute from one address without a valid token: more than two cores can answer."""


_PUBLIC = re.compile(
    r"https?://(?:[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:]{2,45}\])(?::\d{1,5})?(?:/[A-Za-z0-9_.~-]+)*/?"
)


class PublicUrl(Text):
    """The address of a server for clients elsewhere, before /mcp."""

    @classmethod
    def read(cls, text: str) -> Self:
        if not _PUBLIC.fullmatch(text):
            raise UnusableText(
                f"{text!r} is not the address of a server", 'Write it as "https://files.example".'
            )
        return cls(text.rstrip("/"))


class ServeSection(Section, frozen=True):
    """[serve]. Rates are requests a minute, 0 for no limit; see the module's form."""

    default: str | None = None
    hosts: Sequence[Host] = ()
    public_url: PublicUrl | None = None
    origins: Sequence[Origin] = ()
    auth: Auth = "auto"
    rate: Requests = SERVE_RATE
    address_rate: Requests = SERVE_ADDRESS_RATE
    workers: Annotated[int, Meta(ge=1, le=WORKERS_MOST, examples=[2])] | Literal["auto"] = 1
    threads: Annotated[int, Meta(ge=1, le=256, examples=[MCP_WORKERS])] = MCP_WORKERS
    state: PostgresUrl | None = None
    queue: Annotated[int, Meta(ge=0, le=100_000, examples=[SERVE_QUEUE])] = SERVE_QUEUE
    max_chars: Annotated[int, Meta(ge=MIN_REPLY_BYTES, le=MAX_REPLY_BYTES, examples=[20000])] | None = None
    access_log: bool = False

    def __repr__(self) -> str:
        """Without the address of the state, which may hold a password."""
        shown = (name for name in self.__struct_fields__ if name != "state")
        return f"Serving({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


class Serving(ServeSection, frozen=True):
    """How to serve which workspaces."""

    workspaces: Mapping[str, ServePlace] = field(default_factory=dict)


class WorkspaceSection(Section, frozen=True):
    """[workspaces.NAME]."""

    root: ServedPath | UnsetType = UNSET
    config: ServedPath | UnsetType = UNSET


def load(path: str | None) -> Serving:
    """The operator's settings for serving; the defaults without a file. Raises BadConfig."""
    if path is None:
        return Serving()
    file = ConfigFile(path, from_disk(path))
    workspaces = {name: _workspace(file, name) for name in file.table("workspaces")}
    values = file.section(ServeSection, "serve").given()
    for name in ("hosts", "origins"):
        values[name] = tuple(map(str.lower, values[name]))
    serving = Serving(**values, workspaces=workspaces)
    if serving.default is not None and serving.default not in workspaces:
        known = ", ".join(workspaces) or "none"
        problem = f"there is no workspace {serving.default!r}"
        raise file.bad("serve.default", problem, f"There are: {known}.")
    return serving


def _workspace(file: ConfigFile, name: str) -> ServePlace:
    if not NAME.fullmatch(name):
        advice = "Use up to 64 small letters, digits, '_', '.' and '-', with a letter or digit first."
        raise file.bad(f"workspaces.{name}", "cannot be a name in an address", advice)
    beside = os.path.dirname(os.path.abspath(file.where))
    values = file.section(WorkspaceSection, "workspaces", name).given()
    paths = {
        field: path if is_bucket(path) else os.path.normpath(os.path.join(beside, os.path.expanduser(path)))
        for field, path in values.items()
    }
    root = paths.get("root", "")
    if not is_bucket(root) and not os.path.isdir(root):
        problem = f"{quote(root)} is not a folder" if root else "is missing"
        raise file.bad(f"workspaces.{name}.root", problem, 'Write root = "/a/folder".')
    return ServePlace(paths["root"], paths.get("config", file.where))


# -----------------------------------------------------------------------------
# Where a server of this user has its state.
# -----------------------------------------------------------------------------


def shared_state(url: str | None) -> StatePolicy:
    """The shared state of a server's processes: in a database, or in a file."""
    return StatePolicy(own_file(STATE_FILE), url)


def folder_tokens() -> FolderTokens:
    """The tokens of folders. Raises BadConfig as `token_file`."""
    return FolderTokens(folder_tokens_beside(token_file()))
