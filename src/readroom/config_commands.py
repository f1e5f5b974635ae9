"""The section [commands] of a configuration file.

The file in the workspace may forbid commands, their network and version control,
and nothing else: whoever wrote the folder may have written it, too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar, get_args

from readroom.errors import BadConfig
from readroom.policy.commands import VERSION_CONTROL, CommandPolicy, Demand

KEYS = ("enabled", "confinement", "network", "version_control", "read", "write", "environment")

Bad: TypeAlias = Callable[[str, str, str], BadConfig]
"""Makes the failure for a key: the key, the problem, what to do."""

T = TypeVar("T")


def read_commands(
    section: Mapping[str, object],
    before: CommandPolicy,
    environ: Mapping[str, str],
    bad: Bad,
    *,
    untrusted: str,
) -> CommandPolicy:
    """The policy with what the section says.

    Args:
        section: Keys of KEYS.
        before: What held without it.
        environ: Where the values of named variables are found.
        bad: Makes failures.
        untrusted: The name of a file that may only forbid; empty for the operator's.

    Raises:
        BadConfig: A value cannot be used, or allows what the file may not allow.
    """
    found = before
    for name, value in section.items():
        key = f"commands.{name}"
        after = _applied(key, name, value, found, environ, bad)
        if untrusted and not _stricter(name, after, found):
            raise bad(
                key,
                "a file inside the workspace can only forbid commands, the network and version control",
                "Put it into the file that readroom is started with (--config).",
            )
        found = after
    if untrusted and before.enabled and not found.enabled:
        found = replace(found, forbidden_by=untrusted)
    return found


def _stricter(name: str, after: CommandPolicy, before: CommandPolicy) -> bool:
    """Whether a key takes something away, or changes nothing."""
    if after == before:
        return True
    if name == "version_control":
        rank = VERSION_CONTROL.index
        return rank(after.version_control) < rank(before.version_control)
    return (name == "enabled" and not after.enabled) or (name == "network" and not after.network)


def _applied(
    key: str, name: str, value: object, before: CommandPolicy, environ: Mapping[str, str], bad: Bad
) -> CommandPolicy:
    match name:
        case "enabled":
            return replace(before, enabled=_truth(key, value, bad))
        case "network":
            return replace(before, network=_truth(key, value, bad))
        case "confinement":
            return replace(before, confinement=_one_of(key, value, get_args(Demand), bad))
        case "version_control":
            return replace(before, version_control=_one_of(key, value, VERSION_CONTROL, bad))
        case "environment":
            names = [_variable(key, text, bad) for text in texts(key, value, bad)]
            return replace(before, environment=tuple((one, environ[one]) for one in names if one in environ))
    places = tuple(_outside(key, text, bad) for text in texts(key, value, bad))
    return replace(before, read=places) if name == "read" else replace(before, write=places)


def _truth(key: str, value: object, bad: Bad) -> bool:
    if not isinstance(value, bool):
        raise bad(key, "must be true or false", f"Write {key.rpartition('.')[2]} = true.")
    return value


def _one_of(key: str, value: object, known: Sequence[T], bad: Bad) -> T:
    for one in known:
        if one == value:
            return one
    raise bad(key, f"{value!r} is none of them", f"Use {' or '.join(map(repr, known))}.")


def _variable(key: str, name: str, bad: Bad) -> str:
    if not name or "=" in name or "\0" in name:
        raise bad(key, f"{name!r} is no name of a variable", "Write names of variables, without values.")
    return name


def _outside(key: str, path: str, bad: Bad) -> str:
    found = os.path.expanduser(path)
    if "\0" in found or not os.path.isabs(found) or not os.path.exists(found):
        raise bad(
            key, f"there is no {path!r}", "Name an absolute path that exists, or one that starts with ~/."
        )
    return os.path.normpath(found)


def texts(key: str, value: object, bad: Bad) -> Sequence[str]:
    """A list of texts."""
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise bad(key, "must be a list of texts", f'Write {key.rpartition(".")[2]} = ["...", ...].')
    return value
