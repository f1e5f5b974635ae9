"""Pages as pictures: what of a page its text does not show, and the page or a region of it as an image.

A page may be 10 m long and have pictures of any size: the image that is made of it has the size that models
take, and only a region of the page is ever drawn.
"""

from __future__ import annotations

import ctypes
import io
import math
from collections.abc import Callable, Iterator
from typing import Any

import pypdfium2
from pypdfium2 import raw

from readroom.core.formats.regions import Region
from readroom.core.limits import IMAGE_LONG_SIDE
from readroom.documents.formats import Unreadable

_OBJECTS = 5_000
"""Objects of a page that are looked at; a drawing of a city has more, and is one by then."""

_NESTED = 3
"""Groups within groups that are looked into."""

_SHARE = 0.005
"""The part of a page that a picture takes at least; smaller ones are signs and ornaments."""

_STROKES = 24
"""Lines and areas of a drawing; a page with a few rules and boxes around its text has fewer."""


def figures(page: pypdfium2.PdfPage) -> int:
    """How many pictures a page has; many strokes together count as one more."""
    least = _SHARE * page.get_width() * page.get_height()
    pictures = strokes = 0
    for kind, found in _objects(page):
        pictures += kind == raw.FPDF_PAGEOBJ_IMAGE and _area(found) >= least
        strokes += kind in (raw.FPDF_PAGEOBJ_PATH, raw.FPDF_PAGEOBJ_SHADING)
    return pictures + (strokes >= _STROKES)


def size_of(page: pypdfium2.PdfPage, region: Region) -> tuple[int, int]:
    """Width and height of the image of a region of a page, at least a pixel each."""
    width, height = _extent(page, region)
    scale = IMAGE_LONG_SIDE / max(width, height)
    return max(1, math.ceil(width * scale)), max(1, math.ceil(height * scale))


def rendered(page: pypdfium2.PdfPage, region: Region) -> bytes:
    """The region as a PNG whose long side suits models; only this imports Pillow. Raises Unreadable."""
    width, height = page.get_size()
    scale = IMAGE_LONG_SIDE / max(_extent(page, region))
    across, down = math.ceil(width * scale), math.ceil(height * scale)
    # The pixels that are left out at each side: one at least remains.
    left = min(across - 1, across * region.left // 100)
    top = min(down - 1, down * region.top // 100)
    right = min(across - 1 - left, across * (100 - region.right) // 100)
    bottom = min(down - 1 - top, down * (100 - region.bottom) // 100)
    # The library multiplies by the scale and rounds up.
    crop = tuple(max(0.0, pixels - 0.5) / scale for pixels in (left, bottom, right, top))
    try:
        bitmap = page.render(scale=scale, crop=crop)
    except (pypdfium2.PdfiumError, ValueError, OverflowError, OSError):
        raise Unreadable("it cannot be drawn", "Read its text.") from None
    encoded = io.BytesIO()
    bitmap.to_pil().save(encoded, "PNG")
    return encoded.getvalue()


def _extent(page: pypdfium2.PdfPage, region: Region) -> tuple[float, float]:
    width, height = page.get_size()
    return (
        max(1.0, width * (region.right - region.left) / 100),
        max(1.0, height * (region.bottom - region.top) / 100),
    )


def _objects(page: pypdfium2.PdfPage) -> Iterator[tuple[int, Any]]:
    """The kind of each object and the object of a page, as far as they are looked at."""
    looked = 0
    groups: list[tuple[int, Callable[[int], Any], int]] = [
        (raw.FPDFPage_CountObjects(page), lambda at: raw.FPDFPage_GetObject(page, at), 0)
    ]
    while groups and looked < _OBJECTS:
        count, get, depth = groups.pop()
        for at in range(min(count, _OBJECTS - looked)):
            looked += 1
            found = get(at)
            kind = raw.FPDFPageObj_GetType(found)
            if kind == raw.FPDF_PAGEOBJ_FORM and depth < _NESTED:
                inner = raw.FPDFFormObj_CountObjects(found)
                groups.append((inner, _inside(found), depth + 1))
            yield kind, found


def _inside(group: Any) -> Callable[[int], Any]:
    return lambda at: raw.FPDFFormObj_GetObject(group, at)


def _area(found: Any) -> float:
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    if not raw.FPDFPageObj_GetBounds(found, left, bottom, right, top):
        return 0.0
    return max(0.0, right.value - left.value) * max(0.0, top.value - bottom.value)
