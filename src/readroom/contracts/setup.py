"""What the record of a contract may depend on: where the workspace stands, and what an operator set."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Setup:
    """Values that `config` found, for the contracts that need them.

    Attributes:
        root: The root of the workspace as an absolute path, for contracts that speak in such paths.
    """

    root: str = "/workspace"
