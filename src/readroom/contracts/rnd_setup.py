"""What an operator set for the contract rnd."""

from __future__ import annotations

from dataclasses import dataclass

from readroom.contracts.front_matter import FrontMatter


@dataclass(frozen=True, slots=True)
class RndSetup:
    """The command file in force; None for the published one."""

    command: FrontMatter | None = None
