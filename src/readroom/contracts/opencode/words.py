"""How opencode's tools word failures: its sentences where it has one, else ours in its names."""

from __future__ import annotations

import re
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from readroom.contracts.opencode.names import Names
from readroom.contracts.opencode.requests import BASH, EDIT, GLOB, GREP, READ, WRITE, Arguments, to_call
from readroom.core import errors
from readroom.core.contracts import json_replies
from readroom.core.contracts.base import Sentences, sentence
from readroom.core.contracts.native import facts as native_facts
from readroom.core.contracts.native import render as native_render
from readroom.core.paths import WorkPath
from readroom.core.quoting import quote, unquoted
from readroom.core.text.encodings import STATEFUL
from readroom.core.values import Cap, Reply

IDENTICAL = "No changes to apply: oldString and newString are identical."
EXISTS = (
    "oldString cannot be empty when editing an existing file. Provide the exact text to replace, or use "
    "write for an intentional full-file replacement."
)
NO_MATCH = (
    "Could not find oldString in the file. It must match exactly, including whitespace, indentation, and "
    "line endings."
)
MANY_MATCHES = (
    "Found multiple matches for oldString. Provide more surrounding context to make the match unique."
)
LARGER = (
    "Refusing replacement because the matched span is much larger than oldString. Re-read the file and "
    "provide the full exact oldString for the intended replacement."
)

_PATH_SHARE = 4
"""A path takes at most this part of the sentence about it."""


class Failed(Struct, frozen=True):
    """A failed call.

    Attributes:
        names: How files are called.
        tool: Its tool; empty if unknown.
        sent: Its path as the caller wrote it; empty if unknown.
        creates: Whether it is an edit that creates a file.
        offset: The first line that it asks for.
    """

    names: Names
    tool: str
    sent: str = ""
    creates: bool = False
    offset: int = 1

    @property
    def path(self) -> str:
        """The path in sentences."""
        return self.names.given(self.sent)


def failed(names: Names, tool: str, arguments: Arguments) -> Failed:
    """The facts about a call for sentences."""
    path = getattr(arguments, "filePath", None) or getattr(arguments, "path", None)
    path = path or getattr(arguments, "workdir", None) or "."
    creates = tool == EDIT and not getattr(arguments, "oldString", "")
    return Failed(names, tool, path, creates, getattr(arguments, "offset", None) or 1)


def render_error(call: Failed, error: errors.ReadroomError, cap: Cap) -> Reply:
    """The reply for a failure."""
    if not call.sent:
        call = replace(call, sent=str(error.facts.get("path", "")))
    text = json_replies.short(sentence(error, call, _SENTENCES), cap.size)
    facts = partial(native_facts.of_error, error, partial(to_call, call.names), text)
    return replace(native_render.reply(text, facts), is_error=True)


def _missing(call: Failed, error: errors.NotFound) -> str:
    if call.tool == EDIT:
        return f"File {call.path} not found"
    if call.tool != READ:
        near = " or ".join(call.names.shown(WorkPath(name)) for name in error.near)
        return f"There is no file or folder {call.path}." + (f" Did you mean {near}?" if near else "")
    near = "\n".join(call.names.shown(WorkPath(name)) for name in error.near)
    listed = f"\n\nDid you mean one of these?\n{near}" if near else ""
    return f"File not found: {call.path}{listed}"


def _not_a_file(call: Failed, error: errors.NotAFile) -> str | None:
    if call.creates:
        return EXISTS
    what = error.facts["what"]
    if what == "folder":
        return f"Path is a directory, not a file: {call.path}"
    return f"Path is a {what}, not a file: {call.path}"


def _not_a_folder(call: Failed, error: errors.NotAFolder) -> str | None:
    return f"glob path must be a directory: {call.path}" if call.tool == GLOB else None


def _bad_pattern(call: Failed, error: errors.BadPattern) -> str:
    kind = "glob" if error.facts["argument"] == "glob" else "regex"
    return f"{kind} parse error: {error.facts['problem']}"


