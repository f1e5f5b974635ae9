"""The words of Everruns: outlines, warnings and failures.

In an outline a type is its kind and its name, and a function is its head without `export`. Natively a
signature is the whole head, and that of an arrow function ends before its arrow. A function exported without
a name is listed natively, as `default`, but not here.

A failure has the sentence of Everruns if there is one, else ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from readroom.contracts.everruns import requests
from readroom.contracts.everruns.names import Names, plain
from readroom.core.contracts import json_replies
from readroom.core.contracts.native import facts as native_facts
from readroom.core.contracts.native.render import reply, warning_parts
from readroom.core.errors import ReadroomError
from readroom.core.quoting import quote
from readroom.core.text.encodings import STATEFUL
from readroom.core.text.select import byte_size
from readroom.core.values import Cap, Fact, ReadResult, Reply, Warn
from readroom.core.values.files import Item, OutlineView, Row

OLD_TEXT_CHARS = 80
"""How much of an old_text that was not found the error shows."""

_KIND_WORDS = {"module": "mod"}
"""Kinds whose name is not the word of the language."""

_NAME_ONLY = {
    "python": frozenset({"class"}),
    "rust": frozenset({"struct", "enum", "trait", "module", "type", "union"}),
}
_SCRIPTS = frozenset({"javascript", "typescript", "tsx"})
_NAME_ONLY |= dict.fromkeys(_SCRIPTS, frozenset({"class", "interface", "type", "enum", "namespace"}))
"""Kinds that are shown as only their word and name, by language."""

_EXPORTED = re.compile(r"export (?:default )?")
_ASSIGNED = re.compile(r"(?:[\w$#.]+ )*[\w$#.]+(?:\s*:[^=]+)? = (?!(?:async )?function\b|class\b)")
"""A name with an arrow function."""

_UNNAMED = "default"
"""The name of an export without a name."""

_CUT = "…"
"""The end of a signature that is cut."""


def signature(item: Item, language: str) -> str:
    """The signature of a definition, as in outlines of Everruns."""
    if item.kind in _NAME_ONLY.get(language, ()):
        return f"{_KIND_WORDS.get(item.kind, item.kind)} {item.name}"
    text = item.signature
    if language not in _SCRIPTS:
        return text
    text = _EXPORTED.sub("", text, count=1) if text.startswith("export ") else text
    arrow = _ASSIGNED.match(text) is not None and not text.endswith((_CUT, "=>"))
    return f"{text} =>" if arrow else text


def outline_row(row: Row, language: str) -> str:
    """One definition as a line."""
    return f"{'  ' * row.depth}// L{row.item.line}: {signature(row.item, language)} {{ ... }}"


def outline_row_bytes(row: Row) -> int:
    """The maximum bytes of that line in any language."""
    return byte_size(outline_row(row, "")) + len(" =>")


def outline_text(result: ReadResult, outline: OutlineView) -> str:
    """The sections below the shown lines: outlines of the lines before and after them."""
    total, language = result.total_lines or result.end, outline.language
    rows = [row for row in outline.rows if not _is_unnamed_function(row.item, language)]
    above = [row for row in rows if row.item.line < result.start]
    below = [row for row in rows if row.item.line > result.end]
    sections = _section(above, 1, result.start - 1, language)
    sections += _section(below, result.end + 1, total, language)
    if outline.left_out:
        sections += f"// ... {outline.left_out} more not listed\n"
    return sections


def _is_unnamed_function(item: Item, language: str) -> bool:
    """Whether a function is exported without a name; a method may also be called `default`."""
    exported = language in _SCRIPTS and item.signature.startswith(f"export {_UNNAMED} ")
    return exported and item.name == _UNNAMED and item.kind == "function"


def _section(rows: Sequence[Row], first: int, last: int, language: str) -> str:
    if not rows:
        return ""
    lines = "".join(f"{outline_row(row, language)}\n" for row in rows)
    return f"\n--- Outline of lines {first}-{last} (not shown) ---\n{lines}"


# -----------------------------------------------------------------------------
# Warnings as sentences of the Everruns contract.
# -----------------------------------------------------------------------------

_ADVISED = frozenset({"hash_unknown"})
"""Warnings that name a native argument after a semicolon."""

_OTHERWISE = "notebook"
"""A warning about lines of notebooks, which natively are not those of the file."""


def notes_of(warnings: Sequence[Warn]) -> list[str]:
    """Sentences for the field of notes."""
    return warning_parts([_without_advice(warning) for warning in warnings if warning.code != _OTHERWISE])


Fields: TypeAlias = dict[str, Fact]
"""The fields of an object."""


def with_notes(fields: Fields, warnings: Sequence[Warn], more: Sequence[str] = ()) -> Fields:
    """The fields with sentences about them, where there are any."""
    notes: list[Fact] = [*more, *notes_of(warnings)]
    return {**fields, json_replies.NOTES: notes} if notes else fields


def _without_advice(warn: Warn) -> Warn:
    return replace(warn, detail=warn.detail.partition(";")[0]) if warn.code in _ADVISED else warn


# -----------------------------------------------------------------------------
# Failures.
# -----------------------------------------------------------------------------

NO_EDITS = "edit_file requires a non-empty edits[] array; each entry needs old_text and new_text"
UNAVAILABLE = "File system not available in this context"
BAD_GLOB = "invalid grep path_pattern"
OVERLAP = "Edits overlap in the target file"

_MOST: Mapping[str, Mapping[str, int]] = {
    requests.GREP: {
        "before_context": requests.CONTEXT,
        "after_context": requests.CONTEXT,
    },
}
_NUMBERS = frozenset({"offset", "limit", "column", "before_context", "after_context"})

_READS = frozenset({requests.READ, requests.READ_MANY})

_TEXTS = frozenset({"path", "paths", "pattern", "command", "expected_hash"})

_OF_FILES = frozenset({"denied", "hard_linked", "holds_denied", "protected", "symbolic_link"})
"""Refusals in the words of the engine that begin with a path of the workspace."""

_ITEM = re.compile(r"edits\[(\d+)\](?:\.(old_text|new_text))?")


def render_error(
    names: Names,
    error: ReadroomError,
    cap: Cap,
    *,
    tool: str = requests.READ,
    texts: Mapping[str, str] | None = None,
) -> Reply:
    """The reply that reports a failure; `texts` are those of the call that the words repeat."""
    own, failure = _WORDS.get(error.code), _Failure(error.facts, tool, texts or {}, names)
    words = own.format(failure=failure, **error.facts) if isinstance(own, str) else own and own(failure)
    text = words or _plainly(names, error)
    if error.detail and words is None:
        text += f"\n{error.detail.rstrip()}"
    room = cap.size
    if byte_size(text) > room:
        text = json_replies.short(text, room)
    return replace(
        reply(text, partial(native_facts.of_error, error, requests.calls(names), text)),
        is_error=True,
    )


def _plainly(names: Names, error: ReadroomError) -> str:
    text = str(error)
    path = error.facts.get("path")
    if error.code in _OF_FILES and isinstance(path, str):
        shown = quote(plain(path))
        for lead in ("", "Access to "):
            if text.startswith(f"{lead}{shown} "):
                text = f"{lead}{names.named(plain(path))}{text[len(lead) + len(shown) :]}"
    call = None if error.next is None else requests.to_call(names, error.next)
    if call is not None:
        text += f" Next: {call.tool} {json_replies.encoded(call.arguments)}"
    return text


class _Failure(Struct, frozen=True):
    """Facts of an error, the tool it is about, and the texts of the call."""

    facts: Mapping[str, Fact]
    tool: str
    given: Mapping[str, str]
    names: Names

    @property
    def path(self) -> str:
        return self.names.named(plain(str(self.facts["path"])))

    @property
    def argument(self) -> str:
        return str(self.facts["argument"])

    @property
    def item(self) -> tuple[int, str] | None:
        """The number of the edit, from 1, and the kind of its text that the argument is."""
        match = _ITEM.fullmatch(self.argument)
        return None if match is None else (int(match[1]) + 1, match[2] or "")

    @property
    def old_text(self) -> str:
        return self.given.get(f"old_text.{self.facts['edit']}", "")[:OLD_TEXT_CHARS]

    @property
    def expected_hash(self) -> str:
        return self.given.get("expected_hash") or str(self.facts["expected"])


def _absent(failure: _Failure) -> str:
    kind = "Directory" if failure.tool == requests.LIST else "File"
    return f"{kind} not found: {failure.path}"


def _not_a_file(failure: _Failure) -> str:
    kind = failure.facts["what"]
    if kind == "folder":
        return f"Path '{failure.path}' is a directory, not a file. Use list_directory instead."
    return f"Path '{failure.path}' is a {kind}, not a file."


def _not_a_folder(failure: _Failure) -> str:
    kind = failure.facts["what"]
    advice = " Use read_file instead." if kind == "file" and failure.tool == requests.LIST else ""
    return f"Path '{failure.path}' is a {kind}, not a directory.{advice}"


def _missing(failure: _Failure) -> str:
    item = failure.item
    if item is not None and item[1]:
        return f"Edit {item[0]} is missing {item[1]}"
    if _is_outside(failure):
        return _not_a_string(failure)
    return f"Missing required parameter: {failure.argument}"


def _is_outside(failure: _Failure) -> bool:
    """Whether the argument is that of a replacement in the older form, outside the list."""
    return failure.tool == requests.EDIT and failure.argument in ("old_text", "new_text")


def _not_a_string(failure: _Failure) -> str:
    return f"Legacy top-level {failure.argument} must be a string"


def _is_of_paths(failure: _Failure) -> bool:
    return failure.tool == requests.READ_MANY and failure.argument.startswith("paths")


def _bad_paths(failure: _Failure) -> str:
    if failure.argument == "paths":
        bounds = f"{requests.BATCH_LEAST} and {requests.BATCH_MOST} paths"
    else:
        bounds = f"1 and {requests.BATCH_PATH_BYTES} bytes"
    return f"Parameter `{failure.argument}` must contain between {bounds}"


def _bad_value(failure: _Failure) -> str | None:
    name, value, item = failure.argument, failure.facts.get("value"), failure.item
    if item is not None and item[1] == "old_text" and value == "":
        return f"Edit {item[0]} has an empty old_text"
    if name == "edits" and failure.tool == requests.EDIT:
        return NO_EDITS
    if _is_outside(failure):
        return None if value else "Legacy top-level old_text cannot be empty"
    if _is_of_paths(failure):
        return _bad_paths(failure)
    if name not in _NUMBERS or not isinstance(value, int):
        return None
    most = _MOST.get(failure.tool, {}).get(name)
    if most is not None and value > most:
        return f"{name} must not exceed {most}"
    if name == "limit" and failure.tool not in _READS and value == 0:
        return "limit must be greater than 0"
    return _number(failure)


def _wrong_type(failure: _Failure) -> str | None:
    item = failure.item
    if item is not None and item[1]:
        return f"Edit {item[0]} is missing {item[1]}"
    if failure.tool == requests.EDIT and (item is not None or failure.argument == "edits"):
        return NO_EDITS
    if _is_outside(failure):
        return _not_a_string(failure)
    if failure.argument in _NUMBERS:
        return _number(failure)
    if failure.tool == requests.READ_MANY and failure.argument.startswith("paths"):
        plain = failure.argument == "paths"
        return (
            "Missing required parameter: paths"
            if plain
            else f"Parameter `{failure.argument}` must be a string"
        )
    return f"Missing required parameter: {failure.argument}" if failure.argument in _TEXTS else None


def _number(failure: _Failure) -> str:
    kind = "positive" if failure.argument == "limit" and failure.tool in _READS else "non-negative"
    return f"{failure.argument} must be a {kind} integer"


def _bad_range(failure: _Failure) -> str | None:
    lines, columns = failure.facts.get("total_lines"), failure.facts.get("total_columns")
    if isinstance(columns, int):
        unit, total, name = "characters", columns, "column"
    elif isinstance(lines, int):
        unit, total, name = "lines", lines, "offset"
    else:
        return None
    whole, last = "line" if name == "column" else "file", max(0, total - 1)
    return f"{name} is past the end of the {whole}, which has {total} {unit}. Use one from 0 to {last}."


def _bad_pattern(failure: _Failure) -> str:
    return BAD_GLOB if failure.argument == "glob" else f"Invalid regex pattern: {failure.facts['problem']}"


def _no_match(failure: _Failure) -> str:
    problem = f"Could not find an exact match for old_text: '{failure.old_text}'"
    place = failure.facts["place"]
    return f"{problem}\n{failure.facts['hint']}\n{place}" if place else problem


def _binary(failure: _Failure) -> str | None:
    if failure.tool != requests.EDIT:
        return None
    return (
        f"File '{failure.path}' is not a text file. edit_file only supports text files; "
        "use write_file for binary/base64 content."
    )


def _unencodable(failure: _Failure) -> str:
    facts = failure.facts
    where = str(facts["where"]).rpartition(".")[2]
    char = str(facts["char"])
    return (
        f"File '{failure.path}' is {facts['encoding']}, which cannot hold {char!r} (U+{ord(char):04X}) "
        f"in line {facts['line']} of {where}. Use characters that it has; "
        "write_file replaces the whole file, in UTF-8."
    )


def _broken_place(failure: _Failure) -> str | None:
    if failure.facts["encoding"] not in STATEFUL:
        return None
    return (
        f"File '{failure.path}' is {failure.facts['encoding']}, whose bytes depend on those before them; "
        "it is not edited. write_file replaces all of it, in UTF-8."
    )


_WORDS: Mapping[str, str | Callable[[_Failure], str | None]] = {
    "not_found": _absent,
    "vanished": _absent,
    "not_a_file": _not_a_file,
    "not_a_folder": _not_a_folder,
    "folder_not_empty": (
        "Path '{failure.path}' is a directory that is not empty. Use recursive=true to delete it with all "
        "that it holds."
    ),
    "missing_argument": _missing,
    "bad_value": _bad_value,
    "wrong_type": _wrong_type,
    "bad_range": _bad_range,
    "bad_pattern": _bad_pattern,
    "stale": (
        "File '{failure.path}' changed since the last read. Expected {failure.expected_hash}, found {found}. "
        "Read the file again before editing."
    ),
    "no_match": _no_match,
    "many_matches": "old_text is ambiguous and matched multiple locations: '{failure.old_text}'",
    "binary": _binary,
    "overlap": OVERLAP,
    "broken_place": _broken_place,
    "unencodable": _unencodable,
    "read_only_file": "Cannot modify readonly file: {failure.path}",
    "closed": UNAVAILABLE,
}
"""By code: a template of the failure and its facts, or the function that words it."""
