"""TIFF, by Pillow: each page is a picture, as of scans and faxes.

Decoded here, in the confined child, as its compressed forms are read by a library in C.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import BinaryIO, final

from PIL import Image as pillow
from PIL.TiffImagePlugin import TiffImageFile

from readroom.core.formats import images
from readroom.core.formats.regions import WHOLE, Region
from readroom.core.limits import IMAGE_LONG_SIDE
from readroom.documents.formats import OTHER_COPY, Area, Heading, Part, Picture, Unit, Unreadable

TIFF_PAGES = 2_000
"""Pages that are counted; a fax has some tens, a scanned book some hundreds."""


@final
class Tiff:
    """An opened TIFF."""

    unit = Unit.PAGE
    contents: Sequence[Heading] = ()

    def __init__(self, image: TiffImageFile, file: BinaryIO) -> None:
        self._image, self._file = image, file
        self.titles: Sequence[str] = [""] * _pages(image)

    def part(self, number: int, area: Area | None = None) -> Part:
        """The page with this number."""
        return self.picture_of(number, WHOLE)

    def text_part(self, number: int) -> Part:
        """Nothing: a picture has no text."""
        return Part(number, "", ())

    def picture_of(self, number: int, region: Region) -> Part:
        """A region of the page with this number. Raises Unreadable."""
        try:
            self._image.seek(number - 1)
            return Part(number, "", (), pictures=[Picture(_encoded(self._image, region), "image/png")])
        except images.TooLarge as refused:
            raise Unreadable(str(refused), "Ask the user for a smaller copy.") from None
        except images.BROKEN:
            # The library takes what it could not decode for decoded, and shows it white when asked again.
            self._image = TiffImageFile(self._file)
            raise Unreadable(
                "it is broken or cut short", "Read other pages, or ask for another copy."
            ) from None


def open_document(file: BinaryIO) -> Tiff:
    """Open a TIFF. Raises Unreadable."""
    try:
        return Tiff(TiffImageFile(file), file)
    except images.BROKEN:
        raise Unreadable("it is damaged: its first page cannot be found", OTHER_COPY) from None


def _pages(image: TiffImageFile) -> int:
    """How many pages can be found; the last ones of a file that is cut short cannot."""
    count = 1
    try:
        while count < TIFF_PAGES:
            image.seek(count)
            count += 1
    except images.BROKEN:
        pass
    image.seek(0)
    return count


def _encoded(image: TiffImageFile, region: Region) -> bytes:
    """The region as a PNG whose long side suits models. Raises TooLarge, and what Pillow raises."""
    width, height = image.size
    images.check_work(width * height * images.PIXEL_BYTES.get(image.mode, 4))
    orientation = image.getexif().get(images.ORIENTATION, 1)
    picture: pillow.Image = image.copy()
    box = images.box_of(region.turned(orientation), picture.size)
    picture = picture.crop(box) if region != WHOLE else picture
    scale = min(1, IMAGE_LONG_SIDE / max(picture.size))
    target = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    encoded = io.BytesIO()
    images.upright(images.shrunk(picture, target), orientation).save(encoded, "PNG")
    return encoded.getvalue()
