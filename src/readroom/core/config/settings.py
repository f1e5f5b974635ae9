"""The settings of one workspace, and where a user's own files are."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from msgspec import Struct, field

from readroom.core.contracts import OwnSettings
from readroom.core.history.settings import HistoryPolicy
from readroom.core.limits import Limits
from readroom.core.policy.changes import ChangePolicy
from readroom.core.policy.commands import CommandPolicy
from readroom.core.policy.guard import HardLinkMode
from readroom.core.policy.rules import Denials, Layer, Rule
from readroom.core.secrets import SecretPolicy
from readroom.core.session.index_files import IndexPolicy
from readroom.core.session.journal import Journaling
from readroom.core.session.meter import Metering
from readroom.core.session.observer import Observing
from readroom.core.stores.base import Store


class Settings(Struct, frozen=True):
    """Policy and limits of one workspace.

    Attributes:
        layers: Rules by source; each can only restrict further.
        limits: The limits of the engine.
        hardlinks: What happens to files with several names.
        files: The configuration files that were applied.
        changes: What may be changed, and how.
        commands: Whether programs can be run, and what they may do.
        exceptions: Names that the operator takes out of the built-in denials.
        roots: Folders that the operator serves although they lie in denied ones.
        index: Where indexes of large files are kept.
        ledger: Whether and where calls are recorded; None records nothing.
        budgets: Tokens that may be spent; None bounds nothing.
        history: Whether and where the past of changes is kept.
        contracts: The settings of each contract.
        variables: Environment variables of contracts.
        secrets: Whether secrets are masked.
        otel: Whether and where spans and metrics are sent; None sends nothing.
        others: Those of the other roots by name, where there are several.
    """

    layers: tuple[Layer, ...] = ()
    limits: Limits = field(default_factory=Limits)
    hardlinks: HardLinkMode = "warn"
    files: tuple[str, ...] = ()
    changes: ChangePolicy = field(default_factory=ChangePolicy)
    commands: CommandPolicy = field(default_factory=CommandPolicy)
    exceptions: tuple[Rule, ...] = ()
    index: IndexPolicy = field(default_factory=IndexPolicy)
    ledger: Journaling | None = None
    budgets: Metering | None = None
    contracts: Mapping[str, OwnSettings] = field(default_factory=dict)
    roots: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    history: HistoryPolicy = field(default_factory=lambda: HistoryPolicy(enabled=False))
    others: Mapping[str, Settings] = field(default_factory=dict)
    secrets: SecretPolicy = field(default_factory=SecretPolicy)
    otel: Observing | None = None


# -----------------------------------------------------------------------------
# Where the files of a user are; None when that is unknown.
# -----------------------------------------------------------------------------


TOKENS_FILE = "tokens.db"
LEDGER_FILE = "ledger.sqlite3"
STATE_FILE = "state.sqlite3"
HISTORY_FOLDER = "history"
NOTES_FOLDER = "writing"
"""For notes of files that are being written."""


def own_folder(environ: Mapping[str, str], platform: str) -> str | None:
    """The folder of readroom in the user's cache folder."""
    cache = "Library/Caches" if platform == "darwin" else ".cache"
    return _own(environ, "XDG_CACHE_HOME", cache)


def own_file(environ: Mapping[str, str], platform: str, name: str) -> str | None:
    """A file or folder of readroom in the user's state folder."""
    state = "Library/Application Support" if platform == "darwin" else ".local/state"
    folder = _own(environ, "XDG_STATE_HOME", state)
    return None if folder is None else os.path.join(folder, name)


def _own(environ: Mapping[str, str], variable: str, usual: str) -> str | None:
    """The folder of readroom in the one that a variable names, or in the usual one below the home."""
    named = environ.get(variable, "")
    if os.path.isabs(named):  # relative ones are to be ignored, by the specification
        return os.path.join(os.path.normpath(named), "readroom")
    home = environ.get("HOME", "")
    return os.path.join(os.path.normpath(home), usual, "readroom") if os.path.isabs(home) else None


def folder_tokens(tokens: str) -> str:
    """The folder with the tokens of folders, next to the file of the others."""
    return os.path.join(os.path.dirname(tokens), "folder-tokens")


def lies_within(folder: str, root: str) -> bool:
    """Whether a folder, which need not exist yet, is a root or lies below it, links followed."""
    real, above = os.path.realpath(folder), os.path.realpath(root)
    return real == above or real.startswith(above.rstrip("/") + "/")


def state_denials(
    store: Store, ledger: str | None, tokens: str | None, notes: str | None, history: str | None
) -> Denials | None:
    """A layer that hides ledger, tokens, notes and history in a workspace; None when they lie elsewhere."""
    rules = []
    for path, files, reason in (
        (ledger, "*", "the ledger is not for the agents that it records"),
        (tokens, "*", "tokens are not for the callers that they let in"),
        (tokens and folder_tokens(tokens), "*", "tokens are not for the callers that they let in"),
        (notes, "", "what is noted there may be removed"),
        (history, "", "it holds earlier states of files, under other rules"),
        (
            tokens and os.path.join(os.path.dirname(tokens), STATE_FILE),
            "*",
            "budgets are not for the agents that they limit",
        ),
    ):
        if path is not None:
            rules += [Rule(pattern, "built-in", reason) for pattern in _inside(store, path, files)]
    return Denials(rules) if rules else None


def _inside(store: Store, path: str, siblings: str) -> list[str]:
    """A pattern for a name, and for `siblings` whose names begin with it, in each root that contains it."""
    folder, name = os.path.split(os.path.realpath(path))
    inside_roots = []
    for root in store.roots:
        if lies_within(folder, root):
            inside = os.path.relpath(os.path.join(folder, name), os.path.realpath(root))
            inside_roots.append("/" + re.sub(r"([\\*?\[\]! #])", r"\\\1", inside) + siblings)
    return inside_roots
