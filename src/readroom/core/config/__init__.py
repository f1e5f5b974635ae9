"""Configuration: from files and the environment to a guarded store and limits.

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
    read = ["~/.cargo", "~/.rustup"]               # besides the workspace and the system's programs
    write = ["/var/cache/ccache"]
    environment = ["CARGO_HOME", "PATH"]           # variables of readroom itself that commands get

    [index]
    keep = false                                   # nothing is kept on disk of large files; default true
    folder = "/var/cache/me/readroom"              # instead of one in the user's cache folder
    disk_bytes = 67108864                          # bound of what is kept

    [history]
    enabled = false                                # no past of changes is kept; default true
    folder = "/var/lib/me/history"                 # instead of one in the user's state folder
    most_bytes = 268435456                         # bound of everything in it, for all workspaces
    days = 30                                      # what is older is removed
    file_bytes = 16777216                          # contents of larger files are not kept
    required = true                                # refuse changes whose past cannot be kept; default: warn
    tool = true                                    # models may ask for it; default false
    review = true                                  # changes wait until a person has agreed; default false
    commands = "overlay"                           # undo commands, too (bubblewrap 0.11); default "listed"
    undo_in_dashboard = true                       # people may take changes back there; default false
    review_in_dashboard = true                     # people may accept and reject there; default false

    [ledger]
    enabled = true                                 # record every call; default: servers do, commands do not
    required = true                                # refuse calls that cannot be recorded; default: warn
    file = "/var/lib/me/ledger.sqlite3"            # instead of one in the user's state folder
    url = "postgresql://ledger@db.example/ledger"  # instead of a file, for several machines
    synchronous = "full"                           # wait for the disk on every call; default "normal"
    hide = ["command", "pattern"]                  # keep only length and hash of these arguments
    keep_days = 365                                # older rows are removed; default: all are kept

    [otel]                                         # spans and metrics of calls; the extra `otel`
    endpoint = "http://localhost:4318"             # a collector; default: OTEL_EXPORTER_OTLP_*
    paths = true                                   # spans have the paths of files; default false
    enabled = false                                # send nothing, whatever the environment says

    [budget]                                       # in tokens; none is bounded by default
    call = 8000                                    # one reply
    session = 200000                               # one conversation
    token = 1000000                                # all calls with one bearer token
    workspace = 5000000                            # all calls
    counter = "o200k"                              # exact for that vocabulary; default "estimate"

    [contracts.everruns]
    display_root = "/srv/project"                  # the root in replies and schemas; default /workspace

    [contracts.kilo]
    max_read_file_line = 1000                      # files of more lines are truncated; -1 none; default 500
    auto_truncate = true                           # unless the call says otherwise; default false

    [contracts.rnd]
    front_matter = "commands/read.md"              # next to this file; default: that of the published command

    [limits]
    reply_bytes = 16384                            # every field of `limits.Limits`

The operator's file is named when readroom is started, and is trusted. The `readroom.toml` in the root comes
with the folder and may be hostile: it can deny more, allow less, forbid changes, commands and kept indexes
and lower limits, never the opposite, so `exceptions` and higher limits are errors there. An invalid file is
an error, not a default.

Knows: files of operators and folders, and the environment, which no other module reads.
Does not know: what settings do.
May be touched: freely; what a folder's own file may set (`apply`, `file`) needs a security review.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from readroom.core import errors
from readroom.core.config.environment import give_variable as give_variable
from readroom.core.config.environment import has_state as has_state
from readroom.core.config.environment import observing_of_environment
from readroom.core.config.environment import own_file as own_file
from readroom.core.config.environment import token_file as token_file
from readroom.core.config.environment import variables as variables
from readroom.core.config.opening import open_store as open_store
from readroom.core.config.settings import (
    HISTORY_FOLDER,
    LEDGER_FILE,
    NOTES_FOLDER,
    TOKENS_FILE,
    lies_within,
    own_folder,
    state_denials,
)
from readroom.core.config.settings import Settings as Settings
from readroom.core.contracts import OwnSettings, Setup
from readroom.core.contracts import variables as variables_of_contracts
from readroom.core.engine import Engine
from readroom.core.history import History
from readroom.core.history.settings import HistoryPolicy
from readroom.core.limits import CONFIG_FILE_BYTES
from readroom.core.paths import ROOT, WorkPath, parse
from readroom.core.policy.changes import WriteTargets
from readroom.core.policy.guard import Guard
from readroom.core.policy.ignore_files import require_one_name
from readroom.core.policy.rules import VERSION_CONTROL_RULES, Rules, denials
from readroom.core.release import CONFIG_FILE
from readroom.core.secrets.shown import masks
from readroom.core.session.conversation import State
from readroom.core.session.gatekeeper import Gatekeeper
from readroom.core.session.index_cache import IndexCache
from readroom.core.session.index_files import IndexPolicy
from readroom.core.stores.base import Store

if TYPE_CHECKING:
    from readroom.core.config.roots import RootLike, RootOption
    from readroom.core.config.roots.told import FolderFacts
    from readroom.core.engine.command import CommandService
    from readroom.core.review.views import Views
    from readroom.core.sandbox import Area
    from readroom.core.stores.roots.joined import RootStore
    from readroom.core.stores.roots.names import Place


NAME = WorkPath(CONFIG_FILE)


def open_roots(root: RootLike, others: Sequence[RootLike] = ()) -> tuple[Store, list[RootOption]]:
    """The store of several roots, or of one, and the roots as `config.roots` understands them.

    Raises:
        BadValue: They cannot be served together.
        NotFound, NotAFolder, NoPermission: There is no such folder.
    """
    if not others and not _has_options(root):
        plain: Any = root
        return open_store(plain), []
    from readroom.core.config.roots import opened

    return opened(root, others, open_store)


def further_roots(file: str | os.PathLike[str] | None) -> Sequence[RootOption]:
    """The roots that an operator's file adds to those of a command line. Raises BadConfig."""
    if file is None:
        return ()
    from readroom.core.config.file import from_disk

    if b"roots" not in from_disk(os.fspath(file)):
        return ()
    from readroom.core.config.roots import configured

    return configured(os.fspath(file))


