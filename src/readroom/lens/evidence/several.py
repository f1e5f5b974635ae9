"""Results of calls that ask for several things at once, with an entry for each: Cline's tools.

Knows: `[{"query", "result", "success"}, ...]`, and the files, commands or searches of the call it answers.
Does not know: lines of files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from readroom.lens.records.events import Arguments, Called, Returned
from readroom.lens.records.values import Object, as_list, as_object, as_text, parts_text

_BEGINS = ('[{"query":', '{"query":')
_EXIT = re.compile(r"\A\[Command exited with code (-?\d{1,9})\]\n")
_ARGUMENTS = {"files": "path", "commands": "command", "queries": "pattern"}
"""Lists in the arguments, and the name of an item that is only a text."""


def parts(call: Called, result: Returned) -> list[tuple[Called, Returned]] | None:
    """Each thing that was asked as a call of its own, with its result; None for any other result."""
    if not result.text.startswith(_BEGINS):
        return None
    try:
        decoded = msgspec.json.decode(result.text)
    except (msgspec.DecodeError, RecursionError):
        return None
    entries = [as_object(entry) for entry in (decoded if isinstance(decoded, list) else [decoded])]
    if not all("result" in entry and "success" in entry for entry in entries):
        return None
    asked = [*_asked(call.arguments)]
    if len(asked) != len(entries):
        asked = [call.arguments] * len(entries)
    return [
        (replace(call, arguments=arguments), _result(entry, result))
        for arguments, entry in zip(asked, entries, strict=True)
    ]


def _asked(arguments: Arguments) -> Iterator[Arguments]:
    for name, alone in _ARGUMENTS.items():
        for item in as_list(arguments.get(name)):
            yield as_object(item) or {alone: as_text(item)}


def _result(entry: Object, result: Returned) -> Returned:
    text, _ = parts_text(entry["result"])
    exit_code = result.exit_code
    if exited := _EXIT.match(text):
        exit_code, text = int(exited[1]), text[exited.end() :]
    text = text or as_text(entry.get("error"))
    return replace(result, text=text, error=entry["success"] is not True, exit_code=exit_code)
