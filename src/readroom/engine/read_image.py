"""Read an image: its bytes, its hash, and the picture for the model."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from readroom.errors import BadImage
from readroom.formats.kinds import UNKNOWN, sniff
from readroom.limits import IMAGE_MAX_BYTES, IMAGE_REPLY_BYTES
from readroom.model import Image, Kind, ReadRequest, ReadResult
from readroom.stores.base import Source
from readroom.text import hashes
from readroom.text.lines import Shrunk


def read_image(
    source: Source, request: ReadRequest, known: str | None, sample: bytes, data: bytes | None
) -> ReadResult:
    """The image that an opened file holds.

    Args:
        source: The file.
        request: What was asked for.
        known: The hash that the caller knows, or its beginning.
        sample: The first bytes.
        data: All bytes, if they were read already.

    Raises:
        BadImage: It cannot be decoded, or is too large to be.
        Shrunk: The file is shorter than it was when it was opened.
    """
    from readroom.formats.images import to_image  # Pillow is imported only for images

    shown = (sniff(sample) or UNKNOWN).name
    if source.size > IMAGE_MAX_BYTES:
        problem = f"it is larger than {IMAGE_MAX_BYTES} bytes"
        raise BadImage(request.path, shown, source.size, problem)
    if data is None:
        data = source.read_at(0, source.size)
        if len(data) < source.size:
            raise Shrunk
    digits = hashlib.sha256(data).hexdigest()
    full = hashes.full(digits)
    result = ReadResult(request.path, Kind.IMAGE, source.size, full)
    if known is not None and digits.startswith(known):
        return replace(result, not_modified=True)
    try:
        return replace(result, image=to_image(data, shown, path=request.path))
    except BadImage:
        if not request.manner.raw_images or len(data) > IMAGE_REPLY_BYTES:
            raise
    return replace(result, image=Image(data, shown, 0, 0, 0, 0))