def _has_options(root: RootLike) -> bool:
    """Whether a single root says more than which folder it is."""
    if not isinstance(root, str):
        return not isinstance(root, os.PathLike) and not hasattr(root, "open_folder")
    return (root.endswith(":ro") or "=" in root.partition("/")[0]) and not os.path.lexists(root)


def opened_again(store: Store) -> Store:
    """Another store of the same folders. Raises as `open_roots`."""
    if _others(store):
        from readroom.core.config.roots import joined_again

        return joined_again(store, open_store)
    return store if store.folder is None else open_store(store.folder)


def complete(store: Store, options: Sequence[RootOption], settings: Settings | None) -> Settings:
    """The settings of a workspace, also where a caller has those of its first root only. Raises BadConfig."""
    if settings is None:
        return loaded(store, options)
    if not options or settings.others:
        return settings
    from readroom.core.config.roots.joining import settings_of

    def under(own: Store, explicit: object) -> Settings:
        inside = _from_store(own)
        return settings if inside is None else _applied(settings, NAME, inside, trusted=False)

    return settings_of(store, options, None, under)


def loaded(
    store: Store, options: Sequence[RootOption], explicit: str | os.PathLike[str] | None = None, **how: Any
) -> Settings:
    """The settings of a workspace with those roots, which `open_roots` gave; `how` is as `load` takes it."""
    if not options:
        return load(store, explicit, **how)
    from readroom.core.config.roots.joining import settings_of

    return settings_of(store, options, explicit, partial(load, **how))


def load(
    store: Store,
    explicit: str | os.PathLike[str] | None = None,
    *,
    allow_commands: bool = False,
    mask_secrets: bool = False,
    one_shot: bool = False,
    serving: bool = False,
    contracts: Mapping[str, Mapping[str, Any]] | None = None,
) -> Settings:
    """The settings of a workspace. Raises BadConfig.

    Args:
        store: Its root, whose `readroom.toml` can restrict what the operator allows.
        explicit: The operator's file.
        allow_commands: The operator allows commands, whatever that file says.
        mask_secrets: Secrets are masked, whatever that file says.
        one_shot: The workspace is for one call.
        serving: It is for clients of a server, whose calls are recorded unless that file says no.
        contracts: Settings of contracts by name and key, which override that file.
    """
    index = IndexPolicy(folder=own_folder(os.environ, sys.platform))
    history = HistoryPolicy(folder=own_file(HISTORY_FOLDER))
    variables = variables_of_contracts(os.environ)
    settings = Settings(layers=(denials(),), index=index, variables=variables, history=history)
    if explicit is not None:
        where = os.fspath(explicit)
        settings = _applied(settings, where, None, trusted=True)
    for name, values in (contracts or {}).items():
        from readroom.core.config.file import contract_form

        own = contract_form(name)(**values).settings(settings.contracts.get(name), "")
        settings = replace(settings, contracts={**settings.contracts, name: own})
    commands = replace(
        settings.commands, enabled=settings.commands.enabled or allow_commands, one_shot=one_shot
    )
    ledger = settings.ledger
    if serving:
        from readroom.core.config.file import form

        ledger = form("ledger")().applied(ledger).served()
    secrets = replace(settings.secrets, mask=settings.secrets.mask or mask_secrets)
    otel = settings.otel if settings.otel is not None else observing_of_environment()
    settings = replace(settings, commands=commands, ledger=ledger, secrets=secrets, otel=otel)
    recorded = own_file(LEDGER_FILE) if ledger is None else ledger.file
    hidden = state_denials(
        store, recorded, own_file(TOKENS_FILE), own_file(NOTES_FOLDER), settings.history.folder
    )
    if hidden is not None:
        settings = replace(settings, layers=(*settings.layers, hidden))
    inside = _from_store(store)
    if inside is not None:
        settings = _applied(settings, NAME, inside, trusted=False)
    return settings


