"""The tools that edit files: a flat list of edits for a chat loop, files with their edits for MCP clients.

Each ends its refusals in the original's own words, except where a file may be changed all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from readroom.contracts.coder import read, words
from readroom.contracts.coder.editing import (
    EditBody,
    FileToEdit,
    Replacement,
    diffs,
    joined,
    request,
    tables,
)
from readroom.core import errors
from readroom.core.contracts.base import Sentences, Tool, Wording
from readroom.core.contracts.json_replies import encoded
from readroom.core.contracts.native import facts as native_facts
from readroom.core.contracts.native import render as native_render
from readroom.core.contracts.schema import OFFERED
from readroom.core.errors import MissingArgument, ReadroomError
from readroom.core.values import Cap, Fact, Reply, Result

CHAT_EDIT, WORKSPACE_EDIT = "edit_files", "coder_workspace_edit_files"

_EXAMPLE = (
    '{"edits":[{"path":"/repo/a.go","old_text":"x := 1","new_text":"x := 2"},'
    '{"path":"/repo/b.go","old_text":"foo()","new_text":"bar()"}]}'
)

_WHERE = Meta(
    description="Absolute path of the file, for example /home/coder/project/main.go.", extra=OFFERED
)
_OLD = Meta(
    description=(
        "Text to replace. Must match one location unless replace_all is set. Whitespace and indentation "
        "differences are tolerated."
    )
)
_NEW = Meta(description="Replacement text. Must differ from old_text.")
_ALL = Meta(description="Replace every match of old_text.")


class ChatReplacement(msgspec.Struct, frozen=True, kw_only=True):
    """One edit of edit_files; a missing path is named with all others that miss."""

    path: Annotated[str, _WHERE] = ""
    old_text: Annotated[str, _OLD]
    new_text: Annotated[str, _NEW]
    replace_all: Annotated[bool, _ALL] = False


class ChatEdits(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of edit_files."""

    edits: list[ChatReplacement]


_FILE = Meta(
    description="The absolute path of the file to edit, for example /home/coder/project/main.go.",
    extra=OFFERED,
)
_EXISTING = Meta(
    description=(
        "Existing text in the file to replace. Matching is fuzzy: whitespace and indentation differences "
        "are tolerated."
    )
)
_NEWER = Meta(description="Text that replaces old_text.")
_EVERY = Meta(
    description="Replace every match of old_text instead of erroring when it matches more than once."
)


class WorkspaceReplacement(msgspec.Struct, frozen=True, kw_only=True):
    """One edit of a file of coder_workspace_edit_files."""

    old_text: Annotated[str, _EXISTING]
    new_text: Annotated[str, _NEWER]
    replace_all: Annotated[bool, _EVERY] = False


class WorkspaceFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file of coder_workspace_edit_files."""

    path: Annotated[str, _FILE] = ""
    edits: list[WorkspaceReplacement]


class WorkspaceEdits(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of coder_workspace_edit_files."""

    workspace: Annotated[str, Meta(description="Any name: one workspace is served")]
    files: list[WorkspaceFile]


def of_chat(arguments: ChatEdits) -> EditBody:
    """The edits of a flat list by file. Raises MissingArgument."""
    if not arguments.edits:
        raise MissingArgument(CHAT_EDIT, "edits")
    given = [edit.path.strip() for edit in arguments.edits]
    if missing := [f"edits[{number}]" for number, path in enumerate(given) if not path]:
        raise MissingArgument(CHAT_EDIT, ", ".join(missing))
    by_path: dict[str, list[Replacement]] = {}
    for path, edit in zip(given, arguments.edits, strict=True):
        by_path.setdefault(path, []).append(_replacement(edit))
    return EditBody(files=[FileToEdit(path=path, edits=edits) for path, edits in by_path.items()])


def of_workspace(arguments: WorkspaceEdits) -> EditBody:
    """The same files with their edits. Raises MissingArgument."""
    if not arguments.files:
        raise MissingArgument(WORKSPACE_EDIT, "files")
    files = []
    for number, file in enumerate(arguments.files):
        path = file.path.strip()
        if not path or not file.edits:
            raise MissingArgument(WORKSPACE_EDIT, f"files[{number}].{'edits' if path else 'path'}")
        files.append(FileToEdit(path=path, edits=[_replacement(edit) for edit in file.edits]))
    return EditBody(files=files)


