"""How text_editor words failures: the sentences of the reference where it has one, else ours."""

from __future__ import annotations

import re
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from readroom.contracts.text_editor.names import EditorNames
from readroom.contracts.text_editor.requests import EDITOR, OLDER, PATCH, Arguments, EditorArguments, to_call
from readroom.core import errors
from readroom.core.contracts import json_replies, patch_words
from readroom.core.contracts.base import Sentences, sentence
from readroom.core.contracts.native import facts as native_facts
from readroom.core.contracts.native import render as native_render
from readroom.core.quoting import quote, unquoted
from readroom.core.values import Cap, Reply


class FailedEdit(Struct, frozen=True):
    """A failed call; its arguments are None if they could not be read."""

    names: EditorNames
    tool: str
    sent: Arguments | None = None
    error_path: str = ""

    @property
    def editor(self) -> EditorArguments | None:
        """The arguments of the editor, if it is a call of that."""
        return self.sent if isinstance(self.sent, EditorArguments) else None

    @property
    def path(self) -> str:
        """The path in sentences."""
        if self.editor is not None:
            return self.names.given(self.editor.path)
        return self.names.shown(self.error_path) if self.error_path else "the path"


def render_error(call: FailedEdit, error: errors.ReadroomError, cap: Cap) -> Reply:
    """The reply for a failure."""
    call = replace(call, error_path=_path(patch_words.causes(error)[0]))
    text = json_replies.short(_text(call, error), cap.size)
    facts = partial(native_facts.of_error, error, partial(to_call, call.names), text)
    return replace(native_render.reply(text, facts), is_error=True)


def _path(error: errors.ReadroomError) -> str:
    return str(error.facts.get("path", ""))


def _text(call: FailedEdit, error: errors.ReadroomError) -> str:
    if call.tool == PATCH:
        return _of_patch(call, error)
    return sentence(patch_words.causes(error)[0], call, _SENTENCES)


def _of_patch(call: FailedEdit, error: errors.ReadroomError) -> str:
    rows = [
        patch_words.problem(one, quote) or _ours(replace(call, error_path=_path(one)), one)
        for one in patch_words.causes(error)
    ]
    return "\n".join(rows if isinstance(error, _OPEN_ENDED) else [*rows, "No file was changed."])


_OPEN_ENDED = (errors.StoreFailed, errors.Internal)
"""Failures after which some file may be changed: nothing is said of it."""


def _not_absolute(call: FailedEdit, error: errors.NotAbsolute) -> str:
    return (
        f"The path {call.path} is not an absolute path, it should start with `/`. "
        f"Maybe you meant {error.facts['root']}?"
    )


def _not_a_file(call: FailedEdit, error: errors.NotAFile) -> str | None:
    if error.facts["what"] != "folder" or call.editor is None:
        return None
    if call.editor.command == "create":
        return _exists(call, error)
    return f"The path {call.path} is a directory and only the `view` command can be used on directories"


def _exists(call: FailedEdit, error: errors.ReadroomError) -> str:
    return f"File already exists at: {call.path}. Cannot overwrite files using command `create`."


def _no_match(call: FailedEdit, error: errors.NoMatch) -> str | None:
    if call.editor is None:
        return None
    old = call.editor.old_str
    start = f"No replacement was performed, old_str `{old}` did not appear verbatim in {call.path}."
    hint = str(error.facts["hint"]).replace("old_text", "old_str").replace("edits[0].", "")
    return f"{start} {hint}" + (f"\n{error.detail}" if error.detail else "")


def _many(call: FailedEdit, error: errors.ManyMatches) -> str | None:
    if call.editor is None:
        return None
    return (
        f"No replacement was performed. Multiple occurrences of old_str `{call.editor.old_str}` "
        f"in lines {list(dict.fromkeys(error.lines))}. Please ensure it is unique."
    )


def _bad_range(call: FailedEdit, error: errors.BadRange) -> str | None:
    total, sent = error.facts.get("total_lines"), call.editor
    if sent is None:
        return None
    if sent.command == "insert":
        return (
            f"Invalid `insert_line` parameter: {sent.insert_line}. It should be within the range of lines of "
            f"the file: {[0, total]}"
        )
    if sent.view_range is None:
        return None
    first, last = sent.view_range
    start = f"Invalid `view_range`: {sent.view_range}. "
    if total is None and first >= 1:
        return f"{start}Its second element `{last}` should be larger or equal than its first `{first}`"
    lines = f": {[1, total]}" if total is not None else ", which count from 1"
    return f"{start}Its first element `{first}` should be within the range of lines of the file{lines}"


def _bad_value(call: FailedEdit, error: errors.BadValue) -> str | None:
    sent, name = call.editor, str(error.facts["argument"])
    if name == "command":
        return _unknown_command(call, error)
    if sent is None:
        return None
    if name == "view_range" and error.message.endswith("is for files"):
        return "The `view_range` parameter is not allowed when `path` points to a directory."
    if name == "new_str" or error.message.endswith("the same as old_text"):
        same = f"old_str `{sent.old_str}` is the same as new_str `{sent.new_str or ''}`."
        return f"No replacement was performed, {same}"
    return None