def restricted(settings: Settings, path: str) -> Settings:
    """The settings restricted by a file, as by the one in a root. Raises BadConfig."""
    others = {name: restricted(own, path) for name, own in settings.others.items()}
    return replace(_applied(settings, path, None, trusted=False), others=others)


def environment() -> Setup:
    """What the environment says about contracts, for programs that have no folder."""
    return Setup(variables=variables_of_contracts(os.environ))


def plain(contracts: Mapping[str, OwnSettings]) -> Settings:
    """The settings of a store in memory that no one has configured: built-in denials, nothing kept."""
    return in_memory(Settings(layers=(denials(),), contracts=contracts))


def in_memory(settings: Settings) -> Settings:
    """The settings of a store in memory next to a workspace, which accounts for its calls."""
    return replace(
        settings,
        commands=replace(settings.commands, enabled=False),
        index=replace(settings.index, keep=False),
        history=replace(settings.history, review=False),
        ledger=None,
        budgets=None,
        otel=None,
        others={},
    )


def guard(store: Store, settings: Settings) -> Guard:
    """The store under the settings' policy. Raises BadConfig for an ignore file that cannot be used."""
    if settings.others or _others(store):
        from readroom.core.config.roots.joining import joined_guard

        return joined_guard(store, settings, guard)
    rules = Rules(settings.layers or (denials(),))
    return Guard(store, rules, settings.hardlinks, masks=masks(settings.secrets))


def places(guarded: Guard, settings: Settings) -> WriteTargets:
    """Where files may be changed: not the configuration files, where they lie in the root."""
    if settings.others:
        from readroom.core.config.roots.joining import joined_targets

        return joined_targets(guarded, settings, places)
    protected = []
    files = [file for own in settings.contracts.values() for file in own.files]
    for name in (*settings.files, *files):
        with contextlib.suppress(errors.ReadroomError):  # an operator's file is usually elsewhere
            protected.append(parse(os.path.realpath(name), guarded.roots))
    return WriteTargets(guarded, settings.changes, protected)


def engine(store: Store, settings: Settings, state: State | None = None) -> Engine:
    """What performs requests on a store. Raises BadConfig for an ignore file that cannot be used."""
    guarded = guard(store, settings)
    targets = partial(places, settings=settings)
    commands = room(guarded, targets(guarded), settings, state)
    off = partial(_commands_off, store, settings)
    past = history(store, settings)
    return Engine(guarded, targets, settings.limits, indexes(store, settings), commands, off, past)


def history(store: Store, settings: Settings) -> History | None:
    """The history of a store; None where none is to be kept, or there is no place for it."""
    policy = settings.history
    if not policy.enabled or (store.folder is not None and policy.folder is None):
        return None
    if settings.others:
        from readroom.core.config.roots.joining import joined_history

        return joined_history(store, settings, history)
    return History(store, policy)


def views(base: Engine, settings: Settings) -> Views | None:
    """The views of agents whose changes wait; None where changes are made at once. Raises BadConfig."""
    policy, store = settings.history, base.services.guard.store
    if not policy.review:
        return None
    if store.folder is None or policy.folder is None:
        problem = (
            "only changes of one local folder can wait"
            if store.folder is None
            else "there is no state folder"
        )
        raise errors.BadConfig("the configuration", "history.review", problem, "Set folder, or leave it out.")
    from readroom.core.review import Reviews
    from readroom.core.review.views import Views

    waiting = Reviews(store, os.path.join(policy.folder, "review"))
    return Views(base, waiting, partial(engine, settings=reviewed(settings)))


def reviewed(settings: Settings) -> Settings:
    """The settings under which changes wait: nothing is kept of what nobody else sees."""
    return replace(
        settings,
        index=replace(settings.index, keep=False),
        history=replace(settings.history, enabled=False),
    )


