"""Where kept outputs are put so that other processes of the same server find them, as a form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeAlias

from msgspec import Struct

from readroom.caller import Owner
from readroom.values.commands import Lost

Files: TypeAlias = Mapping[str, tuple[str, Lost | None]]
"""By the name of a stream: the file that holds it, and what of it was not kept."""


class KeptOutput(Struct, frozen=True):
    """One output: what of its streams was not kept, and when it was whole, in seconds since the epoch."""

    lost: Mapping[str, Lost | None]
    at: float


class Shelf(Protocol):
    """Safe to share between threads and processes. Every method may raise StateFailed."""

    def begin(self, owner: Owner, name: str) -> bool:
        """Take a name; False when there is such an output."""

    def drop(self, owner: Owner, name: str) -> None:
        """Forget an output that nobody was told of."""

    def put(self, owner: Owner, name: str, files: Files, most_bytes: int) -> None:
        """Keep an output; the oldest leave when there are too many."""

    def all(self, owner: Owner) -> Mapping[str, KeptOutput]:
        """Those of an owner by name."""

    def gone(self, owner: Owner, name: str) -> bool:
        """Whether there was an output of that name that had to leave."""

    def fetch(self, owner: Owner, name: str, stream: str, path: str) -> None:
        """Write a stream of an output into a new file."""
