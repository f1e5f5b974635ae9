"""Images for a model: checked, turned upright, shrunk, and small enough to send.

An image that is fine as it is stays byte for byte the same. Any other is decoded within bounded memory,
shrunk and encoded again: JPEG as JPEG, others as PNG, or as JPEG if a PNG would be too large to send. A
region is cut out before that. If an animation has to be shrunk, its first frame is shown. This module imports
Pillow: import it only when there is an image.
"""

from __future__ import annotations

import io
import math
import struct
import threading
import warnings
import zlib
from collections.abc import Iterator

from PIL import Image as pillow
from PIL.BmpImagePlugin import BmpImageFile
from PIL.GifImagePlugin import GifImageFile
from PIL.Image import Image as Picture
from PIL.Image import Resampling, Transpose
from PIL.ImageFile import ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.WebPImagePlugin import WebPImageFile

from readroom.core.errors import BadImage
from readroom.core.formats.kinds import IMAGE_TYPES
from readroom.core.formats.regions import WHOLE, Region
from readroom.core.limits import IMAGE_LONG_SIDE, IMAGE_REPLY_BYTES
from readroom.core.values import Image

# -----------------------------------------------------------------------------
# Image data to pixels within a fixed memory, by the decoder its magic bytes name.
#
# The memory of a decoder is worked out from the header before it allocates: JPEG is
# decoded at the fraction of its size that suffices, the rest whole or not at all.
# -----------------------------------------------------------------------------

SIGNATURE = b"\x89PNG\r\n\x1a\n"

TEXT_BYTES = 16 * 1024
"""Compressed notes longer than this are dropped: Pillow would inflate them, a thousandfold at worst."""

