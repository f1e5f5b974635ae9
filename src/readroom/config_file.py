"""One configuration file: its keys checked one by one, then applied to settings.

The form is described in `config`; what a file inside the workspace may not say is refused here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import cast

from readroom.config_commands import KEYS, read_commands, texts
from readroom.config_contracts import CONTRACT_KEYS, read_contracts
from readroom.config_index import INDEX_KEYS, read_index
from readroom.config_keeping import (
    BUDGET_KEYS,
    LEDGER_KEYS,
    read_budget,
    read_ledger,
)
from readroom.contracts.setup import Setup
from readroom.errors import BadConfig
from readroom.ledger.policy import LedgerPolicy
from readroom.limits import MAX_REPLY_BYTES, MIN_REPLY_BYTES, REPLY_BYTES, Limits
from readroom.paths import WorkPath
from readroom.policy.commands import CommandPolicy
from readroom.policy.defaults import denials
from readroom.policy.guard import HardLinkMode
from readroom.policy.patterns import patterns
from readroom.policy.places import ChangePolicy
from readroom.policy.rules import AllowList, Denials, Layer, Rule
from readroom.policy.wildmatch import UnusablePattern
from readroom.release import CONFIG_FILE
from readroom.session.budgets import BudgetPolicy
from readroom.session.index_files import IndexPolicy

NAME = WorkPath(CONFIG_FILE)

_POLICY = ("deny", "allow", "hardlinks", "exceptions")
_LIMITS = tuple(field.name for field in fields(Limits))
_CHANGES = tuple(field.name for field in fields(ChangePolicy))
_SERVING = ("serve", "workspaces")
"""Sections of the operator's file that `config_serve` reads."""

_KEYS = {
    "policy": _POLICY,
    "changes": _CHANGES,
    "commands": KEYS,
    "index": INDEX_KEYS,
    "ledger": LEDGER_KEYS,
    "budget": BUDGET_KEYS,
    "contracts": tuple(CONTRACT_KEYS),
    "limits": _LIMITS,
}

_LEAST: Mapping[str, float] = {"reply_bytes": MIN_REPLY_BYTES, "line_chars": 40, "run_kept_bytes": 4096}
"""Least values that still let a reply say something; of the others, one line, match or entry."""

_MOST_OF: Mapping[str, float] = {"reply_bytes": MAX_REPLY_BYTES}

_LEAST_SECONDS = 0.1
"""Shorter limits end calls before they have begun."""


_MOST = 2**40
"""More than any reply, file or patience; a number of a thousand digits is somebody's joke."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Policy and limits of one workspace.

    Attributes:
        layers: Rules by source; each can only restrict further.
        limits: What engines obey.
        hardlinks: What happens to files with several names.
        files: The configuration files that had a say.
        changes: What may be changed, and how.
        commands: Whether programs can be run, and what they may do.
        exceptions: Names that the operator takes out of the built-in denials.
        index: Where indexes of large files are kept.
        ledger: Whether and where calls are recorded.
        budgets: Tokens that may be spent.
        setup: What contracts are made for.
    """

    layers: tuple[Layer, ...] = ()
    limits: Limits = field(default_factory=Limits)
    hardlinks: HardLinkMode = "warn"
    files: tuple[str, ...] = ()
    changes: ChangePolicy = field(default_factory=ChangePolicy)
    commands: CommandPolicy = field(default_factory=CommandPolicy)
    exceptions: tuple[Rule, ...] = ()
    index: IndexPolicy = field(default_factory=IndexPolicy)
    ledger: LedgerPolicy = field(default_factory=LedgerPolicy)
    budgets: BudgetPolicy = field(default_factory=BudgetPolicy)
    setup: Setup = field(default_factory=Setup)


def _in_force(limits: Limits, name: str) -> int | float:
    """The value of a limit, of one that nobody has set the default."""
    value: int | float | None = getattr(limits, name)
    return REPLY_BYTES if value is None else value


