"""One change of the contents of files, by the engine that its request asks for: imported when it is used."""

from __future__ import annotations

from typing import assert_never

from readroom.batch import EditFilesRequest, EditFilesResult
from readroom.changes import EditRequest, EditResult, WriteRequest, WriteResult
from readroom.deadline import Deadline
from readroom.model import Cap
from readroom.policy.places import Places
from readroom.session.texts import TextCache


def change(
    places: Places,
    texts: TextCache,
    cap: Cap,
    request: EditRequest | EditFilesRequest | WriteRequest,
    deadline: Deadline,
) -> EditResult | EditFilesResult | WriteResult:
    """What the change did. Raises as the engine of the request does."""
    match request:
        case EditRequest():
            from readroom.engine.edit import edit

            return edit(places, texts, cap, request, deadline)
        case EditFilesRequest():
            from readroom.engine.edit_files import edit_files

            return edit_files(places, texts, cap, request, deadline)
        case WriteRequest():
            from readroom.engine.write import write

            return write(places, texts, cap, request, deadline)
        case _:
            assert_never(request)
