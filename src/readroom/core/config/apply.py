"""Sections of a configuration file applied to settings, and the restrictions of a file in the workspace.

The author of a folder may have written the file in it, so that file can only restrict (`restrict`), and only
keys with a rule here.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import eq
from typing import Any, TypeAlias

from msgspec.structs import replace

from readroom.core.config.file import (
    SECTIONS,
    ConfigFile,
    ContractSection,
    Inside,
    Section,
    contract_form,
    form,
    on,
    with_sections,
)
from readroom.core.config.settings import Settings
from readroom.core.contracts import OwnSettings
from readroom.core.errors import BadConfig
from readroom.core.limits import MAX_REPLY_BYTES, MIN_REPLY_BYTES, REPLY_BYTES, Limits
from readroom.core.policy.commands import VERSION_CONTROL, CommandPolicy, VersionControl
from readroom.core.policy.guard import HardLinkMode
from readroom.core.policy.rules import AllowList, Denials, Layer, Rule, denials

OPERATORS = ("serve", "workspaces", "roots")
"""Sections of the operator's file about what is served."""

_TOP = (*tuple(SECTIONS)[:-1], "contracts", tuple(SECTIONS)[-1])

Given: TypeAlias = Mapping[str, Mapping[str, Any]]
"""The content of a file: keys and values by section."""


def applied(settings: Settings, file: ConfigFile, environ: Mapping[str, str], *, trusted: bool) -> Settings:
    """The settings, with those of a file applied; one that is not `trusted` can only restrict.

    `environ` has the values of variables that it names.  Raises BadConfig.
    """
    file.require_known((*_TOP, *OPERATORS) if trusted else _TOP)
    file.require_known(with_sections(), "contracts")
    if not trusted:
        _refuse_what_is_the_operators(file)
    read = {name: _section(file, name) for name in _names(file)}
    sections = {name: section.given() for name, section in read.items()}
    layers, exceptions, roots = _layers(settings, sections["policy"], file.where)
    after = Settings(
        layers,
        _limits(settings.limits, sections["limits"], file, trusted=trusted),
        _hardlinks(settings.hardlinks, sections["policy"], trusted=trusted),
        (*settings.files, file.where),
        replace(settings.changes, **_with_rules(sections["changes"], file.where)),
        _commands(settings.commands, sections["commands"], environ),
        exceptions,
        replace(settings.index, **sections["index"]),
        read["ledger"].applied(settings.ledger),
        read["budget"].applied(settings.budgets),
        _contracts(settings.contracts, read, file),
        roots,
        settings.variables,
        replace(settings.history, **sections["history"]),
        settings.others,
        replace(settings.secrets, **sections["secrets"]),
        read["otel"].applied(settings.otel),
    )
    return after if trusted else restrict(settings, after, sections, file)


def _names(file: ConfigFile) -> list[str]:
    """All sections there can be; of those of contracts, the ones that the file has."""
    return [*SECTIONS, *(f"contracts.{name}" for name in file.table("contracts"))]


def _section(file: ConfigFile, name: str) -> Section:
    """A section of a file; a section of another wing is imported only if the file has it."""
    keys = name.split(".")
    return file.section(form(name), *keys) if file.table(*keys) else Section()


def _layers(
    settings: Settings, policy: Mapping[str, Any], where: str
) -> tuple[tuple[Layer, ...], tuple[Rule, ...], tuple[str, ...]]:
    """The rules by source, and the names and the roots that the built-in ones do not mean."""
    layers, exceptions, roots = settings.layers, settings.exceptions, policy.get("roots", settings.roots)
    if "exceptions" in policy:
        exceptions = _excepted(policy["exceptions"], where)
    if "exceptions" in policy or "roots" in policy:
        layers = (denials(exceptions, roots), *layers[1:])
    if "deny" in policy:
        rules = (Rule(text, where, "denied by configuration") for text in policy["deny"])
        layers = (*layers, Denials(rules))
    if "allow" in policy:
        layers = (*layers, AllowList(policy["allow"], where))
    return layers, exceptions, roots


def _excepted(patterns: tuple[str, ...], where: str) -> tuple[Rule, ...]:
    return tuple(Rule(text, where, "an exception by configuration") for text in patterns)


def _with_rules(changes: Mapping[str, Any], where: str) -> dict[str, Any]:
    if "exceptions" not in changes:
        return dict(changes)
    return {**changes, "exceptions": _excepted(changes["exceptions"], where)}


def _hardlinks(before: HardLinkMode, policy: Mapping[str, Any], *, trusted: bool) -> HardLinkMode:
    """The operator's word, or the stricter of both."""
    after: HardLinkMode = policy.get("hardlinks", before)
    return after if trusted or before == "warn" else before


def _commands(before: CommandPolicy, values: Mapping[str, Any], environ: Mapping[str, str]) -> CommandPolicy:
    if "environment" in values:
        named = tuple((name, environ[name]) for name in values["environment"] if name in environ)
        values = {**values, "environment": named}
    return replace(before, **values)


