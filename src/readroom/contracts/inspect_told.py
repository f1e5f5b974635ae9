"""What the words of inspect_agents about one call repeat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from readroom.contracts.inspect_keys import key_of_path, key_sendable
from readroom.contracts.inspect_setup import InspectSetup
from readroom.model import Call, Request
from readroom.quoting import as_given


@dataclass(frozen=True, slots=True)
class Told:
    """What the words of one call repeat: `path` and `other` as the caller wrote them.

    `other` is the offset of a read, the destination of a move, the old text of an edit.
    """

    setup: InspectSetup
    in_store: bool
    op: str
    path: str
    other: str
    to_call: Callable[[Request], Call]

    @property
    def answered_by(self) -> str:
        """Which of the two places answered."""
        return "store" if self.in_store else "sandbox"

    def name(self, path: str) -> str:
        """The name of a path of the engine, as this contract writes it."""
        return key_sendable(key_of_path(path)) if self.in_store else path

    @property
    def shown(self) -> str:
        """The path as sentences have it."""
        return as_given(self.path)
