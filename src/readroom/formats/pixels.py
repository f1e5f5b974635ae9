"""Pixels of any mode to ones that can be averaged, shrunk and sent.

Imports Pillow: import it where there is an image.
"""

from __future__ import annotations

import math

from PIL.Image import Image as Picture
from PIL.Image import Resampling, Transpose, new

ROWS = 32
"""Rows of the result that are made at once; the rows they are made of are the only copy of the original."""

SUPPORT = 4
"""Rows on each side that have a say in those being made, in rows of the result: Lanczos looks at 3."""

MAX_STRIP_BYTES = 20_000_000
"""Pixels of the original looked at at once. Only panoramas of more than 30,000 pixels across need more."""

UPRIGHT = {
    2: Transpose.FLIP_LEFT_RIGHT,
    3: Transpose.ROTATE_180,
    4: Transpose.FLIP_TOP_BOTTOM,
    5: Transpose.TRANSPOSE,
    6: Transpose.ROTATE_270,
    7: Transpose.TRANSVERSE,
    8: Transpose.ROTATE_90,
}
"""What turns a picture upright, by its EXIF orientation."""

TURNED = frozenset({5, 6, 7, 8})
"""Orientations in which width and height change places."""


class TooLarge(Exception):
    """The image is what it says, and more than is decoded; the message continues "it cannot be shown: "."""


def plain(picture: Picture) -> Picture:
    """The same in mode L, RGB or RGBA."""
    if "transparency" in picture.info or picture.mode in ("LA", "La", "PA", "RGBa"):
        return picture.convert("RGBA")
    if picture.mode in ("L", "RGB", "RGBA"):
        return picture
    if picture.mode == "P" and picture.palette is not None and picture.palette.mode == "RGBA":
        return picture.convert("RGBA")
    if picture.mode == "I;16":
        # Pillow would make white of every level above 255.
        return picture.point(lambda level: level * (1 / 256) + 0).convert("L")
    if picture.mode == "1":
        return picture.convert("L")
    return picture.convert("RGB")


def shrunk(picture: Picture, target: tuple[int, int]) -> Picture:
    """The same at most as large as `target`, made strip by strip.

    Raises:
        TooLarge: It is so wide that a strip of it takes too much memory.
    """
    width, height = picture.size
    if target == picture.size:
        return plain(picture)
    scale = height / target[1]
    if 4 * width * scale * (ROWS + 2 * SUPPORT) > MAX_STRIP_BYTES:
        raise TooLarge(f"{width:,} pixels across are too many to shrink it in bounded memory")
    result: Picture | None = None
    for top in range(0, target[1], ROWS):
        bottom = min(target[1], top + ROWS)
        first = max(0, math.floor((top - SUPPORT) * scale))
        last = min(height, math.ceil((bottom + SUPPORT) * scale))
        strip = plain(picture.crop((0, first, width, last)))
        box = (0, top * scale - first, width, min(bottom * scale - first, strip.height))
        piece = strip.resize((target[0], bottom - top), Resampling.LANCZOS, box)
        result = result or new(piece.mode, target)
        result.paste(piece, (0, top))
    return result or plain(picture)


def upright(picture: Picture, orientation: int) -> Picture:
    """The same, turned as its EXIF orientation says; as it is when that says nothing."""
    how = UPRIGHT.get(orientation)
    return picture if how is None else picture.transpose(how)


def on_white(picture: Picture) -> Picture:
    """The same without transparency, for formats that have none."""
    if picture.mode != "RGBA":
        return picture
    ground = new("RGB", picture.size, "white")
    ground.paste(picture, mask=picture.getchannel("A"))
    return ground