def _no_history(call: FailedEdit, error: errors.ReadroomError) -> str | None:
    return None if call.editor is None else f"No edit history found for {call.path}."


def _not_granted(call: FailedEdit, error: errors.NotGranted) -> str | None:
    """An undo that would remove a file which this conversation created: the reference leaves it there."""
    undo = call.editor is not None and call.editor.command == "undo_edit"
    return _no_history(call, error) if undo and error.tool != call.tool else None


def _changed_since(call: FailedEdit, error: errors.ChangedSince) -> str | None:
    if call.editor is None:
        return None
    start = f"The file {call.path} was changed since your last edit, and undoing would lose that."
    return f"{start} Change it back with `str_replace`." + (f"\n{error.detail}" if error.detail else "")


def _unknown_command(call: FailedEdit, error: errors.BadValue) -> str:
    known = '"view", "create", "str_replace", "insert"' + (', "undo_edit"' if call.tool == OLDER else "")
    sent, tool = error.facts.get("value"), call.tool or EDITOR
    return f"Unrecognized command {sent}. The allowed commands for the {tool} tool are: {known}"


def _wrong_type(call: FailedEdit, error: errors.ReadroomError) -> str | None:
    if error.facts.get("argument") == "view_range":
        return "Invalid `view_range`. It should be a list of two integers."
    return None


def _required(call: FailedEdit, error: errors.MissingArgument) -> str | None:
    sent, name = call.editor, error.facts["argument"]
    return None if sent is None else f"Parameter `{name}` is required for command: {sent.command}"


_NAMES = {
    "edits[0].old_text": "old_str",
    "edits[0].new_text": "new_str",
    "old_text": "old_str",
    "new_text": "new_str",
    "write_file": "create",
    "edit_file": "str_replace",
    "read_file": "view",
    "list_directory": "view",
}
"""Names in our sentences and what they are called here."""

_NAMED = re.compile(rf"(?<![\w./-])(?:{'|'.join(map(re.escape, _NAMES))})(?![\w/-]|\.\w)")
"""Such a name where it is no part of the name of a file."""

_ADVICE: dict[type[errors.ReadroomError], str] = {
    errors.Unencodable: "Use characters that it has.",
    errors.BrokenPlace: "Choose a text that keeps a character away from them.",
    errors.Binary: "Only text can be viewed and edited.",
}
"""Advice in place of words of the native contract that name what this one lacks."""


def _ours(call: FailedEdit, error: errors.ReadroomError) -> str:
    """Our sentences, in names of this contract."""
    advice = next((words for kind, words in _ADVICE.items() if isinstance(error, kind)), error.advice)
    if call.editor is not None and isinstance(error, errors.OutsideRoot | errors.BadPath):
        advice = _absolute(call, error)
    lead, text = _parted(call, f"{error.message}. {advice}")
    return lead + _NAMED.sub(lambda found: _NAMES[found[0]], text)


def _absolute(call: FailedEdit, error: errors.OutsideRoot | errors.BadPath) -> str:
    """Advice for the editor, which takes no relative path."""
    near = error.meant if isinstance(error, errors.OutsideRoot) else None
    guess = "" if near is None else f" Did you mean {call.names.shown(near)}?"
    return f"Give an absolute path below {quote(call.names.root)}.{guess}"


_LEADS = ("", "Access to ")
"""The beginnings of our sentences before the path that they are about."""


def _parted(call: FailedEdit, text: str) -> tuple[str, str]:
    """The path with which a sentence begins, absolute for the editor, with what leads it; and the rest."""
    if not call.error_path:
        return "", text
    plain = unquoted(call.error_path)
    plain = call.error_path if plain is None else plain
    own = quote(plain)
    lead = next((lead for lead in _LEADS if text.startswith(f"{lead}{own} ")), None)
    if lead is None:
        return "", text
    shown = own if call.editor is None else call.names.shown(plain)
    return f"{lead}{shown}", text[len(lead) + len(own) :]


_SENTENCES: Sentences = {
    errors.NotAbsolute: _not_absolute,
    errors.NotFound: lambda call, error: (
        f"The path {call.path} does not exist. Please provide a valid path." if call.editor else None
    ),
    errors.Exists: _exists,
    errors.NotAFile: _not_a_file,
    errors.NoMatch: _no_match,
    errors.ManyMatches: _many,
    errors.BadRange: _bad_range,
    errors.BadValue: lambda call, error: _bad_value(call, error) or _wrong_type(call, error),
    errors.WrongType: _wrong_type,
    errors.NothingToUndo: _no_history,
    errors.NoSuchChange: _no_history,
    errors.HistoryOff: _no_history,
    errors.ChangedSince: _changed_since,
    errors.NotGranted: _not_granted,
    errors.MissingArgument: _required,
    errors.ReadroomError: _ours,
}