def _contracts(
    before: Mapping[str, OwnSettings], read: Mapping[str, Section], file: ConfigFile
) -> Mapping[str, OwnSettings]:
    after = dict(before)
    for section, values in read.items():
        if isinstance(values, ContractSection):
            name = section.partition(".")[2]
            after[name] = values.settings(before.get(name), file.where)
    return after


def _limits(before: Limits, values: Mapping[str, Any], file: ConfigFile, *, trusted: bool) -> Limits:
    # Others may only lower it; the refusal says what to.
    if trusted and values.get("reply_bytes", 0) > MAX_REPLY_BYTES:
        advice = f"Use a whole number from {MIN_REPLY_BYTES} to {MAX_REPLY_BYTES}."
        raise file.bad("limits.reply_bytes", "is out of range", advice)
    return replace(before, **values)


# -----------------------------------------------------------------------------
# What a file inside the workspace may set.
# -----------------------------------------------------------------------------


def _anything(before: object, after: object) -> bool:
    return True


def _off(before: object, after: object) -> bool:
    return after is False or after == before


def _lower(before: float | None, after: float) -> bool:
    return before is None or after <= before


def _hidden_more(before: VersionControl, after: VersionControl) -> bool:
    return VERSION_CONTROL.index(after) <= VERSION_CONTROL.index(before)


_FORBIDS = "can only forbid commands, the network and version control"

_INSIDE: Mapping[str, Inside] = {
    "policy.deny": Inside(_anything, ""),
    "policy.allow": Inside(_anything, ""),
    "policy.hardlinks": Inside(_anything, ""),  # the stricter of both holds
    "policy.exceptions": Inside(None, "cannot take back built-in denials"),
    "policy.roots": Inside(None, "cannot take back built-in denials"),
    "changes.exceptions": Inside(None, "cannot take back built-in protections"),
    "changes.read_only": Inside(on, "can only forbid changes"),
    "changes": Inside(_off, "can only forbid changes"),
    "commands.enabled": Inside(_off, _FORBIDS),
    "commands.network": Inside(_off, _FORBIDS),
    "commands.version_control": Inside(_hidden_more, _FORBIDS),
    "commands": Inside(eq, _FORBIDS),
    "index.keep": Inside(lambda before, after: after is False, "can only turn it off"),
    "index": Inside(None, "can only turn it off"),
    "budget.counter": Inside(None, "cannot choose what counts"),
    "budget": Inside(_lower, "can only lower budgets"),
    "otel": Inside(None, "cannot say where spans are sent"),
    "limits": Inside(_lower, "can only lower limits"),
}
"""By key, or for all other keys of a section. Without a row, only the operator decides."""


def _rule(section: str, name: str) -> Inside:
    default = Inside(None, f"has no say about the {section}")
    group, _, contract = section.partition(".")
    if group == "contracts":
        return contract_form(contract).inside.get(name, default)
    return _INSIDE.get(f"{section}.{name}") or _INSIDE.get(section, default)


def _values(settings: Settings, section: str) -> object:
    """The values of a section."""
    group, _, contract = section.partition(".")
    if group == "contracts":
        return settings.contracts.get(contract) or contract_form(contract).unset
    return settings.budgets if section == "budget" else getattr(settings, section)


def _refuse_what_is_the_operators(file: ConfigFile) -> None:
    """Before its values are looked at, and anything is looked up for their sake."""
    for section in _names(file):
        for name in file.table(*section.split(".")):
            rule = _rule(section, name)
            if rule.allows is None and name in form(section).__struct_fields__:
                raise _refused(f"{section}.{name}", rule, "", file)


def restrict(before: Settings, after: Settings, sections: Given, file: ConfigFile) -> Settings:
    """The settings of a file that may only take away. Raises BadConfig for a key that does not."""
    for section, name in ((section, name) for section, keys in sections.items() for name in keys):
        rule = _rule(section, name)
        if rule.allows is _anything:
            continue
        old, new = (getattr(_values(settings, section), name, None) for settings in (before, after))
        old = REPLY_BYTES if name == "reply_bytes" and old is None else old
        if rule.allows is None or not rule.allows(old, new):
            above = f"{new} is above {old}, and " if rule.allows is _lower else ""
            raise _refused(f"{section}.{name}", rule, above, file)
    if before.commands.enabled and not after.commands.enabled:
        return replace(after, commands=replace(after.commands, forbidden_by=file.where))
    return after


def _refused(key: str, rule: Inside, above: str, file: ConfigFile) -> BadConfig:
    put = "Lower it, or put" if above else "Put"
    advice = f"{put} it into the file that readroom is started with (--config){rule.also}."
    return file.bad(key, f"{above}a file inside the workspace {rule.only}", advice)
