"""What the environment says about the contract inspect_agents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from readroom.limits_inspect import INSPECT_MAX_BYTES, INSPECT_TIMEOUT_S

Mode: TypeAlias = Literal["store", "sandbox"]


@dataclass(frozen=True, slots=True)
class InspectSetup:
    """The variables of inspect_agents, as values.

    Attributes:
        mode: `INSPECT_AGENTS_FS_MODE`; None when it is not set.
        root: `INSPECT_AGENTS_FS_ROOT`: the root as callers write it.
        max_bytes: `INSPECT_AGENTS_FS_MAX_BYTES`: largest file.
        read_only: `INSPECT_AGENTS_FS_READ_ONLY`: nothing is changed in the sandbox.
        typed: `INSPECT_AGENTS_TYPED_RESULTS`: results are objects.
        seconds: `INSPECT_AGENTS_TOOL_TIMEOUT`: longest time for a call.
        allow: `INSPECT_FS_ALLOW`: patterns of what may be changed; empty for all.
        deny: `INSPECT_FS_DENY`: patterns of what may not be used at all.
        allow_holds_for_reads: `INSPECT_FS_POLICY_ENFORCE_READS`: `allow` holds for reads, too.
        preflight: `INSPECT_SANDBOX_PREFLIGHT`: "skip" stays in the store, "force" refuses to.
    """

    mode: Mode | None = None
    root: str = "/repo"
    max_bytes: int = INSPECT_MAX_BYTES
    read_only: bool = False
    typed: bool = False
    seconds: float = INSPECT_TIMEOUT_S
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    allow_holds_for_reads: bool = False
    preflight: Literal["auto", "skip", "force"] = "auto"
