"""The bytes that an edit writes, as they may be shown, and whether a file with secrets may get them."""

from __future__ import annotations

from collections.abc import Sequence

from readroom.core import errors
from readroom.core.engine.edit.cells import CellPlan
from readroom.core.policy.guard import Guard
from readroom.core.secrets import unmasked
from readroom.core.stores.base import Source
from readroom.core.text.edits.splice import Splice, applied
from readroom.core.text.hashes import Hashing


class EditedBytes:
    """The bytes that an edit writes over a file.

    Attributes:
        masks: The file is seen through a view.
    """

    def __init__(self, guard: Guard, source: Source, *, keep: bool) -> None:
        self.masks = unmasked(source) is not source
        self._guard = guard
        self._keeps = keep or self.masks
        self._pieces: list[bytes] = []
        self._hash = Hashing()

    def add(self, piece: bytes) -> None:
        """Take the next bytes."""
        if self._keeps:
            self._pieces.append(piece)
        if not self.masks:
            self._hash.add(piece)

    def end(self) -> None:
        """All bytes were taken."""
        if self.masks:
            self._pieces = [self._guard.as_shown(self.text)]
            self._hash.add(self.text)

    @property
    def digits(self) -> str:
        """The hash of the bytes as they are shown."""
        return self._hash.digits

    @property
    def text(self) -> bytes:
        """The bytes as they are shown, if they are kept."""
        return b"".join(self._pieces)


def require_unmasked(path: str, source: Source, splices: Sequence[Splice], cells: CellPlan | None) -> None:
    """Raise MaskedPlace if splices touch a secret or confuse two, TooLarge if the file cannot be held."""
    from readroom.core.secrets.changes import CHANGED_BYTES, real, require_distinct  # few operators mask

    if source.size > CHANGED_BYTES:
        advice = "Ask the user to change it."
        raise errors.TooLarge(path, source.size, CHANGED_BYTES, "bytes", advice)
    if cells is not None and cells.moves:
        require_distinct(path, source)
    real(path, source, applied(source.read_at(0, source.size), splices))
