"""Images for a model: checked, turned upright, shrunk, and small enough to send.

An image that is right as it is leaves byte for byte.  Any other is decoded within
a fixed memory (`decoders`), shrunk and encoded again: JPEG as JPEG, the others as
PNG, or as JPEG where a PNG would be too large to send.  Of an animation that has
to be shrunk, the first frame is shown.  Imports Pillow: import it where there is
an image.
"""

from __future__ import annotations

import io
import threading
import warnings

from PIL.Image import Image as Picture

from readroom.errors import BadImage
from readroom.formats import decoders, pixels
from readroom.limits import IMAGE_LONG_SIDE, IMAGE_REPLY_BYTES, JPEG_QUALITY
from readroom.model import Image

_ONE_AT_A_TIME = threading.Lock()
"""All calls share one allowance of memory; several decoders at once would multiply it."""


def to_image(data: bytes, media_type: str, *, path: str) -> Image:
    """The image in `data`, whose magic bytes said `media_type`, ready to be sent.

    The original size is that of the picture upright, as it is seen.

    Raises:
        BadImage: It is broken, cut short, or takes too much memory to decode.
    """
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's, of data that is refused below where it matters
        try:
            return _converted(data, media_type)
        except pixels.TooLarge as refused:
            problem = str(refused)
        except decoders.BROKEN:
            problem = "it is broken or cut short"
    raise BadImage(path, media_type, len(data), problem)


def _converted(data: bytes, media_type: str) -> Image:
    image = decoders.open_image(data, media_type)
    size = image.size
    target = _fitted(*size)
    picture = decoders.load(image, data, target)
    orientation = decoders.orientation(image, data)
    if orientation == 1 and target == size and len(data) <= IMAGE_REPLY_BYTES and image.mode != "CMYK":
        return Image(data, media_type, *size, *size)
    shown = pixels.upright(pixels.shrunk(picture, target), orientation)
    encoded, shown_type = _encoded(shown, media_type)
    original = reversed(size) if orientation in pixels.TURNED else size
    return Image(encoded, shown_type, *shown.size, *original)


def _fitted(width: int, height: int) -> tuple[int, int]:
    """The size to show: the long side at most IMAGE_LONG_SIDE, the short one at least a pixel."""
    scale = min(1, IMAGE_LONG_SIDE / max(width, height))
    return max(1, round(width * scale)), max(1, round(height * scale))


def _encoded(picture: Picture, media_type: str) -> tuple[bytes, str]:
    if media_type != "image/jpeg":
        encoded = io.BytesIO()
        picture.save(encoded, "PNG")
        if encoded.tell() <= IMAGE_REPLY_BYTES:
            return encoded.getvalue(), "image/png"
    encoded = io.BytesIO()
    pixels.on_white(picture).save(encoded, "JPEG", quality=JPEG_QUALITY)
    return encoded.getvalue(), "image/jpeg"
