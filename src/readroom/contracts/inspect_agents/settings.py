"""Variables of the environment for the contract inspect_agents."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Literal

from readroom.core.contracts import OwnSettings, Setup


class InspectSettings(OwnSettings, frozen=True):
    """The variables, as values.

    Attributes:
        mode: `INSPECT_AGENTS_FS_MODE`; None if it is not set.
        root: `INSPECT_AGENTS_FS_ROOT`: the root as callers write it.
        max_bytes: `INSPECT_AGENTS_FS_MAX_BYTES`: largest file; the default is that of the original.
        read_only: `INSPECT_AGENTS_FS_READ_ONLY`: nothing is changed in the sandbox.
        typed: `INSPECT_AGENTS_TYPED_RESULTS`: results are objects.
        seconds: `INSPECT_AGENTS_TOOL_TIMEOUT`: longest time for a call; likewise.
        allow: `INSPECT_FS_ALLOW`: patterns of files that may be changed; empty for all.
        deny: `INSPECT_FS_DENY`: patterns of files that may not be used at all.
        allow_holds_for_reads: `INSPECT_FS_POLICY_ENFORCE_READS`: `allow` also applies to reads.
        preflight: `INSPECT_SANDBOX_PREFLIGHT`: "skip" stays in the store, "force" refuses to.
    """

    mode: Literal["store", "sandbox"] | None = None
    root: str = "/repo"
    max_bytes: int = 5_000_000
    read_only: bool = False
    typed: bool = False
    seconds: float = 15.0
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    allow_holds_for_reads: bool = False
    preflight: Literal["auto", "skip", "force"] = "auto"


def _word(text: str) -> str:
    return text.strip().lower()


def _flag(text: str) -> bool:
    return _word(text) in ("1", "true", "yes", "on")


def _list(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(",") if item.strip())


_READ: Mapping[str, tuple[str, Callable[[str], Any], Callable[[Any], bool]]] = {
    "mode": ("INSPECT_AGENTS_FS_MODE", _word, ("store", "sandbox").__contains__),
    "root": ("INSPECT_AGENTS_FS_ROOT", lambda text: text.rstrip("/"), lambda root: root.startswith("/")),
    "max_bytes": ("INSPECT_AGENTS_FS_MAX_BYTES", int, lambda size: size > 0),
    "read_only": ("INSPECT_AGENTS_FS_READ_ONLY", _flag, bool),
    "typed": ("INSPECT_AGENTS_TYPED_RESULTS", _flag, bool),
    "seconds": ("INSPECT_AGENTS_TOOL_TIMEOUT", float, lambda time: time > 0 and math.isfinite(time)),
    "allow": ("INSPECT_FS_ALLOW", _list, bool),
    "deny": ("INSPECT_FS_DENY", _list, bool),
    "allow_holds_for_reads": ("INSPECT_FS_POLICY_ENFORCE_READS", _flag, bool),
    "preflight": ("INSPECT_SANDBOX_PREFLIGHT", _word, ("skip", "force").__contains__),
}
"""By setting: its variable, how that is read, and which values make sense."""


def settings_of(setup: Setup) -> InspectSettings:
    """The settings of a workspace.

    Invalid values mean the default, as in the original programs.
    """
    if isinstance(setup.own, InspectSettings):
        return setup.own
    texts, values = dict(setup.variables), {}
    for name, (variable, read, makes_sense) in _READ.items():
        with suppress(ValueError):
            value = read(texts.get(variable, ""))
            if makes_sense(value):
                values[name] = value
    return InspectSettings(**values)
