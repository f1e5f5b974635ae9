"""The contract text_editor: Anthropic's str_replace_based_edit_tool, and OpenAI's apply_patch.

The editor is that of type text_editor_20250728; under its older name, str_replace_editor, it takes the older
arguments as well. Words are those of the reference implementations, since clients bring their own. Patches
are in the form V4A, as free text or as one operation of the hosted tool; all files are changed or none.

Knows: the tools of the originals, and where ours differ.
Does not know: the other contracts.
May be touched: freely, with its clauses.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from readroom.contracts.text_editor.names import EditorNames
from readroom.contracts.text_editor.render import Views, measure
from readroom.contracts.text_editor.requests import (
    EDITOR,
    OLDER,
    PATCH,
    Arguments,
    EditorArguments,
    EditorPatch,
    EditorSettings,
    OlderArguments,
    PresentArguments,
    listing,
    to_call,
    to_patch,
    to_request,
)
from readroom.contracts.text_editor.words import FailedEdit, render_error
from readroom.core.contracts import Setup, patch_words
from readroom.core.contracts.base import Contract, Tool, Wording
from readroom.core.policy.rules.terms import Terms
from readroom.core.quoting import quote
from readroom.core.values import Cap, Reply, Result
from readroom.core.values.changes import EditFilesResult
from readroom.core.values.steps import Steps, no_documents

REPLY_BYTES = 256 * 1024
"""Text of a reply: a view of 16,000 characters, whose tabs take eight columns, with line numbers."""


def made(setup: Setup) -> Contract:
    """The record for a workspace."""
    own = setup.own if isinstance(setup.own, EditorSettings) else EditorSettings()
    names = EditorNames(tuple(dict.fromkeys((setup.root, setup.real))))
    views = Views(names, own.max_characters)
    return Contract(
        name="text_editor",
        title="Text editor",
        instructions="Paths are absolute.",
        tools=(_editor(names, views, EDITOR), _patch(names)),
        unlisted=(_editor(names, views, OLDER),),
        reply_bytes=REPLY_BYTES,
        measure=measure(names),
        render=_unknown,
        render_error=partial(render_error, FailedEdit(names, "")),
        to_call=partial(to_call, names),
        terms=Terms(),
        by_lines=True,
    )


def _unknown(result: Result, cap: Cap) -> Reply:
    """Never called: each tool has a wording of its own."""
    raise AssertionError(result)


def _editor(names: EditorNames, views: Views, name: str) -> Tool:
    def wording(arguments: EditorArguments) -> Wording:
        return Wording(
            partial(views.render, arguments), partial(render_error, FailedEdit(names, name, arguments))
        )

    def steps(arguments: EditorArguments) -> Steps:
        listed = partial(listing, arguments) if arguments.command == "view" else None
        return Steps(no_documents, views.fit, expands=False, folder=listed)

    return Tool(
        name,
        "View and edit files",
        "View a file with line numbers, or a directory 2 levels deep; create a new file; replace a text that "
        "occurs once; insert lines.",
        PresentArguments if name == EDITOR else OlderArguments,
        partial(to_request, names, name),
        read_only=False,
        idempotent=False,
        render_error=partial(render_error, FailedEdit(names, name)),
        wording=wording,
        steps=steps,
    )


def _patch(names: EditorNames) -> Tool:
    def render(result: Any, cap: Cap) -> Reply:
        assert isinstance(result, EditFilesResult)
        return patch_words.done(result, quote)

    def wording(arguments: Arguments) -> Wording:
        return Wording(render, partial(render_error, FailedEdit(names, PATCH, arguments)))

    return Tool(
        PATCH,
        "Apply a patch",
        "Change several files, all of them or none.",
        EditorPatch,
        partial(to_patch, names),
        read_only=False,
        idempotent=False,
        render_error=partial(render_error, FailedEdit(names, PATCH)),
        wording=wording,
    )
