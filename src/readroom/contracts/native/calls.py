"""The native call for a request, ready to send, and the last line of a reply, which names it.

A call says only what differs from the defaults.  A model that is given two calls has to choose, and
small ones send the first; so whatever else could be read is said by its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import fields

from readroom.quoting import as_value
from readroom.text.select import byte_size
from readroom.values import Call, Fact, FindRequest, GrepRequest, ListRequest, ReadRequest, Request
from readroom.values.changes import (
    DeleteRequest,
    EditFilesRequest,
    EditRequest,
    MoveRequest,
    WriteRequest,
)
from readroom.values.commands import RunRequest
from readroom.values.files import BytesRequest
from readroom.values.verbs import BY_REQUEST, function

# -----------------------------------------------------------------------------
# Requests that other contracts have, in native words: for the ledger, which has one form for all.
# -----------------------------------------------------------------------------


def path_arguments(request: Request) -> dict[str, Fact]:
    """Its name, which is all that it says."""
    return {"path": as_value(request.path)}


def delete_arguments(request: DeleteRequest) -> dict[str, Fact]:
    """What is to be deleted, and how."""
    return {
        "path": as_value(request.path),
        "recursive": request.recursive,
        "expected_hash": request.expected_hash,
    }


def move_arguments(request: MoveRequest) -> dict[str, Fact]:
    """What is to be moved, and where to."""
    return {
        "path": as_value(request.path),
        "destination": as_value(request.destination),
        "overwrite": request.overwrite,
    }


def bytes_arguments(request: BytesRequest) -> dict[str, Fact]:
    """A file and the range of its bytes."""
    named: dict[str, Fact] = {"path": as_value(request.path), "first_byte": request.first}
    if request.count is not None:
        named["bytes"] = request.count
    return named


def edit_files_arguments(request: EditFilesRequest) -> dict[str, Fact]:
    """The files and what is to be replaced in each."""
    files: list[Fact] = [
        {
            "path": as_value(file.path),
            "edits": [
                {"old_text": edit.old_text, "new_text": edit.new_text, "replace_all": edit.replace_all}
                for edit in file.edits
            ],
        }
        for file in request.files
    ]
    return {"path": as_value(request.path), "files": files, "dry_run": request.dry_run}


READ, GREP, FIND, LIST = "read_file", "grep_files", "find_relevant", "list_directory"
EDIT, WRITE = "edit_file", "write_file"
RUN = "run_command"
"""Tool names, which the record and the calls share."""

_TOOLS = {
    ReadRequest: READ,
    GrepRequest: GREP,
    FindRequest: FIND,
    ListRequest: LIST,
    EditRequest: EDIT,
    WriteRequest: WRITE,
    RunRequest: RUN,
}
"""The requests that a native tool means."""


def to_call(request: Request) -> Call:
    """The call that means `request`; parsing it gives the request back, if a native tool means it."""
    tool = _TOOLS.get(type(request))
    if tool is None:
        # No native tool does it; what can be done is to look at the place.
        return Call(LIST, list_arguments(ListRequest(request.path.rpartition("/")[0] or ".")))
    return Call(tool, arguments(request))


def arguments(request: Request) -> dict[str, Fact]:
    """What a request says, for the ledger; that of `to_call` wherever that means the same."""
    facts: dict[str, Fact] = function(BY_REQUEST[type(request)].ledger_arguments)(request)
    return facts


def as_tool_call(call: Call) -> str:
    """The call as one piece of text that a model can send as it stands."""
    import json  # few replies to a person name a call so

    return f"{call.tool} {json.dumps(call.arguments, ensure_ascii=False, separators=(',', ':'))}"


_SPELLING: ContextVar[Callable[[Call], str]] = ContextVar("spelling of calls", default=as_tool_call)
"""A reader at a shell gets commands.  Every sentence with a call in it asks here, and
only the command line sets it, around one call: handing it through every function that words something
would put it into some forty signatures."""


@contextmanager
def spelled(spelling: Callable[[Call], str]) -> Iterator[None]:
    """Replies worded inside name their calls in this spelling."""
    before = _SPELLING.set(spelling)
    try:
        yield
    finally:
        _SPELLING.reset(before)


def shown(request: Request) -> str:
    """The call for a request, as the reader of the reply can send it."""
    return _SPELLING.get()(to_call(request))


def read_arguments(request: ReadRequest) -> dict[str, Fact]:
    """The window, where it is not the default."""
    named: dict[str, Fact] = {"path": as_value(request.path)}
    for name in ("pages", "offset", "limit", "symbol", "known_hash", "encoding"):
        value = getattr(request, name)
        if value is not None:
            named[name] = value
    if request.column != 1:
        named["column"] = request.column
    if request.view != "text":
        named["view"] = request.view
    return named


_Walk: TypeAlias = GrepRequest | FindRequest | ListRequest
_PLAIN: Mapping[type[_Walk], _Walk] = {
    GrepRequest: GrepRequest(""),
    FindRequest: FindRequest(""),
    ListRequest: ListRequest(),
}

_GREP_OWN = frozenset(("pattern", "path", "glob", "before", "after", "include", "skip", "options"))
_GREP_NAMES = tuple(field.name for field in fields(GrepRequest) if field.name not in _GREP_OWN)
"""Arguments that are called what the request calls them; others are written below, or are not arguments."""


def grep_arguments(request: GrepRequest) -> dict[str, Fact]:
    """The search, where it is not the default."""
    named: dict[str, Fact] = {"pattern": request.pattern, **_place(request)}
    if request.before == request.after:
        if request.before:
            named["context"] = request.before
    else:
        named["before"], named["after"] = request.before, request.after
    return {**named, **_differing(request, _GREP_NAMES)}


def find_arguments(request: FindRequest) -> dict[str, Fact]:
    """The ranked search, where it is not the default."""
    names = ("type", "output", "budget_tokens", "explain", "documents", "cursor")
    return {"query": request.query, **_place(request), **_differing(request, names)}


def list_arguments(request: ListRequest) -> dict[str, Fact]:
    """The listing, where it is not the default."""
    return {**_place(request), **_differing(request, ("depth", "sort", "limit", "cursor"))}


def _place(request: _Walk) -> dict[str, Fact]:
    """Where files are looked for."""
    named: dict[str, Fact] = {}
    if request.path != _PLAIN[type(request)].path:
        named["path"] = as_value(request.path)
    if request.glob:
        named["glob"] = request.glob[0] if len(request.glob) == 1 else list(request.glob)
    return named


def _differing(request: _Walk, names: Sequence[str]) -> dict[str, Fact]:
    """Those of its fields that are not the default, and what it includes."""
    plain = _PLAIN[type(request)]
    named = {name: value for name in names if (value := getattr(request, name)) != getattr(plain, name)}
    return {**named, "include": sorted(request.include)} if request.include else named


def edit_arguments(request: EditRequest) -> dict[str, Fact]:
    """The file, its state and the texts."""
    edits: list[Fact] = []
    for edit in request.edits:
        item: dict[str, Fact] = {"old_text": edit.old_text, "new_text": edit.new_text}
        edits.append({**item, "replace_all": True} if edit.replace_all else item)
    named: dict[str, Fact] = {
        "path": as_value(request.path),
        "expected_hash": request.expected_hash,
        "edits": edits,
    }
    if request.dry_run:
        named["dry_run"] = True
    if request.encoding is not None:
        named["encoding"] = request.encoding
    return named


def write_arguments(request: WriteRequest) -> dict[str, Fact]:
    """The file, its state and the content."""
    named: dict[str, Fact] = {
        "path": as_value(request.path),
        "content": write_text(request)[0],
        "expected_hash": request.expected_hash,
    }
    if request.encoding is not None:
        named["encoding"] = request.encoding
    return named


def write_text(request: WriteRequest) -> tuple[str, str]:
    """What is to be written as text, and whether that is "text" or "base64"."""
    if request.data is None:
        return request.content, "text"
    try:
        return request.data.decode(), "text"
    except UnicodeDecodeError:
        from base64 import b64encode

        return b64encode(request.data).decode("ascii"), "base64"


_RUN_PLAIN = RunRequest("")


def run_arguments(request: RunRequest) -> dict[str, Fact]:
    """The command, where it is not the default."""
    named: dict[str, Fact] = {"command": request.command}
    if request.path != _RUN_PLAIN.path:
        named["cwd"] = as_value(request.path)
    if request.output != _RUN_PLAIN.output:
        named["output"] = request.output
    if request.timeout_s is not None:
        named["timeout_s"] = request.timeout_s
    return named


# -----------------------------------------------------------------------------
# The last line of a reply: what is missing, in words, and the one call that goes on.
# -----------------------------------------------------------------------------


MORE = "More in the facts of this reply."
"""What a closing line says where not all of it fits."""


class Aside(Struct, frozen=True):
    """Something that is left out, and the request that shows it; None where none does."""

    text: str
    request: Request | None


def in_documents(places: Iterable[tuple[str, int | None, int]]) -> list[Aside]:
    """How the first line of a document is read among places that a search has shown: path, part and line."""
    for path, part, line in places:
        if part is not None:
            there = ReadRequest(path, pages=str(part), offset=line)
            return [Aside(f"p{part}:{line} is part {part}, line {line}", there)]
    return []


def ending(parts: Sequence[str | Aside], following: Request | None, path: str | None = None) -> list[str]:
    """The sentences of a closing line, which end with one call.

    Args:
        parts: What is to be said.
        following: The request that goes on; without one, the first of `parts` with a request gives the call.
        path: What the reply is about, which arguments in words need not name.
    """
    last = "" if following is None else f"Next: {shown(following)}"
    sentences = []
    for part in parts:
        if isinstance(part, str):
            sentences.append(part)
        elif part.request is None:
            sentences.append(f"{part.text}: not reachable.")
        elif not last:
            last = f"{part.text}: {shown(part.request)}"
        else:
            sentences.append(_as_well(part.text, part.request, path))
    return [*sentences, last] if last else sentences


def _as_well(text: str, request: Request, path: str | None) -> str:
    """A sentence with a call that is not the next one."""
    return f"{text}{':' if _SPELLING.get() is as_tool_call else ''} {in_words(request, path)}."


def in_words(request: Request, path: str | None = None) -> str:
    """What a call is given, for a sentence; its tool and path go without saying where they are known.

    A person at a shell gets the whole command, in brackets, since a dot behind it would be typed, too.
    """
    import json  # a reply that leaves nothing out needs none

    call = to_call(request)
    spelling = _SPELLING.get()
    if spelling is not as_tool_call:
        return f"({spelling(call)})"
    named = path is not None and request.path == path
    arguments = [
        f"{name}={json.dumps(value, ensure_ascii=False)}"
        for name, value in call.arguments.items()
        if not (named and name == "path")
    ]
    return " ".join(arguments if named else [call.tool, *arguments])


def closing(parts: Sequence[str], room: int) -> str:
    """One bracketed line of sentences; what does not fit is said to be in the facts.

    The last sentence, which names the next call, is the last to be left out.
    """
    whole = f"[{' '.join(parts)}]"
    if byte_size(whole) <= room:
        return whole
    left = room - len(f"[{MORE}]")
    kept: set[int] = set()
    for at in (len(parts) - 1, *range(len(parts) - 1)):
        cost = byte_size(parts[at]) + 1
        if cost <= left:
            kept.add(at)
            left -= cost
    before = [part for at, part in enumerate(parts[:-1]) if at in kept]
    after = [parts[-1]] if len(parts) - 1 in kept else []
    return f"[{' '.join([*before, MORE, *after])}]"
