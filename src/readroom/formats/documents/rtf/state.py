"""What holds inside a group of RTF, and what a field says of itself."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from readroom.formats.documents.formulas import FormulaParts
from readroom.formats.documents.story import FlowStory, Paragraph


class RtfField(Struct):
    """A field that is being read: its code, and what a form says of itself."""

    code: str = ""
    kind: int = 0
    chosen: int | None = None
    usual: int = 0
    entries: list[str] = []

    @property
    def state(self) -> int:
        """Whether a box is ticked, or the number of the chosen entry."""
        return self.usual if self.chosen in (None, _USUAL) else max(0, self.chosen)


TICKED, _USUAL = 1, 25
PLAIN = Paragraph()


class State(Struct):
    """What holds inside a group. `words` takes text that is not of a story; `close` ends the group."""

    story: FlowStory | None
    words: list[str] | None = None
    close: Callable[[], None] | None = None
    paragraph: Paragraph = PLAIN
    codec: str = "cp1252"
    far: str = "cp1252"
    is_far: bool = False
    skipped: int = 1
    hidden: bool = False
    deleted: bool = False
    starred: bool = False
    field: RtfField | None = None
    formula: FormulaParts | None = None
