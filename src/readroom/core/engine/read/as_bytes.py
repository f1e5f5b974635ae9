"""Read files that are not text: the first bytes, an image, or all bytes as a stream."""

from __future__ import annotations

import hashlib

from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.engine.services import Job, Services
from readroom.core.errors import BadImage, BadValue, Binary
from readroom.core.formats import regions
from readroom.core.formats.kinds import IMAGE_TYPES, UNKNOWN, media_type, sniff
from readroom.core.formats.magic import Family
from readroom.core.formats.regions import Region
from readroom.core.formats.sending import to_image
from readroom.core.limits import HEAD_BYTES, IMAGE_REPLY_BYTES
from readroom.core.secrets import unmasked
from readroom.core.secrets.shown import starred
from readroom.core.stores.base import Source
from readroom.core.text import hashes
from readroom.core.text.hashes import Hashing, blocks
from readroom.core.text.line_index import Shrunk
from readroom.core.values import Image, Kind, ReadRequest, ReadResult
from readroom.core.values.files import BytesRequest, BytesResult, Stream

# -----------------------------------------------------------------------------
# Files that are not text, for contracts that return bytes.
# -----------------------------------------------------------------------------

_PICTURE = "It is a picture, and this tool shows text: look for a description of it, or ask the user."
"""Advice for an image that only this contract does not show."""


def read_raw(source: Source, request: ReadRequest, sample: bytes, deadline: Deadline) -> ReadResult:
    """The first bytes of a binary file, as many as the contract wants. Raises Binary, Shrunk."""
    maximum = request.options.raw_bytes
    require_showable(request.path, source)
    if not maximum:
        media = media_type(request.path, sample)
        advice = _PICTURE if media.name in IMAGE_TYPES else media.advice
        raise Binary(request.path, media.name, source.stat.size, advice)
    hashing, raw = Hashing(), b""
    for piece in blocks(source, deadline):
        hashing.add(piece)
        raw += piece[: maximum - len(raw)]
    return ReadResult(
        request.path, Kind.BINARY, source.size, hashes.full(hashing.digits), total_lines=None, raw=raw
    )


_PACKED = frozenset(
    (
        Family.ARCHIVE,
        Family.COMPRESSED,
        Family.DATA,
        Family.DATABASE,
        Family.DISK,
        Family.DOCUMENT,
        Family.PIECE,
    )
)
"""Families whose files hold text in another form, often compressed."""

_PDF = "application/pdf"
"""Begins with letters, and is packed nonetheless."""

_MASKED = "Secrets are masked here, and in these bytes they cannot be: read what is in it as text."


def require_showable(path: str, source: Source) -> None:
    """Raise Binary if secrets are masked and the bytes of a file hold its text in another form."""
    if unmasked(source) is source:
        return
    media = sniff(source.read_at(0, HEAD_BYTES))
    if media is not None and media.family in _PACKED and not (media.weak and media.name != _PDF):
        raise Binary(path, media.name, source.stat.size, _MASKED)


# -----------------------------------------------------------------------------
# Read an image: its bytes, its hash, and the picture for the model.
# -----------------------------------------------------------------------------


IMAGE_MAX_BYTES = 24 * 1024 * 1024
"""Largest image file that is opened: a quarter of what decoding it may take."""


def read_image(
    source: Source, request: ReadRequest, known: str | None, sample: bytes, data: bytes | None
) -> ReadResult:
    """Read an image, or a region of it; `data` are all of its bytes, if they were read already.

    Raises:
        BadImage: It cannot be shown.
        BadValue: It has no such region.
        Shrunk: It became shorter meanwhile.
    """
    region = _region(request)
    form = (sniff(sample) or UNKNOWN).name
    if source.size > IMAGE_MAX_BYTES:
        problem = f"it is larger than {IMAGE_MAX_BYTES} bytes"
        raise BadImage(request.path, form, source.size, problem)
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
        return replace(result, image=to_image(data, form, path=request.path, region=region))
    except BadImage:
        if not request.options.raw_bytes or len(data) > IMAGE_REPLY_BYTES or form not in IMAGE_TYPES:
            raise
    return replace(result, image=Image(data, form, 0, 0, 0, 0))


def _region(request: ReadRequest) -> Region:
    try:
        return regions.of_image(request.pages)
    except regions.BadRegion as error:
        pages = (request.pages or "")[:80]
        whole = replace(request, pages=None)
        raise BadValue("pages", pages, str(error), f"Send {regions.WORDS}.", next_request=whole) from None


# -----------------------------------------------------------------------------
# Open a file for its bytes, through the guard: the descriptor that was checked is the one handed out.
# -----------------------------------------------------------------------------


def perform(services: Services, job: Job[BytesRequest]) -> BytesResult:
    """Open a file for its bytes; a range past the end is empty.

    Raises:
        NotFound, NotAFile, Denied, OutsideRoot, HardLinked, NoPermission: From opening it.
        Binary: Secrets are masked, and the bytes hold their text in another form.
    """
    request = job.request
    source = starred(services.guard.open(request.path))
    try:
        require_showable(request.path, source)
    except Binary:
        source.close()
        raise
    size = source.size
    first = min(request.first, size)
    count = size - first if request.count is None else min(request.count, size - first)
    return BytesResult(request.path, size, first, count, Stream(source, first, count))
