"""Machine facts of images and documents in a read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from readroom.model import Fact
from readroom.shown import Cut, Image, ShownDocument, ShownPart


def of_image(image: Image) -> dict[str, Fact]:
    """What an image is, and was before it was shrunk."""
    return {
        "media_type": image.media_type,
        "width": image.width,
        "height": image.height,
        "original_width": image.original_width,
        "original_height": image.original_height,
    }


def of_document(document: ShownDocument) -> dict[str, Fact]:
    """What a document is and what of it is shown."""
    return {
        "format": document.format,
        "unit": document.unit,
        "total_parts": document.total_parts,
        "parts": [_part(part) for part in document.parts],
        "contents": [
            {"level": level, "title": title, "part": part} for level, title, part in document.contents
        ],
        "contents_left": document.contents_left,
    }


def columns(numbers: Sequence[int], cuts: Mapping[int, Cut]) -> Fact:
    """Of rests of lines, which characters are shown; None where lines are shown from their beginning."""
    if not numbers:
        return None
    shown = ((number, cuts[number]) for number in numbers)
    return [{"line": line, "from": cut.first, "to": cut.last, "of": cut.total} for line, cut in shown]


def _part(part: ShownPart) -> dict[str, Fact]:
    return {
        "part": part.number,
        "title": part.title,
        "total_lines": part.total_lines,
        "lines_shown": {"start": part.start if part.lines else 0, "end": part.end},
        "columns_shown": columns(part.numbers, part.cuts),
        "header": part.header,
        "notes": list(part.notes),
        "images": [of_image(image) for image in part.images],
    }
