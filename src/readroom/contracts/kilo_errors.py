"""How the contract kilo words failures; three of the sentences are those of its documentation."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from readroom.contracts import envelope, native_text
from readroom.contracts.kilo_calls import to_call
from readroom.contracts.kilo_text import Asked
from readroom.errors import (
    BadPath,
    BadRange,
    BadValue,
    Binary,
    BudgetSpent,
    Denied,
    FailedError,
    NotAFile,
    NotFound,
    OutsideRoot,
    ReadroomError,
    WrongType,
)
from readroom.formats.recognise import suffix
from readroom.model import Cap, Reply
from readroom.quoting import as_given, quote

_IGNORE_FILE = ".kilocodeignore"
_NUMBERS = frozenset({"start_line", "end_line", "auto_truncate", "column"})
_PATH_SHARE = 4
"""A path takes at most this part of the sentence about it."""


def render(asked: Asked, error: ReadroomError, cap: Cap) -> Reply:
    """The reply for a failure of a call."""
    path = as_given(asked.path or str(error.facts.get("path", "")), cap.size // _PATH_SHARE)
    text = envelope.short(_words(asked, path, error), cap.size)
    facts = partial(envelope.error_facts, error, partial(to_call, last=asked.end_line))
    return replace(native_text.reply(text, facts), is_error=True)


def _words(asked: Asked, path: str, error: ReadroomError) -> str:
    match error:
        case NotFound():
            return f"Error: File not found at path '{path}'."
        case Denied():
            return f"Error: Access denied to file '{path}' due to {_rules(error)}."
        case OutsideRoot():
            outside = "it is outside the workspace"
            return f"Error: Access denied to file '{path}': {outside} ({error.facts['how']})."
        case NotAFile():
            return f"Error: Cannot read '{path}' because it is a {_what(error)}"
        case Binary():
            return f"Error reading file: Cannot read text for file type: {_file_type(error)}"
        case BadRange() if "total_lines" in error.facts:
            return f"Error: {_past_end(asked, path, error)}"
        case BudgetSpent():  # the tools that may still work are not those of this contract
            return f"Error: {error.message}. Work with what you have seen, or ask the user for more."
        case BadPath():
            return f"Error: {error.message}. Give a path relative to the workspace root."
        case BadValue() | WrongType() if error.facts.get("argument") in _NUMBERS:
            return f"Error: Invalid {error.facts['argument']} value: {error}"
        case FailedError():
            return f"Error reading file: {error}"
    return f"Error: {error}"


def _file_type(error: Binary) -> str:
    """The ending of its name; of one without, what it is by its bytes."""
    ending = suffix(error.path)
    return quote(f".{ending}") if ending else error.media_type


def _rules(error: Denied) -> str:
    source = str(error.facts["source"])
    if source.partition(":")[0] == _IGNORE_FILE:
        return f"{_IGNORE_FILE} rules"
    return f"the rule {error.facts['rule']!r} of {source} ({error.facts['reason']})"


def _what(error: NotAFile) -> str:
    what = error.facts["what"]
    if what == "folder":
        return "directory. Give the path of a file; what is in a directory, other tools list."
    return f"{what}. Only regular files can be read."


def _past_end(asked: Asked, path: str, error: BadRange) -> str:
    total = error.facts["total_lines"]
    first = "line" if asked.start_line is None else f"start_line {asked.start_line}"
    lines = f"{total} line{'' if total == 1 else 's'}"
    if not total:
        return f"{first} is past the end of '{path}', which is empty. Leave out start_line and end_line."
    return f"{first} is past the end of '{path}', which has {lines}. Use a start_line from 1 to {total}."