DECODERS: dict[str, type[ImageFile]] = {
    "image/bmp": BmpImageFile,
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
"""Bytes that libjpeg keeps for every sample of an image in several scans."""

SHRUNK_PIXEL_BYTES = 5
"""The shrunk image, and the strips it is made of."""

PIXEL_BYTES = {"1": 1, "L": 1, "P": 1, "I;16": 2}
"""Bytes per pixel in Pillow's memory, by mode; 4 for all others, also for RGB."""


ORIENTATION = 0x0112
"""The EXIF tag that says how a camera was held."""


class TooLarge(Exception):
    """The image is too large to decode; the message continues "it cannot be shown: "."""


IMAGE_MAX_PIXELS = 100_000_000
"""Largest image that is decoded: a decompression bomb of 1 MB can hold 10 billion pixels."""


def open_image(data: bytes, media_type: str) -> ImageFile:
    """The image with its header read and nothing decoded. Raises TooLarge, Exception."""
    if media_type == "image/webp":
        # libwebp allocates when it is opened.
        check_work(len(data) + _webp_pixels(data) * WEBP_PIXEL_BYTES)
    if media_type == "image/png":
        data = _without_long_texts(data)
    image = DECODERS[media_type](io.BytesIO(data))
    pixels = image.width * image.height
    if pixels > IMAGE_MAX_PIXELS:
        raise TooLarge(f"it has {pixels:,} pixels, more than the limit of {IMAGE_MAX_PIXELS:,}")
    return image


def load(image: ImageFile, data: bytes, target: tuple[int, int]) -> pillow.Image:
    """The pixels of `image`, at a size between its own and `target`. Raises TooLarge, Exception."""
    size = image.size
    work = len(data)
    if isinstance(image, JpegImageFile):
        image.draft(image.mode, target)
        work += _coefficients(image, size, data)
    if not isinstance(image, WebPImageFile):  # was checked when it was opened
        work += image.width * image.height * PIXEL_BYTES.get(image.mode, 4)
        if size != target:
            work += SHRUNK_PIXEL_BYTES * target[0] * target[1]
        check_work(work)
    image.load()
    return image


def orientation_of(image: ImageFile, data: bytes) -> int:
    """The EXIF orientation, 1 to 8; 1 without a valid one."""
    if isinstance(image, PngImageFile):
        exif = pillow.Exif()
        record = next((bytes(body) for kind, body in _chunks(data) if kind == b"eXIf"), b"")
        exif.load(record)  # the image would be decoded whole in search of it
    else:
        exif = image.getexif()
    value = exif.get(ORIENTATION)
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


IMAGE_WORK_BYTES = 100_000_000
"""The file, the decoder's buffers and the decoded image together; images that need more are refused. Pillow
takes 4 bytes for a pixel in colour: measured over idle, a PNG of a 4K screen takes 45 MB, of 5K 75, of 6K
101, of 8K 160. So all but the last are shown, grey pages at 600 dpi (41 MB), baseline JPEG up to
IMAGE_MAX_PIXELS, which is decoded at a fraction of its size, 22 megapixels of progressive JPEG and 6 of WebP.
Images are decoded one at a time: all calls of a server together take it once."""


def check_work(work: int) -> None:
    """Raise TooLarge for more than IMAGE_WORK_BYTES."""
    if work > IMAGE_WORK_BYTES:
        maximum = IMAGE_WORK_BYTES // 1_000_000
        raise TooLarge(
            f"decoding it takes {work // 1_000_000:,} MB of memory, and at most {maximum} MB are used"
        )


def _without_long_texts(data: bytes) -> bytes:
    """The file, without its compressed notes when they are long."""
    notes = (b"zTXt", b"iTXt", b"iCCP")
    if sum(len(body) for kind, body in _chunks(data) if kind in notes) <= TEXT_BYTES:
        return data
    return SIGNATURE + b"".join(_chunk(kind, body) for kind, body in _chunks(data) if kind not in notes)


def _chunks(data: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """Kind and content of each, up to the first that is cut short."""
    view, at = memoryview(data), len(SIGNATURE)
    while at + 8 <= len(data):
        size = int.from_bytes(view[at : at + 4], "big")
        if at + 8 + size > len(data):
            return
        yield bytes(view[at + 4 : at + 8]), view[at + 8 : at + 8 + size]
        at += size + 12


def _chunk(kind: bytes, body: bytes | memoryview) -> bytes:
    return b"".join(
        [struct.pack(">I", len(body)), kind, body, struct.pack(">I", zlib.crc32(body, zlib.crc32(kind)))]
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


# -----------------------------------------------------------------------------
# Pixels of any mode to ones that can be averaged, shrunk and sent.
# -----------------------------------------------------------------------------

ROWS = 32
"""Rows of the result that are made at once; the rows they are made of are the only copy of the original."""

SUPPORT = 4
"""Rows on each side that affect a row, in rows of the result: Lanczos uses 3."""

SHRINK_BYTES = 20_000_000
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
"""How a picture is turned upright, by its EXIF orientation."""

TURNED = frozenset({5, 6, 7, 8})
"""Orientations in which width and height change places."""


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
    """The same at most as large as `target`, made strip by strip. Raises TooLarge."""
    width, height = picture.size
    if target == picture.size:
        return plain(picture)
    scale = height / target[1]
    if 4 * width * scale * (ROWS + 2 * SUPPORT) > SHRINK_BYTES:
        raise TooLarge(f"{width:,} pixels across are too many to shrink it in bounded memory")
    result: Picture | None = None
    for top in range(0, target[1], ROWS):
        bottom = min(target[1], top + ROWS)
        first = max(0, math.floor((top - SUPPORT) * scale))
        last = min(height, math.ceil((bottom + SUPPORT) * scale))
        strip = plain(picture.crop((0, first, width, last)))
        box = (0, top * scale - first, width, min(bottom * scale - first, strip.height))
        piece = strip.resize((target[0], bottom - top), Resampling.LANCZOS, box)
        result = result or pillow.new(piece.mode, target)
        result.paste(piece, (0, top))
    return result or plain(picture)


def upright(picture: Picture, orientation: int) -> Picture:
    """The same, turned by its EXIF orientation; unchanged if that is not valid."""
    how = UPRIGHT.get(orientation)
    return picture if how is None else picture.transpose(how)


def on_white(picture: Picture) -> Picture:
    """The same without transparency, for formats that have none."""
    if picture.mode != "RGBA":
        return picture
    ground = pillow.new("RGB", picture.size, "white")
    ground.paste(picture, mask=picture.getchannel("A"))
    return ground


# -----------------------------------------------------------------------------
# From data to the image that is sent.
# -----------------------------------------------------------------------------

_SMALLER = (
    f"Convert it outside this tool to a baseline JPEG of at most {IMAGE_MAX_PIXELS:,} pixels: "
    "those are shrunk while decoding."
)

_ONE_AT_A_TIME = threading.Lock()
"""All calls share one allowance of memory; several decoders at once would multiply it."""


def to_image(data: bytes, media_type: str, *, path: str, region: Region = WHOLE) -> Image:
    """The image in `data`, whose magic bytes said `media_type`, or a region of it, ready to be sent.

    The original size is that of the picture, or of its region, upright, as it is seen. Raises BadImage.
    """
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's, of data that is refused below where it matters
        try:
            return _converted(data, media_type, region)
        except TooLarge as refused:
            problem, advice = str(refused), _SMALLER
        except BROKEN:
            problem, advice = "it is broken or cut short", BadImage.advice
    raise BadImage(path, media_type, len(data), problem, advice)


def _converted(data: bytes, media_type: str, region: Region) -> Image:
    image = open_image(data, media_type)
    whole = image.size
    orientation = orientation_of(image, data)
    stored = region.turned(orientation)
    box = box_of(stored, whole)
    size = (box[2] - box[0], box[3] - box[1])
    target = _fitted(*size)
    scale = max(target[0] / size[0], target[1] / size[1])
    picture = load(image, data, (math.ceil(whole[0] * scale), math.ceil(whole[1] * scale)))
    as_it_is = region == WHOLE and orientation == 1 and target == size and media_type in IMAGE_TYPES
    if as_it_is and len(data) <= IMAGE_REPLY_BYTES and image.mode != "CMYK":
        return Image(data, media_type, *size, *size)
    if region != WHOLE:
        picture = picture.crop(box_of(stored, picture.size))
    smaller = upright(shrunk(picture, target), orientation)
    encoded, shown_type = _encoded(smaller, media_type)
    original = reversed(size) if orientation in TURNED else size
    return Image(encoded, shown_type, *smaller.size, *original)


def box_of(region: Region, size: tuple[int, int]) -> tuple[int, int, int, int]:
    """The pixels of a region, at least one."""
    width, height = size
    left, top = min(width - 1, region.left * width // 100), min(height - 1, region.top * height // 100)
    right, bottom = -(-region.right * width // 100), -(-region.bottom * height // 100)
    return left, top, max(left + 1, right), max(top + 1, bottom)


def _fitted(width: int, height: int) -> tuple[int, int]:
    """The size to show: the long side at most IMAGE_LONG_SIDE, the short one at least a pixel."""
    scale = min(1, IMAGE_LONG_SIDE / max(width, height))
    return max(1, round(width * scale)), max(1, round(height * scale))


JPEG_QUALITY = 85
"""Quality of re-encoded images: text in screenshots stays readable, and higher values double the size."""


def _encoded(picture: Picture, media_type: str) -> tuple[bytes, str]:
    if media_type != "image/jpeg":
        encoded = io.BytesIO()
        picture.save(encoded, "PNG")
        if encoded.tell() <= IMAGE_REPLY_BYTES:
            return encoded.getvalue(), "image/png"
    encoded = io.BytesIO()
    on_white(picture).save(encoded, "JPEG", quality=JPEG_QUALITY)
    return encoded.getvalue(), "image/jpeg"
