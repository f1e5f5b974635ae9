"""From what an operator and a folder say to a guarded store and limits.

Two files, both optional, both in this form; nothing else is a key:

    [policy]
    deny = ["secret/", "*.dump", "!public.dump"]   # gitignore syntax; "!" only takes back from this list
    allow = ["src/", "docs/**/*.md"]               # when given, only these, and folders on the way
    hardlinks = "refuse"                           # or "warn", the default
    exceptions = ["certs/*.pem"]                   # names the built-in denials do not mean

    [changes]
    read_only = true                               # nothing can be edited or written; default false
    follow_links = true                            # edit what a symbolic link in the workspace leads to
    split_hardlinks = true                         # replace one name of a file with several
    exceptions = ["**/.vscode/tasks.json"]         # may be changed although other programs execute it

    [commands]
    enabled = true                                 # run_command; default false
    confinement = "bwrap"                          # or "landlock", "any" of the two (default), "none"
    network = true                                 # default false
    version_control = "write"                      # .git and its like: or "read" (default), "hidden"
    read = ["~/.cargo", "~/.rustup"]               # beside the workspace and the system's programs
    write = ["/var/cache/ccache"]
    environment = ["CARGO_HOME", "PATH"]           # variables of readroom itself that commands get

    [index]
    keep = false                                   # nothing is kept on disk of large files; default true
    folder = "/var/cache/me/readroom"              # instead of one in the user's cache folder
    disk_bytes = 67108864                          # bound of what is kept

    [ledger]
    enabled = true                                 # record every call; default: servers do, commands do not
    required = true                                # refuse calls that cannot be recorded; default: warn
    file = "/var/lib/me/ledger.sqlite3"            # instead of one in the user's state folder
    url = "postgresql://ledger@db.example/ledger"  # instead of a file, for several machines
    synchronous = "full"                           # wait for the disk on every call; default "normal"
    hide = ["command", "pattern"]                  # keep only length and hash of these arguments
    keep_days = 365                                # older rows are removed; default: all are kept

    [budget]                                       # in tokens; none is bounded by default
    call = 8000                                    # one reply
    session = 200000                               # one conversation
    token = 1000000                                # all calls with one bearer token
    workspace = 5000000                            # all calls
    counter = "o200k"                              # exact for that vocabulary; default "estimate"

    [contracts.kilo]
    max_read_file_line = 1000                      # files of more lines are truncated; -1 none; default 500
    auto_truncate = true                           # where a call does not say; default false

    [contracts.rnd]
    front_matter = "commands/read.md"              # beside this file; default: that of the published command

    [limits]
    reply_bytes = 16384                            # every field of `limits.Limits`

The operator's file is named when readroom is started and is trusted.  The
`readroom.toml` in the root comes with the folder and may be hostile: it can deny
more, allow less, forbid changes, commands and kept indexes and lower limits, never the opposite,
so `exceptions` and higher limits are errors there.  A file that cannot be used is
an error, not a default.
"""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from readroom.config_contracts import with_environment
from readroom.config_file import NAME, Reader
from readroom.config_file import Settings as Settings
from readroom.config_index import lies_within, own_folder
from readroom.config_keeping import folder_tokens as folder_tokens_beside
from readroom.config_keeping import (
    own_ledger,
    own_notes,
    own_tokens,
    state_denials,
)
from readroom.config_rnd import with_command
from readroom.contracts.setup import Setup
from readroom.errors import BadConfig, NotFound, ReadroomError
from readroom.ledger.policy import LedgerPolicy
from readroom.limits import CONFIG_FILE_BYTES
from readroom.paths import parse
from readroom.policy.defaults import VERSION_CONTROL_RULES, denials
from readroom.policy.guard import Guard
from readroom.policy.places import Places
from readroom.policy.rules import Rules
from readroom.session.budgets import BudgetPolicy
from readroom.session.index_files import IndexPolicy
from readroom.session.indexes import IndexCache
from readroom.session.keeper import Keeper
from readroom.stores.base import Store

if TYPE_CHECKING:
    from readroom.engine.run_room import Room
    from readroom.session.folder_tokens import FolderTokens


def open_store(root: str | os.PathLike[str] | Store) -> Store:
    """The store of a root: a local folder by its path, or a store as it is."""
    if isinstance(root, (str, os.PathLike)):
        from readroom.stores.local import LocalStore

        return LocalStore(root, notes=own_notes(os.environ, sys.platform))
    return root


def load(
    store: Store,
    explicit: str | os.PathLike[str] | None = None,
    *,
    allow_commands: bool = False,
    one_shot: bool = False,
    serving: bool = False,
    front_matter: str | None = None,
) -> Settings:
    """The settings of a workspace.

    Args:
        store: Its root, whose `readroom.toml` can restrict what the operator allows.
        explicit: The operator's file.
        allow_commands: The operator allows commands, whatever that file says.
        one_shot: The workspace is for one call.
        serving: It is for clients of a server, whose calls are recorded unless that file says no.
        front_matter: The command file of the contract rnd, whatever that file says.

    Raises:
        BadConfig: One of the files cannot be used; says which key and why.
    """
    index = IndexPolicy(folder=own_folder(os.environ, sys.platform))
    ledger = LedgerPolicy(file=own_ledger(os.environ, sys.platform))
    setup = with_environment(Setup(), os.environ)
    settings = Settings(layers=(denials(),), index=index, ledger=ledger, setup=setup)
    if explicit is not None:
        where = os.fspath(explicit)
        settings = Reader(where, _from_disk(where), os.environ, trusted=True).applied(settings)
    if front_matter is not None:
        settings = replace(settings, setup=with_command(settings.setup, front_matter))
    commands = replace(
        settings.commands, enabled=settings.commands.enabled or allow_commands, one_shot=one_shot
    )
    enabled = serving if settings.ledger.enabled is None else settings.ledger.enabled
    settings = replace(settings, commands=commands, ledger=replace(settings.ledger, enabled=enabled))
    hidden = state_denials(
        store,
        settings.ledger,
        own_tokens(os.environ, sys.platform),
        own_notes(os.environ, sys.platform),
    )
    if hidden is not None:
        settings = replace(settings, layers=(*settings.layers, hidden))
    own = _from_store(store)
    if own is not None:
        settings = Reader(NAME, own, os.environ, trusted=False).applied(settings)
    return settings