def _out_of_range(call: Failed, error: errors.BadRange) -> str | None:
    total = error.facts.get("total_lines")
    if total is None:
        return None
    return f"Offset {call.offset} is out of range for this file ({total} lines)"


def _bad_value(call: Failed, error: errors.BadValue) -> str | None:
    name, value = str(error.facts["argument"]), error.facts.get("value")
    if name in ("filePath", "pattern") and value == "":
        return f"{name} is required"
    if name == "newString" or (call.tool == EDIT and str(error.message).endswith("the same as old_text")):
        return IDENTICAL
    return None if name.startswith("edits[") else _invalid(call, error)


def _invalid(call: Failed, error: errors.ReadroomError) -> str:
    """The arguments do not fit the schema."""
    return (
        f"The {call.tool} tool was called with invalid arguments: {error}\n"
        "Please rewrite the input so it satisfies the expected schema."
    )


def _binary(call: Failed, error: errors.Binary) -> str:
    return f"Cannot {'edit' if call.tool == EDIT else 'read'} binary file: {call.path}"


_NAMES = {
    "edits[0].old_text": "oldString",
    "edits[0].new_text": "newString",
    "old_text": "oldString",
    "new_text": "newString",
    "replace_all": "replaceAll",
    "write_file": WRITE,
    "edit_file": EDIT,
    "read_file": READ,
    "list_directory": READ,
    "grep_files": GREP,
    "run_command": BASH,
}
"""Names in our sentences and what they are called here."""

_NAMED = re.compile(rf"(?<![\w./-])(?:{'|'.join(map(re.escape, _NAMES))})(?![\w/-]|\.\w)")
"""Such a name where it is no part of the name of a file."""

_AFTER = frozenset(" .?:,")
_LEADS = ("", "Access to ")
"""The beginnings of our sentences before the path that they are about."""


def _unencodable(call: Failed, error: errors.Unencodable) -> str:
    return f"{in_own_names(call, error, error.message)}. Use characters that it has."


def _broken_place(call: Failed, error: errors.BrokenPlace) -> str | None:
    if error.facts["encoding"] not in STATEFUL:
        return None
    return f"{in_own_names(call, error, error.message)}. {WRITE} replaces all of it, in that encoding."


def in_own_names(call: Failed, error: errors.ReadroomError, words: str | None = None) -> str:
    """Our sentences, or those words of them, in names of this contract."""
    lead, text, path = "", str(error) if words is None else words, error.facts.get("path")
    if isinstance(path, str) and path:
        plain = unquoted(path)
        own = quote(path if plain is None else plain)
        begins = ((lead, len(lead) + len(own)) for lead in _LEADS if text.startswith(f"{lead}{own}"))
        begin = next((lead for lead, end in begins if text[end : end + 1] in _AFTER), None)
        if begin is not None:
            lead, text = f"{begin}{call.path}", text[len(begin) + len(own) :]
    return lead + _NAMED.sub(lambda found: _NAMES[found[0]], text)


_SENTENCES: Sentences = {
    errors.NotFound: _missing,
    errors.Exists: EXISTS,
    errors.NotAFile: _not_a_file,
    errors.NotAFolder: _not_a_folder,
    errors.Binary: _binary,
    errors.BadRange: _out_of_range,
    errors.BadPattern: _bad_pattern,
    errors.NoMatch: NO_MATCH,
    errors.ManyMatches: MANY_MATCHES,
    errors.LargerMatch: LARGER,
    errors.Unencodable: _unencodable,
    errors.BrokenPlace: _broken_place,
    errors.BadValue: _bad_value,
    errors.WrongType: _invalid,
    errors.MissingArgument: _invalid,
    errors.UnknownArgument: _invalid,
    errors.UnknownTool: "{error}",
    errors.NotGranted: "{error}",
    errors.ReadroomError: in_own_names,
}
