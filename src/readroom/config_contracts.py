"""What the environment and the section [contracts] of a configuration file say about contracts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from readroom.config_commands import Bad
from readroom.config_kilo import KILO_KEYS, read_kilo
from readroom.config_rnd import RND_KEYS, read_rnd
from readroom.contracts.inspect_setup import InspectSetup, Mode
from readroom.contracts.setup import Setup

CONTRACT_KEYS = {"kilo": KILO_KEYS, "rnd": RND_KEYS}
"""The keys of each contract in [contracts]."""

_TRUE = frozenset({"1", "true", "yes", "on"})


def read_contracts(
    section: Mapping[str, object], before: Setup, bad: Bad, *, where: str, trusted: bool
) -> Setup:
    """The setup with what the section [contracts] says.

    Args:
        section: Its keys.
        before: What held until now.
        bad: Makes the error of a key.
        where: The configuration file, beside which command files are looked for.
        trusted: It is the operator's. Another would choose what may be read.

    Raises:
        BadConfig: From `bad`, or from a file that is named.
    """
    for name, keys in section.items():
        known = CONTRACT_KEYS.get(name)
        if known is None:
            told = f"Contracts with settings are: {', '.join(CONTRACT_KEYS)}."
            raise bad(f"contracts.{name}", "there is no such key", told)
        if not isinstance(keys, dict):
            raise bad(
                f"contracts.{name}", "must be a section", f"Write [contracts.{name}] and its keys below."
            )
        for key in keys:
            if key not in known:
                raise bad(
                    f"contracts.{name}.{key}", "there is no such key", f"The keys are: {', '.join(known)}."
                )
        if name == "kilo":
            before = read_kilo(keys, before, bad, trusted=trusted)
        else:
            before = read_rnd(keys, before, bad, where=where, trusted=trusted)
    return before


def with_environment(setup: Setup, environ: Mapping[str, str]) -> Setup:
    """The setup with what variables of the environment say.

    Values that make no sense mean the default, as they do for the programs that they were made for.
    """
    return replace(setup, inspect=_inspect(setup.inspect, environ))


def _inspect(before: InspectSetup, environ: Mapping[str, str]) -> InspectSetup:
    def flag(name: str) -> bool:
        return environ.get(name, "").strip().lower() in _TRUE

    def listed(name: str) -> tuple[str, ...]:
        return tuple(one.strip() for one in environ.get(name, "").split(",") if one.strip())

    modes: dict[str, Mode] = {"store": "store", "sandbox": "sandbox"}
    ways: dict[str, Literal["auto", "skip", "force"]] = {"skip": "skip", "force": "force"}
    root = environ.get("INSPECT_AGENTS_FS_ROOT", "").rstrip("/")
    return InspectSetup(
        mode=modes.get(environ.get("INSPECT_AGENTS_FS_MODE", "").strip().lower()),
        root=root if root.startswith("/") else before.root,
        max_bytes=_whole(environ.get("INSPECT_AGENTS_FS_MAX_BYTES"), before.max_bytes),
        read_only=flag("INSPECT_AGENTS_FS_READ_ONLY"),
        typed=flag("INSPECT_AGENTS_TYPED_RESULTS"),
        seconds=_seconds(environ.get("INSPECT_AGENTS_TOOL_TIMEOUT"), before.seconds),
        allow=listed("INSPECT_FS_ALLOW"),
        deny=listed("INSPECT_FS_DENY"),
        allow_holds_for_reads=flag("INSPECT_FS_POLICY_ENFORCE_READS"),
        preflight=ways.get(environ.get("INSPECT_SANDBOX_PREFLIGHT", "").strip().lower(), "auto"),
    )


def _whole(text: str | None, before: int) -> int:
    try:
        value = int(text or "")
    except ValueError:
        return before
    return value if value > 0 else before


def _seconds(text: str | None, before: float) -> float:
    try:
        value = float(text or "")
    except ValueError:
        return before
    return value if value > 0 and math.isfinite(value) else before
