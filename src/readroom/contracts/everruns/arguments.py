"""The arguments of the tools of Everruns about files."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from readroom.contracts.everruns.names import ROOT
from readroom.contracts.everruns.requests import (
    BATCH_LEAST,
    BATCH_MOST,
    BATCH_PATH_BYTES,
    CONTEXT,
    GREP_MOST,
    LIST_MOST,
    at_most,
)
from readroom.core.contracts.schema import EMPTY_TEXT, OFFERED, UNLISTED

GREP_LIMIT = 200
"""Matches of one search when the call does not say."""

LIST_LIMIT = 200
"""Entries of one listing when the call does not say."""


FilePath: TypeAlias = Annotated[str, Meta(description=f"Like {ROOT}/src/main.rs")]

_KNOWN = (
    f"Like {ROOT}/a.rs, known before this call. "
    "Never include a path discovered from another file in this batch."
)
_PATHS = {
    "items": {"type": "string", "maxLength": BATCH_PATH_BYTES},
    "minItems": BATCH_LEAST,
    "maxItems": BATCH_MOST,
}
"""The list of paths. The contract words what is wrong with it, not the schema."""


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of read_file."""

    path: FilePath
    offset: Annotated[int, Meta(ge=0, description="First line, from 0")] | None = None
    limit: Annotated[int, Meta(ge=1, description="Lines")] | None = None
    column: Annotated[int, Meta(ge=0, description="Characters of line `offset` to skip")] = 0


class ReadMany(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of read_many_files."""

    paths: Annotated[list[Any], Meta(extra_json_schema=_PATHS, description=_KNOWN)]
    offset: Annotated[int, Meta(ge=0, description="First line of each, from 0")] | None = None
    limit: Annotated[int, Meta(ge=1, description="Lines of each")] | None = None


class Grep(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of grep_files."""

    pattern: Annotated[str, Meta(description="Regular expression")]
    path: Annotated[str, Meta(description="File or directory to search")] = "/"
    path_pattern: Annotated[str, Meta(description="Glob, or a part of the path")] = ""
    before_context: Annotated[int, Meta(ge=0, le=CONTEXT)] = 0
    after_context: Annotated[int, Meta(ge=0, le=CONTEXT)] = 0
    offset: Annotated[int, Meta(ge=0, description="Matches to skip")] = 0
    limit: Annotated[int, at_most(GREP_MOST)] = GREP_LIMIT


class List(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of list_directory."""

    path: Annotated[str, Meta(description="Directory", extra_json_schema={"default": ROOT})] = "/"
    offset: Annotated[int, Meta(ge=0, description="Entries to skip")] = 0
    limit: Annotated[int, at_most(LIST_MOST)] = LIST_LIMIT


class EditItem(msgspec.Struct, frozen=True, kw_only=True):
    """One replacement."""

    old_text: str
    new_text: str


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of edit_file."""

    path: FilePath
    expected_hash: Annotated[str, Meta(description="content_hash of the file as it was read")]
    edits: Annotated[list[EditItem], Meta(extra=OFFERED)] = []
    old_text: Annotated[str, Meta(extra=UNLISTED), Meta(extra=EMPTY_TEXT)] | None = None
    new_text: Annotated[str, Meta(extra=UNLISTED), Meta(extra=EMPTY_TEXT)] | None = None


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of write_file."""

    path: FilePath
    content: str
    encoding: Literal["text", "base64"] = "text"
    expected_hash: Annotated[str, Meta(description="Refuse if the file has changed since")] | None = None


class Name(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of stat_file."""

    path: str


class Delete(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of delete_file."""

    path: str
    recursive: Annotated[bool, Meta(description="Delete a directory with all that it holds")] = False
