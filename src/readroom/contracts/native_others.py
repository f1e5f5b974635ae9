"""Requests that other contracts have, in native words: for the ledger, which has one form for all."""

from __future__ import annotations

from readroom.batch import EditFilesRequest
from readroom.model import Fact
from readroom.quoting import as_value
from readroom.raw import BytesRequest


def other_arguments(request: BytesRequest | EditFilesRequest) -> dict[str, Fact]:
    """Its arguments as the ledger tells them."""
    if isinstance(request, BytesRequest):
        found: dict[str, Fact] = {"path": as_value(request.path), "first_byte": request.first}
        if request.count is not None:
            found["bytes"] = request.count
        return found
    files: list[Fact] = [
        {
            "path": as_value(file.path),
            "edits": [
                {"old_text": one.old_text, "new_text": one.new_text, "replace_all": one.replace_all}
                for one in file.edits
            ],
        }
        for file in request.files
    ]
    return {"path": as_value(request.path), "files": files, "dry_run": request.dry_run}