def _replacement(edit: ChatReplacement | WorkspaceReplacement) -> Replacement:
    return Replacement(old_text=edit.old_text, new_text=edit.new_text, replace_all=edit.replace_all)


def _chat_lacks(call: object, error: MissingArgument) -> str | None:
    argument = error.argument
    if argument == "edits":
        return "Add at least one edit to edits"
    named = argument.endswith("]")
    return f"Set path to the absolute path of the file to edit in {argument}" if named else None


def _no_files(call: object, error: errors.UnknownArgument) -> str | None:
    flat = "Send a flat list of edits where every edit has its own path, for example"
    return f"{flat} {_EXAMPLE}; the files key is not supported" if error.argument == "files" else None


_CHAT: Sentences = {
    errors.MissingArgument: _chat_lacks,
    errors.UnknownArgument: _no_files,
    errors.UsageError: (
        "Send edits as a JSON array of objects with string path, old_text and new_text, and optional "
        f"boolean replace_all, for example {_EXAMPLE.replace('{', '{{').replace('}', '}}')}; "
        "decoding failed ({error})"
    ),
}
"""Refusals of calls whose arguments cannot be used."""


def _workspace_lacks(call: object, error: MissingArgument) -> str | None:
    argument = error.argument
    if argument.endswith(".path"):
        return f"{argument} is required; provide the absolute path of the file to edit"
    if argument.endswith("].edits"):
        return f"{argument} must contain at least one edit"
    return f"{argument} is required"


_WORKSPACE: Sentences = {errors.MissingArgument: _workspace_lacks}

_OPEN_ENDED = (errors.StoreFailed, errors.Internal)
"""Failures after which some file may be changed: nothing is said of the others."""


class _Form:
    """How the replies of a tool for models look: the diffs of all files, or a sentence with an end.

    Args:
        root: Of the workspace, as callers know it.
        ending: Ends every refusal after which no file is changed.
    """

    def __init__(self, root: str, ending: str) -> None:
        self._calls = words.own_calls(root)
        self._ending = ending

    def edited(self, result: Result, cap: Cap) -> Reply:
        """The reply for edits that were made."""
        body, facts = diffs(result)
        return native_render.reply(encoded({**body, "ok": True}), lambda: facts)

    def failed(self, text: str, error: ReadroomError) -> Reply:
        """The reply for a failure in those words."""
        if not isinstance(error, _OPEN_ENDED):
            text += self._ending

        def facts() -> dict[str, Fact]:
            return native_facts.of_error(error, self._calls, text)

        return replace(native_render.reply(text, facts), is_error=True)


def _tool(
    root: str,
    form: _Form,
    own: Sentences,
    body_of: Callable[[Any], EditBody],
    **more: Any,
) -> Tool:
    def wording(arguments: msgspec.Struct) -> Wording:
        files = joined(body_of(arguments), root)
        return Wording(form.edited, read.capped(form.failed, (words.SPENT, *tables(files))))

    return Tool(
        title="Edit files",
        to_request=lambda arguments: request(body_of(arguments), root),
        render_error=read.capped(form.failed, (own, words.SPENT)),
        wording=wording,
        read_only=False,
        idempotent=False,
        **more,
    )


def edit_tools(root: str) -> tuple[Tool, Tool]:
    """The tools that edit files, of a chat loop and of MCP clients."""
    chat = _tool(
        root,
        _Form(root, "\nNo edits were applied."),
        _CHAT,
        of_chat,
        name=CHAT_EDIT,
        description=(
            "Edit files by replacing old_text with new_text. Edits to the same file apply in order. If any "
            "edit fails, no file is changed."
        ),
        arguments=ChatEdits,
    )
    workspace = _tool(
        root,
        _Form(root, "; no files in this batch were applied"),
        _WORKSPACE,
        of_workspace,
        name=WORKSPACE_EDIT,
        description=(
            "Perform edits on one or more files by replacing old_text with new_text. Each entry in files "
            "must include the absolute path of the file to edit and at least one edit. Matching is fuzzy "
            "(tolerates whitespace and indentation differences) and preserves the file's existing "
            "indentation and line endings. Errors if old_text matches zero locations, or more than one "
            "unless replace_all is set. All edits in a batch are validated before any file is written."
        ),
        arguments=WorkspaceEdits,
    )
    return workspace, chat
