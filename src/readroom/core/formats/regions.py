"""Regions of a picture, in percent of its width and height: `0,50,100,100` is its lower half."""

from __future__ import annotations

import re

from msgspec import Struct

_NUMBER = r"\s*(\d{1,3})\s*%?\s*"
_FORM = re.compile(rf"{_NUMBER},{_NUMBER},{_NUMBER},{_NUMBER}\Z")
_PART = re.compile(r"\s*(?:(?:#|p\.?|page)?\s*1)?\s*!\s*", re.IGNORECASE)

WORDS = "left, top, right and bottom in percent, as 0,50,100,100"
"""How a region is written."""


class BadRegion(ValueError):
    """Four numbers that are no region; the message is a clause about them."""


class Region(Struct, frozen=True):
    """A rectangle in percent of a picture as it is seen, from its upper left corner."""

    left: int = 0
    top: int = 0
    right: int = 100
    bottom: int = 100

    def __str__(self) -> str:
        return f"{self.left},{self.top},{self.right},{self.bottom}"

    def turned(self, orientation: int) -> Region:
        """The same rectangle of the stored picture that an EXIF orientation turns."""
        left, top, right, bottom = self.left, self.top, self.right, self.bottom
        if orientation in (5, 6, 7, 8):  # width and height change places
            left, top, right, bottom = top, left, bottom, right
        if orientation in (2, 3, 7, 8):
            left, right = 100 - right, 100 - left
        if orientation in (3, 4, 6, 7):
            top, bottom = 100 - bottom, 100 - top
        return Region(left, top, right, bottom)


WHOLE = Region()


def parse(text: str) -> Region | None:
    """The region that four numbers mean; None if it is something else. Raises BadRegion."""
    match = _FORM.match(text)
    if match is None:
        return None
    left, top, right, bottom = map(int, match.groups())
    if left < right <= 100 and top < bottom <= 100:
        return Region(left, top, right, bottom)
    raise BadRegion(f"holds the region {text.strip()[:40]!r}, which is empty or reaches beyond the picture")


def of_image(pages: str | None) -> Region:
    """The region of an image, which has one page: `!0,0,50,50` or `1!0,0,50,50` as well. Raises BadRegion."""
    if pages is None or pages.strip() in ("1", "#1"):
        return WHOLE
    region = parse(_PART.sub("", pages, count=1))
    if region is None:
        raise BadRegion("means nothing in an image but a region")
    return region


def is_region(pages: str | None) -> bool:
    """Whether this names a region of an image, even one that there is not."""
    return pages is not None and bool(_FORM.match(_PART.sub("", pages, count=1)))