def token_file() -> str:
    """The file of tokens. Raises BadConfig when there is no telling where this user's files are."""
    found = own_tokens(os.environ, sys.platform)
    if found is None:
        advice = "Set HOME or XDG_STATE_HOME; a server that asks for no token needs none (--open, --socket)."
        raise BadConfig("HOME", "", "it is not set to a folder", advice)
    return found


def has_state() -> bool:
    """Whether it can be told where this user's files are."""
    return own_tokens(os.environ, sys.platform) is not None


def folder_tokens() -> FolderTokens:
    """The tokens of folders. Raises BadConfig as `token_file`."""
    from readroom.session.folder_tokens import FolderTokens

    return FolderTokens(folder_tokens_beside(token_file()))


def restricted(settings: Settings, path: str) -> Settings:
    """The settings with what a file takes away; like the file in a root it can only restrict.

    Raises:
        BadConfig: The file cannot be used.
    """
    return Reader(path, _from_disk(path), os.environ, trusted=False).applied(settings)


def environment() -> Setup:
    """What the environment says about contracts, for programs that have no folder."""
    return with_environment(Setup(), os.environ)


def plain(setup: Setup) -> Settings:
    """The settings of a store in memory that nobody has configured: built-in denials, nothing kept."""
    return in_memory(Settings(layers=(denials(),), setup=setup))


def in_memory(settings: Settings) -> Settings:
    """The settings of a store in memory beside a workspace, whose calls that workspace keeps account of."""
    return replace(
        settings,
        commands=replace(settings.commands, enabled=False),
        index=replace(settings.index, keep=False),
        ledger=replace(settings.ledger, enabled=False),
        budgets=BudgetPolicy(),
    )


def guard(store: Store, settings: Settings) -> Guard:
    """The store under the settings' policy. Raises BadConfig for an ignore file that cannot be used."""
    return Guard(store, Rules(settings.layers or (denials(),)), settings.hardlinks)


def places(guarded: Guard, settings: Settings) -> Places:
    """Where files may be changed: not the configuration files, where they lie in the root."""
    protected = []
    command = settings.setup.rnd.command
    for name in (*settings.files, *(() if command is None else (command.source,))):
        with contextlib.suppress(ReadroomError):  # an operator's file is usually elsewhere
            protected.append(parse(os.path.realpath(name), guarded.roots))
    return Places(guarded, settings.changes, protected)


def indexes(store: Store, settings: Settings) -> IndexCache:
    """The indexes of large files, kept on disk outside the workspace or not at all."""
    policy = settings.index
    if policy.folder is not None and any(lies_within(policy.folder, root) for root in store.roots):
        policy = replace(policy, keep=False)
    return IndexCache(policy)


def keeper(store: Store, settings: Settings) -> Keeper:
    """Who keeps conversations, budgets and the ledger. Raises LedgerFailed or MissingProgram."""
    return Keeper(store.roots[0] if store.roots else store.name, settings.budgets, settings.ledger)


def room(guarded: Guard, changeable: Places, settings: Settings) -> Room | None:
    """Where commands run and their outputs are kept; None when there are to be none.

    Raises:
        BadConfig: An ignore file that cannot be used.
    """
    policy = settings.commands
    if not policy.enabled or guarded.folder is None:
        return None
    from readroom.engine.run_room import Room

    layers = settings.layers or (denials(),)
    if policy.version_control != "hidden":
        layers = (denials((*settings.exceptions, *VERSION_CONTROL_RULES)), *layers[1:])
    own = Guard(guarded.store, Rules(layers), settings.hardlinks)
    # What tools never show and commands may read is fixed, unless it may be changed, too.
    shown = own if policy.version_control == "write" else guarded
    return Room(guarded, shown, own, changeable, policy, settings.limits)


def _from_disk(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(CONFIG_FILE_BYTES + 1)
    except OSError as error:
        problem = os.strerror(error.errno) if error.errno else type(error).__name__
        raise BadConfig(path, "", problem, "Name a readable TOML file.") from None
    return _bounded(path, data)


def _from_store(store: Store) -> bytes | None:
    try:
        with store.open(NAME) as source:
            return _bounded(NAME, source.read_at(0, CONFIG_FILE_BYTES + 1))
    except NotFound:
        return None
    except BadConfig:
        raise
    except ReadroomError as error:
        raise BadConfig(NAME, "", error.message, "Correct the file, or remove it.") from None


def _bounded(where: str, data: bytes) -> bytes:
    if len(data) > CONFIG_FILE_BYTES:
        problem = f"it has more than {CONFIG_FILE_BYTES:,} bytes"
        raise BadConfig(where, "", problem, "Shorten it; long lists of patterns belong in .readroomignore.")
    return data