class Reader:
    """One file. What it says is checked when it is applied."""

    def __init__(self, where: str, data: bytes, environ: Mapping[str, str], *, trusted: bool) -> None:
        self._where = where
        self._trusted = trusted
        self._environ = environ
        self._sections = self._parsed(data)

    def applied(self, settings: Settings) -> Settings:
        """The settings with what the file says."""
        policy, limits = self._sections.get("policy", {}), self._sections.get("limits", {})
        layers, exceptions = settings.layers, settings.exceptions
        if "exceptions" in policy:
            exceptions = tuple(self._exceptions("policy", policy, "denials"))
            layers = (denials(exceptions), *layers[1:])
        if "deny" in policy:
            layers = (*layers, self._denials(policy))
        if "allow" in policy:
            layers = (*layers, self._allow_list(policy))
        return Settings(
            layers,
            self._limits(limits, settings.limits),
            self._hardlinks(policy, settings.hardlinks),
            (*settings.files, self._where),
            self._changes(self._sections.get("changes", {}), settings.changes),
            read_commands(
                self._sections.get("commands", {}),
                settings.commands,
                self._environ,
                self._bad,
                untrusted="" if self._trusted else self._where,
            ),
            exceptions,
            read_index(
                self._sections.get("index", {}),
                settings.index,
                self._bad,
                untrusted="" if self._trusted else self._where,
            ),
            read_ledger(
                self._sections.get("ledger", {}),
                settings.ledger,
                self._bad,
                untrusted="" if self._trusted else self._where,
            ),
            read_budget(
                self._sections.get("budget", {}),
                settings.budgets,
                self._bad,
                untrusted="" if self._trusted else self._where,
            ),
            read_contracts(
                self._sections.get("contracts", {}),
                settings.setup,
                self._bad,
                where=self._where,
                trusted=self._trusted,
            ),
        )

    def _parsed(self, data: bytes) -> Mapping[str, Mapping[str, object]]:
        import tomllib  # 3 ms, and most folders have no such file

        try:
            document = tomllib.loads(data.decode("utf-8-sig"))
        except ValueError as error:  # of bytes that are no text, of syntax, of numbers without end
            raise self._bad("", f"it is not TOML: {error}", "Correct the syntax.") from None
        except RecursionError:
            raise self._bad("", "it is nested too deeply", "Use sections and keys only.") from None
        for section, keys in document.items():
            if self._trusted and section in _SERVING:
                continue
            known = _KEYS.get(section)
            if known is None:
                raise self._unknown(section, section, tuple(_KEYS))
            if not isinstance(keys, dict):
                raise self._bad(section, "must be a section", f"Write [{section}] and its keys below.")
            for key in keys:
                if key not in known:
                    raise self._unknown(f"{section}.{key}", key, known)
        return document

    def _denials(self, policy: Mapping[str, object]) -> Denials:
        found = self._strings(policy, "deny")
        for number, text in enumerate(found):
            self._check_pattern(f"policy.deny[{number}]", text)
        return Denials(Rule(text, self._where, "denied by configuration") for text in found)

    def _allow_list(self, policy: Mapping[str, object]) -> AllowList:
        found = self._strings(policy, "allow")
        for number, text in enumerate(found):
            self._check_pattern(f"policy.allow[{number}]", text, positive="deny takes names out again")
        return AllowList(found, self._where)

    def _exceptions(self, section: str, keys: Mapping[str, object], what: str) -> list[Rule]:
        key = f"{section}.exceptions"
        if not self._trusted:
            raise self._bad(
                key,
                f"a file inside the workspace cannot take back built-in {what}",
                "Put it into the file that readroom is started with (--config).",
            )
        found = texts(key, keys["exceptions"], self._bad)
        for number, text in enumerate(found):
            self._check_pattern(f"{key}[{number}]", text, positive="exceptions have no exceptions")
        return [Rule(text, self._where, "an exception by configuration") for text in found]

    def _check_pattern(self, key: str, text: str, positive: str | None = None) -> None:
        found = patterns([text])
        if found and found[0].negated and positive is not None:
            raise self._bad(key, f"{text!r} is a negation", f"Leave out the '!': {positive}.")
        try:
            if not found:
                raise UnusablePattern(text)
            found[0].compiled()
        except UnusablePattern:
            advice = "Patterns have the syntax of .gitignore; a backslash makes a special character plain."
            raise self._bad(key, f"{text!r} is no pattern that can match a name", advice) from None

    def _strings(self, policy: Mapping[str, object], key: str) -> Sequence[str]:
        return texts(f"policy.{key}", policy[key], self._bad)

    def _hardlinks(self, policy: Mapping[str, object], before: HardLinkMode) -> HardLinkMode:
        value = policy.get("hardlinks", before)
        if value not in ("warn", "refuse"):
            raise self._bad("policy.hardlinks", f"{value!r} is no such mode", 'Use "warn" or "refuse".')
        if not self._trusted and before == "refuse":
            return before
        return value

    def _changes(self, section: Mapping[str, object], before: ChangePolicy) -> ChangePolicy:
        found: dict[str, bool] = {}
        exceptions = before.exceptions
        for name, value in section.items():
            key = f"changes.{name}"
            if name == "exceptions":
                exceptions = tuple(self._exceptions("changes", section, "protections"))
                continue
            if not isinstance(value, bool):
                raise self._bad(key, "must be true or false", f"Write {name} = true.")
            restricts = name == "read_only"
            if not self._trusted and value is not restricts and value is not getattr(before, name):
                raise self._bad(
                    key,
                    "a file inside the workspace can only forbid changes",
                    "Put it into the file that readroom is started with (--config).",
                )
            found[name] = value
        # The other fields are switches.
        return replace(before, exceptions=exceptions, **found)

    def _limits(self, section: Mapping[str, object], before: Limits) -> Limits:
        values = {name: self._limit(name, value, _in_force(before, name)) for name, value in section.items()}
        # Each value has the type of the field it replaces.
        return replace(before, **cast("dict[str, int]", values))

    def _limit(self, name: str, value: object, before: int | float) -> int | float:
        key = f"limits.{name}"
        whole = isinstance(before, int)
        if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
            raise self._bad(key, f"must be a {'whole ' if whole else ''}number", f"Write {name} = {before}.")
        least = _LEAST.get(name, 1 if whole else _LEAST_SECONDS)
        most = _MOST_OF.get(name, _MOST) if self._trusted else _MOST  # others may only lower them
        if not least <= value <= most:  # which a NaN is not either
            raise self._bad(key, "is out of range", f"Use a value from {least} to {most}.")
        if not self._trusted and value > before:
            raise self._bad(
                key,
                f"{value} is above {before}, and a file inside the workspace can only lower limits",
                "Lower it, or put it into the file that readroom is started with (--config).",
            )
        return value if whole else float(value)

    def _unknown(self, key: str, name: str, known: Sequence[str]) -> BadConfig:
        from difflib import get_close_matches

        near = get_close_matches(name, known, n=1)
        guess = f"Did you mean {near[0]!r}? " if near else ""
        return self._bad(key, "there is no such key", f"{guess}The keys are: {', '.join(known)}.")

    def _bad(self, key: str, problem: str, advice: str) -> BadConfig:
        return BadConfig(self._where, key, problem, advice)
