"""Image data to pixels within a fixed memory, by the decoder its magic bytes name.

What a decoder needs is reckoned from the header before it allocates: JPEG is
decoded at the fraction of its size that suffices, a large PNG in strips, the rest
whole or not at all.  Imports Pillow: import it where there is an image.
"""

from __future__ import annotations

import io
import struct
import zlib

from PIL import Image as pillow
from PIL.GifImagePlugin import GifImageFile
from PIL.ImageFile import ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.WebPImagePlugin import WebPImageFile

from readroom.formats import png
from readroom.formats.pixels import TooLarge
from readroom.limits import IMAGE_MAX_PIXELS, IMAGE_WORK_BYTES

DECODERS: dict[str, type[ImageFile]] = {
    "image/gif": GifImageFile,
    "image/jpeg": JpegImageFile,
    "image/png": PngImageFile,
    "image/webp": WebPImageFile,
}

BROKEN = (
    OSError, SyntaxError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, AssertionError,
    EOFError, RuntimeError, MemoryError, struct.error, zlib.error, pillow.DecompressionBombError,
)  # fmt: skip
"""What Pillow raises on broken data, as found by feeding it damaged files."""

WEBP_PIXEL_BYTES = 16
"""Two canvases of libwebp, the frame as bytes and the image made of it, 4 bytes each."""

COEFFICIENT_BYTES = 2
"""What libjpeg keeps of every sample of an image that comes in several scans."""

SHRUNK_PIXEL_BYTES = 5
"""The shrunk image, and the strips it is made of."""

PIXEL_BYTES = {"1": 1, "L": 1, "P": 1, "I;16": 2}
"""Bytes per pixel in Pillow's memory, by mode; 4 for all others, also for RGB."""


ORIENTATION = 0x0112
"""The EXIF tag that says how a camera was held."""


def open_image(data: bytes, media_type: str) -> ImageFile:
    """The image with its header read and nothing decoded.

    Raises:
        TooLarge: It has too many pixels.
        Exception: One of BROKEN.
    """
    if media_type == "image/webp":
        # libwebp allocates when it is opened.
        check_work(len(data) + _webp_pixels(data) * WEBP_PIXEL_BYTES)
    if media_type == "image/png":
        data = png.without_long_texts(data)
    image = DECODERS[media_type](io.BytesIO(data))
    pixels = image.width * image.height
    if pixels > IMAGE_MAX_PIXELS:
        raise TooLarge(f"it has {pixels:,} pixels, and at most {IMAGE_MAX_PIXELS:,} are decoded")
    return image


def load(image: ImageFile, data: bytes, target: tuple[int, int]) -> pillow.Image:
    """The pixels of `image`, at a size between its own and `target`.

    Raises:
        TooLarge: Decoding it takes too much memory.
        Exception: One of BROKEN.
    """
    size = image.size
    work = len(data)
    if isinstance(image, JpegImageFile):
        image.draft(image.mode, target)
        work += _coefficients(image, size, data)
    if not isinstance(image, WebPImageFile):  # was checked when it was opened
        work += image.width * image.height * PIXEL_BYTES.get(image.mode, 4)
        if size != target:
            work += SHRUNK_PIXEL_BYTES * target[0] * target[1]
        if work > IMAGE_WORK_BYTES and isinstance(image, PngImageFile) and png.has_plain_rows(data):
            return png.reduced(data, (size[0] // target[0], size[1] // target[1]))
        check_work(work)
    image.load()
    return image


def orientation(image: ImageFile, data: bytes) -> int:
    """The EXIF orientation, 1 to 8; 1 when nothing valid is said."""
    if isinstance(image, PngImageFile):
        exif = pillow.Exif()
        exif.load(png.exif(data))  # the image would be decoded whole in search of it
    else:
        exif = image.getexif()
    said = exif.get(ORIENTATION)
    return said if isinstance(said, int) and 1 <= said <= 8 else 1


def check_work(work: int) -> None:
    """Refuse what takes more than IMAGE_WORK_BYTES.

    Raises:
        TooLarge: It does.
    """
    if work > IMAGE_WORK_BYTES:
        most = IMAGE_WORK_BYTES // 1_000_000
        raise TooLarge(
            f"decoding it takes {work // 1_000_000:,} MB of memory, and at most {most} MB are used"
        )


def _webp_pixels(data: bytes) -> int:
    """From the first chunk: lossy, lossless or extended."""
    if data[12:16] == b"VP8 ":
        width, height = (int.from_bytes(data[at : at + 2], "little") & 0x3FFF for at in (26, 28))
        return width * height
    if data[12:16] == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return ((bits & 0x3FFF) + 1) * ((bits >> 14 & 0x3FFF) + 1)
    width, height = (int.from_bytes(data[at : at + 3], "little") + 1 for at in (24, 27))
    return width * height


def _coefficients(image: JpegImageFile, size: tuple[int, int], data: bytes) -> int:
    """Bytes that libjpeg keeps of the whole image; none where one scan holds all of it."""
    if "progressive" not in image.info and _in_first_scan(data) == image.layers:
        return 0
    widest = max(across * down for _, across, down, _ in image.layer)
    samples = sum(across * down for _, across, down, _ in image.layer) / widest
    return round(size[0] * size[1] * samples * COEFFICIENT_BYTES)


def _in_first_scan(data: bytes) -> int:
    """How many components the first scan of a JPEG holds; 0 when the way there is not plain."""
    at = 2
    while data[at : at + 1] == b"\xff":
        marker = data[at + 1]
        if marker == 0xDA:
            return data[at + 4]
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return 0
