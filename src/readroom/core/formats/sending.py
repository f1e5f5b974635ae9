"""An image ready to send, or a refusal that says how to install Pillow."""

from __future__ import annotations

from readroom.core.errors import BadImage
from readroom.core.extras import OF_IMAGES, install, problem
from readroom.core.formats.regions import WHOLE, Region
from readroom.core.values import Image


def to_image(data: bytes, media_type: str, *, path: str, region: Region = WHOLE) -> Image:
    """The image in `data`, whose magic bytes said `media_type`, or a region of it. Raises BadImage."""
    try:
        from readroom.core.formats import images  # its package is imported only for images
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("PIL"):
            raise
        advice = f"Ask the user to run {install(OF_IMAGES)}."
        raise BadImage(path, media_type, len(data), problem("Pillow"), advice) from None
    return images.to_image(data, media_type, path=path, region=region)