def _commands_off(store: Store, settings: Settings) -> errors.CommandsOff | errors.NoFolder:
    """Why there is nowhere for commands to run."""
    policy = settings.commands
    if settings.history.review:
        from readroom.core.errors.review import CommandsWait

        return CommandsWait()
    if policy.forbidden_by:
        return errors.CommandsOff(f"{policy.forbidden_by} of this folder forbids it")
    if policy.enabled:
        return errors.NoFolder(store.name)
    return errors.CommandsOff("the operator has not allowed them")


def folders_of(store: Store, settings: Settings) -> Sequence[FolderFacts]:
    """The folders that are served, where there are several; nothing for one."""
    if not settings.others:
        return ()
    from readroom.core.config.roots.told import described

    return described(store, settings)


def about_folders(folders: Sequence[FolderFacts]) -> str:
    """A sentence for a model about the folders; empty for one."""
    if not folders:
        return ""
    from readroom.core.config.roots.told import about

    return about(folders)


def indexes(store: Store, settings: Settings) -> IndexCache:
    """The indexes of large files, kept on disk outside the workspace or not at all."""
    policy = settings.index
    roots = [root for one in (store, *_others(store)) for root in one.roots]
    if policy.folder is not None and any(lies_within(policy.folder, root) for root in roots):
        policy = replace(policy, keep=False)
    return IndexCache(policy)


def _others(store: Store) -> Sequence[Store]:
    """The stores of further roots."""
    others: Sequence[Store] = getattr(store, "other_stores", ())
    return others


def paths_of_others(store: Store) -> Mapping[str, Sequence[str]]:
    """The absolute paths of further roots by name; of those that are folders."""
    roots: Mapping[str, RootStore] = getattr(store, "others", {})
    return {name: root.store.roots for name, root in roots.items() if root.store.folder is not None}


def gatekeeper(store: Store, settings: Settings, state: State | None = None) -> Gatekeeper:
    """Who keeps conversations, budgets and the ledger. Raises LedgerFailed or MissingProgram."""
    budgets, ledger = settings.budgets, settings.ledger
    counter = "estimate" if budgets is None else budgets.counter
    # A folder has one name there, by whatever links it was reached.
    return Gatekeeper(
        None if budgets is None else budgets.meter(store.name, state),
        None if ledger is None else ledger.journal(store.name, counter),
        counter,
        state.conversations(store.name) if state is not None and state.several else None,
        None if settings.otel is None else settings.otel.observer(),
    )


def room(
    guarded: Guard, changeable: WriteTargets, settings: Settings, state: State | None = None
) -> CommandService | None:
    """Where commands run and their outputs are kept; None when there are to be none. Raises BadConfig."""
    policy = settings.commands
    if not policy.enabled or guarded.folder is None or settings.history.review:
        return None
    from readroom.core.engine.command import CommandService

    kept = state.outputs(guarded.folder) if state is not None and state.several else None
    if settings.others:
        from readroom.core.config.roots.joining import areas_of

        areas = areas_of(guarded, changeable, settings, _area)
    else:
        areas = [_area(guarded.own(ROOT)[1], guarded, changeable, settings)]
    return CommandService(guarded, areas, policy, settings.limits, kept, past=settings.history.commands)


def _area(place: Place, guarded: Guard, changeable: WriteTargets, settings: Settings) -> Area:
    """A root as commands have it."""
    from readroom.core.sandbox import Area

    policy, layers = settings.commands, settings.layers or (denials(),)
    if policy.version_control != "hidden":
        exceptions = (*settings.exceptions, *VERSION_CONTROL_RULES)
        layers = (denials(exceptions, settings.roots), *layers[1:])
    own = Guard(guarded.store, Rules(layers), settings.hardlinks, masks=settings.secrets.mask)
    # What tools never show and commands may read is fixed, unless it may be changed, too.
    seen = own if policy.version_control == "write" else guarded
    return Area(place, seen, own, changeable)


def _applied(settings: Settings, where: str, data: bytes | None, *, trusted: bool) -> Settings:
    """The settings with those of a file applied; it is read unless `data` is passed."""
    # Most folders have no such file, and need no parser for it.
    from readroom.core.config.apply import applied
    from readroom.core.config.file import ConfigFile, from_disk

    file = ConfigFile(where, from_disk(where) if data is None else data)
    return applied(settings, file, os.environ, trusted=trusted)


def _from_store(store: Store) -> bytes | None:
    try:
        with store.open(NAME) as source:
            require_one_name(source, NAME)
            return source.read_at(0, CONFIG_FILE_BYTES + 1)
    except errors.NotFound:
        return None
    except (errors.BadConfig, errors.StoreFailed, errors.DatabaseFailed):
        raise  # an error of the store, or one that names its file already
    except errors.ReadroomError as error:
        raise errors.BadConfig(NAME, "", error.message, "Correct the file, or remove it.") from None
