"""The sections [ledger] and [budget] of a configuration file, and where the user's state folder is.

The file in the workspace can only lower budgets: whoever wrote the folder must not
say what is recorded of it, or where.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import fields, replace

from readroom.config_commands import Bad, texts
from readroom.config_index import lies_within
from readroom.ledger.arguments import KEPT
from readroom.ledger.policy import FILE, LedgerPolicy
from readroom.policy.rules import Denials, Rule
from readroom.session.budgets import BudgetPolicy
from readroom.session.counting import COUNTERS
from readroom.stores.base import Store

LEDGER_KEYS = ("enabled", "required", "file", "url", "synchronous", "hide", "keep_days")
BUDGET_KEYS = tuple(field.name for field in fields(BudgetPolicy))

_LEAST_TOKENS = 500
"""Below, not even one smallest reply could be given."""

_MOST_TOKENS = 2**40
_MOST_DAYS = 36_500


def own_ledger(environ: Mapping[str, str], platform: str) -> str | None:
    """The ledger in the user's state folder; None when there is no telling where that is."""
    given = environ.get("XDG_STATE_HOME", "")
    if os.path.isabs(given):  # relative ones are to be ignored, by the specification
        return os.path.join(os.path.normpath(given), "readroom", FILE)
    home = environ.get("HOME", "")
    if not os.path.isabs(home):
        return None
    state = "Library/Application Support" if platform == "darwin" else ".local/state"
    return os.path.join(os.path.normpath(home), state, "readroom", FILE)


def own_tokens(environ: Mapping[str, str], platform: str) -> str | None:
    """The file of tokens in the user's state folder; None when there is no telling where that is."""
    ledger = own_ledger(environ, platform)
    return None if ledger is None else os.path.join(os.path.dirname(ledger), "tokens.db")


def folder_tokens(tokens: str) -> str:
    """The folder of the tokens of folders, beside the file of the others."""
    return os.path.join(os.path.dirname(tokens), "folder-tokens")


def own_notes(environ: Mapping[str, str], platform: str) -> str | None:
    """The folder in the user's state folder for notes of files being written; None when unknown."""
    ledger = own_ledger(environ, platform)
    return None if ledger is None else os.path.join(os.path.dirname(ledger), "writing")


def state_denials(
    store: Store, ledger: LedgerPolicy, tokens: str | None, notes: str | None
) -> Denials | None:
    """A layer that hides a ledger, tokens and notes inside a workspace; None when they lie elsewhere."""
    rules = []
    for path, reason in (
        (ledger.file, "the ledger is not for those whom it is about"),
        (tokens, "tokens are not for those whom they let in"),
        (tokens and folder_tokens(tokens), "tokens are not for those whom they let in"),
        (notes, "what is noted there may be removed"),
    ):
        if path is not None:
            rules += [Rule(pattern, "built-in", reason) for pattern in _inside(store, path)]
    return Denials(rules) if rules else None


def _inside(store: Store, path: str) -> list[str]:
    """A pattern for a file, and those beside it whose names begin like its, in each root that it is in."""
    folder, name = os.path.split(os.path.realpath(path))
    found = []
    for root in store.roots:
        if lies_within(folder, root):
            inside = os.path.relpath(os.path.join(folder, name), os.path.realpath(root))
            found.append("/" + re.sub(r"([\\*?\[\]! #])", r"\\\1", inside) + "*")
    return found


def read_ledger(
    section: Mapping[str, object], before: LedgerPolicy, bad: Bad, *, untrusted: str
) -> LedgerPolicy:
    """The policy with what the section says. Raises BadConfig."""
    found = before
    for name, value in section.items():
        key = f"ledger.{name}"
        if untrusted:
            raise bad(
                key,
                "a file inside the workspace has no say about the ledger",
                "Put it into the file that readroom is started with (--config).",
            )
        found = _ledger(key, name, value, found, bad)
    return found


def _ledger(key: str, name: str, value: object, before: LedgerPolicy, bad: Bad) -> LedgerPolicy:
    match name:
        case "enabled" | "required":
            if not isinstance(value, bool):
                raise bad(key, "must be true or false", f"Write {name} = true.")
            return replace(before, enabled=value) if name == "enabled" else replace(before, required=value)
        case "synchronous":
            if value not in ("normal", "full"):
                raise bad(key, f"{value!r} is no such mode", 'Use "normal" or "full".')
            return replace(before, full_sync=value == "full")
        case "file":
            path = os.path.expanduser(value) if isinstance(value, str) else ""
            if "\0" in path or not os.path.isabs(path):
                raise bad(key, f"{value!r} is no absolute path", "Name one, or one that starts with ~/.")
            return replace(before, file=os.path.normpath(path))
        case "url":
            if not isinstance(value, str) or not value.startswith(("postgresql://", "postgres://")):
                raise bad(key, "is no PostgreSQL address", 'Write url = "postgresql://user@host/database".')
            return replace(before, url=value)
        case "keep_days":
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= _MOST_DAYS:
                raise bad(key, "must be a number of days", "Write keep_days = 365.")
            return replace(before, keep_days=float(value))
    hidden = frozenset(texts(key, value, bad))
    if unknown := hidden - KEPT:
        raise bad(key, f"{min(unknown)!r} is not kept anyway", f"Names are: {', '.join(sorted(KEPT))}.")
    return replace(before, hide=hidden)


def read_budget(
    section: Mapping[str, object], before: BudgetPolicy, bad: Bad, *, untrusted: str
) -> BudgetPolicy:
    """The policy with what the section says. Raises BadConfig."""
    found = before
    for name, value in section.items():
        key = f"budget.{name}"
        if name == "counter":
            if untrusted or value not in COUNTERS:
                names = " or ".join(map(repr, COUNTERS))
                problem = "only the operator can choose it" if untrusted else f"{value!r} is no counter"
                raise bad(key, problem, f"Use {names} in the file that readroom is started with (--config).")
            found = replace(found, counter=str(value))
            continue
        if (
            isinstance(value, bool)
            or not isinstance(value, int)
            or not _LEAST_TOKENS <= value <= _MOST_TOKENS
        ):
            raise bad(key, f"must be tokens, at least {_LEAST_TOKENS}", f"Write {name} = 100000.")
        limit = getattr(before, name)
        if untrusted and limit is not None and value > limit:
            raise bad(
                key,
                f"{value} is above {limit}, and a file inside the workspace can only lower budgets",
                "Lower it, or put it into the file that readroom is started with (--config).",
            )
        bounds: Mapping[str, int] = {name: value}
        found = replace(found, **bounds)  # type: ignore[arg-type]  # names of the whole-number fields
    return found
