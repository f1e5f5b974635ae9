"""The tools of the Everruns contract about one name: what is known of it, and its removal."""

from __future__ import annotations

from functools import partial

import msgspec

from readroom.contracts import envelope, native_facts
from readroom.contracts.base import Tool
from readroom.contracts.everruns_calls import DELETE, STAT, to_call
from readroom.contracts.everruns_errors import render_error
from readroom.contracts.everruns_found import with_notes
from readroom.contracts.everruns_paths import required_path, shown
from readroom.model import EntryKind, Fact, Reply
from readroom.moves import DeleteRequest, DeleteResult, StatRequest, StatResult
from readroom.quoting import as_value


class NameArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of stat_file and delete_file."""

    path: str


def _to_stat(given: NameArguments) -> StatRequest:
    return StatRequest(required_path(given.path, STAT))


def _to_delete(given: NameArguments) -> DeleteRequest:
    return DeleteRequest(required_path(given.path, DELETE))


STAT_FILE = Tool(
    name=STAT,
    title="Facts of a file",
    description="Whether a file or directory exists, its size, times and whether it is read-only.",
    arguments=NameArguments,
    to_request=_to_stat,
    render_error=partial(render_error, tool=STAT),
)

DELETE_FILE = Tool(
    name=DELETE,
    title="Delete a file",
    description="Delete a file, or a directory that is empty.",
    arguments=NameArguments,
    to_request=_to_delete,
    read_only=False,
    destructive=True,
    idempotent=False,
    render_error=partial(render_error, tool=DELETE),
)


def render_stat(result: StatResult) -> Reply:
    """The reply for what is known of a name."""
    path = shown(result.path)
    fields: dict[str, Fact] = {"path": path}
    if result.exists:
        fields |= {
            "name": as_value(result.path.rpartition("/")[2])
            if result.path != "."
            else path.rpartition("/")[2],
            "exists": True,
            "is_directory": result.kind is EntryKind.FOLDER,
            "is_readonly": result.read_only,
            "size_bytes": result.size_bytes,
            "created_at": native_facts.timestamp(result.created_ns),
            "updated_at": native_facts.timestamp(result.mtime_ns),
        }
    else:
        fields["exists"] = False
    return envelope.reply(with_notes(fields, result.warnings), partial(_facts, result))


def render_delete(result: DeleteResult) -> Reply:
    """The reply for a name that is gone."""
    fields: dict[str, Fact] = {"path": shown(result.path), "deleted": True}
    return envelope.reply(with_notes(fields, result.warnings), partial(_facts, result))


def _facts(result: StatResult | DeleteResult) -> dict[str, Fact]:
    return {"path": as_value(result.path), **native_facts.common((), None, result.warnings, to_call)}
