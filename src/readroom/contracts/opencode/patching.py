"""The tool apply_patch of opencode, which models of OpenAI get instead of edit and write."""

from __future__ import annotations

import re
from functools import partial
from typing import Annotated, Final

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from readroom.contracts.opencode.names import Names
from readroom.contracts.opencode.requests import to_call
from readroom.contracts.opencode.words import Failed, in_own_names
from readroom.core import errors
from readroom.core.contracts import json_replies, patch_words
from readroom.core.contracts.native import facts as native_facts
from readroom.core.contracts.native import render as native_render
from readroom.core.quoting import quote
from readroom.core.text import patches
from readroom.core.values import Cap, Reply, Result
from readroom.core.values.changes import EditFilesRequest, EditFilesResult
from readroom.core.values.patches import LENIENT, FilePatch

PATCH: Final = "apply_patch"

_FAILED: Final = "apply_patch verification failed: "
_EMPTY = re.compile(r"\s*\*\*\* Begin Patch\s*\*\*\* End Patch\s*")
_SECTION = re.compile(r"^\*\*\* (?:Add|Delete|Update) File:", re.MULTILINE)


class OpencodePatch(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of apply_patch."""

    patchText: Annotated[str, Meta(description="The full patch text that describes all changes to be made")]


def to_patch(names: Names, arguments: OpencodePatch) -> EditFilesRequest:
    """The request for a patch. Raises BadPatch, BadValue."""
    if not arguments.patchText:
        raise errors.BadValue("patchText", "", "is empty", "Send a patch.")
    files = patches.read(arguments.patchText, "v4a")
    return EditFilesRequest(tuple(_placed(names, file) for file in files))


def _placed(names: Names, file: FilePatch) -> FilePatch:
    to = None if file.destination is None else names.meant(file.destination)
    return replace(file, path=names.meant(file.path), destination=to, fitting=LENIENT, overwrites=True)


def render(result: Result, cap: Cap) -> Reply:
    """The reply for a patch that was applied."""
    assert isinstance(result, EditFilesResult)
    return patch_words.done(result, quote)


def render_error(names: Names, sent: OpencodePatch | None, error: errors.ReadroomError, cap: Cap) -> Reply:
    """The reply for a failure of a call, whose arguments are None if they could not be read."""
    text = json_replies.short(_text(names, "" if sent is None else sent.patchText, error), cap.size)
    facts = partial(native_facts.of_error, error, partial(to_call, names), text)
    return replace(native_render.reply(text, facts), is_error=True)


def _text(names: Names, patch: str, error: errors.ReadroomError) -> str:
    cause = patch_words.causes(error)[0]
    match cause:
        case errors.BadValue() if cause.facts["argument"] == "patchText":
            return "patchText is required"
        case errors.BadPatch(kind="empty" | "line") if _EMPTY.fullmatch(patch):
            return "patch rejected: empty patch"
        case errors.BadPatch(kind="empty" | "line") if not _SECTION.search(patch):
            return f"{_FAILED}no hunks found"
        case errors.MissingArgument() | errors.WrongType() | errors.UnknownArgument():
            return (
                f"The {PATCH} tool was called with invalid arguments: {cause}\n"
                "Please rewrite the input so it satisfies the expected schema."
            )
    words = patch_words.problem(cause, names.shown)
    if words is None:
        path = str(cause.facts.get("path", ""))
        return f"{_FAILED}{in_own_names(Failed(names, PATCH, path), cause)}"
    return f"{_FAILED}{words if isinstance(cause, errors.NotFound) else f'Error: {words}'}"
