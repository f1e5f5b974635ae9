"""The decisions of a contract about the paths of its calls."""

from __future__ import annotations

from msgspec import Struct

from readroom.core.policy.rules import Layer


class Terms(Struct, frozen=True):
    """The terms on which the engine performs a contract's calls.

    Attributes:
        layers: Rules in addition to those of the workspace; they only restrict as well.
        change_layers: More of them for calls that change something.
        archives: Whether paths lead into archives.
        outputs: Folders in the root of which kept outputs of commands are files, too.
    """

    layers: tuple[Layer, ...] = ()
    change_layers: tuple[Layer, ...] = ()
    archives: bool = False
    outputs: tuple[str, ...] = ()


NO_TERMS = Terms()
"""Plain paths under the rules of the workspace."""
