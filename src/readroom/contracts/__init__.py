"""Contracts: published tool interfaces, each a record over the one engine.

Knows: all contracts by name, loaded when they are used, and what an operator can set for one (`Setup`).
Does not know: how a file is read or changed.
May be touched: a contract's own folder freely; `base` and `schema` serve all contracts.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Literal, TypeAlias

from msgspec import Struct, field

from readroom.contracts.base import Contract
from readroom.contracts.front_matter import FrontMatter
from readroom.errors import BadValue

# -----------------------------------------------------------------------------
# What the environment says about the contract inspect_agents.
# -----------------------------------------------------------------------------

Mode: TypeAlias = Literal["store", "sandbox"]


class InspectSetup(Struct, frozen=True):
    """The variables of inspect_agents, as values.

    Attributes:
        mode: `INSPECT_AGENTS_FS_MODE`; None when it is not set.
        root: `INSPECT_AGENTS_FS_ROOT`: the root as callers write it.
        max_bytes: `INSPECT_AGENTS_FS_MAX_BYTES`: largest file; the default is that of the original.
        read_only: `INSPECT_AGENTS_FS_READ_ONLY`: nothing is changed in the sandbox.
        typed: `INSPECT_AGENTS_TYPED_RESULTS`: results are objects.
        seconds: `INSPECT_AGENTS_TOOL_TIMEOUT`: longest time for a call; likewise.
        allow: `INSPECT_FS_ALLOW`: patterns of what may be changed; empty for all.
        deny: `INSPECT_FS_DENY`: patterns of what may not be used at all.
        allow_holds_for_reads: `INSPECT_FS_POLICY_ENFORCE_READS`: `allow` holds for reads, too.
        preflight: `INSPECT_SANDBOX_PREFLIGHT`: "skip" stays in the store, "force" refuses to.
    """

    mode: Mode | None = None
    root: str = "/repo"
    max_bytes: int = 5_000_000
    read_only: bool = False
    typed: bool = False
    seconds: float = 15.0
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    allow_holds_for_reads: bool = False
    preflight: Literal["auto", "skip", "force"] = "auto"


# -----------------------------------------------------------------------------
# What an operator set for the contract kilo.
# -----------------------------------------------------------------------------

NEVER = -1
"""The threshold that no file exceeds, as Kilo Code writes it."""


class KiloSetup(Struct, frozen=True):
    """Settings of Kilo Code, as values.

    Attributes:
        max_read_file_line: `maxReadFileLine`: files of more lines are truncated where that is asked for,
            and so many lines of them are shown; -1 truncates none. The default is that of Kilo Code.
        auto_truncate: Whether calls that do not say ask for it.
    """

    max_read_file_line: int = 500
    auto_truncate: bool = False


# -----------------------------------------------------------------------------
# What an operator set for the contract rnd.
# -----------------------------------------------------------------------------


class RndSetup(Struct, frozen=True):
    """The command file in force; None for the published one."""

    command: FrontMatter | None = None


class Setup(Struct, frozen=True):
    """Values that `config` found, for the contracts that need them.

    Attributes:
        root: The root of the workspace as an absolute path, for contracts that speak in such paths.
        inspect: What the contract inspect_agents is set to.
        kilo: What the contract kilo is set to.
        rnd: What the contract rnd is set to.
    """

    root: str = "/workspace"
    inspect: InspectSetup = field(default_factory=InspectSetup)
    kilo: KiloSetup = field(default_factory=KiloSetup)
    rnd: RndSetup = field(default_factory=RndSetup)


# -----------------------------------------------------------------------------
# The contracts by name, imported when first asked for.
# -----------------------------------------------------------------------------

WHERE = {
    "native": "readroom.contracts.native:NATIVE",
    "everruns": "readroom.contracts.everruns:EVERRUNS",
    "kilo": "readroom.contracts.kilo:made",
    "rnd": "readroom.contracts.rnd:made",
    "coder": "readroom.contracts.coder:made",
    "inspect_agents": "readroom.contracts.inspect_agents:made",
}
"""Where a record is, or a function that makes it for a `Setup`; a new contract is a folder and a row here."""

NAMES = tuple(WHERE)
"""Every contract that is served."""

_OF_ADAPTERS = {"deepagents": "readroom.adapters.deepagents:DEEPAGENTS"}
"""Those that an adapter alone speaks, for a framework whose own tools have the words."""

_KEPT = 256
"""Records made for one setup; a server has as many as it has workspaces."""


@lru_cache(_KEPT)
def contract(name: str, setup: Setup = Setup()) -> Contract:  # noqa: B008 - frozen
    """The contract of that name, for workspaces with that setup.

    Raises:
        BadValue: With the names there are.
    """
    where = WHERE.get(name) or _OF_ADAPTERS.get(name)
    if where is None:
        raise BadValue("contract", name, "is not a contract", f"The contracts are: {', '.join(NAMES)}.")
    module, attribute = where.split(":")
    record_or_maker = getattr(import_module(module), attribute)
    record = record_or_maker if isinstance(record_or_maker, Contract) else record_or_maker(setup)
    assert isinstance(record, Contract)
    return record
