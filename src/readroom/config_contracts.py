"""What the environment says about contracts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from readroom.contracts.inspect_setup import InspectSetup, Mode
from readroom.contracts.setup import Setup

_TRUE = frozenset({"1", "true", "yes", "on"})


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
