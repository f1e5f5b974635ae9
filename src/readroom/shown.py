"""What a reply shows of a file, piece by piece: cut lines, images, parts of a document.

Beside `model`, whose results are built of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Cut:
    """A shown line of which only the characters `first`..`last` of `total` are shown."""

    first: int
    last: int
    total: int


@dataclass(frozen=True, slots=True)
class Image:
    """An image for the model: encoded bytes, their type, and the size before it was shrunk."""

    data: bytes
    media_type: str
    width: int
    height: int
    original_width: int
    original_height: int


@dataclass(frozen=True, slots=True)
class ShownPart:
    """What is shown of one page, slide, sheet, cell or section.

    Attributes:
        number: From 1; 0 for the table of contents.
        title: Empty when it has none.
        total_lines: Of the whole part.
        start: The number of the first line that is shown; of a sheet, its row.
        lines: Without their ends.
        numbers: Of rests of lines, which need not follow each other, theirs.
        cuts: By line number, those of which only a piece is shown.
        header: The first row of a sheet, above a later window.
        notes: What of it cannot be shown, each a sentence.
        images: Pictures that are shown of it.
    """

    number: int
    title: str
    total_lines: int
    start: int = 1
    lines: Sequence[str] = ()
    numbers: Sequence[int] = ()
    cuts: Mapping[int, Cut] = field(default_factory=dict)
    header: str | None = None
    notes: Sequence[str] = ()
    images: Sequence[Image] = ()

    @property
    def end(self) -> int:
        """The last shown line, 0 when none is."""
        if self.numbers:
            return self.numbers[-1]
        return self.start + len(self.lines) - 1 if self.lines else 0


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """What is shown of a document.

    Attributes:
        format: As pdf, docx or ipynb.
        unit: What its parts are called: page, slide, sheet, cell or section.
        total_parts: Of the whole document.
        parts: In the order that was asked for.
        contents: Of its table of contents, or the titles of its parts: depth from 1, title, part.
        contents_left: Headings that had no room.
    """

    format: str
    unit: str
    total_parts: int
    parts: Sequence[ShownPart] = ()
    contents: Sequence[tuple[int, str, int]] = ()
    contents_left: int = 0

    @property
    def images(self) -> Sequence[Image]:
        """All that are shown, in the order of the parts."""
        return [image for part in self.parts for image in part.images]
