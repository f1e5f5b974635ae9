"""What the environment and command files say about contracts."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Literal

from msgspec.structs import replace

from readroom.contracts.front_matter import read_front_matter
from readroom.contracts.setup import InspectSetup, Mode, RndSetup, Setup
from readroom.errors import BadConfig
from readroom.limits.contracts import FRONT_MATTER_BYTES

_TRUE = frozenset({"1", "true", "yes", "on"})


def with_command(setup: Setup, path: str) -> Setup:
    """The setup with a command file. Raises BadConfig when it cannot be used."""
    try:
        with open(path, "rb") as file:
            data = file.read(FRONT_MATTER_BYTES + 1)
    except (OSError, ValueError) as error:
        number = error.errno if isinstance(error, OSError) else None
        problem = os.strerror(number) if number else type(error).__name__
        raise BadConfig(path, "", problem, "Name a readable command file.") from None
    return replace(setup, rnd=RndSetup(read_front_matter(path, data)))


def with_environment(setup: Setup, environ: Mapping[str, str]) -> Setup:
    """The setup with what variables of the environment say.

    Values that make no sense mean the default, as they do for the programs that they were made for.
    """
    return replace(setup, inspect=_inspect(setup.inspect, environ))


def _inspect(before: InspectSetup, environ: Mapping[str, str]) -> InspectSetup:
    def flag(name: str) -> bool:
        return environ.get(name, "").strip().lower() in _TRUE

    def listed(name: str) -> tuple[str, ...]:
        return tuple(item.strip() for item in environ.get(name, "").split(",") if item.strip())

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
