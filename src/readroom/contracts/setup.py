"""What the record of a contract may depend on: where the workspace stands, and what an operator set."""

from __future__ import annotations

from dataclasses import dataclass, field

from readroom.contracts.inspect_setup import InspectSetup
from readroom.contracts.kilo_setup import KiloSetup
from readroom.contracts.rnd_setup import RndSetup


@dataclass(frozen=True, slots=True)
class Setup:
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
