"""Outline a large text in a child process, as a document whose parts are pieces of its outline."""

from __future__ import annotations

import msgspec

from readroom.core.deadline import Deadline
from readroom.core.engine.read.outline import plain
from readroom.core.errors import NoOutline
from readroom.core.limits.outline import LARGE_OUTLINE_S
from readroom.core.stores.base import Source
from readroom.core.text.encodings import Encoding
from readroom.core.values import ReadRequest
from readroom.core.values.files import Outline
from readroom.documents.formats import Unreadable
from readroom.documents.large import OutlineJob, UnsoundOutline, received
from readroom.documents.limits import DOCUMENT_PATIENCE
from readroom.documents.reading.cache import OUTLINE_FORM, DocumentCache

_UNSOUND = "the program that outlines it gave no usable answer"


def _nothing_inside(path: str) -> bool:
    """A text has no attachments that policy could deny."""
    return False


def outline_large(
    documents: DocumentCache,
    request: ReadRequest,
    source: Source,
    language: str,
    encoding: Encoding,
    total_lines: int,
    deadline: Deadline,
) -> Outline:
    """The outline of a text in this language and encoding. Raises NoOutline, TimedOut, Cancelled."""
    asked = msgspec.json.encode(OutlineJob(language, encoding.name, len(encoding.bom))).decode()
    within = deadline.of_work(LARGE_OUTLINE_S, DOCUMENT_PATIENCE)
    try:
        with documents.open(source, f"{OUTLINE_FORM}{asked}", within, _nothing_inside) as reading:
            numbers = range(1, reading.opened.total + 1)
            pieces = [piece for number in numbers for piece in reading.part(number).lines]
        return received(pieces, language, total_lines)
    except Unreadable as error:
        raise NoOutline(request.path, error.problem, next_request=plain(request)) from None
    except UnsoundOutline:
        raise NoOutline(request.path, _UNSOUND, next_request=plain(request)) from None
